//! Handling of flash failures in page mapping; compiles to nothing for sinks that never fail.
//!
//! ```text
//! a program fails:  the block is closed and counts as failing; the page goes to the next open block
//! later:            once there is room, the valid pages of a failing block are copied; the block becomes bad
//! an erase fails:   the block is bad
//! ```
//! Each bad block lowers the number of valid pages that its plane may hold by one block. Without failures, the blocks
//! that collection keeps unwritten suffice; [`Ftl::keep_for_failures`] adds blocks for failures. If more blocks fail
//! before collection frees a block, no erased block is left and collection stops. The FTL then abandons its current
//! work, including the host's page. The drive is worn out, but all data written earlier remains readable.

use ssdlab_core::{BlockId, Entry, Ppn};
use ssdlab_nand::{Cause, FlashSink, Note, Source, SpareArea, VictimReason};

use super::collect::Victim;
use super::{OpenBlock, PageFtl};
use crate::Ftl;
use crate::map::MapModel;

impl<M: MapModel> PageFtl<M> {
    pub(super) fn keep_more_unwritten(&mut self, blocks: u32) -> Result<(), String> {
        self.limits.spare_blocks += blocks;
        let pages = blocks * self.blocks.pages_per_block();
        for plane in 0..self.planes.len() {
            self.planes[plane].limit = self.planes[plane].limit.saturating_sub(pages);
            self.planes[plane].tight = self.tight(plane);
        }
        if self.is_worn_out() {
            return Err(format!(
                "reserving {blocks} blocks per plane for failed programs leaves too few blocks for the data"
            ));
        }
        Ok(())
    }

    /// Programs the data to another page after the program of `ppn` failed. Returns that page, or None if none is free.
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
            if number == self.map_number() {
                self.make_room_for_map(plane, sink);
            } else {
                self.end_shortage(plane, sink);
                self.make_writable(plane, number, self.blocks.owner_of_page(ppn), sink);
            }
            if self.stuck {
                return None;
            }
            ppn = self.planes[plane].next_page(number);
            oob.sequence = self.next_sequence();
            sink.program(Ppn(ppn), oob, source, cause);
            if sink.failure().is_none() {
                return Some(ppn);
            }
        }
    }

    /// Corrects the valid counts after a host write of page `lpn` to this plane was abandoned.
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

    /// Closes the open block because programming page `lpn` at `ppn` has failed. The failed page counts as written.
    #[cold]
    pub(super) fn close_failing(&mut self, plane: usize, number: u8, ppn: u32, lpn: u32) {
        let block = self.block_of(ppn);
        let open = std::mem::replace(&mut self.planes[plane].open_blocks[usize::from(number)], OpenBlock::CLOSED);
        // The entry of a block's first page, even if its program failed, shows whether the block holds map pages.
        self.p2l[ppn as usize] = Entry::of(lpn);
        let left = open.left();
        self.planes[plane].unwritten -= left;
        // Unwritten pages count as valid only in open blocks, and this block is now closed. The block is not a
        // candidate for collection, because emptying it would free no block.
        self.blocks.move_out(block, ppn..open.end);
        self.failing.insert(block);
        self.lose_block(plane);
    }

    /// Reduces the maximum number of valid pages in a plane by the pages of one block.
    pub(super) fn lose_block(&mut self, plane: usize) {
        let pages = self.blocks.pages_per_block();
        let at = &mut self.planes[plane];
        at.limit = at.limit.saturating_sub(pages);
    }

    /// Empties each failing block of a plane as soon as there is room for its pages.
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
            let (number, cause) = if self.holds_map(block) {
                (self.map_number(), Cause::MapGc)
            } else {
                (self.options.placement.info.role.gc(), Cause::Gc)
            };
            self.move_pages(plane, &mut victim, valid, number, cause, sink);
            self.rewrite_outdated(plane, sink);
            if self.stuck {
                return;
            }
            self.complete_units_before_erase(plane, cause, sink);
            self.failing.remove(&block);
            self.blocks.retire(block);
            sink.note(Note::Bad(block));
        }
    }

    /// Marks a block as bad after its erase has failed.
    #[cold]
    pub(super) fn retire<S: FlashSink>(&mut self, plane: usize, block: BlockId, sink: &mut S) {
        self.blocks.retire(block);
        self.lose_block(plane);
        sink.note(Note::Bad(block));
    }
}
