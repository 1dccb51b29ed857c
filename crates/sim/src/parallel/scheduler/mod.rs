//! Die schedulers, one file each, registered in [`SCHEDULERS`].
//!
//! To add one: write its file, add a variant to [`DieSchedulerChoice`], register it here; a line in the table of
//! settings makes it configurable.

mod fifo;
mod host_first;
mod out_of_order;
mod read_first;

use crate::DieSchedulerChoice;

/// Operations that a scheduler may tell apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Class {
    /// Reads that the host waits for.
    HostRead = 0,
    /// Programs of the host's data.
    HostProgram = 1,
    /// Collection, merges, the map's write-backs, erases.
    Internal = 2,
}

/// Number of classes.
pub(crate) const CLASSES: usize = 3;

/// No operation's number.
pub(crate) const NOTHING: u64 = u64::MAX;

/// What waits for a die that could begin a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DieView {
    /// Number of the first operation of each class that is ready, [`NOTHING`] if none is; operations of a die are
    /// numbered as emitted. Ready is what waits for no other operation: earlier ones on the same block, the read of
    /// what it writes.
    pub ready: [u64; CLASSES],
    /// Operations of this die begun so far.
    pub begun: u64,
}

impl DieView {
    /// The class of the earliest operation among those given.
    #[inline(always)]
    fn earliest(&self, classes: &[Class]) -> Option<Class> {
        let earliest = classes.iter().copied().min_by_key(|&class| self.ready[class as usize])?;
        (self.ready[earliest as usize] != NOTHING).then_some(earliest)
    }
}

/// A registered scheduler.
///
/// Contract of `pick`: a pure function; the class it returns has an operation ready. It may answer "none yet" only if
/// some operation of this die is not ready and it wants that one: the earliest operation of all dies always is ready, so
/// waiting for one's own earliest cannot go on forever.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SchedulerInfo {
    choice: DieSchedulerChoice,
    /// Which class begins its first ready operation.
    pub pick: fn(&DieView) -> Option<Class>,
    /// Whether operations begin in the order of their numbers, so that nothing else may be drawn forward either.
    pub in_order: bool,
}

/// Every scheduler.
static SCHEDULERS: &[SchedulerInfo] = &[
    SchedulerInfo { choice: DieSchedulerChoice::Fifo, pick: fifo::pick, in_order: true },
    SchedulerInfo { choice: DieSchedulerChoice::OutOfOrder, pick: out_of_order::pick, in_order: false },
    SchedulerInfo { choice: DieSchedulerChoice::ReadFirst, pick: read_first::pick, in_order: false },
    SchedulerInfo { choice: DieSchedulerChoice::HostFirst, pick: host_first::pick, in_order: false },
];

/// The scheduler for `choice`.
pub(crate) fn scheduler(choice: DieSchedulerChoice) -> SchedulerInfo {
    *SCHEDULERS.iter().find(|info| info.choice == choice).expect("every choice is registered")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picked(choice: DieSchedulerChoice, ready: [u64; CLASSES], begun: u64) -> Option<Class> {
        (scheduler(choice).pick)(&DieView { ready, begun })
    }

    #[test]
    fn each_prefers_what_it_says() {
        use Class::{HostProgram, HostRead, Internal};
        use DieSchedulerChoice::{Fifo, HostFirst, OutOfOrder, ReadFirst};
        let all = [9, 7, 5];
        // Operation 4 has not begun: whoever keeps the order waits for it.
        assert_eq!(picked(Fifo, all, 4), None);
        assert_eq!(picked(Fifo, all, 5), Some(Internal));
        assert_eq!(picked(OutOfOrder, all, 4), Some(Internal));
        assert_eq!(picked(ReadFirst, all, 4), Some(HostRead));
        assert_eq!(picked(ReadFirst, [NOTHING, 7, 5], 4), Some(Internal));
        assert_eq!(picked(HostFirst, all, 4), Some(HostProgram));
        assert_eq!(picked(HostFirst, [NOTHING, NOTHING, 5], 4), Some(Internal));
        for choice in [Fifo, OutOfOrder, ReadFirst, HostFirst] {
            assert_eq!(picked(choice, [NOTHING; CLASSES], 0), None);
        }
    }
}
