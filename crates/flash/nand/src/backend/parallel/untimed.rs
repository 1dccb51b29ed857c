//! Flash that does not model time, but whose operations can be checked: before the clock of a drive starts, and for
//! drives without a clock.

use ssdlab_core::{BlockId, Ppn};

use super::ops::{Kind, Pass, Seen};
use super::timing_checker::TimingChecker;
use crate::backend::{Flash, OneByOne, Resume};
use crate::{At, Cause, Counts, FlashSink, Geometry, Layout, Source, SpareArea};

/// Flash that counts operations and immediately passes each operation to a checker.
pub struct UntimedFlash {
    pub(super) counts: Counts,
    pub(super) layout: Layout,
    pub(super) checker: Option<Box<TimingChecker>>,
}

impl UntimedFlash {
    /// Creates flash that has not executed any operation yet, with an optional checker.
    pub fn new(geometry: &Geometry, checker: Option<Box<TimingChecker>>) -> Self {
        Self { counts: Counts::default(), layout: Layout::new(geometry), checker }
    }

    /// Passes a program, and the parity of a stripe that it completes, to the checker. Counts the parity pages.
    #[inline]
    fn programmed(&mut self, ppn: Ppn) {
        if let Some(checker) = &mut self.checker {
            show(checker, Kind::Program, self.layout.at(ppn));
        }
        if let Some(stripe) = self.layout.completed_stripe(ppn) {
            let pages = self.layout.program_unit(stripe.block);
            self.counts.programs[Cause::Parity as usize] += u64::from(pages);
            if let Some(checker) = &mut self.checker {
                (0..pages).for_each(|page| show(checker, Kind::Program, self.layout.parity(stripe, page)));
            }
        }
    }
}

/// Passes an operation to a checker; the operation takes no time.
fn show(checker: &mut TimingChecker, kind: Kind, at: At) {
    let At { die_block, number, .. } = at;
    let seen = Seen { id: u32::MAX, kind, pass: Pass::Single, block: die_block, page: number, from: None };
    checker.emitted(seen);
    checker.began(seen);
    checker.ended(seen);
}

impl FlashSink for UntimedFlash {
    #[inline]
    fn read(&mut self, ppn: Ppn, cause: Cause) {
        self.counts.read(ppn, cause);
        if let Some(checker) = &mut self.checker {
            show(checker, Kind::Read, self.layout.at(ppn));
        }
    }

    #[inline]
    fn program(&mut self, ppn: Ppn, oob: SpareArea, source: Source, cause: Cause) {
        self.counts.program(ppn, oob, source, cause);
        self.layout.program(ppn, oob.role);
        self.programmed(ppn);
    }

    #[inline]
    fn erase(&mut self, block: BlockId, cause: Cause) {
        self.counts.erase(block, cause);
        if let Some(checker) = &mut self.checker {
            let dies = 0..self.layout.dies_per_block;
            dies.for_each(|die| show(checker, Kind::Erase, self.layout.die_block(block, die)));
        }
        self.layout.erase(block);
    }
}

impl Flash for UntimedFlash {
    fn counts(&self) -> Counts {
        self.counts
    }

    fn violation(&self) -> Option<&str> {
        self.checker.as_ref()?.violation()
    }
}

impl Resume for UntimedFlash {
    fn resume(&mut self, counts: Counts, slc_blocks: &[BlockId], programmed: impl Iterator<Item = Ppn>) {
        slc_blocks.iter().for_each(|&block| self.layout.set_slc(block));
        programmed.for_each(|ppn| self.programmed(ppn));
        self.counts = counts;
    }
}

impl OneByOne for UntimedFlash {}
