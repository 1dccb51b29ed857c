//! Flash back ends: what an operation costs.

use ssdlab_core::{BlockId, Ppn};
use ssdlab_ftl::{Cause, Counts, FlashSink, MergeCost, Oob, Source};
use ssdlab_nand::{Geometry, PageTimes, Timing};

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

    /// The first thing found wrong with the order in which operations were done, where somebody looks.
    fn violation(&self) -> Option<&str> {
        None
    }

    /// Nanoseconds of work that a merge is; none where operations take no time.
    fn cost_ns(&self, cost: MergeCost) -> Option<u64>;
}

/// Flash that does one operation after the other, each done when it has been emitted.
pub(crate) trait OneByOne: Flash {
    /// Lets idle time pass until `time_ns`; does nothing if that is past.
    fn idle_until(&mut self, time_ns: u64);

    /// Starts the clock anew.
    fn reset_clock(&mut self);
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

    fn cost_ns(&self, _cost: MergeCost) -> Option<u64> {
        None
    }
}

impl OneByOne for CountingFlash {
    #[inline(always)]
    fn idle_until(&mut self, _time_ns: u64) {}

    fn reset_clock(&mut self) {}
}

/// Nanoseconds of work that a merge is, one operation after the other.
pub(crate) fn cost_ns(timing: &Timing, page_bytes: u32, cost: MergeCost) -> u64 {
    u64::from(cost.copies) * timing.copy_mean(page_bytes).0 + u64::from(cost.erases) * timing.erase.0
}

/// One chip that does one operation at a time, in the order emitted.
pub(crate) struct SerialFlash {
    counts: Counts,
    now_ns: u64,
    busy_ns: u64,
    transfer_ns: u64,
    /// Bus time of a copy.
    copy_transfer_ns: u64,
    pages_per_block: u32,
    page_bytes: u32,
    timing: Timing,
}

impl SerialFlash {
    pub(crate) fn new(timing: &Timing, geometry: &Geometry) -> Self {
        let transfer_ns = timing.transfer(geometry.page_bytes).0;
        Self {
            counts: Counts::default(),
            now_ns: 0,
            busy_ns: 0,
            transfer_ns,
            copy_transfer_ns: if timing.copyback { 0 } else { 2 * transfer_ns },
            pages_per_block: geometry.pages_per_block,
            page_bytes: geometry.page_bytes,
            timing: *timing,
        }
    }

    #[inline(always)]
    fn cell_ns(&self, times: &PageTimes, ppn: Ppn) -> u64 {
        times.of_page(ppn.0 % self.pages_per_block).0
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
        self.work(self.cell_ns(&self.timing.read, ppn) + self.transfer_ns);
    }

    #[inline]
    fn read_part(&mut self, ppn: Ppn, bytes: u32, cause: Cause) {
        self.counts.read(ppn, cause);
        self.work(self.cell_ns(&self.timing.read, ppn) + self.timing.transfer(bytes).0);
    }

    #[inline(always)]
    fn program(&mut self, ppn: Ppn, oob: Oob, source: Source, cause: Cause) {
        self.counts.program(ppn, oob, source, cause);
        self.work(self.cell_ns(&self.timing.program, ppn) + self.transfer_ns);
    }

    #[inline(always)]
    fn erase(&mut self, block: BlockId, cause: Cause) {
        self.counts.erase(block, cause);
        self.work(self.timing.erase.0);
    }

    #[inline(always)]
    fn copy(&mut self, from: Ppn, to: Ppn, oob: Oob, cause: Cause) {
        self.counts.copy(from, to, oob, cause);
        let cells_ns = self.cell_ns(&self.timing.read, from) + self.cell_ns(&self.timing.program, to);
        self.work(cells_ns + self.copy_transfer_ns);
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

    fn cost_ns(&self, cost: MergeCost) -> Option<u64> {
        Some(cost_ns(&self.timing, self.page_bytes, cost))
    }
}

impl OneByOne for SerialFlash {
    #[inline(always)]
    fn idle_until(&mut self, time_ns: u64) {
        self.now_ns = self.now_ns.max(time_ns);
    }

    fn reset_clock(&mut self) {
        self.now_ns = 0;
        self.busy_ns = 0;
    }
}
