//! The erase blocks of a device: which are free, open or sealed, how many valid pages each holds, how
//! often each was erased, and in which order they were sealed.
//!
//! Valid counts live in a dense `u16` array with the minimum of every 64 blocks beside it. An overwrite
//! touches one counter and one minimum; finding the least valid block is a vectorised scan of the minima.
//! A block that is not sealed carries a high bit, so it is never the minimum.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use ssdlab_core::{BlockId, HugeVec};

use crate::page::Allocation;
use crate::queue::Queue;

const CHUNK: usize = 64;
const NOT_SEALED: u16 = 0x8000;

/// Free blocks, in the order in which they are handed out.
#[derive(Debug)]
enum FreeList {
    Fifo(VecDeque<u32>),
    LeastWorn(BinaryHeap<Reverse<(u32, u32)>>),
}

/// State of every block. Pages of an open block count as valid until they are invalidated, whether
/// written yet or not; the count is exact from sealing on.
#[derive(Debug)]
pub struct BlockPool {
    pages_per_block: u16,
    keys: HugeVec<u16>,
    chunk_min: Vec<u16>,
    erases: Vec<u32>,
    sealed_at: Vec<u64>,
    /// Sealed blocks in order of sealing.
    order: Queue,
    sealed: u32,
    free: FreeList,
}

impl BlockPool {
    /// `blocks` erased blocks of `pages_per_block` pages (at most 32,767).
    pub fn new(blocks: u32, pages_per_block: u32, allocation: Allocation) -> Self {
        let pages_per_block = u16::try_from(pages_per_block).ok().filter(|&pages| pages < NOT_SEALED);
        let pages_per_block = pages_per_block.expect("settings allow at most 32,767 pages per block");
        let count = blocks as usize;
        Self {
            pages_per_block,
            keys: HugeVec::filled(NOT_SEALED, count.next_multiple_of(CHUNK)),
            chunk_min: vec![NOT_SEALED; count.div_ceil(CHUNK)],
            erases: vec![0; count],
            sealed_at: vec![0; count],
            order: Queue::new(blocks),
            sealed: 0,
            free: match allocation {
                Allocation::Fifo => FreeList::Fifo((0..blocks).collect()),
                Allocation::LeastWorn => FreeList::LeastWorn((0..blocks).map(|block| Reverse((0, block))).collect()),
            },
        }
    }

    /// Number of blocks.
    pub fn len(&self) -> u32 {
        self.erases.len() as u32
    }

    /// Whether there are no blocks.
    pub fn is_empty(&self) -> bool {
        self.erases.is_empty()
    }

    /// Pages of a block.
    pub fn pages_per_block(&self) -> u32 {
        u32::from(self.pages_per_block)
    }

    /// Number of free blocks.
    #[inline]
    pub fn free(&self) -> u32 {
        match &self.free {
            FreeList::Fifo(queue) => queue.len() as u32,
            FreeList::LeastWorn(heap) => heap.len() as u32,
        }
    }

    /// Number of sealed blocks.
    pub fn sealed(&self) -> u32 {
        self.sealed
    }

    /// Takes a free block for writing.
    ///
    /// # Panics
    /// If none is free: the FTL's reserve rules that out.
    pub fn open(&mut self) -> BlockId {
        let block = match &mut self.free {
            FreeList::Fifo(queue) => queue.pop_front(),
            FreeList::LeastWorn(heap) => heap.pop().map(|Reverse((_, block))| block),
        };
        let block = block.expect("the reserve keeps a free block for every open frontier");
        self.keys[block as usize] = NOT_SEALED | self.pages_per_block;
        BlockId(block)
    }

    /// Declares an open block fully written; from now on it is a candidate for collection.
    pub fn seal(&mut self, block: BlockId, now: u64) {
        let index = block.index();
        debug_assert!(self.keys[index] & NOT_SEALED != 0, "block {block} is sealed already");
        self.keys[index] &= !NOT_SEALED;
        let min = &mut self.chunk_min[index / CHUNK];
        *min = (*min).min(self.keys[index]);
        self.sealed_at[index] = now;
        self.order.push(block.0);
        self.sealed += 1;
    }

    /// Counts one page of `block` invalid.
    #[inline(always)]
    pub fn invalidate(&mut self, block: BlockId) {
        let index = block.index();
        let key = self.keys[index] - 1;
        self.keys[index] = key;
        let min = &mut self.chunk_min[index / CHUNK];
        *min = (*min).min(key);
    }

    /// Withdraws a sealed block from the candidates, to be emptied and erased.
    pub fn withdraw(&mut self, block: BlockId) {
        let index = block.index();
        debug_assert!(self.is_sealed(block), "block {block} is not sealed");
        self.keys[index] |= NOT_SEALED;
        let chunk = index / CHUNK;
        self.chunk_min[chunk] = min_of(&self.keys[chunk * CHUNK..(chunk + 1) * CHUNK]).min(NOT_SEALED);
        self.order.remove(block.0);
        self.sealed -= 1;
    }

    /// Returns a withdrawn block, now erased, to the free blocks.
    pub fn release(&mut self, block: BlockId) {
        let index = block.index();
        self.keys[index] = NOT_SEALED;
        self.erases[index] += 1;
        match &mut self.free {
            FreeList::Fifo(queue) => queue.push_back(block.0),
            FreeList::LeastWorn(heap) => heap.push(Reverse((self.erases[index], block.0))),
        }
    }

    /// Whether `block` is sealed.
    #[inline]
    pub fn is_sealed(&self, block: BlockId) -> bool {
        self.keys[block.index()] & NOT_SEALED == 0
    }

    /// Valid pages of a sealed or withdrawn block.
    #[inline]
    pub fn valid(&self, block: BlockId) -> u32 {
        u32::from(self.keys[block.index()] & !NOT_SEALED)
    }

    /// When `block` was sealed, on the clock given to [`Self::seal`].
    pub fn sealed_at(&self, block: BlockId) -> u64 {
        self.sealed_at[block.index()]
    }

    /// The sealed block with the fewest valid pages; the lowest number wins a tie.
    pub fn least_valid(&self) -> Option<BlockId> {
        let least = min_of(&self.chunk_min);
        if least >= NOT_SEALED {
            return None;
        }
        let chunk = self.chunk_min.iter().position(|&min| min == least)?;
        let start = chunk * CHUNK;
        let within = self.keys[start..start + CHUNK].iter().position(|&key| key == least)?;
        Some(BlockId((start + within) as u32))
    }

    /// Sealed blocks from the one sealed longest ago to the newest.
    pub fn oldest_first(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.order.iter().map(BlockId)
    }

    /// Erases of every block since construction.
    pub fn erase_counts(&self) -> &[u32] {
        &self.erases
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> u64 {
        let per_block = size_of::<u16>() + size_of::<u32>() + size_of::<u64>() + Queue::BYTES_PER_ITEM;
        let free = match self.free {
            FreeList::Fifo(_) => size_of::<u32>(),
            FreeList::LeastWorn(_) => size_of::<(u32, u32)>(),
        };
        (self.erases.len() * (per_block + free) + self.chunk_min.len() * size_of::<u16>()) as u64
    }

    /// Verifies the minima and the order list against the counts.
    pub fn check(&self) -> Result<(), String> {
        for (chunk, &min) in self.chunk_min.iter().enumerate() {
            let truth = min_of(&self.keys[chunk * CHUNK..(chunk + 1) * CHUNK]).min(NOT_SEALED);
            if min != truth {
                return Err(format!("chunk {chunk} says its least valid count is {min}, the blocks say {truth}"));
            }
        }
        let listed = self.oldest_first().inspect(|&block| debug_assert!(self.is_sealed(block))).count();
        let sealed = (0..self.len()).filter(|&block| self.is_sealed(BlockId(block))).count();
        if listed != sealed || sealed != self.sealed as usize {
            return Err(format!("{sealed} blocks are sealed, {listed} are listed, {} counted", self.sealed));
        }
        Ok(())
    }
}

/// Least of `values`; a plain fold, which compiles to vector instructions.
#[inline]
fn min_of(values: &[u16]) -> u16 {
    values.iter().fold(u16::MAX, |least, &value| least.min(value))
}
