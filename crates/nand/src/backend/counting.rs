//! Flash that counts operations and knows no time.

use ssdlab_core::{BlockId, Ppn};

use super::{Flash, OneByOne, Resume};
use crate::{Cause, Counts, FlashSink, MergeCost, Source, SpareArea};

/// Counts operations; time stands still.
#[derive(Default)]
pub struct CountingFlash(Counts);

impl FlashSink for CountingFlash {
    #[inline(always)]
    fn read(&mut self, ppn: Ppn, cause: Cause) {
        self.0.read(ppn, cause);
    }

    #[inline(always)]
    fn program(&mut self, ppn: Ppn, oob: SpareArea, source: Source, cause: Cause) {
        self.0.program(ppn, oob, source, cause);
    }

    #[inline(always)]
    fn erase(&mut self, block: BlockId, cause: Cause) {
        self.0.erase(block, cause);
    }
}

impl Flash for CountingFlash {
    #[inline(always)]
    fn is_timed(&self) -> bool {
        false
    }

    fn counts(&self) -> Counts {
        self.0
    }

    #[inline(always)]
    fn now_ns(&self) -> u64 {
        0
    }

    fn busy_ns(&self) -> u64 {
        0
    }

    fn cost_ns(&self, _cost: MergeCost) -> Option<u64> {
        None
    }
}

impl Resume for CountingFlash {
    fn resume(&mut self, counts: Counts, _programmed: impl Iterator<Item = Ppn>) {
        self.0 = counts;
    }
}

impl OneByOne for CountingFlash {
    #[inline(always)]
    fn idle_until(&mut self, _time_ns: u64) {}

    fn reset_clock(&mut self) {}
}
