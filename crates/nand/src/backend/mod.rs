//! Flash back ends: what an operation costs. A time model is a sink that implements [`Flash`].

mod counting;
pub mod parallel;
mod serial;

pub use counting::CountingFlash;
pub use serial::SerialFlash;

use ssdlab_core::Ppn;

use crate::{Counts, FlashSink, MergeCost, Timing};

/// A sink that knows its operation counts and, if it models time, its clock.
pub trait Flash: FlashSink {
    /// Whether operations take time.
    fn is_timed(&self) -> bool;

    /// Operations so far.
    fn counts(&self) -> Counts;

    /// Simulated time in nanoseconds.
    fn now_ns(&self) -> u64;

    /// Nanoseconds spent working.
    fn busy_ns(&self) -> u64;

    /// The first operation that was done out of order, if the order is checked.
    fn violation(&self) -> Option<&str> {
        None
    }

    /// Time that a merge of this cost takes, in nanoseconds; none where operations take no time.
    fn cost_ns(&self, cost: MergeCost) -> Option<u64>;
}

/// Flash of which nothing is under way between two operations, so that it can go on from a state that was saved.
pub trait Resume: Flash {
    /// Goes on after `counts` operations. Pages `programmed` hold data; only flash that is checked needs to know.
    fn resume(&mut self, counts: Counts, programmed: impl Iterator<Item = Ppn>);
}

/// Flash that does one operation after the other, each done when it has been emitted.
pub trait OneByOne: Resume {
    /// Lets idle time pass until `time_ns`; does nothing if that is past.
    fn idle_until(&mut self, time_ns: u64);

    /// Starts the clock anew.
    fn reset_clock(&mut self);
}

/// Time of a merge whose operations follow one another, in nanoseconds.
pub fn cost_ns(timing: &Timing, page_bytes: u32, cost: MergeCost) -> u64 {
    u64::from(cost.copies) * timing.copy_mean(page_bytes).0 + u64::from(cost.erases) * timing.erase.0
}
