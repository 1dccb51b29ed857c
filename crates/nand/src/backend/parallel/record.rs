//! Recordings of a flash array: busy times of dies and channels, and every operation in a chosen window.

use super::Window;
use super::ops::{Kind, Op};
use super::timeline::Bins;
use crate::Cause;

/// More operations than this are not recorded one by one.
const MOST_SEGMENTS: usize = 200_000;

/// The request of the host that an operation is emitted for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Requester {
    /// Its number, from 1; 0 if there is none.
    pub number: u64,
    /// When it came.
    pub arrived_ns: u64,
}

/// A stretch of work on one operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Die that works, or whose data is on its channel.
    pub die: u32,
    /// Plane in the die.
    pub plane: u32,
    /// Whether it is a transfer.
    pub bus: bool,
    /// From the start of recording.
    pub begin_ns: u64,
    /// From the start of recording.
    pub end_ns: u64,
    /// What was asked for.
    pub kind: Kind,
    /// Why.
    pub cause: Cause,
    /// What it was emitted for, as given to [`super::ParallelFlash::submit`], its arrival from the start of recording;
    /// none for collection ahead of need, and for what was emitted before recording began.
    pub requester: Requester,
}

/// What was recorded since the start.
#[derive(Clone, Debug)]
pub struct Record {
    origin_ns: u64,
    /// Busy time of the cells of each die.
    pub cells: Bins,
    /// Of these, time spent on operations that are not for the host.
    pub internal: Bins,
    /// Busy time of each channel.
    pub buses: Bins,
    /// Commands that worked on more than one plane.
    pub multiplane_commands: u64,
    /// Operations interrupted by a read.
    pub suspensions: u64,
    window: Option<(u64, u64)>,
    /// Request of each operation under way, by its number in the queues.
    requesters: Vec<Requester>,
    /// Operations of the window.
    pub segments: Vec<Segment>,
    /// Whether there were more segments than are kept.
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

    /// The cells of a die worked on a command.
    #[inline]
    pub(super) fn cells(&mut self, die: u32, from_ns: u64, to_ns: u64, op: &Op, multiplane: bool) {
        self.cells.add(die as usize, from_ns, to_ns, 1);
        if !matches!(op.cause, Cause::Host | Cause::ReadModifyWrite | Cause::MapLoad) {
            self.internal.add(0, from_ns, to_ns, 1);
        }
        self.multiplane_commands += u64::from(multiplane);
    }

    /// An operation was emitted for a request.
    #[cold]
    pub(super) fn emitted(&mut self, index: u32, requester: Requester) {
        let index = index as usize;
        if self.requesters.len() <= index {
            self.requesters.resize(index + 1, Requester::default());
        }
        self.requesters[index] = requester;
    }

    /// Whether operations are recorded one by one.
    #[inline(always)]
    pub(super) fn keeps_segments(&self) -> bool {
        self.window.is_some()
    }

    /// The cells of a plane worked on an operation.
    pub(super) fn segment(&mut self, die: u32, begin_ns: u64, end_ns: u64, op: (u32, &Op)) {
        self.keep(die, false, begin_ns, end_ns, op);
    }

    /// A channel moved the data of an operation.
    #[inline]
    pub(super) fn bus(&mut self, channel: usize, die: u32, begin_ns: u64, end_ns: u64, op: (u32, &Op)) {
        self.buses.add(channel, begin_ns, end_ns, 1);
        if self.keeps_segments() {
            self.keep(die, true, begin_ns, end_ns, op);
        }
    }

    #[cold]
    fn keep(&mut self, die: u32, bus: bool, begin_ns: u64, end_ns: u64, (index, op): (u32, &Op)) {
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
