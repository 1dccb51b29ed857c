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
//! Nothing is walked: each die has running sums of what it did. They are taken off what an operation is charged when it
//! begins to wait for the die, and added when it has waited.

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
    /// Reads by cause, then the others.
    const OF: [[Self; Cause::ALL.len()]; 2] = {
        let mut of = [[Self::Collection; Cause::ALL.len()]; 2];
        of[0][Cause::Host as usize] = Self::HostReads;
        of[1][Cause::Host as usize] = Self::HostWrites;
        let mut others = 0;
        while others < 2 {
            of[others][Cause::ReadModifyWrite as usize] = Self::PartialPages;
            of[others][Cause::MapLoad as usize] = Self::Map;
            of[others][Cause::MapWriteBack as usize] = Self::Map;
            of[others][Cause::MapUpdate as usize] = Self::Map;
            of[others][Cause::MapGc as usize] = Self::Map;
            others += 1;
        }
        of
    };

    #[inline]
    pub(super) fn of(op: &Op) -> Self {
        Self::OF[usize::from(op.kind != Kind::Read)][op.cause as usize]
    }

    /// What a die is at whose cells do not work.
    #[inline]
    pub(super) fn at_rest(die: &Die, ops: &Ops) -> Self {
        match (&die.cells, &die.registers, &die.suspended) {
            (Cells::Suspending, _, Some(command)) => Self::of(&ops[command.first]),
            (Cells::Full(_), ..) | (_, Registers::Moving(_) | Registers::Loaded(_), _) => Self::Bus,
            (_, _, Some(command)) => Self::of(&ops[command.first]),
            _ => Self::Order,
        }
    }
}

/// Running sums of a die. That of [`Wait::Own`] stays 0: the sums are as many as those of an operation, to be added at once.
#[derive(Clone, Copy, Debug)]
struct Running {
    sums: [u64; WAITS],
    state: Wait,
    since_ns: u64,
}

impl Running {
    #[inline]
    fn until(&self, now_ns: u64) -> [u64; WAITS] {
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
    /// What its die does for its request.
    own: u32,
    die: u32,
    /// While it waits for its die, less where the sums of that stood when it began to, modulo 2^64.
    charged: [u64; WAITS],
    /// How far it is charged, while it does not.
    until_ns: u64,
}

impl Path {
    /// From now on it waits for its die, which did so much.
    #[inline]
    fn wait_for_die(&mut self, die: [u64; WAITS], own: [u64; 2]) {
        self.charged.iter_mut().zip(die).for_each(|(charged, sum)| *charged = charged.wrapping_sub(sum));
        for (state, sum) in own.into_iter().enumerate() {
            self.charged[state] = self.charged[state].wrapping_add(sum);
            self.charged[Wait::Own as usize] = self.charged[Wait::Own as usize].wrapping_sub(sum);
        }
    }

    /// It has waited for its die, which did so much.
    #[inline]
    fn waited_for_die(&mut self, die: [u64; WAITS], own: [u64; 2]) {
        self.charged.iter_mut().zip(die).for_each(|(charged, sum)| *charged = charged.wrapping_add(sum));
        for (state, sum) in own.into_iter().enumerate() {
            self.charged[state] = self.charged[state].wrapping_sub(sum);
            self.charged[Wait::Own as usize] = self.charged[Wait::Own as usize].wrapping_add(sum);
        }
    }
}

/// Charges operations of requests.
#[derive(Debug)]
pub(super) struct Waits {
    dies: Vec<Running>,
    owns: Slab<Own>,
    /// By the number of the operation.
    paths: Vec<Path>,
    /// Submissions of requests so far, and the latest that each die is used by, with its work for that.
    submissions: u64,
    latest: Vec<(u64, u32)>,
    /// Requests that are done, in order.
    done: VecDeque<[u64; WAITS]>,
}

impl Waits {
    pub fn new(dies: usize, now_ns: u64) -> Self {
        Self {
            dies: vec![Running { sums: [0; WAITS], state: Wait::Order, since_ns: now_ns }; dies],
            owns: Slab::default(),
            paths: Vec::new(),
            submissions: 0,
            latest: vec![(0, NONE); dies],
            done: VecDeque::new(),
        }
    }

    /// Operations that are watched from now on are those of another request.
    #[inline]
    pub fn submit(&mut self) {
        self.submissions += 1;
    }

    /// An operation that is watched enters the queue of its die.
    pub fn emitted(&mut self, index: u32, die: u32, now_ns: u64) {
        let own = self.own_of(die);
        let path = Path { own, die, charged: [0; WAITS], until_ns: 0 };
        if self.paths.len() <= index as usize {
            self.paths.resize(index as usize + 1, path);
        }
        self.paths[index as usize] = path;
        self.wait_for_die(index, now_ns);
    }

    #[inline]
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

    /// A die is at this, as before or from now on.
    #[inline]
    pub fn is_at(&mut self, number: u32, state: Wait, now_ns: u64) {
        let running = &mut self.dies[number as usize];
        if state != running.state {
            running.sums[running.state as usize] += now_ns - running.since_ns;
            (running.since_ns, running.state) = (now_ns, state);
        }
    }

    /// The cells begin or resume work on a command for pages of the host.
    #[inline]
    pub fn begin_own(&mut self, first: u32, ops: &Ops, now_ns: u64) {
        let state = Wait::of(&ops[first]);
        self.each_own(first, ops, |own| (own.since_ns, own.state) = (now_ns, state));
    }

    /// They end or interrupt it.
    #[inline]
    pub fn end_own(&mut self, first: u32, ops: &Ops, now_ns: u64) {
        self.each_own(first, ops, |own| {
            own.sums = own.until(now_ns);
            own.since_ns = NEVER;
        });
    }

    /// What a die does for the requests of the operations of a command that have its cause.
    #[inline]
    fn each_own(&mut self, first: u32, ops: &Ops, act: impl Fn(&mut Own)) {
        let mut index = first;
        while index != NONE {
            let op = &ops[index];
            if op.watched && op.cause == ops[first].cause {
                act(&mut self.owns[self.paths[index as usize].own]);
            }
            index = op.next;
        }
    }

    /// Charges an operation for what its die did; from here on its data is on the bus, or it ends.
    #[inline]
    pub fn charge_die(&mut self, index: u32, now_ns: u64) {
        let path = &mut self.paths[index as usize];
        path.waited_for_die(self.dies[path.die as usize].until(now_ns), self.owns[path.own].until(now_ns));
        path.until_ns = now_ns;
    }

    /// Charges an operation whose data waited for the bus or was on it, and ends.
    #[inline]
    pub fn charge_bus(&mut self, index: u32, now_ns: u64) {
        let path = &mut self.paths[index as usize];
        path.charged[Wait::Bus as usize] += now_ns - path.until_ns;
        path.until_ns = now_ns;
    }

    /// Charges one whose data is in the registers and waits for the cells now.
    #[inline]
    pub fn loaded(&mut self, index: u32, now_ns: u64) {
        self.charge_bus(index, now_ns);
        self.wait_for_die(index, now_ns);
    }

    /// From now on the operation waits for its die.
    #[inline]
    fn wait_for_die(&mut self, index: u32, now_ns: u64) {
        let path = &mut self.paths[index as usize];
        path.wait_for_die(self.dies[path.die as usize].until(now_ns), self.owns[path.own].until(now_ns));
    }

    /// An operation takes over what one of the same request, which has just ended, was charged for.
    pub fn inherit(&mut self, from: u32, to: u32, now_ns: u64) {
        let charged = self.paths[from as usize].charged;
        self.paths[to as usize].charged = charged;
        self.wait_for_die(to, now_ns);
    }

    /// An operation has ended, and with it its job or not.
    #[inline]
    pub fn ended(&mut self, index: u32, job_done: bool) {
        let path = &self.paths[index as usize];
        let own = &mut self.owns[path.own];
        own.ops -= 1;
        if own.ops == 0 {
            self.owns.remove(path.own);
        }
        if job_done {
            self.done.push_back(path.charged);
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
