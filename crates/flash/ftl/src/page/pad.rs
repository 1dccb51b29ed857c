//! Program units of several pages: host pages fill one program unit after the other. Padding completes a program unit
//! that cannot wait for further host pages.

use ssdlab_core::{Entry, Lpn, Ppn, Reciprocal};
use ssdlab_nand::{Cause, FlashSink, Role, Source, SpareArea};

use super::PageFtl;
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

    /// True if some pages of a program unit of an open block are written, but not all.
    pub(super) fn is_begun(&self, plane: usize, number: u8, unit_of: Reciprocal) -> bool {
        let next = self.planes[plane].open_blocks[usize::from(number)].next;
        unit_of.divide(next) * unit_of.divisor() != next
    }

    /// Completes the partly written program unit of an open block with padding. Garbage collection may have to run
    /// first; its copies may complete the program unit instead.
    pub(super) fn pad<S: FlashSink>(&mut self, plane: usize, number: u8, unit_of: Reciprocal, sink: &mut S) {
        while self.is_begun(plane, number, unit_of) {
            if self.planes[plane].unwritten <= self.planes[plane].tight {
                self.make_room(plane, PlacementRules::HOST, sink);
                if !self.is_begun(plane, number, unit_of) {
                    return;
                }
            }
            let at = &mut self.planes[plane];
            let open = &mut at.open_blocks[usize::from(number)];
            let ppn = open.next;
            open.next += 1;
            at.unwritten -= 1;
            let sequence = self.sequence;
            self.sequence += 1;
            self.program_padding(ppn, sequence, sink);
        }
    }

    /// Programs a page of an open block as padding.
    pub(super) fn program_padding<S: FlashSink>(&mut self, ppn: u32, sequence: u64, sink: &mut S) {
        let oob = SpareArea { lpn: Lpn(0), sequence, role: Role::Padding };
        sink.program(Ppn(ppn), oob, Source::Padding, Cause::Padding);
        self.p2l[ppn as usize] = Entry::NONE;
        self.blocks.invalidate(ppn, self.block_of(ppn));
    }
}
