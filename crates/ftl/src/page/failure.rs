//! Failures of the flash under page mapping. All of it compiles to nothing where [`FlashSink::FAILS`] is false.
//!
//! ```text
//! a program fails:  the block is closed and counts as failing; the page goes to the next block of its frontier
//! collection:       takes failing blocks first; once empty, a failing block is bad instead of erased
//! an erase fails:   the block is bad
//! ```
//! A bad block is one less for its plane, which may hold a block of valid pages less from then on. What collection keeps
//! unwritten is just enough while nothing fails; [`PageFtl::keep_for_failures`] keeps more.

use ssdlab_core::{BlockId, Ppn};
use ssdlab_nand::{Cause, FlashSink, Note, Oob, Source};

use super::{Frontier, PageFtl};
use crate::Ftl;
use crate::map::MapModel;

impl<M: MapModel> PageFtl<M> {
    /// Keeps so many more blocks of each plane unwritten, for programs that fail in the course of one collection.
    ///
    /// # Errors
    /// If the logical pages do not fit beside them.
    pub fn keep_for_failures(&mut self, blocks: u32) -> Result<(), String> {
        self.spare_blocks += blocks;
        let pages = blocks * self.blocks.pages_per_block();
        for plane in 0..self.planes.len() {
            self.planes[plane].limit = self.planes[plane].limit.saturating_sub(pages);
            self.planes[plane].tight = self.tight(plane);
        }
        if self.is_worn_out() {
            return Err(format!("{blocks} blocks of each plane kept for failures leave too few for the data"));
        }
        Ok(())
    }

    /// Programs a page that could not be programmed at `ppn` of a frontier of the plane: where it is then.
    #[cold]
    pub(super) fn program_elsewhere<S: FlashSink>(
        &mut self,
        plane: usize,
        number: u8,
        mut ppn: u32,
        (mut oob, source, cause): (Oob, Source, Cause),
        sink: &mut S,
    ) -> u32 {
        loop {
            self.close_failing(plane, number, ppn, oob.lpn.0);
            self.end_shortage(plane, sink);
            let frontier = self.make_writable(plane, number, sink);
            ppn = frontier.next;
            self.planes[plane].frontiers[usize::from(number)].next += 1;
            self.planes[plane].unwritten -= 1;
            oob.sequence = self.sequence;
            self.sequence += 1;
            sink.program(Ppn(ppn), oob, source, cause);
            if sink.failure().is_none() {
                return ppn;
            }
        }
    }

    /// The same for a page of the map.
    #[cold]
    pub(super) fn program_map_elsewhere<S: FlashSink>(
        &mut self,
        plane: usize,
        mut ppn: u32,
        (mut oob, cause): (Oob, Cause),
        sink: &mut S,
    ) -> u32 {
        let number = self.map_frontier();
        loop {
            self.close_failing(plane, number, ppn, oob.lpn.0);
            self.make_room_for_map(plane, sink);
            let frontier = &mut self.planes[plane].frontiers[usize::from(number)];
            ppn = frontier.next;
            frontier.next += 1;
            self.planes[plane].unwritten -= 1;
            oob.sequence = self.sequence;
            self.sequence += 1;
            sink.program(Ppn(ppn), oob, Source::Map, cause);
            if sink.failure().is_none() {
                return ppn;
            }
        }
    }

    /// Gives up the block of a frontier, of which page `ppn` could not be programmed with `lpn`; it counts as written.
    #[cold]
    pub(super) fn close_failing(&mut self, plane: usize, number: u8, ppn: u32, lpn: u32) {
        let block = self.block_of(ppn);
        let frontier = std::mem::replace(&mut self.planes[plane].frontiers[usize::from(number)], Frontier::CLOSED);
        // The first page of a block tells whether it holds map pages; pages never written must name one that is elsewhere.
        self.p2l[ppn as usize..frontier.end as usize].fill(lpn);
        let left = frontier.left();
        self.planes[plane].unwritten -= left;
        // Open blocks count pages as valid that are not yet written; this one keeps what it has.
        self.blocks.move_out(block, left + 1);
        self.blocks.seal(block, self.host_pages);
        // Sealed as map pages are collected apart, whatever they hold.
        if number == self.map_frontier() {
            self.planes[plane].map_blocks.insert((self.blocks.valid(block), block));
        }
        self.failing.insert(block);
    }

    /// The failing block of the plane that is to be emptied next.
    pub(super) fn failing_block(&self, plane: usize) -> Option<BlockId> {
        self.failing.iter().copied().find(|&block| {
            self.plane_of(block.0 * self.blocks.pages_per_block()) == plane && self.blocks.is_sealed(block)
        })
    }

    /// Uses an empty block no more.
    #[cold]
    pub(super) fn retire<S: FlashSink>(&mut self, plane: usize, block: BlockId, sink: &mut S) {
        self.failing.remove(&block);
        self.blocks.retire(block);
        let pages = self.blocks.pages_per_block();
        let at = &mut self.planes[plane];
        at.limit = at.limit.saturating_sub(pages);
        sink.note(Note::Bad(block));
    }
}
