//! Failures of the flash under page mapping. All of it compiles to nothing where [`FlashSink::FAILS`] is false.
//!
//! ```text
//! a program fails:  the block is closed and counts as failing; the page goes to the next block of its frontier
//! then:             once there is room, the valid pages of a failing block are copied; the block is bad
//! an erase fails:   the block is bad
//! ```
//! A bad block is one less for its plane, which may hold a block of valid pages less from then on. What collection
//! keeps unwritten is just enough while nothing fails; [`Ftl::keep_for_failures`] keeps more. If more blocks fail in
//! the course of one shortage, no erased block is left and collection cannot go on. Whatever is under way is given up
//! then, the page of the host too: the drive is worn out, and everything written before can be read.

use ssdlab_core::{BlockId, Entry, Ppn};
use ssdlab_nand::{Cause, FlashSink, Note, Source, SpareArea, VictimReason};

use super::collect::Victim;
use super::{Frontier, PageFtl};
use crate::Ftl;
use crate::map::MapModel;
use crate::placement::Route;

impl<M: MapModel> PageFtl<M> {
    /// See [`Ftl::keep_for_failures`].
    pub(super) fn keep_more_unwritten(&mut self, blocks: u32) -> Result<(), String> {
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

    /// Programs a page that could not be programmed at `ppn` of a frontier of the plane: where it is then, if anywhere.
    #[cold]
    pub(super) fn program_elsewhere<S: FlashSink>(
        &mut self,
        plane: usize,
        number: u8,
        mut ppn: u32,
        (mut oob, source, cause): (SpareArea, Source, Cause),
        sink: &mut S,
    ) -> Option<u32> {
        loop {
            self.close_failing(plane, number, ppn, oob.lpn.0);
            if number == self.map_frontier() {
                self.make_room_for_map(plane, sink);
            } else {
                self.end_shortage(plane, sink);
                self.make_writable(plane, number, sink);
            }
            if self.stuck {
                return None;
            }
            let at = &mut self.planes[plane];
            ppn = at.frontiers[usize::from(number)].next;
            at.frontiers[usize::from(number)].next += 1;
            at.unwritten -= 1;
            oob.sequence = self.sequence;
            self.sequence += 1;
            sink.program(Ppn(ppn), oob, source, cause);
            if sink.failure().is_none() {
                return Some(ppn);
            }
        }
    }

    /// Leaves page `lpn` as it was before the host began to write it to a plane.
    #[cold]
    pub(super) fn give_up_write(&mut self, plane: usize, lpn: u32) {
        let old = self.l2p[lpn as usize].page();
        if self.is_striped() {
            self.planes[plane].valid -= 1;
            if old != u32::MAX {
                let home = self.plane_of(old);
                self.planes[home].valid += 1;
            }
        }
    }

    /// Gives up the block of a frontier, of which page `ppn` could not be programmed with `lpn`; it counts as written.
    #[cold]
    pub(super) fn close_failing(&mut self, plane: usize, number: u8, ppn: u32, lpn: u32) {
        let block = self.block_of(ppn);
        let frontier = std::mem::replace(&mut self.planes[plane].frontiers[usize::from(number)], Frontier::CLOSED);
        // The first page of a block tells whether it holds map pages.
        self.p2l[ppn as usize] = Entry::of(lpn);
        let left = frontier.left();
        self.planes[plane].unwritten -= left;
        // Open blocks count pages as valid that are not yet written; this one keeps what it has. It is not closed, so
        // that no policy chooses it: emptying it yields no block.
        self.blocks.move_out(block, ppn..frontier.end);
        self.failing.insert(block);
        self.lose_block(plane);
    }

    /// Counts a block less for a plane.
    pub(super) fn lose_block(&mut self, plane: usize) {
        let pages = self.blocks.pages_per_block();
        let at = &mut self.planes[plane];
        at.limit = at.limit.saturating_sub(pages);
    }

    /// Empties the failing blocks of a plane, each once there is room for what it holds.
    #[cold]
    pub(super) fn rescue<S: FlashSink>(&mut self, plane: usize, sink: &mut S) {
        let pages = self.blocks.pages_per_block();
        while let Some(block) = self.failing.iter().copied().find(|&block| self.plane_of(block.0 * pages) == plane) {
            if self.is_worn_out() {
                return;
            }
            self.collect_while(plane, sink, |ftl| ftl.planes[plane].unwritten <= ftl.short(plane) + pages);
            let valid = self.blocks.valid(block);
            sink.note(Note::Victim { block, valid, choice: VictimReason::Failed });
            let mut victim = Victim::new(block, pages);
            let (route, cause) = if self.holds_map(block) {
                (Route::Fixed(self.map_frontier()), Cause::MapGc)
            } else {
                (self.options.placement.role.survivor_route, Cause::Gc)
            };
            self.move_pages(plane, &mut victim, valid, route, cause, sink);
            self.rewrite_outdated(plane, sink);
            if self.stuck {
                return;
            }
            self.failing.remove(&block);
            self.blocks.retire(block);
            sink.note(Note::Bad(block));
        }
    }

    /// Uses a block no more that could not be erased.
    #[cold]
    pub(super) fn retire<S: FlashSink>(&mut self, plane: usize, block: BlockId, sink: &mut S) {
        self.blocks.retire(block);
        self.lose_block(plane);
        sink.note(Note::Bad(block));
    }
}
