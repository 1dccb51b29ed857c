//! Program units of several pages. Host pages fill them one by one; padding completes units that cannot wait.
//!
//! **Volatile memory.** If a power loss clears incomplete program units, the FTL completes some of them before erasing
//! a block (see [`crate::Ftl::complete_units_before_erases`]). Padding alone might take more pages than a victim frees.
//! Therefore copies from the next victim fill these program units; the victim is then emptied in two steps.

use ssdlab_core::{BlockId, Entry, Lpn, Ppn, Reciprocal};
use ssdlab_nand::{Cause, FlashSink, Role, Source, SpareArea, VictimReason};

use super::PageFtl;
use super::collect::Victim;
use crate::map::MapModel;
use crate::placement::PlacementRules;

impl<M: MapModel> PageFtl<M> {
    /// Chooses the plane for host page `lpn`, and counts the page as valid in this plane. Host pages go to the same
    /// plane until a program unit is complete, then to the next plane with room.
    #[inline(never)]
    pub(super) fn rotate_by_units<S: FlashSink>(&mut self, lpn: u32, unit_of: Reciprocal, sink: &mut S) -> usize {
        self.uncount(self.l2p[lpn as usize].page());
        let mut plane = self.turn;
        let open = self.planes[plane].open_blocks[usize::from(PlacementRules::HOST)];
        // Before the first host page no block is open, and the page goes to the first plane.
        let (used, begun) = match &self.slc {
            None => (open.end > 0, false),
            Some(cache) => (self.host_pages > 0, cache.has_begun(plane)),
        };
        if used && !begun && !self.is_begun(plane, PlacementRules::HOST, unit_of) {
            plane = self.after(plane);
        }
        while self.planes[plane].valid >= self.planes[plane].limit {
            self.pad(plane, PlacementRules::HOST, unit_of, sink);
            self.pad_cache(plane, sink);
            plane = self.after(plane);
        }
        self.turn = plane;
        self.planes[plane].valid += 1;
        plane
    }

    fn after(&self, plane: usize) -> usize {
        if plane + 1 == self.planes.len() { 0 } else { plane + 1 }
    }

    /// True if the open block has an incomplete program unit.
    pub(super) fn is_begun(&self, plane: usize, number: u8, unit_of: Reciprocal) -> bool {
        let next = self.planes[plane].open_blocks[usize::from(number)].next;
        unit_of.divide(next) * unit_of.divisor() != next
    }

    /// Pads the incomplete program unit of an open block. Garbage collection may have to run first, and its copies may
    /// complete the program unit instead.
    pub(super) fn pad<S: FlashSink>(&mut self, plane: usize, number: u8, unit_of: Reciprocal, sink: &mut S) {
        while self.is_begun(plane, number, unit_of) {
            if self.planes[plane].unwritten <= self.planes[plane].tight {
                self.make_room(plane, PlacementRules::HOST, sink);
                if !self.is_begun(plane, number, unit_of) {
                    return;
                }
            }
            self.append_padding(plane, number, sink);
        }
    }

    fn append_padding<S: FlashSink>(&mut self, plane: usize, number: u8, sink: &mut S) {
        let ppn = self.planes[plane].next_page(number);
        self.program_padding(ppn, sink);
    }

    /// Completes the program units that must not be lost when a block of the plane is erased. These program units
    /// contain copies from the plane, or host pages whose older versions may be in the block.
    pub(super) fn complete_units_before_erase<S: FlashSink>(&mut self, plane: usize, cause: Cause, sink: &mut S) {
        // Not needed when map pages are collected, because recovery does not read them.
        let Some(unit_of) = self.unit_of.filter(|_| self.is_volatile && cause != Cause::MapGc) else { return };
        for plane in 0..self.planes.len() {
            self.fill(plane, PlacementRules::HOST, unit_of, cause, sink);
        }
        self.fill(plane, self.options.placement.info.role.gc(), unit_of, cause, sink);
    }

    /// Completes an incomplete program unit by copying pages from the plane's next victim into it. These pages need not
    /// be copied again later. Uses padding if there is no suitable victim. Needs no prior garbage collection, because
    /// an open block always has room for the rest of its program unit.
    fn fill<S: FlashSink>(&mut self, plane: usize, number: u8, unit_of: Reciprocal, cause: Cause, sink: &mut S) {
        while self.is_begun(plane, number, unit_of) {
            let Some(mut victim) = self.victim_to_fill_with(plane, sink) else {
                while self.is_begun(plane, number, unit_of) {
                    self.append_padding(plane, number, sink);
                }
                return;
            };
            let next = self.planes[plane].open_blocks[usize::from(number)].next;
            let missing = unit_of.divisor() - (next - unit_of.divide(next) * unit_of.divisor());
            let copies = missing.min(self.blocks.valid(victim.block));
            self.move_pages(plane, &mut victim, copies, number, cause, sink);
            self.planes[plane].victim = Some(victim);
        }
    }

    /// Returns a victim whose pages can complete a program unit: the plane's current victim, or a newly chosen block.
    /// Returns None if the victim has no valid pages, or if no block needs to be collected soon.
    fn victim_to_fill_with<S: FlashSink>(&mut self, plane: usize, sink: &mut S) -> Option<Victim> {
        if let Some(victim) = self.planes[plane].victim {
            return Some(victim).filter(|victim| self.blocks.valid(victim.block) > 0);
        }
        if self.blocks.plane(plane).closed() == 0 || !self.may_linger(plane) {
            return None;
        }
        let (mut block, mut reason) = self.choose(plane);
        if self.holds_map(block) {
            let blocks = self.blocks.plane(plane).blocks().map(BlockId);
            let of_data = blocks.filter(|&block| self.blocks.is_closed(block) && !self.holds_map(block));
            (block, reason) = (of_data.min_by_key(|&block| self.blocks.valid(block))?, VictimReason::Yield);
        }
        let has_room = self.planes[plane].unwritten > self.short(plane);
        if self.blocks.valid(block) == 0 || has_room && !self.has_invalid(block) {
            return None;
        }
        Some(self.begin_victim(plane, block, reason, sink))
    }

    pub(super) fn program_padding<S: FlashSink>(&mut self, ppn: u32, sink: &mut S) {
        let oob = SpareArea { lpn: Lpn(0), sequence: self.next_sequence(), role: Role::Padding };
        sink.program(Ppn(ppn), oob, Source::Padding, Cause::Padding);
        self.p2l[ppn as usize] = Entry::NONE;
        self.blocks.invalidate(ppn, self.block_of(ppn), self.host_pages);
    }
}
