//! Latency attribution in the flash: divides the waiting time of requests by cause, in nanoseconds.
//!
//! From its emission to its end, each operation of a request waits for its die or the bus. This wait is charged to:
//!
//! | the operation waits for | cause |
//! |---|---|
//! | the bus, because its data waits for the channel or is being transferred | [`StallCause::Bus`] |
//! | its die, which is working on a page of the same request | [`StallCause::Service`] |
//! | its die, which is doing other work | the cause of that work (with several planes: of the first page) |
//! | its die, where the data of a command is being transferred while the cells are idle | [`StallCause::Bus`] |
//! | its die, which has no command | [`StallCause::Dependency`]: an operation of another die must end first |
//!
//! A die has one clock per cause; exactly one clock is running. The clocks of the die are read at the start and at the
//! end of an operation's wait for the die, and the operation is charged the difference. An operation that waited for
//! another one of the same request inherits its charges. A request gets the charges of its last operation.
//!
//! Clocks are updated only when they start or stop: starting a clock at time `a` subtracts `a` from its value, stopping
//! it at `b` adds `b`. The reading of a running clock is its value plus the time. All values are modulo 2^64.

use std::num::Wrapping;

use ssdlab_core::{Slab, numbered};

use super::ops::{Kind, Op, Ops};
use crate::Cause;

/// Cause of a request's delay in the flash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum StallCause {
    /// The die is reading pages for other requests.
    HostReads = 0,
    /// The die is programming pages of other requests.
    HostWrites = 1,
    /// The die is reading the remaining data of pages that the host partly overwrites.
    PartialPages = 2,
    /// The die is working for garbage collection or merges.
    Collection = 3,
    /// The die is reading or programming map pages, for any request.
    Map = 4,
    /// Data waits for a channel or is being transferred.
    Bus = 5,
    /// The die is idle, because an operation of another die must end first.
    Dependency = 6,
    /// The die is reading or programming pages of the request itself.
    Service = 7,
}

/// Number of stall causes.
pub const CAUSES: usize = 8;

/// Delay in nanoseconds for each [`StallCause`].
pub type StallTimes = [u64; CAUSES];

impl StallCause {
    /// Returns the stall cause for a request that waits while the die executes the operation `op` of another request.
    pub(super) fn of_work(op: &Op) -> Self {
        match (op.cause, op.kind) {
            (Cause::Host, Kind::Read) => Self::HostReads,
            (Cause::Host, _) => Self::HostWrites,
            (Cause::ReadModifyWrite, _) => Self::PartialPages,
            (Cause::MapLoad | Cause::MapWriteBack | Cause::MapUpdate | Cause::MapGc, _) => Self::Map,
            _ => Self::Collection,
        }
    }
}

/// Clocks of a die, one per [`StallCause`].
type Clocks = [Wrapping<u64>; CAUSES];

#[derive(Clone, Copy, Debug)]
struct Die {
    clocks: Clocks,
    /// Stall cause whose clock is running on the die.
    cause: StallCause,
    /// Submission number of the latest request on this die, and its index in [`Attribution::requests`].
    latest: (u64, u32),
}

/// State of one request on one die.
#[derive(Clone, Copy, Debug)]
struct RequestOnDie {
    /// Number of the request's operations on the die that have not ended.
    ops_left: u32,
    /// Time that the cells of the die have spent reading, programming or erasing for the request.
    served: Wrapping<u64>,
    is_served: bool,
    /// Stall cause charged to other requests that wait while the die works on this request. All pages of a request have
    /// the same stall cause, because a request either reads or writes.
    work: StallCause,
}

/// An operation of a request, with the stall causes to which its delay is charged.
#[derive(Clone, Copy, Debug, Default)]
struct Charged {
    /// Nanoseconds charged to each stall cause so far. During a wait, each value is instead the clock reading at the
    /// start of the wait minus the time charged before the wait.
    times: Clocks,
    /// True if the operation waits for the bus; false if it waits for its die.
    on_bus: bool,
    die: u16,
    /// Index of the operation's request in [`Attribution::requests`].
    request: u32,
}

/// Iterates over the operations of a command that take part in latency attribution.
fn attributed(first: u32, ops: &Ops) -> impl Iterator<Item = u32> {
    ops.of_command(first).filter(|&index| ops[index].attributed)
}

#[derive(Debug)]
pub(super) struct Attribution {
    dies: Vec<Die>,
    /// Time spent on each cause, summed over all dies.
    all_dies: Clocks,
    /// For each stall cause, the number of dies whose clock for this cause is running.
    running: [u64; CAUSES],
    requests: Slab<RequestOnDie>,
    ops: Vec<Charged>,
    submissions: u64,
    /// Charges of the latest completed request of each owner.
    completed: Vec<StallTimes>,
}

impl Attribution {
    /// Creates an attribution in which all dies are idle.
    pub fn new(dies: u32, now_ns: u64) -> Self {
        let cause = StallCause::Dependency;
        let (mut clocks, mut running) = (Clocks::default(), [0; CAUSES]);
        clocks[cause as usize] -= now_ns;
        running[cause as usize] = u64::from(dies);
        Self {
            dies: vec![Die { clocks, cause, latest: (0, 0) }; dies as usize],
            all_dies: clocks.map(|clock| clock * Wrapping(dies.into())),
            running,
            requests: Slab::default(),
            ops: Vec::new(),
            submissions: 0,
            completed: Vec::new(),
        }
    }

    pub fn submit(&mut self) {
        self.submissions += 1;
    }

    /// Adds an operation of the request that is being submitted. From now on, the operation waits for its die.
    pub fn emitted(&mut self, index: u32, number: u16, now_ns: u64) {
        let die = &mut self.dies[usize::from(number)];
        if die.latest.0 != self.submissions {
            let request =
                RequestOnDie { ops_left: 0, served: Wrapping(0), is_served: false, work: StallCause::HostReads };
            die.latest = (self.submissions, self.requests.insert(request));
        }
        let request = die.latest.1;
        self.requests[request].ops_left += 1;
        *numbered(&mut self.ops, index) = Charged { die: number, request, ..Charged::default() };
        self.begin_or_end_wait(index, now_ns);
    }

    /// Begins or ends the wait of an operation. Each call replaces a charge by the clock reading minus the charge. It
    /// does so for the charge to the bus if the operation waits for the bus, and otherwise for all charges. After both
    /// calls, each of these charges has grown by the time that its clock advanced during the wait.
    #[inline(always)]
    fn begin_or_end_wait(&mut self, index: u32, now_ns: u64) {
        let now = Wrapping(now_ns);
        let Charged { times, on_bus, die, request } = &mut self.ops[index as usize];
        if *on_bus {
            let bus = &mut times[StallCause::Bus as usize];
            *bus = now - *bus;
            return;
        }
        let die = &self.dies[usize::from(*die)];
        times.iter_mut().zip(die.clocks).for_each(|(time, clock)| *time = clock - *time);
        times[die.cause as usize] += now;
        let request = &self.requests[*request];
        let served = request.served + if request.is_served { now } else { Wrapping(0) };
        times[request.work as usize] -= served;
        times[StallCause::Service as usize] += served;
    }

    pub fn wait_for_bus(&mut self, first: u32, ops: &Ops, now_ns: u64) {
        self.wait(first, ops, true, now_ns);
    }

    pub fn wait_for_die(&mut self, first: u32, ops: &Ops, now_ns: u64) {
        self.wait(first, ops, false, now_ns);
    }

    /// Makes the operations of a command wait for the bus or their die.
    fn wait(&mut self, first: u32, ops: &Ops, on_bus: bool, now_ns: u64) {
        for index in attributed(first, ops) {
            self.begin_or_end_wait(index, now_ns);
            self.ops[index as usize].on_bus = on_bus;
            self.begin_or_end_wait(index, now_ns);
        }
    }

    /// Records that a read, program or erase begins or resumes in the cells.
    pub fn cells_begin(&mut self, first: u32, ops: &Ops, now_ns: u64) {
        let work = StallCause::of_work(&ops[first]);
        self.for_served(first, ops, |request| {
            if !request.is_served {
                (request.is_served, request.work) = (true, work);
                request.served -= now_ns;
            }
        });
    }

    /// Records that a read, program or erase in the cells ends or is interrupted.
    pub fn cells_stop(&mut self, first: u32, ops: &Ops, now_ns: u64) {
        self.for_served(first, ops, |request| {
            if request.is_served {
                request.is_served = false;
                request.served += now_ns;
            }
        });
    }

    /// Calls `act` for each request that has a page in the command.
    #[inline(always)]
    fn for_served(&mut self, first: u32, ops: &Ops, act: impl Fn(&mut RequestOnDie)) {
        if ops[first].cause == Cause::Host {
            for index in attributed(first, ops).filter(|&index| ops[index].cause == Cause::Host) {
                act(&mut self.requests[self.ops[index as usize].request]);
            }
        }
    }

    /// Sets the cause to which the waits for a die are charged.
    pub fn die_is(&mut self, number: u32, cause: StallCause, now_ns: u64) {
        let die = &mut self.dies[number as usize];
        let before = std::mem::replace(&mut die.cause, cause);
        if before != cause {
            for clocks in [&mut die.clocks, &mut self.all_dies] {
                clocks[before as usize] += now_ns;
                clocks[cause as usize] -= now_ns;
            }
            self.running[before as usize] -= 1;
            self.running[cause as usize] += 1;
        }
    }

    /// Copies the charges of a finished operation to an operation that waited for it and belongs to the same request.
    pub fn inherit(&mut self, from: u32, to: u32, now_ns: u64) {
        self.ops[to as usize].times = self.ops[from as usize].times;
        self.begin_or_end_wait(to, now_ns);
    }

    /// Adds the final charges to an operation that has ended. They remain until the operation's index is reused.
    pub fn ended(&mut self, index: u32, now_ns: u64) {
        self.begin_or_end_wait(index, now_ns);
        let request = self.ops[index as usize].request;
        self.requests[request].ops_left -= 1;
        if self.requests[request].ops_left == 0 {
            self.requests.remove(request);
        }
    }

    /// Records the charges of a request's last operation as the charges of the whole request.
    pub fn completed(&mut self, last: u32, owner: u32) {
        *numbered(&mut self.completed, owner) = self.ops[last as usize].times.map(|time| time.0);
    }

    pub fn of(&self, owner: u32) -> &StallTimes {
        &self.completed[owner as usize]
    }

    pub fn of_dies(&self, now_ns: u64) -> StallTimes {
        std::array::from_fn(|cause| (self.all_dies[cause] + Wrapping(self.running[cause]) * Wrapping(now_ns)).0)
    }
}

#[cfg(test)]
mod twin;
