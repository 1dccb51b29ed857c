//! Block state for garbage collection: valid pages, closed blocks and their closing order.
//!
//! In addition to the valid counts of the block table, the minimum of every 64 counts is stored. An overwrite touches
//! one bit, one count and one minimum; finding the block with the fewest valid pages is a vectorised scan of the
//! minima. The table sets a high bit in the count of a block that is not closed, so such a block is never the minimum.
//!
//! The arrays cover all planes. Lists of free blocks and of closed blocks are kept per plane. If a plane begins or ends
//! within a chunk of 64 blocks, the search compares the plane's blocks in this chunk one by one.

use std::collections::BTreeSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use ssdlab_core::list::Queue;
use ssdlab_core::{Archive, Archived, BlockId, PageBits};

use super::table::{Allocation, BlockTable, FLAG, FreeList};
use super::watched::{Uses, Watched};
use crate::recovery::Survey;

const CHUNK: usize = 64;

/// Number of values that a search compares with one vector operation.
const SEARCHED: usize = 16;

#[derive(Clone, Debug, Serialize, Deserialize)]
struct PlaneState {
    /// Closed blocks in the order of their closing, numbered from the first block of the plane.
    order: Queue,
    closed: u32,
}

/// The block table of an FTL with garbage collection. Pages of an open block count as valid until they are invalidated,
/// even before they are written; the validity bits and the valid count of a block are exact once the block is closed.
#[derive(Debug)]
pub struct ClosedBlocks {
    table: BlockTable,
    valid: PageBits,
    chunk_min: Vec<u32>,
    closed_at: Vec<u64>,
    /// Properties that only some victim policies use; None if the policy uses none of them.
    watched: Option<Box<Watched>>,
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
            watched: None,
            planes: (0..planes).map(|_| PlaneState { order: Queue::new(blocks_per_plane), closed: 0 }).collect(),
        }
    }

    /// Turns on recording of the properties in `uses`, which the victim policy reads.
    pub fn watch(&mut self, uses: Uses) {
        let watched = || Box::new(Watched::new(uses, self.closed_at.len(), self.planes.len()));
        self.watched = (uses != Uses::default()).then(watched);
    }

    fn changed(&mut self, block: BlockId) {
        if let Some(watched) = &mut self.watched {
            watched.changed(block);
        }
    }

    /// Clears [`PlaneView::changes`] of a plane, after the victim policy was called for this plane.
    pub fn forget_changes(&mut self, plane: usize) {
        if let Some(changes) = self.watched.as_mut().and_then(|watched| watched.changes.as_mut()) {
            changes.forget(plane);
        }
    }

    /// Sets the stream that owns an open block (see [`PlaneView::owners`]).
    pub fn set_owner(&mut self, block: BlockId, stream: u16) {
        if let Some(owners) = self.watched.as_mut().and_then(|watched| watched.owners.as_mut()) {
            owners[block.index()] = stream;
        }
    }

    /// Returns the stream that owns the block containing page `ppn`; 0 if owners are not recorded.
    pub(crate) fn owner_of_page(&self, ppn: u32) -> u16 {
        let owners = self.watched.as_ref().and_then(|watched| watched.owners.as_ref());
        owners.map_or(0, |owners| owners[(ppn / self.pages_per_block()) as usize])
    }

    /// Returns the block table.
    #[inline]
    pub fn table(&self) -> &BlockTable {
        &self.table
    }

    /// Returns a view of the blocks of one plane.
    pub fn plane(&self, plane: usize) -> PlaneView<'_> {
        PlaneView { blocks: self, plane, map_blocks: None }
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

    /// Opens a free block of a plane for writing. Panics if no block is free; the FTL's reserve prevents this.
    pub fn open(&mut self, plane: usize) -> BlockId {
        let block = self.take(plane);
        self.write_on(block, self.pages_of(block));
        block
    }

    /// Like [`Self::open`], but none of the block's pages counts as valid.
    pub fn take(&mut self, plane: usize) -> BlockId {
        let block = self.table.take(plane);
        if let Some(watched) = &mut self.watched {
            watched.taken(block);
        }
        block
    }

    /// Closes a fully written block, which becomes a candidate for collection.
    pub fn close(&mut self, block: BlockId, now: u64) {
        let index = block.index();
        debug_assert!(self.table.counts[index] & FLAG != 0, "block {block} is already closed");
        self.table.counts[index] &= !FLAG;
        let min = &mut self.chunk_min[index / CHUNK];
        *min = (*min).min(self.table.counts[index]);
        self.closed_at[index] = now;
        let (plane, number) = self.place(block);
        self.planes[plane].order.push(number);
        self.planes[plane].closed += 1;
        self.changed(block);
    }

    /// Invalidates page `ppn` of `block` at time `now`, on the same clock as [`Self::close`].
    #[inline]
    pub fn invalidate(&mut self, ppn: u32, block: BlockId, now: u64) {
        self.valid.clear(ppn);
        let index = block.index();
        if let Some(watched) = &mut self.watched {
            watched.invalidated(block, now);
        }
        let key = self.table.counts[index] - 1;
        self.table.counts[index] = key;
        let min = &mut self.chunk_min[index / CHUNK];
        *min = (*min).min(key);
    }

    /// Prefetches the validity bit of page `ppn`, if the page exists.
    #[inline]
    pub fn prefetch(&self, ppn: u32) {
        self.valid.prefetch(ppn);
    }

    /// Removes a closed block from the candidates for collection, because it is about to be emptied and erased.
    pub fn withdraw(&mut self, block: BlockId) {
        let index = block.index();
        debug_assert!(self.is_closed(block), "block {block} is not closed");
        self.table.counts[index] |= FLAG;
        self.chunk_min[index / CHUNK] = self.min_of_chunk(index / CHUNK);
        let (plane, number) = self.place(block);
        self.planes[plane].order.remove(number);
        self.planes[plane].closed -= 1;
        self.changed(block);
    }

    /// Returns the validity bits of `count` successive pages (at most 64); the lowest bit belongs to page `first`.
    #[inline]
    pub fn valid_among(&self, first: u32, count: u32) -> u64 {
        self.valid.window(first, count)
    }

    /// Invalidates pages of a block that is not closed. Returns the number of pages that were valid before.
    pub fn move_out(&mut self, block: BlockId, pages: Range<u32>) -> u32 {
        let valid = self.valid.count(pages.clone());
        self.valid.fill(pages, false);
        self.table.lose(block, valid);
        self.changed(block);
        valid
    }

    /// Adds a collected and erased block to the free blocks.
    pub fn release(&mut self, block: BlockId) {
        self.table.release(block);
        self.changed(block);
    }

    /// Returns a block from [`Self::take`] to the free blocks, without counting wear.
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

    /// Copies the block states of plane `from` of `other` to plane `plane` of this table, except the validity bits of
    /// pages. Both planes have the same number of blocks, but the blocks of this table have `multiple` times as many
    /// pages. `closed_at` converts the closing times of `other`.
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
            if let (Some(watched), Some(others)) = (&mut self.watched, &other.watched) {
                if let (Some(times), Some(others)) = (&mut watched.invalidated_at, &others.invalidated_at) {
                    times[own] = closed_at(others[theirs]);
                }
                if let (Some(owners), Some(others)) = (&mut watched.owners, &others.owners) {
                    owners[own] = others[theirs];
                }
                watched.changed(BlockId(own as u32));
            }
        }
        self.planes[plane] = other.planes[from].clone();
        for chunk in own.start / CHUNK..own.end.div_ceil(CHUNK) {
            self.chunk_min[chunk] = self.min_of_chunk(chunk);
        }
    }

    /// Copies the validity bits of the page range `pages` of `other` to this table, starting at page `first`.
    pub fn take_over_valid(&mut self, first: u32, other: &Self, pages: Range<u32>) {
        self.valid.copy(first, &other.valid, pages);
    }

    /// Fills this erased table with the states found by a scan; partly written blocks become open blocks.
    pub(crate) fn take_up(&mut self, survey: &Survey) {
        self.table.take_up(&survey.blocks);
        self.valid.copy(0, &survey.valid, 0..self.table.len() * self.pages_per_block());
        (0..self.table.len()).for_each(|block| self.changed(BlockId(block)));
    }

    /// Marks pages of an open block as valid before they are written.
    pub(crate) fn write_on(&mut self, block: BlockId, pages: Range<u32>) {
        self.table.gain(block, pages.len() as u32);
        self.valid.fill(pages, true);
        self.changed(block);
    }

    fn min_of_chunk(&self, chunk: usize) -> u32 {
        min_of(&self.table.counts[chunk * CHUNK..(chunk + 1) * CHUNK]).min(FLAG)
    }

    fn pages_of(&self, block: BlockId) -> Range<u32> {
        let first = block.0 * self.pages_per_block();
        first..first + self.pages_per_block()
    }

    /// Saves or loads the state of every block.
    pub fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        let Self { table, valid, chunk_min, closed_at, watched, planes } = self;
        table.archive(archive)?;
        valid.archive(archive)?;
        archive.array(chunk_min)?;
        archive.array(closed_at)?;
        watched.iter_mut().try_for_each(|watched| watched.archive(archive))?;
        archive.value(planes)
    }

    /// Returns the memory size of the block tables, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        let per_block = size_of::<u64>() + Queue::BYTES_PER_ITEM;
        let own = self.closed_at.len() * per_block + self.chunk_min.len() * size_of::<u32>();
        self.table.memory_bytes() + self.valid.memory_bytes() + own as u64
    }

    /// Checks that valid counts, validity bits, stored minima and lists of closed blocks agree.
    pub fn check(&self) -> Result<(), String> {
        for block in (0..self.table.len()).map(BlockId) {
            let (bits, counted) = (self.valid.count(self.pages_of(block)), self.valid(block));
            if bits != counted {
                return Err(format!("block {block} has {bits} pages marked valid, but its valid count is {counted}"));
            }
        }
        for (chunk, &min) in self.chunk_min.iter().enumerate() {
            let truth = self.min_of_chunk(chunk);
            if min != truth {
                return Err(format!("chunk {chunk} stores the minimum valid count {min} instead of {truth}"));
            }
        }
        for (index, state) in self.planes.iter().enumerate() {
            let plane = self.plane(index);
            let listed = plane.oldest_first().inspect(|&block| debug_assert!(self.is_closed(block))).count();
            let closed = plane.blocks().filter(|&block| self.is_closed(BlockId(block))).count();
            if listed != closed || closed != state.closed as usize {
                let counted = state.closed;
                return Err(format!(
                    "plane {index} has {closed} closed blocks, but its list has {listed} and its counter is {counted}"
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
    /// Closed blocks of map pages, sorted by number of valid pages; None if no block holds map pages.
    map_blocks: Option<&'a BTreeSet<(u32, BlockId)>>,
}

impl<'a> PlaneView<'a> {
    /// Adds the plane's closed blocks of map pages to the view.
    pub(crate) fn with_map_blocks(self, map_blocks: &'a BTreeSet<(u32, BlockId)>) -> Self {
        Self { map_blocks: Some(map_blocks), ..self }
    }

    /// Returns the plane number.
    pub fn number(self) -> usize {
        self.plane
    }

    /// Returns the range of block numbers that belong to the plane.
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

    /// Returns, for each block of the plane, the time at which a page last became invalid, on the clock of
    /// [`ClosedBlocks::close`]; 0 if no page did. Returns None unless [`Uses::invalidation_times`] is set.
    pub fn invalidation_times(self) -> Option<&'a [u64]> {
        self.blocks.watched.as_ref()?.invalidated_at.as_deref().map(|times| self.of(times))
    }

    /// Returns the owner of each block of the plane: the stream of the host page for which the block was opened. A
    /// block opened by garbage collection inherits the owner of the victim. The owner is 0 for a block of map pages,
    /// for an unknown owner, and if the host names no streams. Returns None unless [`Uses::owners`] is set.
    pub fn owners(self) -> Option<&'a [u16]> {
        self.blocks.watched.as_ref()?.owners.as_deref().map(|owners| self.of(owners))
    }

    /// Returns the blocks of the plane that have changed since the policy last chose a victim in it, without duplicates
    /// and in no particular order. A policy that keeps data about blocks only needs to update these. Returns None
    /// unless [`Uses::changes`] is set.
    pub fn changes(self) -> Option<&'a [u32]> {
        Some(&self.blocks.watched.as_ref()?.changes.as_ref()?.of_planes[self.plane])
    }

    /// True if `block` is a closed block of map pages.
    pub fn holds_map(self, block: BlockId) -> bool {
        self.map_blocks.is_some_and(|blocks| blocks.contains(&(self.valid(block), block)))
    }

    /// Returns the validity bits of up to 64 successive pages of a block; the lowest bit belongs to page `first`.
    pub fn valid_among(self, block: BlockId, first: u32, count: u32) -> u64 {
        self.blocks.valid_among(block.0 * self.pages_per_block() + first, count)
    }

    /// Returns the number of erases of each block of the plane.
    pub fn erase_counts(self) -> &'a [u32] {
        self.of(self.blocks.table.erase_counts())
    }

    /// Returns the entries of this plane from `all`, which has one entry per block of the device.
    fn of<T>(self, all: &[T]) -> &[T] {
        let Range { start, end } = self.blocks();
        &all[start as usize..end as usize]
    }

    /// Returns the time when `block` was closed, on the clock of [`ClosedBlocks::close`].
    #[inline]
    pub fn closed_at(self, block: BlockId) -> u64 {
        self.blocks.closed_at[block.index()]
    }

    /// Returns the closed block with the fewest valid pages; ties go to the lowest block number.
    pub fn least_valid(self) -> Option<BlockId> {
        let (keys, minima) = (&self.blocks.table.counts, &self.blocks.chunk_min);
        let Range { start, end } = self.blocks();
        let (start, end) = (start as usize, end as usize);
        // Chunks that lie completely within the plane are searched by their stored minima. Blocks at either end of the
        // plane, outside these chunks, are compared one by one.
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

    /// Returns the closed blocks in the order in which they were closed.
    pub fn oldest_first(self) -> impl Iterator<Item = BlockId> + 'a {
        let first = self.blocks().start;
        self.blocks.planes[self.plane].order.iter().map(move |number| BlockId(first + number))
    }
}

/// Returns the minimum of `values`. The compiler vectorises this simple fold.
#[inline]
fn min_of(values: &[u32]) -> u32 {
    values.iter().fold(u32::MAX, |least, &value| least.min(value))
}

/// Returns the index of the first value equal to `wanted`; vector instructions compare several values in parallel.
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

    /// Tests planes that are smaller than a chunk, span several chunks, or end within a chunk.
    #[test]
    fn the_first_block_with_the_fewest_valid_pages_is_found() {
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
