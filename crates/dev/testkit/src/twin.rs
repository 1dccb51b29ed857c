//! Slow reference FTL with page mapping: the textbook version, to compare with the fast FTL.
//!
//! Validity is a stored flag, victims are found by a scan over all blocks, and nothing is counted incrementally. It
//! must emit exactly the same flash operations as the fast FTL. It supports one victim at a time, FIFO allocation of
//! free blocks, greedy and FIFO victims, and garbage collection into a shared or its own open block.

use std::collections::VecDeque;

use ssdlab_core::{BlockId, Lpn, Ppn};
use ssdlab_ftl::gc;
use ssdlab_ftl::page::PageOptions;
use ssdlab_nand::{Cause, FlashSink, Role, Source, SpareArea};

#[derive(Clone)]
struct Block {
    /// Logical page and validity of each written page.
    pages: Vec<(u32, bool)>,
    /// Sequence number at which the block was closed; `None` if the block is open or free.
    closed_at: Option<u64>,
}

impl Block {
    fn valid(&self) -> usize {
        self.pages.iter().filter(|(_, valid)| *valid).count()
    }
}

/// Textbook FTL with page mapping.
pub struct Twin {
    map: Vec<Option<(u32, u32)>>,
    blocks: Vec<Block>,
    free: VecDeque<u32>,
    pages_per_block: u32,
    options: PageOptions,
    /// Open block for host writes.
    host: Option<u32>,
    /// Open block for relocated pages, unless they share the host's open block.
    relocated: Option<u32>,
    closings: u64,
    sequence: u64,
}

impl Twin {
    /// Creates the FTL of an erased device.
    pub fn new(logical_pages: u32, blocks: u32, pages_per_block: u32, options: PageOptions) -> Self {
        Self {
            map: vec![None; logical_pages as usize],
            blocks: vec![Block { pages: Vec::new(), closed_at: None }; blocks as usize],
            free: (0..blocks).collect(),
            pages_per_block,
            options,
            host: None,
            relocated: None,
            closings: 0,
            sequence: 0,
        }
    }

    fn is_full(&self, open: Option<u32>) -> bool {
        open.is_none_or(|block| self.blocks[block as usize].pages.len() == self.pages_per_block as usize)
    }

    fn unwritten(&self) -> usize {
        let free_pages = |open: Option<u32>| {
            open.map_or(0, |block| self.pages_per_block as usize - self.blocks[block as usize].pages.len())
        };
        self.free.len() * self.pages_per_block as usize + free_pages(self.host) + free_pages(self.relocated)
    }

    fn reopen(&mut self, open: Option<u32>) -> Option<u32> {
        self.close(open);
        self.free.pop_front()
    }

    fn close(&mut self, open: Option<u32>) {
        if let Some(block) = open {
            self.blocks[block as usize].closed_at = Some(self.closings);
            self.closings += 1;
        }
    }

    fn append(&mut self, block: u32, lpn: u32) -> (Ppn, SpareArea) {
        let page = self.blocks[block as usize].pages.len() as u32;
        self.blocks[block as usize].pages.push((lpn, true));
        if let Some((block, page)) = self.map[lpn as usize].replace((block, page)) {
            self.blocks[block as usize].pages[page as usize].1 = false;
        }
        let oob = SpareArea { lpn: Lpn(lpn), sequence: self.sequence, role: Role::Data };
        self.sequence += 1;
        (Ppn(block * self.pages_per_block + page), oob)
    }

    fn victim(&self) -> u32 {
        let closed = self.blocks.iter().enumerate().filter(|(_, block)| block.closed_at.is_some());
        let victim = match self.options.gc {
            policy if policy.is(&gc::fifo::INFO) => closed.min_by_key(|(_, block)| block.closed_at),
            policy if policy.is(&gc::greedy::INFO) => closed.min_by_key(|(_, block)| block.valid()),
            other => panic!("the reference FTL does not support {other:?}"),
        };
        victim.expect("there is a closed block").0 as u32
    }

    /// Writes `count` logical pages from `lpn` on.
    pub fn write<S: FlashSink>(&mut self, lpn: u32, count: u32, sink: &mut S) {
        let shared = !self.options.placement.info.role.own_gc_block;
        let spare = if shared { 1 } else { 2 } * self.pages_per_block as usize;
        for page in 0..count {
            while self.unwritten() <= spare {
                self.collect(shared, sink);
            }
            if self.is_full(self.host) {
                self.host = self.reopen(self.host);
            }
            let block = self.host.expect("a block is open");
            let (ppn, oob) = self.append(block, lpn + page);
            sink.program(ppn, oob, Source::Host(page), Cause::Host);
        }
    }

    fn collect<S: FlashSink>(&mut self, shared: bool, sink: &mut S) {
        if self.is_full(self.host) {
            let full = self.host.take();
            self.close(full);
        }
        if self.is_full(self.relocated) {
            let full = self.relocated.take();
            self.close(full);
        }
        let victim = self.victim();
        self.blocks[victim as usize].closed_at = None;
        for page in 0..self.pages_per_block {
            let (lpn, valid) = self.blocks[victim as usize].pages[page as usize];
            if !valid {
                continue;
            }
            let mut open = if shared { self.host } else { self.relocated };
            if self.is_full(open) {
                open = self.reopen(open);
            }
            if shared {
                self.host = open;
            } else {
                self.relocated = open;
            }
            let (to, oob) = self.append(open.expect("a block is open"), lpn);
            sink.copy(Ppn(victim * self.pages_per_block + page), to, oob, Cause::Gc);
        }
        sink.barrier();
        sink.erase(BlockId(victim), Cause::Gc);
        self.blocks[victim as usize].pages.clear();
        self.free.push_back(victim);
    }

    /// Trims `count` logical pages from `lpn` on.
    pub fn trim(&mut self, lpn: u32, count: u32) {
        self.sequence += 1;
        for lpn in lpn..lpn + count {
            if let Some((block, page)) = self.map[lpn as usize].take() {
                self.blocks[block as usize].pages[page as usize].1 = false;
            }
        }
    }
}
