//! Latency attribution in the flash: nanoseconds that requests wait, by cause.
//!
//! From its emission to its end, each operation of a request waits for its die or for the bus. It is charged by these
//! causes:
//!
//! | the operation waits for | cause |
//! |---|---|
//! | the bus: its data waits for the channel or is on it | [`StallCause::Bus`] |
//! | its die, whose cells work on a page of the same request | [`StallCause::Service`] |
//! | its die, whose cells work on anything else | the cause of that work; with several planes, of the first page |
//! | its die, whose cells rest while data of a command is moved | [`StallCause::Bus`] |
//! | its die, which holds no command | [`StallCause::Dependency`]: an operation of another die comes first |
//!
//! A die has a clock per cause, one of which runs at a time. An operation reads these clocks at the start and at the
//! end of a wait for its die and is charged the difference. If an operation waited for another operation of the same
//! request, it inherits that operation's charges. A request is charged the charges of its last operation.

use ssdlab_core::{Slab, numbered};

use super::ops::{Kind, Op, Ops};
use crate::Cause;

/// Cause of a delay below the FTL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum StallCause {
    /// Cells read pages for other requests.
    HostReads = 0,
    /// Cells program pages of other requests.
    HostWrites = 1,
    /// Cells read the rest of pages written in part.
    PartialPages = 2,
    /// Cells work for garbage collection or merges.
    Collection = 3,
    /// Cells load or write pages of the map, for any request.
    Map = 4,
    /// Data waits for a channel or is being transferred.
    Bus = 5,
    /// The die is idle, because an operation of another die must end first.
    Dependency = 6,
    /// Cells work on pages of the request itself.
    Service = 7,
}

/// Number of causes.
pub const CAUSES: usize = 8;

/// Nanoseconds by [`StallCause`].
pub type StallTimes = [u64; CAUSES];

impl StallCause {
    /// Returns the cause of a delay while cells work on an operation of another request.
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

/// Clocks by cause; at most one runs at a time.
#[derive(Clone, Copy, Debug, Default)]
struct Clocks {
    /// Times at `since_ns`.
    times: StallTimes,
    running: Option<StallCause>,
    since_ns: u64,
}

impl Clocks {
    fn read(&self, now_ns: u64) -> StallTimes {
        let mut times = self.times;
        if let Some(cause) = self.running {
            times[cause as usize] += now_ns - self.since_ns;
        }
        times
    }

    fn switch(&mut self, cause: Option<StallCause>, now_ns: u64) {
        if let Some(before) = self.running {
            self.times[before as usize] += now_ns - self.since_ns;
        }
        (self.running, self.since_ns) = (cause, now_ns);
    }
}

/// Sum of the clocks of all dies, modulo 2^64. A clock that ran from `a` to `b` has added `b - a`; a clock running
/// since `a` adds `now - a`.
#[derive(Debug, Default)]
struct AllDies {
    /// Sum of the clock values at all stops, minus the sum at all starts.
    sums: StallTimes,
    /// Number of running clocks.
    running: [u64; CAUSES],
}

impl AllDies {
    fn read(&self, now_ns: u64) -> StallTimes {
        std::array::from_fn(|cause| self.sums[cause].wrapping_add(self.running[cause].wrapping_mul(now_ns)))
    }

    /// Switches the clock of one die from one cause to another.
    fn switch(&mut self, before: Option<StallCause>, cause: StallCause, now_ns: u64) {
        if let Some(before) = before {
            self.sums[before as usize] = self.sums[before as usize].wrapping_add(now_ns);
            self.running[before as usize] -= 1;
        }
        self.sums[cause as usize] = self.sums[cause as usize].wrapping_sub(now_ns);
        self.running[cause as usize] += 1;
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Die {
    clocks: Clocks,
    /// Latest request with an operation on the die: number of its submission, and index in [`Attribution::requests`].
    latest: (u64, u32),
}

/// One request on one die.
#[derive(Clone, Copy, Debug, Default)]
struct RequestOnDie {
    /// Number of the request's operations on the die that have not ended.
    ops_left: u32,
    /// Clocks that run while the cells work on pages of the request.
    served: Clocks,
}

#[derive(Clone, Copy, Debug)]
struct Charged {
    /// Charges of the operation before its current wait.
    times: StallTimes,
    waits_for: WaitsFor,
    die: u16,
    /// Index in [`Attribution::requests`].
    request: u32,
}

#[derive(Clone, Copy, Debug)]
enum WaitsFor {
    Bus {
        since_ns: u64,
    },
    Die {
        /// Clock values at the start of the wait; see [`Attribution::read`].
        reading: StallTimes,
    },
}

impl Default for Charged {
    fn default() -> Self {
        Self { times: [0; CAUSES], waits_for: WaitsFor::Bus { since_ns: 0 }, die: 0, request: 0 }
    }
}

/// Returns the operations of a command that are charged.
fn attributed(first: u32, ops: &Ops) -> impl Iterator<Item = u32> {
    ops.of_command(first).filter(|&index| ops[index].attributed)
}

#[derive(Debug)]
pub(super) struct Attribution {
    dies: Vec<Die>,
    all_dies: AllDies,
    requests: Slab<RequestOnDie>,
    ops: Vec<Charged>,
    submissions: u64,
    /// Charges of the latest completed request, by owner.
    completed: Vec<StallTimes>,
}

impl Attribution {
    /// Attribution for idle dies.
    pub fn new(dies: u32, now_ns: u64) -> Self {
        let mut attribution = Self {
            dies: vec![Die::default(); dies as usize],
            all_dies: AllDies::default(),
            requests: Slab::default(),
            ops: Vec::new(),
            submissions: 0,
            completed: Vec::new(),
        };
        (0..dies).for_each(|die| attribution.die_is(die, StallCause::Dependency, now_ns));
        attribution
    }

    /// Begins the submission of a request.
    pub fn submit(&mut self) {
        self.submissions += 1;
    }

    /// Adds an operation of the request being submitted; it waits for its die.
    pub fn emitted(&mut self, index: u32, number: u16, now_ns: u64) {
        let die = &mut self.dies[usize::from(number)];
        if die.latest.0 != self.submissions {
            die.latest = (self.submissions, self.requests.insert(RequestOnDie::default()));
        }
        let request = die.latest.1;
        self.requests[request].ops_left += 1;
        *numbered(&mut self.ops, index) = Charged { die: number, request, ..Charged::default() };
        self.begin_wait_for_die(index, now_ns);
    }

    /// Returns the clocks of a die as seen by a request. The request's own service does not advance the clock of the
    /// cause.
    fn read(&self, die: u16, request: u32, now_ns: u64) -> StallTimes {
        let mut times = self.dies[usize::from(die)].clocks.read(now_ns);
        let served = self.requests[request].served.read(now_ns);
        times.iter_mut().zip(served).for_each(|(time, served)| *time -= served);
        times[StallCause::Service as usize] = served.iter().sum();
        times
    }

    /// Charges an operation for its wait that ends now.
    fn charge(&mut self, index: u32, now_ns: u64) {
        let Charged { waits_for, die, request, .. } = self.ops[index as usize];
        match waits_for {
            WaitsFor::Bus { since_ns } => {
                self.ops[index as usize].times[StallCause::Bus as usize] += now_ns - since_ns;
            }
            WaitsFor::Die { reading } => {
                let now = self.read(die, request, now_ns);
                let times = &mut self.ops[index as usize].times;
                times.iter_mut().zip(now).zip(reading).for_each(|((time, now), before)| *time += now - before);
            }
        }
    }

    fn begin_wait_for_die(&mut self, index: u32, now_ns: u64) {
        let Charged { die, request, .. } = self.ops[index as usize];
        self.ops[index as usize].waits_for = WaitsFor::Die { reading: self.read(die, request, now_ns) };
    }

    /// Makes the operations of a command wait for the bus.
    pub fn wait_for_bus(&mut self, first: u32, ops: &Ops, now_ns: u64) {
        for index in attributed(first, ops) {
            self.charge(index, now_ns);
            self.ops[index as usize].waits_for = WaitsFor::Bus { since_ns: now_ns };
        }
    }

    /// Makes the operations of a command wait for their die.
    pub fn wait_for_die(&mut self, first: u32, ops: &Ops, now_ns: u64) {
        for index in attributed(first, ops) {
            self.charge(index, now_ns);
            self.begin_wait_for_die(index, now_ns);
        }
    }

    /// The cells begin or resume a command.
    pub fn cells_begin(&mut self, first: u32, ops: &Ops, now_ns: u64) {
        self.serve(first, ops, Some(StallCause::of_work(&ops[first])), now_ns);
    }

    /// The cells end or interrupt a command.
    pub fn cells_stop(&mut self, first: u32, ops: &Ops, now_ns: u64) {
        self.serve(first, ops, None, now_ns);
    }

    /// Switches the clocks of the requests whose pages are in a command.
    fn serve(&mut self, first: u32, ops: &Ops, cause: Option<StallCause>, now_ns: u64) {
        if ops[first].cause == Cause::Host {
            for index in attributed(first, ops).filter(|&index| ops[index].cause == Cause::Host) {
                self.requests[self.ops[index as usize].request].served.switch(cause, now_ns);
            }
        }
    }

    /// Sets the cause to which waiting for a die is charged.
    pub fn die_is(&mut self, number: u32, cause: StallCause, now_ns: u64) {
        let clocks = &mut self.dies[number as usize].clocks;
        let before = clocks.running;
        if before != Some(cause) {
            clocks.switch(Some(cause), now_ns);
            self.all_dies.switch(before, cause, now_ns);
        }
    }

    /// Copies the charges of an ended operation of the same request to an operation that waited for it.
    pub fn inherit(&mut self, from: u32, to: u32, now_ns: u64) {
        self.ops[to as usize].times = self.ops[from as usize].times;
        self.begin_wait_for_die(to, now_ns);
    }

    /// Charges an operation for the last time. Its charges stay until its index is reused.
    pub fn ended(&mut self, index: u32, now_ns: u64) {
        self.charge(index, now_ns);
        let request = self.ops[index as usize].request;
        self.requests[request].ops_left -= 1;
        if self.requests[request].ops_left == 0 {
            self.requests.remove(request);
        }
    }

    /// Charges a request with the charges of its last operation.
    pub fn completed(&mut self, last: u32, owner: u32) {
        *numbered(&mut self.completed, owner) = self.ops[last as usize].times;
    }

    /// Charges of the latest completed request of an owner.
    pub fn of(&self, owner: u32) -> &StallTimes {
        &self.completed[owner as usize]
    }

    /// Returns the times of all dies so far by cause; idle dies count as [`StallCause::Dependency`].
    pub fn of_dies(&self, now_ns: u64) -> StallTimes {
        self.all_dies.read(now_ns)
    }
}

#[cfg(test)]
mod twin;
