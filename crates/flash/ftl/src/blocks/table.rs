//! The block table of an FTL. It records the free and bad blocks, and the valid pages and erases of each block.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

use serde::{Deserialize, Serialize};
use ssdlab_core::{Archive, Archived, BlockId, HugeVec};

use crate::recovery;

/// Order in which free blocks are taken for writing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Allocation {
    /// The block that was erased longest ago comes first.
    Fifo,
    /// The block with the fewest erases comes first (dynamic wear levelling); ties go to the lowest block number.
    LeastWorn,
}

/// A list of free blocks, in the order of their [`Allocation`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum FreeList {
    Fifo(VecDeque<u32>),
    /// Erase count and number of each block.
    LeastWorn(BinaryHeap<Reverse<(u32, u32)>>),
}

impl FreeList {
    /// Creates a list of free blocks that were never erased.
    pub fn new(allocation: Allocation, blocks: impl Iterator<Item = u32>) -> Self {
        match allocation {
            Allocation::Fifo => Self::Fifo(blocks.collect()),
            Allocation::LeastWorn => Self::LeastWorn(blocks.map(|block| Reverse((0, block))).collect()),
        }
    }

    #[inline]
    fn len(&self) -> usize {
        match self {
            Self::Fifo(queue) => queue.len(),
            Self::LeastWorn(heap) => heap.len(),
        }
    }

    fn take(&mut self) -> Option<u32> {
        match self {
            Self::Fifo(queue) => queue.pop_front(),
            Self::LeastWorn(heap) => heap.pop().map(|Reverse((_, block))| block),
        }
    }

    fn give(&mut self, block: u32, erases: u32) {
        match self {
            Self::Fifo(queue) => queue.push_back(block),
            Self::LeastWorn(heap) => heap.push(Reverse((erases, block))),
        }
    }

    /// Returns a copy of the list with the blocks and erase counts that `change` returns; None removes the block.
    fn changed(&self, change: impl Fn(u32) -> Option<(u32, u32)>) -> Self {
        match self {
            Self::Fifo(queue) => Self::Fifo(queue.iter().filter_map(|&block| Some(change(block)?.0)).collect()),
            Self::LeastWorn(heap) => {
                let worn = |&Reverse((_, block)): &_| change(block).map(|(block, erases)| Reverse((erases, block)));
                Self::LeastWorn(heap.iter().filter_map(worn).collect())
            }
        }
    }

    fn blocks(&self) -> Vec<u32> {
        match self {
            Self::Fifo(queue) => queue.iter().copied().collect(),
            Self::LeastWorn(heap) => heap.iter().map(|&Reverse((_, block))| block).collect(),
        }
    }
}

/// State of every erase block of a device.
///
/// Valid counts are a dense array of `u32`. [`ClosedBlocks`](super::ClosedBlocks) sets the high bit of the count if a
/// block must not be collected.
#[derive(Debug)]
pub struct BlockTable {
    pages_per_block: u32,
    blocks_per_list: u32,
    pub(super) counts: HugeVec<u32>,
    erases: Vec<u32>,
    free: Vec<FreeList>,
    bad: BTreeSet<BlockId>,
}

/// Bit in the valid count of a block that must not be collected.
pub(super) const FLAG: u32 = 1 << 31;

impl BlockTable {
    /// Creates a table of erased blocks with `pages_per_block` pages each (below 2^31). All lists must have the same
    /// number of blocks: the first list those with the lowest numbers, the second list the next ones, and so on.
    /// `padding` is the number of extra entries at the end of the valid counts, which callers read in whole chunks.
    pub(crate) fn new(pages_per_block: u32, lists: Vec<FreeList>, padding: usize) -> Self {
        debug_assert!(pages_per_block < FLAG, "a block must have fewer than 2^31 pages");
        let blocks: usize = lists.iter().map(FreeList::len).sum();
        Self {
            pages_per_block,
            blocks_per_list: (blocks / lists.len()) as u32,
            counts: HugeVec::filled(FLAG, blocks + padding),
            erases: vec![0; blocks],
            free: lists,
            bad: BTreeSet::new(),
        }
    }

    /// Returns the number of blocks in the table.
    pub fn len(&self) -> u32 {
        self.erases.len() as u32
    }

    /// True if the table has no blocks.
    pub fn is_empty(&self) -> bool {
        self.erases.is_empty()
    }

    /// Returns the number of blocks per free list.
    #[inline]
    pub fn blocks_per_list(&self) -> u32 {
        self.blocks_per_list
    }

    /// Returns the number of pages per block.
    #[inline]
    pub fn pages_per_block(&self) -> u32 {
        self.pages_per_block
    }

    /// Returns the number of free blocks in the given list.
    #[inline]
    pub fn free(&self, list: usize) -> u32 {
        self.free[list].len() as u32
    }

    /// Returns the number of free blocks in all lists.
    pub fn free_in_all(&self) -> u32 {
        self.free.iter().map(FreeList::len).sum::<usize>() as u32
    }

    /// Returns the free blocks of all lists.
    pub fn free_blocks(&self) -> Vec<u32> {
        self.free.iter().flat_map(FreeList::blocks).collect()
    }

    /// Iterates over the bad blocks, in ascending order.
    pub fn bad(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.bad.iter().copied()
    }

    /// Removes a free block from a list for writing; its valid count is 0. Panics if no block is free.
    pub fn take(&mut self, list: usize) -> BlockId {
        let block = self.free[list].take().expect("the FTL's reserve always leaves a free block");
        self.counts[block as usize] = FLAG;
        BlockId(block)
    }

    /// Returns an erased block to its list of free blocks.
    pub fn release(&mut self, block: BlockId) {
        self.erases[block.index()] += 1;
        self.give_back(block);
    }

    /// Returns a block to its list of free blocks, without counting an erase.
    pub fn give_back(&mut self, block: BlockId) {
        let index = block.index();
        self.counts[index] = FLAG;
        self.free[(block.0 / self.blocks_per_list) as usize].give(block.0, self.erases[index]);
    }

    /// Marks a block as bad.
    pub fn retire(&mut self, block: BlockId) {
        self.counts[block.index()] = FLAG;
        self.bad.insert(block);
    }

    /// Returns the number of valid pages of a block.
    #[inline]
    pub fn valid(&self, block: BlockId) -> u32 {
        self.counts[block.index()] & !FLAG
    }

    /// Adds `pages` to the number of valid pages of a block.
    #[inline]
    pub fn gain(&mut self, block: BlockId, pages: u32) {
        self.counts[block.index()] += pages;
    }

    /// Subtracts `pages` from the number of valid pages of a block.
    #[inline]
    pub fn lose(&mut self, block: BlockId, pages: u32) {
        debug_assert!(pages <= self.valid(block), "block {block} has fewer than {pages} valid pages");
        self.counts[block.index()] -= pages;
    }

    /// Copies the block states of list `from` of `other` to list `list` of this table. Both lists have the same number
    /// of blocks, and list `from` has no bad blocks. Blocks of this table have `multiple` times as many pages.
    pub(super) fn take_over(&mut self, list: usize, other: &Self, from: usize, multiple: u32) {
        let blocks = self.blocks_per_list as usize;
        let (own, theirs) = (list * blocks, from * blocks);
        for (own, count) in self.counts[own..own + blocks].iter_mut().zip(&other.counts[theirs..]) {
            *own = (count & FLAG) | ((count & !FLAG) * multiple);
        }
        self.erases[own..own + blocks].copy_from_slice(&other.erases[theirs..theirs + blocks]);
        self.free[list] = other.free[from].changed(|block| {
            let block = block - theirs as u32 + own as u32;
            Some((block, self.erases[block as usize]))
        });
    }

    /// Fills this table, in which every block is erased, with the block states that a scan of a device in use has
    /// found. Each free list keeps its order, because the order of past erases is unknown.
    pub(crate) fn take_up(&mut self, blocks: &[recovery::BlockSurvey]) {
        for state in blocks {
            self.erases[state.block.index()] = state.erases;
            self.counts[state.block.index()] = FLAG | state.valid;
            if state.bad {
                self.retire(state.block);
            }
        }
        let erased = |block: u32| {
            let state = &blocks[block as usize];
            (!state.bad && state.next == 0).then_some((block, state.erases))
        };
        self.free.iter_mut().for_each(|list| *list = list.changed(erased));
    }

    /// Saves or loads the state of every block.
    pub fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        let Self { pages_per_block: _, blocks_per_list: _, counts, erases, free, bad } = self;
        archive.array(counts)?;
        archive.array(erases)?;
        archive.value(free)?;
        archive.value(bad)
    }

    /// Returns the number of erases of every block since construction.
    pub fn erase_counts(&self) -> &[u32] {
        &self.erases
    }

    /// Returns the memory size of the table, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        let per_free_block = match self.free[0] {
            FreeList::Fifo(_) => size_of::<u32>(),
            FreeList::LeastWorn(_) => size_of::<(u32, u32)>(),
        };
        (self.erases.len() * (2 * size_of::<u32>() + per_free_block)) as u64
    }
}
