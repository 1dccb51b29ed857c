//! What requests wait for below the FTL: every nanosecond from submission to end goes to one cause.
//!
//! An operation of a request is charged for what its die does at that moment:
//!
//! ```text
//! cells work on a page that the same request asked for    own
//! cells work on anything else                             by the cause of that; of several planes, of the first
//! cells rest, and data waits for the bus or is on it      bus
//! the die holds nothing: an operation elsewhere is first  order
//! ```
//! While its own data waits for the bus or is on it, it is charged to the bus, whatever the cells do meanwhile. One that
//! waited for another of the same request (an entry of the map, the rest of a page) takes over what that was charged
//! for. A request is charged what its last operation was.
//!
//! Nothing is walked: each die has running sums of what it did, an operation keeps where they stood when it was charged
//! last.

use std::collections::VecDeque;

use ssdlab_core::Slab;

use super::agenda::NEVER;
use super::die::{Cells, Die, Registers};
use super::ops::{Kind, NONE, Op, Ops};
use crate::Cause;

/// What the time of a request below the FTL goes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Wait {
    /// Cells read pages that other requests asked for.
    HostReads = 0,
    /// Cells program pages that other requests wrote.
    HostWrites = 1,
    /// Cells read the rest of pages written in part.
    PartialPages = 2,
    /// Cells work for collection or merges.
    Collection = 3,
    /// Cells load or write pages of the map, also for the request itself.
    Map = 4,
    /// Data waits for a channel or is on it.
    Bus = 5,
    /// The die holds nothing: an operation of another die comes first.
    Order = 6,
    /// Cells work on pages that the request asked for.
    Own = 7,
}

/// Number of [`Wait`]s.
pub const WAITS: usize = 8;
/// Those of them that a die can be at.
const STATES: usize = 7;

/// What a die did, by [`Wait`]; [`Wait::Order`] is the time in which it held nothing.
pub type DieTime = [u64; STATES];

impl Wait {
    fn of(op: &Op) -> Self {
        match (op.cause, op.kind) {
            (Cause::Host, Kind::Read) => Self::HostReads,
            (Cause::Host, _) => Self::HostWrites,
            (Cause::ReadModifyWrite, _) => Self::PartialPages,
            (Cause::MapLoad | Cause::MapWriteBack | Cause::MapUpdate | Cause::MapGc, _) => Self::Map,
            _ => Self::Collection,
        }
    }

    /// What a die is at.
    fn at(die: &Die, ops: &Ops) -> Self {
        match (&die.cells, &die.registers, &die.suspended) {
            (Cells::Busy(command), ..) => Self::of(&ops[command.first]),
            (Cells::Suspending, _, Some(command)) => Self::of(&ops[command.first]),
            (Cells::Full(_), ..) | (_, Registers::Moving(_) | Registers::Loaded(_), _) => Self::Bus,
            (_, _, Some(command)) => Self::of(&ops[command.first]),
            _ => Self::Order,
        }
    }
}

/// Running sums of a die.
#[derive(Clone, Copy, Debug)]
struct Running {
    sums: DieTime,
    state: Wait,
    since_ns: u64,
}

impl Running {
    #[inline]
    fn until(&self, now_ns: u64) -> DieTime {
        let mut sums = self.sums;
        sums[self.state as usize] += now_ns - self.since_ns;
        sums
    }
}

/// Work of one die on pages that one request asked for: reads and programs.
#[derive(Clone, Copy, Debug)]
struct Own {
    /// Operations of the request on the die that have not ended.
    ops: u32,
    sums: [u64; 2],
    /// Since when the die works on one; [`NEVER`] while it does not.
    since_ns: u64,
    state: Wait,
}

impl Own {
    #[inline]
    fn until(&self, now_ns: u64) -> [u64; 2] {
        let mut sums = self.sums;
        if self.since_ns != NEVER {
            sums[self.state as usize] += now_ns - self.since_ns;
        }
        sums
    }
}

/// What an operation of a request was charged for since its emission.
#[derive(Clone, Copy, Debug)]
struct Path {
    /// What its die does for its request; none if it is not charged.
    own: u32,
    die: u32,
    charged: [u64; WAITS],
    /// How far it is charged, and where the sums stood when its die was what it waited for again.
    until_ns: u64,
    die_sums: DieTime,
    own_sums: [u64; 2],
}

impl Path {
    /// That of an operation which is not charged.
    const NOBODYS: Self =
        Self { own: NONE, die: NONE, charged: [0; WAITS], until_ns: 0, die_sums: [0; STATES], own_sums: [0; 2] };
}

/// Charges operations of requests.
#[derive(Debug)]
pub(super) struct Waits {
    dies: Vec<Running>,
    owns: Slab<Own>,
    /// By the number of the operation.
    paths: Vec<Path>,
    /// Whether what is emitted now is charged.
    charges: bool,
    /// Submissions so far, and the latest that each die is used by, with its work for that.
    submissions: u64,
    latest: Vec<(u64, u32)>,
    /// Requests that are done, in order.
    done: VecDeque<[u64; WAITS]>,
}

impl Waits {
    pub fn new(dies: usize, now_ns: u64) -> Self {
        Self {
            dies: vec![Running { sums: [0; STATES], state: Wait::Order, since_ns: now_ns }; dies],
            owns: Slab::default(),
            paths: Vec::new(),
            charges: false,
            submissions: 0,
            latest: vec![(0, NONE); dies],
            done: VecDeque::new(),
        }
    }

    /// Operations emitted from now on are those of a request, or of nobody who waits.
    pub fn submit(&mut self, of_request: bool) {
        self.charges = of_request;
        self.submissions += 1;
    }

    /// An operation enters the queue of its die; `waited_for` says whether its job waits for it.
    pub fn emitted(&mut self, index: u32, die: u32, waited_for: bool, now_ns: u64) {
        let index = index as usize;
        if self.paths.len() <= index {
            self.paths.resize(index + 1, Path::NOBODYS);
        }
        self.paths[index].own = NONE;
        if self.charges && waited_for {
            let own = self.own_of(die);
            let die_sums = self.dies[die as usize].until(now_ns);
            self.paths[index] = Path { own, die, charged: [0; WAITS], until_ns: now_ns, die_sums, own_sums: [0; 2] };
        }
    }

    fn own_of(&mut self, die: u32) -> u32 {
        let (submission, own) = self.latest[die as usize];
        if submission == self.submissions {
            self.owns[own].ops += 1;
            return own;
        }
        let own = self.owns.insert(Own { ops: 1, sums: [0; 2], since_ns: NEVER, state: Wait::HostReads });
        self.latest[die as usize] = (self.submissions, own);
        own
    }

    /// A die may be at something else.
    #[inline]
    pub fn look(&mut self, number: u32, die: &Die, ops: &Ops, now_ns: u64) {
        let running = &mut self.dies[number as usize];
        let state = Wait::at(die, ops);
        if state != running.state {
            running.sums[running.state as usize] += now_ns - running.since_ns;
            (running.since_ns, running.state) = (now_ns, state);
        }
    }

    /// The cells begin or resume work on the operations of a command, or end or interrupt it.
    #[inline]
    pub fn cells(&mut self, first: u32, ops: &Ops, begin: bool, now_ns: u64) {
        let state = Wait::of(&ops[first]);
        if !matches!(state, Wait::HostReads | Wait::HostWrites) {
            return;
        }
        let mut index = first;
        while index != NONE {
            let own = self.paths.get(index as usize).map_or(NONE, |path| path.own);
            if own != NONE && Wait::of(&ops[index]) == state {
                let own = &mut self.owns[own];
                own.sums = own.until(now_ns);
                own.since_ns = if begin { now_ns } else { NEVER };
                own.state = state;
            }
            index = ops[index].next;
        }
    }

    /// Charges an operation for what its die did; from here on its data is on the bus, or it ends.
    #[inline]
    pub fn charge_die(&mut self, index: u32, now_ns: u64) {
        let path = &mut self.paths[index as usize];
        if path.own == NONE {
            return;
        }
        let (die, own) = (self.dies[path.die as usize].until(now_ns), self.owns[path.own].until(now_ns));
        for ((charged, now), before) in path.charged.iter_mut().zip(die).zip(path.die_sums) {
            *charged += now - before;
        }
        for ((charged, now), before) in path.charged.iter_mut().zip(own).zip(path.own_sums) {
            *charged -= now - before;
        }
        path.charged[Wait::Own as usize] += own.iter().sum::<u64>() - path.own_sums.iter().sum::<u64>();
        path.until_ns = now_ns;
    }

    /// Charges an operation whose data waited for the bus or was on it, and ends.
    #[inline]
    pub fn charge_bus(&mut self, index: u32, now_ns: u64) {
        let path = &mut self.paths[index as usize];
        if path.own != NONE {
            path.charged[Wait::Bus as usize] += now_ns - path.until_ns;
            path.until_ns = now_ns;
        }
    }

    /// Charges one whose data is in the registers and waits for the cells now.
    #[inline]
    pub fn loaded(&mut self, index: u32, now_ns: u64) {
        if self.paths[index as usize].own != NONE {
            self.charge_bus(index, now_ns);
            self.wait_for_die(index, now_ns);
        }
    }

    /// From now on the operation waits for its die.
    #[inline]
    fn wait_for_die(&mut self, index: u32, now_ns: u64) {
        let path = &mut self.paths[index as usize];
        path.die_sums = self.dies[path.die as usize].until(now_ns);
        path.own_sums = self.owns[path.own].until(now_ns);
    }

    /// An operation takes over what one of the same request, which has just ended, was charged for.
    pub fn inherit(&mut self, from: u32, to: u32, now_ns: u64) {
        let charged = self.paths[from as usize].charged;
        let path = &mut self.paths[to as usize];
        if path.own == NONE {
            return;
        }
        path.charged = charged;
        path.until_ns = now_ns;
        self.wait_for_die(to, now_ns);
    }

    /// An operation has ended, and with it its job or not.
    #[inline]
    pub fn ended(&mut self, index: u32, job_done: bool) {
        let Path { own, charged, .. } = self.paths[index as usize];
        if own == NONE {
            return;
        }
        self.owns[own].ops -= 1;
        if self.owns[own].ops == 0 {
            self.owns.remove(own);
        }
        if job_done {
            self.done.push_back(charged);
        }
    }

    /// What the next of the requests that are done was charged for.
    pub fn take_done(&mut self) -> Option<[u64; WAITS]> {
        self.done.pop_front()
    }

    /// What the dies did so far, summed.
    pub fn dies(&self, now_ns: u64) -> DieTime {
        let mut sums = [0; STATES];
        for die in &self.dies {
            sums.iter_mut().zip(die.until(now_ns)).for_each(|(sum, more)| *sum += more);
        }
        sums
    }
}

#[cfg(test)]
mod twin;
