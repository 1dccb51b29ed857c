//! Die schedulers, which choose the next operation of a die from its waiting operations. Each die scheduler has a file
//! with an `INFO` and a line in [`DIE_SCHEDULERS`].

pub mod fifo;
pub mod host_first;
pub mod out_of_order;
pub mod read_first;
pub mod reads_first;

use ssdlab_core::{Info, Registry};

/// Classes of operations that a scheduler may distinguish.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Class {
    /// Reads for which the host waits.
    HostRead = 0,
    /// Programs of host data.
    HostProgram = 1,
    /// Internal operations: garbage collection, merges, write-backs of the map, and erases.
    Internal = 2,
    /// Reads for collection, merges and write-backs of the map, if the scheduler ranks these reads separately.
    InternalRead = 3,
}

/// Number of operation classes.
pub const CLASSES: usize = 4;

/// Operation number for "no operation".
pub const NOTHING: u64 = u64::MAX;

/// The operations that wait for a die, as presented to a scheduler. The die can begin a command.
#[derive(Clone, Copy, Debug)]
pub struct DieView {
    /// Number of the first ready operation of each class; [`NOTHING`] if the class has no ready operation. Operations
    /// of a die are numbered in the order of emission or, if program units are gathered, in the order in which they
    /// become ready. An operation is ready if it waits for no other operation, such as an earlier operation on the same
    /// block or the read of the data that it writes.
    pub ready: [u64; CLASSES],
    /// Number of operations of the die that have begun so far.
    pub begun: u64,
}

impl DieView {
    /// Returns the class, among `classes`, with the earliest ready operation; None if no class has a ready operation.
    #[inline]
    pub fn earliest(&self, classes: &[Class]) -> Option<Class> {
        let earliest = classes.iter().copied().min_by_key(|&class| self.ready[class as usize])?;
        (self.ready[earliest as usize] != NOTHING).then_some(earliest)
    }
}

/// A registered die scheduler.
///
/// Contract of `pick`: it is a pure function, and the class that it returns has a ready operation. It may return None
/// only while the earliest operation of this die is not ready. The earliest operation in the whole array is always
/// ready, so such a wait always ends.
pub type DieSchedulerInfo = Info<DieSchedulerRules>;

/// Rules of a die scheduler.
#[derive(Debug)]
pub struct DieSchedulerRules {
    /// Picks the class whose first ready operation begins next.
    pub pick: fn(&DieView) -> Option<Class>,
    /// True if operations begin in the order of their numbers. Multi-plane commands must then keep this order too.
    pub in_order: bool,
    /// Class of reads for which no host request waits: [`Class::InternalRead`] if `pick` ranks them, else `Internal`.
    pub internal_read: Class,
}

/// Every registered die scheduler.
pub static DIE_SCHEDULERS: Registry<DieSchedulerRules> = Registry::new(
    "die scheduler",
    &[&fifo::INFO, &out_of_order::INFO, &read_first::INFO, &host_first::INFO, &reads_first::INFO],
);

#[cfg(test)]
mod tests {
    use super::*;

    fn picked(name: &str, ready: [u64; CLASSES], begun: u64) -> Option<Class> {
        (DIE_SCHEDULERS.find(name).expect("registered").role.pick)(&DieView { ready, begun })
    }

    #[test]
    fn each_scheduler_picks_as_documented() {
        use Class::{HostProgram, HostRead, Internal, InternalRead};
        let all = [9, 7, 5, NOTHING];
        // Operation 4 has not begun, so a scheduler that keeps the order of emission waits for it.
        assert_eq!(picked("fifo", all, 4), None);
        assert_eq!(picked("fifo", all, 5), Some(Internal));
        assert_eq!(picked("out_of_order", all, 4), Some(Internal));
        assert_eq!(picked("read_first", all, 4), Some(HostRead));
        assert_eq!(picked("read_first", [NOTHING, 7, 5, NOTHING], 4), Some(Internal));
        assert_eq!(picked("host_first", all, 4), Some(HostProgram));
        assert_eq!(picked("host_first", [NOTHING, NOTHING, 5, NOTHING], 4), Some(Internal));
        assert_eq!(picked("reads_first", [9, 7, 5, 8], 4), Some(HostRead));
        assert_eq!(picked("reads_first", [NOTHING, 7, 5, 8], 4), Some(InternalRead));
        assert_eq!(picked("reads_first", [NOTHING, 7, 5, NOTHING], 4), Some(Internal));
        for info in DIE_SCHEDULERS.iter() {
            assert_eq!((info.role.pick)(&DieView { ready: [NOTHING; CLASSES], begun: 0 }), None, "{}", info.name);
        }
    }
}
