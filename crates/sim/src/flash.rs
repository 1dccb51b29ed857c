//! Flash back ends: what an operation costs.

use ssdlab_core::{BlockId, Ppn};
use ssdlab_ftl::{Cause, Counts, FlashSink, MergeCost, Oob, Source};
use ssdlab_nand::{Geometry, Timing};

/// A sink that knows its operation counts and, if it models time, its clock.
pub(crate) trait Flash: FlashSink {
    /// Whether operations take time.
    const TIMED: bool;

    /// Operations so far.
    fn counts(&self) -> Counts;

    /// Simulated time in nanoseconds.
    fn now_ns(&self) -> u64;

    /// Nanoseconds spent working.
    fn busy_ns(&self) -> u64;

    /// Lets idle time pass until `time_ns`; does nothing if that is past.
    fn idle_until(&mut self, time_ns: u64);

    /// Starts the clock anew.
    fn reset_clock(&mut self);

    /// Nanoseconds of work that a merge is; none where operations take no time.
    fn cost_ns(&self, cost: MergeCost) -> Option<u64>;
}

/// Counts operations; time stands still.
#[derive(Default)]
pub(crate) struct CountingFlash(Counts);

impl FlashSink for CountingFlash {
    #[inline(always)]
    fn read(&mut self, ppn: Ppn, cause: Cause) {
        self.0.read(ppn, cause);
    }

    #[inline(always)]
    fn program(&mut self, ppn: Ppn, oob: Oob, source: Source, cause: Cause) {
        self.0.program(ppn, oob, source, cause);
    }

    #[inline(always)]
    fn erase(&mut self, block: BlockId, cause: Cause) {
        self.0.erase(block, cause);
    }
}

impl Flash for CountingFlash {
    const TIMED: bool = false;

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

    #[inline(always)]
    fn idle_until(&mut self, _time_ns: u64) {}

    fn reset_clock(&mut self) {}

    fn cost_ns(&self, _cost: MergeCost) -> Option<u64> {
        None
    }
}

/// One chip that does one operation at a time, in the order emitted.
pub(crate) struct SerialFlash {
    counts: Counts,
    now_ns: u64,
    busy_ns: u64,
    read_ns: u64,
    program_ns: u64,
    copy_ns: u64,
    erase_ns: u64,
    timing: Timing,
}

impl SerialFlash {
    pub(crate) fn new(timing: &Timing, geometry: &Geometry) -> Self {
        let transfer_ns = timing.transfer(geometry.page_bytes).0;
        let cells_ns = timing.read.0 + timing.program.0;
        Self {
            counts: Counts::default(),
            now_ns: 0,
            busy_ns: 0,
            read_ns: timing.read.0 + transfer_ns,
            program_ns: timing.program.0 + transfer_ns,
            copy_ns: if timing.copyback { cells_ns } else { cells_ns + 2 * transfer_ns },
            erase_ns: timing.erase.0,
            timing: *timing,
        }
    }

    #[inline(always)]
    fn work(&mut self, duration_ns: u64) {
        self.now_ns += duration_ns;
        self.busy_ns += duration_ns;
    }
}

impl FlashSink for SerialFlash {
    #[inline(always)]
    fn read(&mut self, ppn: Ppn, cause: Cause) {
        self.counts.read(ppn, cause);
        self.work(self.read_ns);
    }

    #[inline]
    fn read_part(&mut self, ppn: Ppn, bytes: u32, cause: Cause) {
        self.counts.read(ppn, cause);
        self.work(self.timing.read.0 + self.timing.transfer(bytes).0);
    }

    #[inline(always)]
    fn program(&mut self, ppn: Ppn, oob: Oob, source: Source, cause: Cause) {
        self.counts.program(ppn, oob, source, cause);
        self.work(self.program_ns);
    }

    #[inline(always)]
    fn erase(&mut self, block: BlockId, cause: Cause) {
        self.counts.erase(block, cause);
        self.work(self.erase_ns);
    }

    #[inline(always)]
    fn copy(&mut self, from: Ppn, to: Ppn, oob: Oob, cause: Cause) {
        self.counts.copy(from, to, oob, cause);
        self.work(self.copy_ns);
    }
}

impl Flash for SerialFlash {
    const TIMED: bool = true;

    fn counts(&self) -> Counts {
        self.counts
    }

    #[inline(always)]
    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn busy_ns(&self) -> u64 {
        self.busy_ns
    }

    #[inline(always)]
    fn idle_until(&mut self, time_ns: u64) {
        self.now_ns = self.now_ns.max(time_ns);
    }

    fn reset_clock(&mut self) {
        self.now_ns = 0;
        self.busy_ns = 0;
    }

    fn cost_ns(&self, cost: MergeCost) -> Option<u64> {
        Some(u64::from(cost.copies) * self.copy_ns + u64::from(cost.erases) * self.erase_ns)
    }
}
