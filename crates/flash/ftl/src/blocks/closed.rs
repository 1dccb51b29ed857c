//! Blocks for garbage collection: which pages are valid, which blocks are closed, and the order of closing.
//!
//! In addition to the valid counts of the block table, the minimum of every 64 counts is stored. An overwrite touches
//! one bit, one count and one minimum; finding the block with the fewest valid pages is a vectorised scan of the
//! minima. The count of a block that is not closed carries the table's flag, so it is never the minimum.
//!
//! The arrays cover all planes. Free blocks and the order of closing are kept per plane. If a plane ends within a
//! chunk, the search for its block with the fewest valid pages compares single blocks there.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use ssdlab_core::list::Queue;
use ssdlab_core::{Archive, Archived, BlockId, PageBits};

use super::table::{Allocation, BlockTable, FLAG, FreeList};
use crate::recovery::Survey;

const CHUNK: usize = 64;

/// Number of values that a search compares with one vector operation.
const SEARCHED: usize = 16;

#[derive(Clone, Debug, Serialize, Deserialize)]
struct PlaneState {
    /// Closed blocks of the plane in the order of closing, by their number within the plane.
    order: Queue,
    closed: u32,
}

/// The block table of an FTL with garbage collection. Pages of an open block count as valid until they are invalidated,
/// even before they are written; bits and counts are exact once a block is closed.
#[derive(Debug)]
pub struct ClosedBlocks {
    table: BlockTable,
    valid: PageBits,
    chunk_min: Vec<u32>,
    closed_at: Vec<u64>,
    /// Time at which a page of each block last became invalid; None unless [`ClosedBlocks::watch_invalidations`] was
    /// called.
    invalidated_at: Option<Vec<u64>>,
    planes: Vec<PlaneState>,
}

impl ClosedBlocks {
    /// Creates `blocks` erased blocks of `pages_per_block` pages (below 2^31), spread evenly over `planes`.
    pub fn new(blocks: u32, planes: u32, pages_per_block: u32, allocation: Allocation) -> Self {
        let count = blocks as usize;
        let blocks_per_plane = blocks / planes;
        let free = |plane| FreeList::new(allocation, plane * blocks_per_plane..(plane + 1) * blocks_per_plane);
        Self {
            table: BlockTable::new(
                pages_per_block,
                (0..planes).map(free).collect(),
                count.next_multiple_of(CHUNK) - count,
            ),
            valid: PageBits::new(blocks * pages_per_block),
            chunk_min: vec![FLAG; count.div_ceil(CHUNK)],
            closed_at: vec![0; count],
            invalidated_at: None,
            planes: (0..planes).map(|_| PlaneState { order: Queue::new(blocks_per_plane), closed: 0 }).collect(),
        }
    }

    /// Keeps the time of the last invalidation of each block from now on.
    pub fn watch_invalidations(&mut self) {
        self.invalidated_at = Some(vec![0; self.closed_at.len()]);
    }

    /// Returns the block table.
    #[inline]
    pub fn table(&self) -> &BlockTable {
        &self.table
    }

    /// Returns a view of the blocks of one plane.
    pub fn plane(&self, plane: usize) -> PlaneView<'_> {
        PlaneView { blocks: self, plane }
    }

    /// Returns the number of pages per erase block.
    #[inline]
    pub fn pages_per_block(&self) -> u32 {
        self.table.pages_per_block()
    }

    /// Returns the number of free blocks of a plane.
    #[inline]
    pub fn free(&self, plane: usize) -> u32 {
        self.table.free(plane)
    }

    /// Returns the plane of `block`, and the number of the block within the plane.
    fn place(&self, block: BlockId) -> (usize, u32) {
        ((block.0 / self.table.blocks_per_list()) as usize, block.0 % self.table.blocks_per_list())
    }

    /// Opens a free block of a plane for writing.
    ///
    /// # Panics
    /// Panics if no block is free; the FTL's reserve prevents this.
    pub fn open(&mut self, plane: usize) -> BlockId {
        let block = self.take(plane);
        self.write_on(block, self.pages_of(block));
        block
    }

    /// Takes a free block of a plane, none of whose pages counts as valid.
    ///
    /// # Panics
    /// See [`Self::open`].
    pub fn take(&mut self, plane: usize) -> BlockId {
        let block = self.table.take(plane);
        if let Some(times) = &mut self.invalidated_at {
            times[block.index()] = 0;
        }
        block
    }

    /// Closes a fully written block, which becomes a candidate for collection.
    pub fn close(&mut self, block: BlockId, now: u64) {
        let index = block.index();
        debug_assert!(self.table.counts[index] & FLAG != 0, "block {block} is closed already");
        self.table.counts[index] &= !FLAG;
        let min = &mut self.chunk_min[index / CHUNK];
        *min = (*min).min(self.table.counts[index]);
        self.closed_at[index] = now;
        let (plane, number) = self.place(block);
        self.planes[plane].order.push(number);
        self.planes[plane].closed += 1;
    }

    /// Invalidates page `ppn` of `block` at time `now`, on the clock of [`Self::close`].
    #[inline]
    pub fn invalidate(&mut self, ppn: u32, block: BlockId, now: u64) {
        self.valid.clear(ppn);
        let index = block.index();
        if let Some(times) = &mut self.invalidated_at {
            times[index] = now;
        }
        let key = self.table.counts[index] - 1;
        self.table.counts[index] = key;
        let min = &mut self.chunk_min[index / CHUNK];
        *min = (*min).min(key);
    }

    /// Prefetches the validity bit of page `ppn`, if there is such a page.
    #[inline]
    pub fn prefetch(&self, ppn: u32) {
        self.valid.prefetch(ppn);
    }

    /// Removes a closed block from the candidates for collection, because it is about to be emptied and erased.
    pub fn withdraw(&mut self, block: BlockId) {
        let index = block.index();
        debug_assert!(self.is_closed(block), "block {block} is not closed");
        self.table.counts[index] |= FLAG;
        let chunk = index / CHUNK;
        self.chunk_min[chunk] = min_of(&self.table.counts[chunk * CHUNK..(chunk + 1) * CHUNK]).min(FLAG);
        let (plane, number) = self.place(block);
        self.planes[plane].order.remove(number);
        self.planes[plane].closed -= 1;
    }

    /// Returns the validity bits of the `count` pages (at most 64) from `first` on; the first page is the lowest bit.
    #[inline]
    pub fn valid_among(&self, first: u32, count: u32) -> u64 {
        self.valid.window(first, count)
    }

    /// Marks pages of a block that is not closed as invalid, because they were moved or will never be written. Returns
    /// how many of the pages had counted as valid.
    pub fn move_out(&mut self, block: BlockId, pages: Range<u32>) -> u32 {
        let valid = self.valid.count(pages.clone());
        self.valid.fill(pages, false);
        self.table.lose(block, valid);
        valid
    }

    /// Adds a collected and erased block to the free blocks.
    pub fn release(&mut self, block: BlockId) {
        self.table.release(block);
    }

    /// Returns a taken block to the free blocks, without counting wear.
    pub fn give_back(&mut self, block: BlockId) {
        self.table.give_back(block);
    }

    /// Marks a block as bad. The block must not be closed.
    pub fn retire(&mut self, block: BlockId) {
        self.table.retire(block);
    }

    /// True if `block` is closed.
    #[inline]
    pub fn is_closed(&self, block: BlockId) -> bool {
        self.table.counts[block.index()] & FLAG == 0
    }

    /// Returns the number of valid pages of a block that is closed or being collected.
    #[inline]
    pub fn valid(&self, block: BlockId) -> u32 {
        self.table.valid(block)
    }

    /// Replaces the blocks of a plane by the blocks of a plane of `other` with as many blocks, except the validity bits
    /// of their pages. Blocks of this plane have `multiple` times as many pages. `closed_at` converts the times at which
    /// blocks were closed.
    pub fn take_over(
        &mut self,
        plane: usize,
        other: &Self,
        from: usize,
        multiple: u32,
        closed_at: impl Fn(u64) -> u64,
    ) {
        let range = |blocks: Range<u32>| blocks.start as usize..blocks.end as usize;
        let (own, theirs) = (range(self.plane(plane).blocks()), range(other.plane(from).blocks()));
        self.table.take_over(plane, &other.table, from, multiple);
        for (own, theirs) in own.clone().zip(theirs) {
            self.closed_at[own] = closed_at(other.closed_at[theirs]);
            if let (Some(times), Some(others)) = (&mut self.invalidated_at, &other.invalidated_at) {
                times[own] = closed_at(others[theirs]);
            }
        }
        self.planes[plane] = other.planes[from].clone();
        for chunk in own.start / CHUNK..own.end.div_ceil(CHUNK) {
            self.chunk_min[chunk] = min_of(&self.table.counts[chunk * CHUNK..(chunk + 1) * CHUNK]).min(FLAG);
        }
    }

    /// Copies the validity bits of the page range `pages` from `other` to the pages from `first` on.
    pub fn take_over_valid(&mut self, first: u32, other: &Self, pages: Range<u32>) {
        self.valid.copy(first, &other.valid, pages);
    }

    /// Replaces the erased blocks of this table by the blocks of a device in use. Blocks that were being written become
    /// open blocks.
    pub(crate) fn take_up(&mut self, survey: &Survey) {
        self.table.take_up(&survey.blocks);
        self.valid.copy(0, &survey.valid, 0..self.table.len() * self.pages_per_block());
    }

    /// Marks pages of an open block as valid before they are written.
    pub(crate) fn write_on(&mut self, block: BlockId, pages: Range<u32>) {
        self.table.gain(block, pages.len() as u32);
        self.valid.fill(pages, true);
    }

    fn pages_of(&self, block: BlockId) -> Range<u32> {
        let first = block.0 * self.pages_per_block();
        first..first + self.pages_per_block()
    }

    /// Saves or loads the state of every block.
    ///
    /// # Errors
    /// See [`Archive`] for the errors.
    pub fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        let Self { table, valid, chunk_min, closed_at, invalidated_at, planes } = self;
        table.archive(archive)?;
        valid.archive(archive)?;
        archive.array(chunk_min)?;
        archive.array(closed_at)?;
        invalidated_at.iter_mut().try_for_each(|times| archive.array(times))?;
        archive.value(planes)
    }

    /// Returns the number of bytes of memory that the block tables take.
    pub fn memory_bytes(&self) -> u64 {
        let per_block = size_of::<u64>() + Queue::BYTES_PER_ITEM;
        let own = self.closed_at.len() * per_block + self.chunk_min.len() * size_of::<u32>();
        self.table.memory_bytes() + self.valid.memory_bytes() + own as u64
    }

    /// Verifies the bits, the minima and the order lists against the counts.
    pub fn check(&self) -> Result<(), String> {
        for block in (0..self.table.len()).map(BlockId) {
            let (bits, counted) = (self.valid.count(self.pages_of(block)), self.valid(block));
            if bits != counted {
                return Err(format!("block {block} has {bits} valid bits, but a valid count of {counted}"));
            }
        }
        for (chunk, &min) in self.chunk_min.iter().enumerate() {
            let truth = min_of(&self.table.counts[chunk * CHUNK..(chunk + 1) * CHUNK]).min(FLAG);
            if min != truth {
                return Err(format!("chunk {chunk} records {min} as its minimum valid count, but it is {truth}"));
            }
        }
        for (index, state) in self.planes.iter().enumerate() {
            let plane = self.plane(index);
            let listed = plane.oldest_first().inspect(|&block| debug_assert!(self.is_closed(block))).count();
            let closed = plane.blocks().filter(|&block| self.is_closed(BlockId(block))).count();
            if listed != closed || closed != state.closed as usize {
                let counted = state.closed;
                return Err(format!(
                    "plane {index} has {closed} closed blocks, but {listed} are listed and {counted} counted"
                ));
            }
        }
        Ok(())
    }
}

/// The blocks of one plane, as presented to victim policies.
#[derive(Clone, Copy, Debug)]
pub struct PlaneView<'a> {
    blocks: &'a ClosedBlocks,
    plane: usize,
}

impl<'a> PlaneView<'a> {
    /// Returns the block numbers of the plane.
    pub fn blocks(self) -> Range<u32> {
        let first = self.plane as u32 * self.blocks.table.blocks_per_list();
        first..first + self.blocks.table.blocks_per_list()
    }

    /// Returns the number of pages per block.
    pub fn pages_per_block(self) -> u32 {
        self.blocks.pages_per_block()
    }

    /// Returns the number of closed blocks in the plane.
    pub fn closed(self) -> u32 {
        self.blocks.planes[self.plane].closed
    }

    /// True if `block` is closed.
    #[inline]
    pub fn is_closed(self, block: BlockId) -> bool {
        self.blocks.is_closed(block)
    }

    /// Returns the number of valid pages of a closed block.
    #[inline]
    pub fn valid(self, block: BlockId) -> u32 {
        self.blocks.valid(block)
    }

    /// Returns the number of valid pages of each block of the plane; None for a block that is not closed.
    pub fn valid_counts(self) -> impl Iterator<Item = Option<u32>> + 'a {
        self.of(&self.blocks.table.counts).iter().map(|&count| (count & FLAG == 0).then_some(count))
    }

    /// Returns the times at which the blocks of the plane were last closed, on the clock of [`ClosedBlocks::close`].
    pub fn closing_times(self) -> &'a [u64] {
        self.of(&self.blocks.closed_at)
    }

    /// Returns the times at which a page of each block of the plane last became invalid, on the clock of
    /// [`ClosedBlocks::close`]; 0 before any did. None unless [`ClosedBlocks::watch_invalidations`] was called.
    pub fn invalidation_times(self) -> Option<&'a [u64]> {
        self.blocks.invalidated_at.as_deref().map(|times| self.of(times))
    }

    /// Returns the validity bits of the `count` pages (at most 64) of a block from `first` on; the first page is the
    /// lowest bit.
    pub fn valid_among(self, block: BlockId, first: u32, count: u32) -> u64 {
        self.blocks.valid_among(block.0 * self.pages_per_block() + first, count)
    }

    /// Returns the number of erases of each block of the plane.
    pub fn erase_counts(self) -> &'a [u32] {
        self.of(self.blocks.table.erase_counts())
    }

    /// Returns the plane's part of an array with an entry per block.
    fn of<T>(self, all: &[T]) -> &[T] {
        let Range { start, end } = self.blocks();
        &all[start as usize..end as usize]
    }

    /// Returns the time when `block` was closed, on the clock of [`ClosedBlocks::close`].
    #[inline]
    pub fn closed_at(self, block: BlockId) -> u64 {
        self.blocks.closed_at[block.index()]
    }

    /// Returns the closed block with the fewest valid pages, the lowest number on ties.
    pub fn least_valid(self) -> Option<BlockId> {
        let (keys, minima) = (&self.blocks.table.counts, &self.blocks.chunk_min);
        let Range { start, end } = self.blocks();
        let (start, end) = (start as usize, end as usize);
        // The stored minima cover chunks that lie completely within the plane. At both ends of the plane, single blocks
        // are compared.
        let first = start.next_multiple_of(CHUNK).min(end);
        let after = (end / CHUNK * CHUNK).max(first);
        let chunks = after / CHUNK - (after - first) / CHUNK..after / CHUNK;
        let least = min_of(&minima[chunks.clone()]).min(min_of(&keys[start..first])).min(min_of(&keys[after..end]));
        if least >= FLAG {
            return None;
        }
        let least_of = |blocks: Range<usize>| first_of(&keys[blocks.clone()], least).map(|at| blocks.start + at);
        let block = least_of(start..first)
            .or_else(|| {
                let chunk = chunks.start + first_of(&minima[chunks], least)?;
                least_of(chunk * CHUNK..(chunk + 1) * CHUNK)
            })
            .or_else(|| least_of(after..end));
        block.map(|block| BlockId(block as u32))
    }

    /// Returns the closed blocks in the order of closing.
    pub fn oldest_first(self) -> impl Iterator<Item = BlockId> + 'a {
        let first = self.blocks().start;
        self.blocks.planes[self.plane].order.iter().map(move |number| BlockId(first + number))
    }
}

/// Returns the minimum of `values`; a plain fold compiles to vector instructions.
#[inline]
fn min_of(values: &[u32]) -> u32 {
    values.iter().fold(u32::MAX, |least, &value| least.min(value))
}

/// Returns the index of the first value equal to `wanted` in `values`; vector instructions compare several values in
/// parallel.
#[inline]
fn first_of(values: &[u32], wanted: u32) -> Option<usize> {
    let has = |run: &[u32]| run.iter().fold(false, |found, &value| found | (value == wanted));
    let run = values.chunks(SEARCHED).position(has)?;
    let from = run * SEARCHED;
    values[from..].iter().position(|&value| value == wanted).map(|at| from + at)
}

#[cfg(test)]
mod tests {
    use ssdlab_core::Rng;

    use super::*;

    /// The planes are smaller than a chunk, span several chunks, or end within a chunk.
    #[test]
    fn the_least_valid_block_of_a_plane_is_the_first_of_its_least() {
        for (blocks_per_plane, planes) in [(1, 7), (5, 30), (63, 4), (64, 3), (66, 5), (200, 3), (193, 1)] {
            let blocks = blocks_per_plane * planes;
            let mut pool = ClosedBlocks::new(blocks, planes, 16, Allocation::Fifo);
            let mut rng = Rng::named(4, "pool");
            for plane in 0..planes as usize {
                assert_eq!(pool.plane(plane).least_valid(), None);
                for _ in 0..blocks_per_plane {
                    let block = pool.open(plane);
                    pool.close(block, 0);
                }
            }
            for _ in 0..10 * blocks {
                let block = BlockId(rng.below(u64::from(blocks)) as u32);
                if pool.is_closed(block) && rng.below(8) == 0 {
                    pool.withdraw(block);
                } else if pool.is_closed(block) && pool.valid(block) > 0 {
                    let first = block.0 * 16;
                    pool.invalidate(first + pool.valid_among(first, 16).trailing_zeros(), block, 0);
                }
                let plane = pool.plane((block.0 / blocks_per_plane) as usize);
                let closed = plane.blocks().map(BlockId).filter(|&block| pool.is_closed(block));
                assert_eq!(plane.least_valid(), closed.min_by_key(|&block| (pool.valid(block), block)));
            }
            assert_eq!(pool.check(), Ok(()));
        }
    }
}
