//! Flash back ends: sinks that implement [`Flash`] and count or time the operations of an FTL.

pub mod parallel;
mod serial;

pub use serial::SerialFlash;

use ssdlab_core::{BlockId, Ppn};

use crate::{Counts, FlashSink, MergeCost, Timing};

/// A sink that counts operations and may have a clock.
pub trait Flash: FlashSink {
    /// True if flash operations take time.
    #[inline]
    fn is_timed(&self) -> bool {
        false
    }

    /// Returns the number of flash operations so far.
    fn counts(&self) -> Counts;

    /// Returns the simulated time in nanoseconds.
    #[inline]
    fn now_ns(&self) -> u64 {
        0
    }

    /// Returns the time in nanoseconds for which the flash was busy; the mean over the dies if they work in parallel.
    fn busy_ns(&self) -> u64 {
        0
    }

    /// Returns a message about the first operation executed out of order, if the order is checked and there is one.
    fn violation(&self) -> Option<&str> {
        None
    }

    /// Returns the duration in nanoseconds of a merge with the given cost; None if operations take no time.
    fn cost_ns(&self, _cost: MergeCost) -> Option<u64> {
        None
    }
}

/// Flash that has no operations in flight between two calls of the FTL, and can therefore resume from a saved state.
pub trait Resume: Flash {
    /// Resumes as if the operations in `counts` had been executed and `slc_blocks` were in SLC mode. `programmed` lists
    /// the pages programmed so far, for flash that checks operations.
    fn resume(&mut self, counts: Counts, slc_blocks: &[BlockId], programmed: impl Iterator<Item = Ppn>);
}

/// Flash that completes each operation before the next one begins.
pub trait OneByOne: Resume {
    /// Advances the clock to `time_ns`, and counts the time as idle; does nothing if `time_ns` is in the past.
    fn idle_until(&mut self, _time_ns: u64) {}
}

/// Flash that only counts operations.
pub type CountingFlash = Counts;

impl Flash for Counts {
    fn counts(&self) -> Counts {
        *self
    }
}

impl Resume for Counts {
    fn resume(&mut self, counts: Counts, _slc_blocks: &[BlockId], _programmed: impl Iterator<Item = Ppn>) {
        *self = counts;
    }
}

impl OneByOne for Counts {}

/// Returns the duration in nanoseconds of a merge whose operations run one after the other.
pub fn cost_ns(timing: &Timing, page_bytes: u32, cost: MergeCost) -> u64 {
    u64::from(cost.copies) * timing.copy_mean(page_bytes).0 + u64::from(cost.erases) * timing.erase.0
}
