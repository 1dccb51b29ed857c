//! Flash during preconditioning, before time begins: a witness sees each operation as it is emitted.

use ssdlab_core::{BlockId, Ppn};

use super::ops::Kind;
use super::witness::{Seen, Witness};
use crate::backend::{Flash, Resume};
use crate::{Cause, Counts, FlashSink, Geometry, MergeCost, Oob, Source};

/// Counts, and shows a witness each operation at once.
pub struct UntimedFlash<W> {
    counts: Counts,
    pages_per_block: u32,
    witness: W,
}

impl<W: Witness> UntimedFlash<W> {
    /// Flash shown to `witness`.
    pub fn new(geometry: &Geometry, witness: W) -> Self {
        Self { counts: Counts::default(), pages_per_block: geometry.pages_per_block, witness }
    }

    /// The witness, to look on when time begins.
    pub fn into_witness(self) -> W {
        self.witness
    }

    #[inline(always)]
    fn show(&mut self, kind: Kind, ppn: Ppn) {
        if W::ON {
            let (block, page) = (ppn.0 / self.pages_per_block, ppn.0 % self.pages_per_block);
            let seen = Seen { id: u64::MAX, kind, block, page, from: None };
            self.witness.emitted(seen);
            self.witness.began(seen);
            self.witness.ended(seen);
        }
    }
}

impl<W: Witness> FlashSink for UntimedFlash<W> {
    #[inline(always)]
    fn read(&mut self, ppn: Ppn, cause: Cause) {
        self.counts.read(ppn, cause);
        self.show(Kind::Read, ppn);
    }

    #[inline(always)]
    fn program(&mut self, ppn: Ppn, oob: Oob, source: Source, cause: Cause) {
        self.counts.program(ppn, oob, source, cause);
        self.show(Kind::Program, ppn);
    }

    #[inline(always)]
    fn erase(&mut self, block: BlockId, cause: Cause) {
        self.counts.erase(block, cause);
        self.show(Kind::Erase, Ppn(block.0 * self.pages_per_block));
    }
}

impl<W: Witness> Flash for UntimedFlash<W> {
    const TIMED: bool = false;

    fn counts(&self) -> Counts {
        self.counts
    }

    fn now_ns(&self) -> u64 {
        0
    }

    fn busy_ns(&self) -> u64 {
        0
    }

    fn cost_ns(&self, _cost: MergeCost) -> Option<u64> {
        None
    }

    fn violation(&self) -> Option<&str> {
        self.witness.violation()
    }
}

impl<W: Witness> Resume for UntimedFlash<W> {
    fn resume(&mut self, counts: Counts, programmed: impl Iterator<Item = Ppn>) {
        self.counts = counts;
        programmed.for_each(|ppn| self.show(Kind::Program, ppn));
    }
}
