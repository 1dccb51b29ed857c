//! A slow model of page mapping with an SLC cache on one plane: lists of logical pages instead of counts and bits.
//!
//! It follows the rules of `docs/slc-cache.md`, with greedy collection of one victim at a time into the host's open
//! block, and with free blocks in the order of their erasing. The model has no time, and reads change nothing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ssdlab_ftl::page::{Fold, SlcOptions};

/// Numbers of operations: host pages cached and written directly, pages folded and collected, and erases in each mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Operations {
    pub cached: u64,
    pub bypassed: u64,
    pub folded: u64,
    pub collected: u64,
    pub slc_erases: u64,
    pub erases: u64,
}

/// A plane, with the logical pages written to each block since its last erase.
pub struct Plane {
    options: SlcOptions,
    pages_per_block: usize,
    blocks: Vec<Vec<u32>>,
    /// Block and place of each logical page.
    map: BTreeMap<u32, (usize, usize)>,
    free: VecDeque<usize>,
    /// Block for host pages and copies.
    open: Option<usize>,
    closed: BTreeSet<usize>,
    cache_erased: VecDeque<usize>,
    cache_open: Option<usize>,
    cache_full: VecDeque<usize>,
    borrowed: BTreeSet<usize>,
    bypassed: bool,
    pub operations: Operations,
}

impl Plane {
    pub fn new(options: SlcOptions, blocks: usize, pages_per_block: usize) -> Self {
        let own = options.own_blocks as usize;
        Self {
            options,
            pages_per_block,
            blocks: vec![Vec::new(); blocks],
            map: BTreeMap::new(),
            free: (own..blocks).collect(),
            open: None,
            closed: BTreeSet::new(),
            cache_erased: (0..own).collect(),
            cache_open: None,
            cache_full: VecDeque::new(),
            borrowed: BTreeSet::new(),
            bypassed: false,
            operations: Operations::default(),
        }
    }

    pub fn trim(&mut self, lpn: u32) {
        self.map.remove(&lpn);
    }

    pub fn write(&mut self, lpn: u32) {
        if self.prepare_cache() {
            let block = self.cache_open.expect("open");
            self.operations.cached += 1;
            self.program(block, lpn);
            if self.blocks[block].len() == self.pages_per_block / self.options.word_line as usize {
                self.cache_full.push_back(block);
                self.cache_open = None;
            }
            return;
        }
        self.bypassed = true;
        self.operations.bypassed += 1;
        if self.options.fold == Fold::Pressure {
            self.fold_with_room(1);
        }
        if self.open.is_none() || self.is_short() {
            self.make_room();
        }
        self.append(lpn);
    }

    fn program(&mut self, block: usize, lpn: u32) {
        self.map.insert(lpn, (block, self.blocks[block].len()));
        self.blocks[block].push(lpn);
    }

    /// Programs a page in the open block, and leaves the block if it is full.
    fn append(&mut self, lpn: u32) {
        let block = self.writable();
        self.program(block, lpn);
        if self.blocks[block].len() == self.pages_per_block {
            self.closed.insert(block);
            self.open = None;
        }
    }

    fn writable(&mut self) -> usize {
        *self.open.get_or_insert_with(|| self.free.pop_front().expect("a free block"))
    }

    fn unwritten(&self) -> usize {
        let left = self.open.map_or(0, |block| self.pages_per_block - self.blocks[block].len());
        self.free.len() * self.pages_per_block + left
    }

    fn is_short(&self) -> bool {
        self.unwritten() <= self.pages_per_block
    }

    fn valid(&self, block: usize) -> Vec<u32> {
        let is_valid = |&(place, lpn): &(usize, &u32)| self.map.get(lpn) == Some(&(block, place));
        self.blocks[block].iter().enumerate().filter(is_valid).map(|(_, &lpn)| lpn).collect()
    }

    fn prepare_cache(&mut self) -> bool {
        let begun = self.open.is_some_and(|block| !self.blocks[block].len().is_multiple_of(3));
        if self.bypassed && begun {
            return false;
        }
        self.bypassed = false;
        while self.cache_open.is_none() {
            let room = self.unwritten().saturating_sub(self.pages_per_block + 1) / self.pages_per_block;
            let share = self.options.share as usize * (self.borrowed.len() + room);
            if let Some(block) = self.cache_erased.pop_front() {
                self.cache_open = Some(block);
            } else if room > 0 && (self.borrowed.len() + 1) * SlcOptions::ALL as usize <= share {
                let block = self.free.pop_front().expect("a free block");
                self.borrowed.insert(block);
                self.cache_open = Some(block);
            } else if self.options.bypass || !self.fold_with_room(usize::MAX) {
                return false;
            }
        }
        true
    }

    /// Folds up to `pages` pages of the oldest cache block. The folded pages need free space, like host pages.
    fn fold_with_room(&mut self, pages: usize) -> bool {
        if self.cache_full.is_empty() {
            return false;
        }
        for _ in 0..pages {
            if self.is_short() {
                self.make_room();
            }
            let Some(&block) = self.cache_full.front() else { break };
            if self.fold(block, 1) {
                break;
            }
        }
        true
    }

    fn fold(&mut self, block: usize, pages: usize) -> bool {
        for lpn in self.valid(block).into_iter().take(pages) {
            self.append(lpn);
            self.operations.folded += 1;
        }
        if !self.valid(block).is_empty() {
            return false;
        }
        self.blocks[block].clear();
        self.operations.slc_erases += 1;
        self.cache_full.retain(|&full| full != block);
        if self.borrowed.remove(&block) {
            self.free.push_back(block)
        } else {
            self.cache_erased.push_back(block)
        }
        true
    }

    fn make_room(&mut self) {
        while self.is_short() {
            if self.borrowed.is_empty() {
                self.collect();
                continue;
            }
            let oldest = self.cache_full.iter().copied().find(|block| self.borrowed.contains(block));
            let block = oldest.unwrap_or_else(|| {
                let open = self.cache_open.take().expect("the borrowed block is open");
                self.cache_full.push_back(open);
                open
            });
            self.fold(block, usize::MAX);
        }
        self.writable();
    }

    fn collect(&mut self) {
        let victim = self.closed.iter().copied().min_by_key(|&block| (self.valid(block).len(), block));
        let victim = victim.expect("a closed block");
        self.closed.remove(&victim);
        for lpn in self.valid(victim) {
            self.append(lpn);
            self.operations.collected += 1;
        }
        self.blocks[victim].clear();
        self.operations.erases += 1;
        self.free.push_back(victim);
    }
}
