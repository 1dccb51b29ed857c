//! The slow twin of the page-mapped FTL: the textbook version, written to be obvious.
//!
//! Validity is a stored flag, the victim is found by looking at every block, nothing is prefetched or
//! counted incrementally. It must emit the same flash operations as the fast one, one for one. It covers
//! one victim at a time, free blocks in FIFO order, greedy and FIFO victims, shared or own survivors.

use std::collections::VecDeque;

use ssdlab_core::{BlockId, Lpn, Ppn};
use ssdlab_ftl::gc;
use ssdlab_ftl::page::PageOptions;
use ssdlab_nand::{Cause, FlashSink, Oob, Role, Source};

#[derive(Clone)]
struct Block {
    /// Logical page and validity of each page written.
    pages: Vec<(u32, bool)>,
    sealed_as: Option<u64>,
}

impl Block {
    fn valid(&self) -> usize {
        self.pages.iter().filter(|(_, valid)| *valid).count()
    }
}

/// The textbook page-mapped FTL.
pub struct Twin {
    map: Vec<Option<(u32, u32)>>,
    blocks: Vec<Block>,
    free: VecDeque<u32>,
    pages_per_block: u32,
    options: PageOptions,
    host: Option<u32>,
    survivors: Option<u32>,
    seals: u64,
    sequence: u64,
}

impl Twin {
    /// An erased device.
    pub fn new(logical_pages: u32, blocks: u32, pages_per_block: u32, options: PageOptions) -> Self {
        Self {
            map: vec![None; logical_pages as usize],
            blocks: vec![Block { pages: Vec::new(), sealed_as: None }; blocks as usize],
            free: (0..blocks).collect(),
            pages_per_block,
            options,
            host: None,
            survivors: None,
            seals: 0,
            sequence: 0,
        }
    }

    fn is_full(&self, frontier: Option<u32>) -> bool {
        frontier.is_none_or(|block| self.blocks[block as usize].pages.len() == self.pages_per_block as usize)
    }

    fn unwritten(&self) -> usize {
        let room = |frontier: Option<u32>| {
            frontier.map_or(0, |block| self.pages_per_block as usize - self.blocks[block as usize].pages.len())
        };
        self.free.len() * self.pages_per_block as usize + room(self.host) + room(self.survivors)
    }

    fn reopen(&mut self, frontier: Option<u32>) -> Option<u32> {
        self.seal(frontier);
        self.free.pop_front()
    }

    fn seal(&mut self, frontier: Option<u32>) {
        if let Some(block) = frontier {
            self.blocks[block as usize].sealed_as = Some(self.seals);
            self.seals += 1;
        }
    }

    fn append(&mut self, block: u32, lpn: u32) -> (Ppn, Oob) {
        let page = self.blocks[block as usize].pages.len() as u32;
        self.blocks[block as usize].pages.push((lpn, true));
        if let Some((block, page)) = self.map[lpn as usize].replace((block, page)) {
            self.blocks[block as usize].pages[page as usize].1 = false;
        }
        let oob = Oob { lpn: Lpn(lpn), sequence: self.sequence, role: Role::Data };
        self.sequence += 1;
        (Ppn(block * self.pages_per_block + page), oob)
    }

    fn victim(&self) -> u32 {
        let sealed = self.blocks.iter().enumerate().filter(|(_, block)| block.sealed_as.is_some());
        let choice = match self.options.gc {
            policy if policy.is(&gc::fifo::INFO) => sealed.min_by_key(|(_, block)| block.sealed_as),
            policy if policy.is(&gc::greedy::INFO) => sealed.min_by_key(|(_, block)| block.valid()),
            other => panic!("the twin does not know {other:?}"),
        };
        choice.expect("something is sealed").0 as u32
    }

    /// Writes `count` pages from `lpn`.
    pub fn write<S: FlashSink>(&mut self, lpn: u32, count: u32, sink: &mut S) {
        let shared = self.options.placement.role.survivors == 0;
        let spare = if shared { 1 } else { 2 } * self.pages_per_block as usize;
        for page in 0..count {
            while self.unwritten() <= spare {
                self.collect(shared, sink);
            }
            if self.is_full(self.host) {
                self.host = self.reopen(self.host);
            }
            let block = self.host.expect("a block was opened");
            let (ppn, oob) = self.append(block, lpn + page);
            sink.program(ppn, oob, Source::Host(page), Cause::Host);
        }
    }

    fn collect<S: FlashSink>(&mut self, shared: bool, sink: &mut S) {
        if self.is_full(self.host) {
            let filled = self.host.take();
            self.seal(filled);
        }
        if self.is_full(self.survivors) {
            let filled = self.survivors.take();
            self.seal(filled);
        }
        let victim = self.victim();
        self.blocks[victim as usize].sealed_as = None;
        for page in 0..self.pages_per_block {
            let (lpn, valid) = self.blocks[victim as usize].pages[page as usize];
            if !valid {
                continue;
            }
            let mut frontier = if shared { self.host } else { self.survivors };
            if self.is_full(frontier) {
                frontier = self.reopen(frontier);
            }
            if shared {
                self.host = frontier;
            } else {
                self.survivors = frontier;
            }
            let (to, oob) = self.append(frontier.expect("a block was opened"), lpn);
            sink.copy(Ppn(victim * self.pages_per_block + page), to, oob, Cause::Gc);
        }
        sink.barrier();
        sink.erase(BlockId(victim), Cause::Gc);
        self.blocks[victim as usize].pages.clear();
        self.free.push_back(victim);
    }

    /// Trims `count` pages from `lpn`.
    pub fn trim(&mut self, lpn: u32, count: u32) {
        self.sequence += 1;
        for lpn in lpn..lpn + count {
            if let Some((block, page)) = self.map[lpn as usize].take() {
                self.blocks[block as usize].pages[page as usize].1 = false;
            }
        }
    }
}
