//! Recordings of a flash array: busy times of dies and channels, and every operation in a chosen window.

use ssdlab_core::numbered;

use super::Window;
use super::ops::{Kind, Op};
use super::timeline::Bins;
use crate::Cause;

const MOST_SEGMENTS: usize = 200_000;

/// Host request to which a flash operation belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Requester {
    /// Number of the request, from 1; 0 if there is no request.
    pub number: u64,
    /// Time when the request arrived.
    pub arrived_ns: u64,
}

/// A period in which a die or channel works on one operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Die whose cells execute the operation, or whose data is being transferred over the channel.
    pub die: u32,
    /// Number of the operation's plane within the die.
    pub plane: u32,
    /// True for a transfer on the bus; false for a read, program or erase in the cells.
    pub bus: bool,
    /// Start time of the operation, relative to the start of recording.
    pub begin_ns: u64,
    /// End time of the operation, relative to the start of recording.
    pub end_ns: u64,
    /// Type of the operation.
    pub kind: Kind,
    /// Cause of the operation.
    pub cause: Cause,
    /// Host request for which the operation was emitted, as given to [`super::ParallelFlash::submit`]. Its arrival is
    /// relative to the start of recording. All fields are zero for background collection, and for operations emitted
    /// before recording began.
    pub requester: Requester,
}

/// Data recorded since recording was last restarted.
#[derive(Clone, Debug)]
pub struct Record {
    origin_ns: u64,
    /// Busy time of each die's cells, in bins of simulated time.
    pub cells: Bins,
    /// Busy time of all cells with internal operations such as garbage collection, in bins of simulated time.
    pub internal: Bins,
    /// Busy time of each channel, in bins of simulated time.
    pub buses: Bins,
    /// Number of multi-plane commands so far.
    pub multiplane_commands: u64,
    /// Number of times that a read interrupted an operation.
    pub suspensions: u64,
    window: Option<(u64, u64)>,
    /// Host request of each operation in flight, by the index of the operation.
    requesters: Vec<Requester>,
    /// Segments of the operations in the recorded window.
    pub segments: Vec<Segment>,
    /// True if the window contained more segments than the recording can hold.
    pub truncated: bool,
}

impl Record {
    pub(super) fn new(dies: usize, channels: usize, origin_ns: u64, window: Option<Window>) -> Self {
        Self {
            origin_ns,
            cells: Bins::new(dies, origin_ns),
            internal: Bins::new(1, origin_ns),
            buses: Bins::new(channels, origin_ns),
            multiplane_commands: 0,
            suspensions: 0,
            window: window.map(|window| {
                let from = origin_ns.saturating_add(window.from.0);
                (from, from.saturating_add(window.length.0))
            }),
            requesters: Vec::new(),
            segments: Vec::new(),
            truncated: false,
        }
    }

    /// Records a period in which a die executed a command in its cells.
    #[inline]
    pub(super) fn cells(&mut self, die: u32, from_ns: u64, to_ns: u64, op: &Op, multiplane: bool) {
        self.cells.add(die as usize, from_ns, to_ns, 1);
        if !matches!(op.cause, Cause::Host | Cause::ReadModifyWrite | Cause::MapLoad) {
            self.internal.add(0, from_ns, to_ns, 1);
        }
        self.multiplane_commands += u64::from(multiplane);
    }

    #[cold]
    pub(super) fn emitted(&mut self, index: u32, requester: Requester) {
        *numbered(&mut self.requesters, index) = requester;
    }

    /// True if individual operations are being recorded.
    #[inline]
    pub(super) fn keeps_segments(&self) -> bool {
        self.window.is_some()
    }

    /// Records a period in which a channel transferred the data of an operation.
    #[inline]
    pub(super) fn bus(&mut self, channel: usize, die: u32, begin_ns: u64, end_ns: u64, op: (u32, &Op)) {
        self.buses.add(channel, begin_ns, end_ns, 1);
        if self.keeps_segments() {
            self.segment(die, true, begin_ns, end_ns, op);
        }
    }

    /// Records that an operation occupied the bus or the cells, if the period overlaps the recorded window.
    #[cold]
    pub(super) fn segment(&mut self, die: u32, bus: bool, begin_ns: u64, end_ns: u64, (index, op): (u32, &Op)) {
        let Some((from, to)) = self.window else { return };
        if end_ns <= from || begin_ns >= to {
            return;
        }
        if self.segments.len() == MOST_SEGMENTS {
            self.truncated = true;
            return;
        }
        let requester = self.requesters.get(index as usize).copied().unwrap_or_default();
        self.segments.push(Segment {
            die,
            plane: op.plane.into(),
            bus,
            begin_ns: begin_ns.saturating_sub(self.origin_ns),
            end_ns: end_ns - self.origin_ns,
            kind: op.kind,
            cause: op.cause,
            requester: Requester { arrived_ns: requester.arrived_ns.saturating_sub(self.origin_ns), ..requester },
        });
    }
}
