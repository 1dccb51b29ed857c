//! SLC cache of the page-mapped FTL: blocks in SLC mode that absorb host writes quickly and are folded later.
//!
//! ```text
//! host page:  an open cache block with room             -> write it there
//!             else an erased block for the cache        -> open it
//!             else the cache is full: bypass            -> a native block; with `pressure`, fold one page too
//!                                     no bypass         -> fold the oldest cache block, then as above
//! fold:       copy the valid pages of a full cache block to the plane's open block for GC; erase the cache block
//! ```
//! A block in SLC mode has one flash page per word line, so with word lines of `b` flash pages it holds `1/b` of the
//! pages. A plane's cache has blocks of its own (a static cache), or borrows free native blocks (a dynamic cache), or
//! both. Borrowed blocks are limited to a share of all borrowed and free blocks.
//!
//! **Room.** Pages in the cache count as valid pages of their plane, so they always fit in native blocks. A folded page
//! needs room like a host page. A plane short of free pages folds its borrowed blocks before it collects victims,
//! because a full block in SLC mode fills only a part of a free block, and frees a whole one.
//!
//! **Program units.** Host writes switch between the cache and native blocks only after a complete program unit, so at
//! most one program unit of host pages is incomplete. Cache blocks have smaller program units.
//!
//! Erases in SLC mode are counted separately, because a block endures more of them; they do not wear borrowed blocks.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use ssdlab_core::{Archive, Archived, BlockId, Lpn, Ppn};
use ssdlab_nand::{Cause, FlashSink, Note, Role, Source, SpareArea, VictimReason};

use super::collect::Victim;
use super::options::{Fold, SlcOptions};
use super::{OpenBlock, PageFtl, Trigger};
use crate::Shape;
use crate::map::MapModel;
use crate::placement::PlacementRules;

/// Number that identifies the cache's open block in notes; it is above the numbers of all native open blocks.
const NUMBER: u8 = super::MOST_OPEN_BLOCKS as u8;

/// The part of the SLC cache that lies in one plane.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct CachePlane {
    open: OpenBlock,
    /// Erased blocks that only the SLC cache uses.
    erased: VecDeque<BlockId>,
    /// Closed blocks in the order in which they were written.
    full: VecDeque<BlockId>,
    /// Progress of the current fold; None if no block is partly folded.
    folding: Option<Victim>,
    borrowed: u32,
    /// True if the latest host page bypassed the cache.
    bypassed: bool,
}

/// Counts of an SLC cache since construction. Folded pages are counted by [`Cause::Fold`].
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SlcCounts {
    /// Number of host pages written to the SLC cache.
    pub cached: u64,
    /// Number of host pages written to native blocks because the SLC cache was full.
    pub bypassed: u64,
    /// Number of erases in SLC mode of each block.
    pub erases: Vec<u32>,
}

#[derive(Debug)]
pub(super) struct SlcCache {
    options: SlcOptions,
    /// Number of pages of a block in SLC mode.
    pages: u32,
    /// Number of pages of a program unit in SLC mode.
    program_unit: u32,
    blocks_per_plane: u32,
    planes: Vec<CachePlane>,
    pub counts: SlcCounts,
}

impl SlcCache {
    /// Creates an empty cache; `take` allocates a free block of the given plane.
    pub fn new(options: SlcOptions, shape: &Shape, mut take: impl FnMut(usize) -> BlockId) -> Self {
        let plane = |plane| CachePlane {
            open: OpenBlock::CLOSED,
            erased: (0..options.own_blocks).map(|_| take(plane)).collect(),
            full: VecDeque::new(),
            folding: None,
            borrowed: 0,
            bypassed: false,
        };
        Self {
            options,
            pages: shape.pages_per_block / options.word_line,
            program_unit: shape.program_unit / options.word_line,
            blocks_per_plane: shape.blocks / shape.planes,
            planes: (0..shape.planes as usize).map(plane).collect(),
            counts: SlcCounts { erases: vec![0; shape.blocks as usize], ..SlcCounts::default() },
        }
    }

    /// True if only the SLC cache uses the block.
    fn owns(&self, block: BlockId) -> bool {
        block.0 % self.blocks_per_plane < self.options.own_blocks
    }

    /// True if the SLC cache has an incomplete program unit in the plane.
    pub fn has_begun(&self, plane: usize) -> bool {
        !self.planes[plane].open.next.is_multiple_of(self.program_unit)
    }

    /// Returns the blocks of a plane that hold pages of the SLC cache, with the open block last.
    pub fn written(&self, plane: usize) -> impl Iterator<Item = BlockId> + '_ {
        let CachePlane { open, full, .. } = &self.planes[plane];
        full.iter().copied().chain((open.end > 0).then(|| self.block_of(open)))
    }

    fn block_of(&self, open: &OpenBlock) -> BlockId {
        BlockId((open.end - 1) / (self.pages * self.options.word_line))
    }

    /// Returns the capacity, in native pages, of the blocks that a plane's SLC cache occupies.
    pub fn native_pages(&self, plane: usize) -> u32 {
        (self.options.own_blocks + self.planes[plane].borrowed) * self.pages * self.options.word_line
    }

    pub fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        let Self { options: _, pages: _, program_unit: _, blocks_per_plane: _, planes, counts } = self;
        archive.value(planes)?;
        archive.value(counts)
    }
}

impl<M: MapModel> PageFtl<M> {
    fn cache(&mut self) -> &mut SlcCache {
        self.slc.as_mut().expect("the drive has an SLC cache")
    }

    /// Writes a host page to the cache; returns false if the page must go to a native block.
    #[inline(never)]
    pub(super) fn write_cached<S: FlashSink>(
        &mut self,
        plane: usize,
        lpn: u32,
        page: u32,
        stream: u16,
        sink: &mut S,
    ) -> bool {
        self.writer = stream;
        if !self.open_cache(plane, sink) {
            let cache = self.cache();
            cache.planes[plane].bypassed = true;
            cache.counts.bypassed += 1;
            if cache.options.fold == Fold::Pressure {
                self.fold_ahead(plane, 1, sink);
            }
            return false;
        }
        let ppn = self.next_cached(plane);
        self.cache().counts.cached += 1;
        self.host_pages += 1;
        let oob = SpareArea { lpn: Lpn(lpn), sequence: self.next_sequence(), role: Role::Slc };
        sink.program(Ppn(ppn), oob, Source::Host(page), Cause::Host);
        self.map_host_page(plane, lpn, ppn);
        true
    }

    /// Allocates the next page of the SLC cache's open block in the plane.
    fn next_cached(&mut self, plane: usize) -> u32 {
        let cache = self.cache();
        let mut open = cache.planes[plane].open;
        let ppn = open.next;
        open.next += 1;
        if open.is_full() {
            let block = cache.block_of(&open);
            cache.planes[plane].full.push_back(block);
            open = OpenBlock::CLOSED;
        }
        cache.planes[plane].open = open;
        ppn
    }

    /// Makes sure that a block of the SLC cache is open. Returns false if the host page bypasses the cache.
    fn open_cache<S: FlashSink>(&mut self, plane: usize, sink: &mut S) -> bool {
        if self.cache().planes[plane].bypassed {
            // Host writes go to the SLC cache again only after they have filled the program unit in the native block.
            if self.unit_of.is_some_and(|unit_of| self.is_begun(plane, PlacementRules::HOST, unit_of)) {
                return false;
            }
            self.cache().planes[plane].bypassed = false;
        }
        while self.cache().planes[plane].open.end == 0 {
            if let Some(block) = self.take_cache_block(plane) {
                let first = block.0 * self.blocks.pages_per_block();
                let cache = self.cache();
                let open = OpenBlock { next: first, end: first + cache.pages };
                cache.planes[plane].open = open;
                self.blocks.write_on(block, open.next..open.end);
                self.blocks.set_owner(block, self.writer);
                sink.note(Note::Opened { block, role: Role::Slc, number: NUMBER });
            } else if self.cache().options.bypass || !self.fold_ahead(plane, u32::MAX, sink) {
                return false;
            }
        }
        true
    }

    /// Takes an erased block of the SLC cache, or borrows a free block.
    fn take_cache_block(&mut self, plane: usize) -> Option<BlockId> {
        let room = self.room_to_borrow(plane);
        let cache = self.cache();
        let at = &mut cache.planes[plane];
        if let Some(block) = at.erased.pop_front() {
            return Some(block);
        }
        let (share, borrowed) = (u64::from(cache.options.share), u64::from(at.borrowed));
        if room == 0 || (borrowed + 1) * u64::from(SlcOptions::ALL) > share * (borrowed + u64::from(room)) {
            return None;
        }
        at.borrowed += 1;
        self.planes[plane].unwritten -= self.blocks.pages_per_block();
        Some(self.blocks.take(plane))
    }

    /// Returns the number of free blocks that neither host writes nor garbage collection need.
    fn room_to_borrow(&self, plane: usize) -> u32 {
        let kept = match self.options.trigger {
            Trigger::Victim => 0,
            Trigger::Batch { high, .. } => high,
            Trigger::Partial { low, .. } => low,
        };
        let pages_per_block = self.blocks.pages_per_block();
        let least = self.short(plane) + kept * pages_per_block + 1;
        self.planes[plane].unwritten.saturating_sub(least) / pages_per_block
    }

    /// Folds up to `pages` pages of the oldest block of the SLC cache, and stops once the block is erased. First makes
    /// room for the pages, as for host pages. Returns false if no cache block is full.
    fn fold_ahead<S: FlashSink>(&mut self, plane: usize, pages: u32, sink: &mut S) -> bool {
        if self.cache().planes[plane].full.is_empty() {
            return false;
        }
        let mut left = pages;
        while left > 0 {
            if self.planes[plane].unwritten <= self.planes[plane].tight {
                self.make_room(plane, self.options.placement.info.role.gc(), sink);
            }
            // Making room may have folded the last full block.
            let Some(&block) = self.cache().planes[plane].full.front() else { break };
            let room = self.planes[plane].unwritten.saturating_sub(self.planes[plane].tight).max(1);
            let copies = left.min(room);
            if self.fold(plane, block, copies, sink) {
                break;
            }
            left -= copies;
        }
        true
    }

    /// Folds up to `pages` pages of the oldest borrowed block. Folding this block frees more pages than it takes.
    /// Returns false if no block is borrowed.
    pub(super) fn fold_borrowed<S: FlashSink>(&mut self, plane: usize, pages: u32, sink: &mut S) -> bool {
        let Some(cache) = &self.slc else { return false };
        if cache.planes[plane].borrowed == 0 {
            return false;
        }
        let oldest = |ftl: &mut Self| {
            let cache = ftl.cache();
            cache.planes[plane].full.iter().copied().find(|&block| !cache.owns(block))
        };
        let block = oldest(self).or_else(|| {
            self.close_cache(plane, sink);
            oldest(self)
        });
        self.fold(plane, block.expect("a borrowed block is open or full"), pages, sink);
        true
    }

    /// Closes the open block of the SLC cache in a plane, even if it is not full.
    fn close_cache<S: FlashSink>(&mut self, plane: usize, sink: &mut S) {
        self.pad_cache(plane, sink);
        let cache = self.cache();
        let open = std::mem::replace(&mut cache.planes[plane].open, OpenBlock::CLOSED);
        if !open.is_full() {
            let block = cache.block_of(&open);
            cache.planes[plane].full.push_back(block);
            self.blocks.move_out(block, open.next..open.end);
        }
    }

    /// Copies up to `pages` valid pages of a full cache block, and erases it once empty. Returns true if it was erased.
    fn fold<S: FlashSink>(&mut self, plane: usize, block: BlockId, pages: u32, sink: &mut S) -> bool {
        let valid = self.blocks.valid(block);
        let begun = self.cache().planes[plane].folding.filter(|victim| victim.block == block);
        let mut victim = begun.unwrap_or_else(|| {
            sink.note(Note::Victim { block, valid, choice: VictimReason::Fold });
            Victim::new(block, self.blocks.pages_per_block())
        });
        let copies = valid.min(pages);
        let number = self.options.placement.info.role.gc();
        self.move_pages(plane, &mut victim, copies, number, Cause::Fold, sink);
        let emptied = copies == valid;
        let at = &mut self.cache().planes[plane];
        at.folding = Some(victim).filter(|_| !emptied);
        if emptied {
            at.full.retain(|&full| full != block);
            self.erase_cached(plane, block, sink);
        }
        emptied
    }

    fn erase_cached<S: FlashSink>(&mut self, plane: usize, block: BlockId, sink: &mut S) {
        sink.barrier();
        sink.erase(block, Cause::Fold);
        let cache = self.cache();
        cache.counts.erases[block.index()] += 1;
        if cache.owns(block) {
            cache.planes[plane].erased.push_back(block);
        } else {
            cache.planes[plane].borrowed -= 1;
            self.blocks.give_back(block);
            self.planes[plane].unwritten += self.blocks.pages_per_block();
        }
    }

    /// Folds pages if the cache is configured to fold while the drive is idle. Returns false if it folded nothing.
    pub(super) fn fold_when_idle<S: FlashSink>(&mut self, plane: usize, pages: u32, sink: &mut S) -> bool {
        let folds = self.slc.as_ref().is_some_and(|cache| cache.options.fold == Fold::Idle);
        folds && self.fold_ahead(plane, pages.max(1), sink)
    }

    /// Pads the incomplete program unit of the SLC cache in a plane, if there is one.
    pub(super) fn pad_cache<S: FlashSink>(&mut self, plane: usize, sink: &mut S) {
        while self.slc.as_ref().is_some_and(|cache| cache.has_begun(plane)) {
            let ppn = self.next_cached(plane);
            self.program_padding(ppn, sink);
        }
    }

    /// Returns the number of valid pages that the SLC cache holds in a plane.
    pub(super) fn cached_pages(&self, plane: usize) -> u32 {
        self.slc.as_ref().map_or(0, |cache| {
            let valid = cache.written(plane).map(|block| self.blocks.valid(block)).sum::<u32>();
            valid - cache.planes[plane].open.left()
        })
    }

    /// Checks the part of the SLC cache in one plane. `valid` is the actual number of valid pages in each block.
    pub(super) fn check_cache(&self, plane: usize, valid: &[u32]) -> Result<(), String> {
        let Some(cache) = &self.slc else { return Ok(()) };
        let CachePlane { open, erased, borrowed, .. } = &cache.planes[plane];
        let written: Vec<BlockId> = cache.written(plane).collect();
        let (own, others): (Vec<BlockId>, Vec<BlockId>) = written.iter().partition(|&&block| cache.owns(block));
        if own.len() + erased.len() != cache.options.own_blocks as usize || others.len() != *borrowed as usize {
            return Err(format!(
                "the SLC cache of plane {plane} has {} written and {} erased blocks of its own, and {} borrowed \
                 blocks (counted: {borrowed})",
                own.len(),
                erased.len(),
                others.len()
            ));
        }
        for block in written {
            let unwritten = if open.end > 0 && block == cache.block_of(open) { open.left() } else { 0 };
            let counted = self.blocks.valid(block) - unwritten;
            let truth = valid[block.index()];
            if counted != truth {
                return Err(format!("cache block {block} holds {truth} valid pages, but its valid count is {counted}"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_nand::ProgramOrder;

    use super::*;
    use crate::map::dftl;
    use crate::page::PageOptions;
    use crate::{Ftl, FtlChoice, gc, placement};

    const CACHE: SlcOptions = SlcOptions { own_blocks: 1, share: 0, fold: Fold::Lazy, bypass: false, word_line: 3 };
    const SHAPE: Shape = Shape {
        logical_pages: 24,
        page_bytes: 4096,
        blocks: 8,
        pages_per_block: 12,
        order: ProgramOrder::Ascending,
        planes: 1,
        program_unit: 3,
    };

    fn options(slc: SlcOptions) -> PageOptions {
        PageOptions { slc: Some(slc), ..PageOptions::new(gc::greedy::INFO.defaults(), &placement::own::INFO) }
    }

    #[test]
    fn impossible_caches_are_refused() {
        let error = |slc, shape| PageFtl::new(shape, options(slc), 1).err().unwrap_or_default();
        assert_eq!(error(CACHE, SHAPE), "");
        assert!(error(SlcOptions { word_line: 1, ..CACHE }, SHAPE).contains("word lines of 1 flash pages"));
        assert!(error(CACHE, Shape { program_unit: 4, ..SHAPE }).contains("per program unit (4)"));
        assert!(error(SlcOptions { own_blocks: 0, ..CACHE }, SHAPE).contains("its own blocks or a share"));
        assert!(error(SlcOptions { share: 10_001, ..CACHE }, SHAPE).contains("more than 100 % of the free blocks"));
        // Two blocks are needed for data, three for the reserve, and four for the SLC cache.
        assert!(error(SlcOptions { own_blocks: 4, ..CACHE }, SHAPE).contains("cannot hold 24 logical pages"));
        let in_flash = FtlChoice::Page(options(CACHE), dftl::INFO.defaults());
        let shape = Shape { blocks: 64, ..SHAPE };
        assert!(in_flash.build_dyn(shape, 1).err().is_some_and(|error| error.contains("whole map in RAM")));
        let mut ftl = PageFtl::new(SHAPE, options(CACHE), 1).expect("large enough");
        assert!(ftl.keep_for_failures(1).is_err());
    }
}
