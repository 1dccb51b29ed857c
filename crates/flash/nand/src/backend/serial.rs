//! One chip that does one operation at a time, with or without a clock.

use ssdlab_core::{BlockId, Nanos, Ppn};

use super::{Flash, OneByOne, Resume, cost_ns};
use crate::{Cause, Counts, FlashSink, Geometry, MergeCost, PageTimes, Source, SpareArea, Timing};

/// One chip that does one operation at a time, in the order of emission.
pub struct SerialFlash {
    counts: Counts,
    is_timed: bool,
    now_ns: u64,
    /// Time during which the chip was idle.
    idle_ns: u64,
    transfer_ns: u64,
    copy_transfer_ns: u64,
    pages_per_block: u32,
    page_bytes: u32,
    timing: Timing,
}

impl SerialFlash {
    /// Returns a chip whose clock starts at 0.
    pub fn new(timing: &Timing, geometry: &Geometry) -> Self {
        let transfer_ns = timing.transfer(geometry.page_bytes).0;
        Self {
            counts: Counts::default(),
            is_timed: true,
            now_ns: 0,
            idle_ns: 0,
            transfer_ns,
            copy_transfer_ns: if timing.copyback { 0 } else { 2 * transfer_ns },
            pages_per_block: geometry.pages_per_block,
            page_bytes: geometry.page_bytes,
            timing: *timing,
        }
    }

    /// Creates a chip whose clock does not advance.
    pub fn without_time(geometry: &Geometry) -> Self {
        let at_once = PageTimes::uniform(Nanos::ZERO);
        let timing = Timing {
            read: at_once,
            program: at_once,
            erase: Nanos::ZERO,
            transfer_per_kib: Nanos::ZERO,
            copyback: false,
            partial_read: false,
        };
        Self { is_timed: false, ..Self::new(&timing, geometry) }
    }

    #[inline(always)]
    fn cell_ns(&self, times: &PageTimes, ppn: Ppn) -> u64 {
        times.of_page(ppn.0 % self.pages_per_block).0
    }
}

impl FlashSink for SerialFlash {
    #[inline(always)]
    fn read(&mut self, ppn: Ppn, cause: Cause) {
        self.counts.read(ppn, cause);
        self.now_ns += self.cell_ns(&self.timing.read, ppn) + self.transfer_ns;
    }

    #[inline]
    fn read_part(&mut self, ppn: Ppn, bytes: u32, cause: Cause) {
        self.counts.read(ppn, cause);
        self.now_ns += self.cell_ns(&self.timing.read, ppn) + self.timing.transfer(bytes).0;
    }

    #[inline(always)]
    fn program(&mut self, ppn: Ppn, oob: SpareArea, source: Source, cause: Cause) {
        self.counts.program(ppn, oob, source, cause);
        self.now_ns += self.cell_ns(&self.timing.program, ppn) + self.transfer_ns;
    }

    #[inline(always)]
    fn erase(&mut self, block: BlockId, cause: Cause) {
        self.counts.erase(block, cause);
        self.now_ns += self.timing.erase.0;
    }

    #[inline(always)]
    fn copy(&mut self, from: Ppn, to: Ppn, oob: SpareArea, cause: Cause) {
        self.counts.copy(from, to, oob, cause);
        self.now_ns += self.cell_ns(&self.timing.read, from);
        self.now_ns += self.cell_ns(&self.timing.program, to) + self.copy_transfer_ns;
    }
}

impl Flash for SerialFlash {
    #[inline(always)]
    fn is_timed(&self) -> bool {
        self.is_timed
    }

    fn counts(&self) -> Counts {
        self.counts
    }

    #[inline(always)]
    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn busy_ns(&self) -> u64 {
        self.now_ns - self.idle_ns
    }

    fn cost_ns(&self, cost: MergeCost) -> Option<u64> {
        self.is_timed.then(|| cost_ns(&self.timing, self.page_bytes, cost))
    }
}

impl Resume for SerialFlash {
    fn resume(&mut self, counts: Counts, _programmed: impl Iterator<Item = Ppn>) {
        self.counts = counts;
    }
}

impl OneByOne for SerialFlash {
    #[inline(always)]
    fn idle_until(&mut self, time_ns: u64) {
        if self.is_timed && time_ns > self.now_ns {
            self.idle_ns += time_ns - self.now_ns;
            self.now_ns = time_ns;
        }
    }

    fn reset_clock(&mut self) {
        self.now_ns = 0;
        self.idle_ns = 0;
    }
}
