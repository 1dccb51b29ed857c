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
//! While its own data waits for the bus or is on it, it is charged to the bus, whatever the cells do meanwhile: they do
//! something in cache reads and cache programs alone. One that waited for another of the same request (an entry of the
//! map, the rest of a page) takes over what that was charged for. A request is charged what its last operation was.
//!
//! Nothing is walked: a die does one thing at a time, and has running sums of what it did. While an operation waits for
//! the die, it keeps where these stood when it began to, less what it was charged before; so it goes both from charges to
//! that and back by being taken off the sums. Its own is the rest of the time: what the cells do for its request is taken
//! out of the sums.
//!
//! Every operation of every request passes here, and all of it competes with the simulation itself for the first level of
//! the processor's cache. So what is kept of an operation is one line of that.

use ssdlab_core::{Slab, numbered};

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
pub const STATES: usize = 7;
/// Those of them in which it holds a command.
const HOLDS: usize = 6;

/// What dies did, by [`Wait`]; [`Wait::Order`] is the time in which they held nothing. Modulo 2^64.
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

    #[inline(always)]
    fn of(op: &Op) -> Self {
        Self::OF[usize::from(op.kind != Kind::Read)][op.cause as usize]
    }
}

/// What time went to, by [`Wait`] but for [`Wait::Own`], which is the rest. Modulo 2^64, so that sums may run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Charges(pub DieTime);

impl Charges {
    #[inline(always)]
    fn add(&mut self, wait: Wait, ns: u64) {
        self.0[wait as usize] = self.0[wait as usize].wrapping_add(ns);
    }

    /// With more for the bus; nothing is stored before it is whole, which a processor would wait for.
    #[inline(always)]
    fn and_bus(&self, ns: u64) -> Self {
        let more = |state| if state == Wait::Bus as usize { ns } else { 0 };
        Self(std::array::from_fn(|state| self.0[state].wrapping_add(more(state))))
    }

    /// By [`Wait`], of a time.
    pub fn parts(&self, time_ns: u64) -> [u64; WAITS] {
        let mut parts = [0; WAITS];
        parts[..STATES].copy_from_slice(&self.0);
        parts[Wait::Own as usize] = self.0.iter().fold(time_ns, |rest, part| rest.wrapping_sub(*part));
        parts
    }

    /// A time in proportion to what dies did in it, those that rested left out. Its parts are whole nanoseconds and add
    /// up to it; if all of them rested it goes to [`Wait::Order`].
    pub fn divide(time_ns: u64, dies: &DieTime) -> Self {
        let mut divided = Self::default();
        let held = &dies[..HOLDS];
        let total: u64 = held.iter().sum();
        if total == 0 {
            divided.add(Wait::Order, time_ns);
            return divided;
        }
        let ns_each = time_ns as f64 / total as f64;
        let (mut before, mut given_ns) = (0, 0);
        for (part, work) in divided.0.iter_mut().zip(held) {
            before += work;
            // A processor converts numbers with a sign in one step.
            let until_ns = (before as i64 as f64 * ns_each) as i64 as u64;
            let until_ns = if before == total { time_ns } else { until_ns.min(time_ns) };
            *part = until_ns - given_ns;
            given_ns = until_ns;
        }
        divided
    }
}

/// What a die does.
#[derive(Clone, Copy, Debug)]
struct Running {
    /// What it did before it began what it is at; one for each [`Wait`], so that every one is an index.
    sums: [u64; WAITS],
    /// When that was.
    since_ns: u64,
    at: Wait,
    /// The first operation that the cells work on; none if they rest.
    first: u32,
    /// The latest submission that uses the die, and its last operation there.
    latest: (u64, u32),
}

impl Running {
    const fn rest(now_ns: u64) -> Self {
        let at = Wait::Order;
        Self { sums: [0; WAITS], since_ns: now_ns, at, first: NONE, latest: (0, NONE) }
    }

    /// An operation that was charged this waits for it from now on, or has waited: what is kept of that.
    ///
    /// What it is at comes last, to where it is kept, so that no sum is stored alone which the processor would wait for
    /// before it reads that with its neighbours.
    #[inline(always)]
    fn turn(&self, charges: &mut Charges, now_ns: u64) {
        for (charge, sum) in charges.0.iter_mut().zip(self.sums) {
            *charge = sum.wrapping_sub(*charge);
        }
        charges.add(self.at, now_ns - self.since_ns);
    }

    #[inline(always)]
    fn turn_to(&mut self, wait: Wait, all: &mut AllDies, now_ns: u64) {
        self.sums[self.at as usize] += now_ns - self.since_ns;
        all.turn(self.at, wait, now_ns);
        (self.at, self.since_ns) = (wait, now_ns);
    }

    /// The cells no longer work on pages of the host, if they did: that was for whoever asked for them. What is not
    /// charged at all may have a path, which nobody asks about.
    #[inline(always)]
    fn end_work(&mut self, owns: &mut Slab<Own>, paths: &mut [Path], ops: &Ops, now_ns: u64) {
        let first = std::mem::replace(&mut self.first, NONE);
        let op = &ops[first];
        if op.cause != Cause::Host {
            return;
        }
        let worked = (self.at, now_ns - self.since_ns);
        if op.next != NONE {
            Self::worked_for_several(owns, paths, ops, now_ns, worked, first);
        } else if let Some(path) = paths.get_mut(first as usize) {
            path.worked(owns, now_ns, worked);
        }
    }

    #[inline(never)]
    fn worked_for_several(
        owns: &mut Slab<Own>,
        paths: &mut [Path],
        ops: &Ops,
        now_ns: u64,
        worked: (Wait, u64),
        first: u32,
    ) {
        let mut index = first;
        while index != NONE {
            let op = &ops[index];
            if op.cause == Cause::Host
                && let Some(path) = paths.get_mut(index as usize)
            {
                path.worked(owns, now_ns, worked);
            }
            index = op.next;
        }
    }
}

/// What all dies do, summed over them.
#[derive(Clone, Copy, Debug)]
struct AllDies {
    /// Of what they are at, less when that began.
    sums: [u64; WAITS],
    /// How many are at it.
    dies: [u64; WAITS],
}

impl AllDies {
    /// Dies that rest from `now_ns` on.
    fn rest(number: usize, now_ns: u64) -> Self {
        let (mut sums, mut dies, number) = ([0; WAITS], [0; WAITS], number as u64);
        sums[Wait::Order as usize] = now_ns.wrapping_mul(number).wrapping_neg();
        dies[Wait::Order as usize] = number;
        Self { sums, dies }
    }

    /// One of them goes from this to that.
    #[inline(always)]
    fn turn(&mut self, from: Wait, to: Wait, now_ns: u64) {
        let Self { sums, dies } = self;
        sums[from as usize] = sums[from as usize].wrapping_add(now_ns);
        sums[to as usize] = sums[to as usize].wrapping_sub(now_ns);
        dies[from as usize] -= 1;
        dies[to as usize] += 1;
    }

    /// What they did so far.
    fn so_far(&self, now_ns: u64) -> DieTime {
        std::array::from_fn(|state| self.sums[state].wrapping_add(self.dies[state].wrapping_mul(now_ns)))
    }
}

/// Work of one die on pages that one request asked for, where these are several: reads and programs.
#[derive(Clone, Copy, Debug)]
struct Own {
    /// Operations of the request on the die that have not ended.
    ops: u32,
    sums: [u64; 2],
    /// How far work is counted.
    until_ns: u64,
}

impl Own {
    #[inline(never)]
    fn worked(&mut self, now_ns: u64, (cells, ns): (Wait, u64)) {
        if self.until_ns != now_ns {
            self.sums[cells as usize] += ns;
            self.until_ns = now_ns;
        }
    }
}

/// What an operation of a request was charged for since its emission.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Path {
    /// What it was charged for; while it waits for its die, where the sums of that stood when it began to, less that;
    /// while it waits for the bus, less the time when it began to.
    charges: Charges,
    /// What its die does for its request; none while it is the only operation of that on the die, and when it has ended.
    own: u32,
    die: u16,
    /// Whether it waits for the bus instead.
    on_bus: bool,
}

impl Default for Path {
    fn default() -> Self {
        Self { charges: Charges::default(), own: NONE, die: 0, on_bus: false }
    }
}

impl Path {
    /// Its die worked for its request.
    #[inline(always)]
    fn worked(&mut self, owns: &mut Slab<Own>, now_ns: u64, (cells, ns): (Wait, u64)) {
        if self.own == NONE {
            self.charges.add(cells, ns);
        } else {
            owns[self.own].worked(now_ns, (cells, ns));
        }
    }

    /// Charges of this operation become what is kept of it once it waits for its die, or its data for the bus; or has
    /// waited there.
    #[inline(always)]
    fn turn(self, charges: &mut Charges, dies: &[Running], worked: [u64; 2], now_ns: u64) {
        if self.on_bus {
            charges.add(Wait::Bus, now_ns);
            return;
        }
        dies[usize::from(self.die)].turn(charges, now_ns);
        if self.own != NONE {
            charges.add(Wait::HostReads, worked[0].wrapping_neg());
            charges.add(Wait::HostWrites, worked[1].wrapping_neg());
        }
    }
}

/// Charges operations of requests.
#[derive(Debug)]
pub(super) struct Waits {
    dies: Vec<Running>,
    all: AllDies,
    owns: Slab<Own>,
    /// By the number of the operation.
    paths: Vec<Path>,
    /// Submissions of requests so far.
    submissions: u64,
    /// What the last request of each owner that is done was charged for.
    done: Vec<Charges>,
}

impl Waits {
    pub fn new(dies: usize, now_ns: u64) -> Self {
        Self {
            dies: vec![Running::rest(now_ns); dies],
            all: AllDies::rest(dies, now_ns),
            owns: Slab::default(),
            paths: Vec::new(),
            submissions: 0,
            done: Vec::new(),
        }
    }

    /// Operations that are watched from now on are those of another request.
    #[inline(always)]
    pub fn submit(&mut self) {
        self.submissions += 1;
    }

    /// An operation that is watched enters the queue of its die. That has not worked for its request yet.
    #[inline(always)]
    pub fn emitted(&mut self, index: u32, number: u16, now_ns: u64) {
        let die = &mut self.dies[usize::from(number)];
        // The operations of a request on a die share what that does for the request, from the second on. They are
        // emitted before any of them begins.
        let (submission, before) = std::mem::replace(&mut die.latest, (self.submissions, index));
        let path = numbered(&mut self.paths, index);
        (path.own, path.die, path.on_bus) = (NONE, number, false);
        // As `Running::turn` of one that was charged nothing.
        path.charges.0.copy_from_slice(&die.sums[..STATES]);
        path.charges.add(die.at, now_ns - die.since_ns);
        if submission == self.submissions {
            self.share_own(before, index);
        }
    }

    #[cold]
    fn share_own(&mut self, before: u32, index: u32) {
        let own = &mut self.paths[before as usize].own;
        if *own == NONE {
            *own = self.owns.insert(Own { ops: 1, sums: [0; 2], until_ns: 0 });
        }
        let own = *own;
        self.owns[own].ops += 1;
        self.paths[index as usize].own = own;
    }

    /// A die holds a command, the first, of which the data comes first.
    #[inline(always)]
    pub fn holds(&mut self, number: u32, now_ns: u64) {
        self.dies[number as usize].turn_to(Wait::Bus, &mut self.all, now_ns);
    }

    /// It holds none any more.
    #[inline(always)]
    pub fn is_free(&mut self, number: u32, now_ns: u64) {
        self.dies[number as usize].turn_to(Wait::Order, &mut self.all, now_ns);
    }

    /// The cells begin or resume work on a command, of which this is the first operation.
    #[inline(always)]
    pub fn cells_begin(&mut self, number: u32, first: u32, op: &Op, now_ns: u64) {
        let die = &mut self.dies[number as usize];
        die.turn_to(Wait::of(op), &mut self.all, now_ns);
        die.first = first;
    }

    /// They interrupt it.
    #[inline(always)]
    pub fn cells_interrupt(&mut self, number: u32, ops: &Ops, now_ns: u64) {
        self.dies[number as usize].end_work(&mut self.owns, &mut self.paths, ops, now_ns);
    }

    /// They end it.
    #[inline(always)]
    pub fn cells_end(&mut self, number: u32, ops: &Ops, now_ns: u64) {
        let die = &mut self.dies[number as usize];
        die.end_work(&mut self.owns, &mut self.paths, ops, now_ns);
        die.turn_to(Wait::Bus, &mut self.all, now_ns);
    }

    /// They end the reads of a command: from now on their data waits for the bus or is on it, while the cells rest or, in
    /// cache reads, work on others.
    #[inline(always)]
    pub fn reads_end(&mut self, number: u32, ops: &Ops, now_ns: u64) {
        let die = &mut self.dies[number as usize];
        let (first, op) = (die.first, &ops[die.first]);
        if op.next != NONE {
            return self.reads_end_one_by_one(number, first, ops, now_ns);
        }
        if op.watched {
            let path = &mut self.paths[first as usize];
            if op.cause != Cause::Host || path.own != NONE {
                return self.reads_end_one_by_one(number, first, ops, now_ns);
            }
            // Mostly it is one page for the host: it is charged what the die did before that.
            let before = Charges(std::array::from_fn(|state| die.sums[state].wrapping_sub(path.charges.0[state])));
            path.charges = before.and_bus(now_ns.wrapping_neg());
            path.on_bus = true;
        }
        die.first = NONE;
        die.turn_to(Wait::Bus, &mut self.all, now_ns);
    }

    #[inline(never)]
    fn reads_end_one_by_one(&mut self, number: u32, first: u32, ops: &Ops, now_ns: u64) {
        self.cells_end(number, ops, now_ns);
        let mut index = first;
        while index != NONE {
            if ops[index].watched {
                self.wait_for_bus(index, ops, now_ns);
            }
            index = ops[index].next;
        }
    }

    /// From now on an operation waits for its die, or its data for the bus; or it has waited there.
    #[inline(always)]
    pub fn turn(&mut self, index: u32, ops: &Ops, now_ns: u64) {
        let (path, worked) = (self.paths[index as usize], self.worked(index, ops, now_ns));
        path.turn(&mut self.paths[index as usize].charges, &self.dies, worked, now_ns);
    }

    /// What the die of an operation did for its request while others of that shared it: reads and programs.
    #[inline(always)]
    fn worked(&self, index: u32, ops: &Ops, now_ns: u64) -> [u64; 2] {
        let path = &self.paths[index as usize];
        if path.own == NONE { [0; 2] } else { self.worked_for_several_ops(path, ops, now_ns) }
    }

    #[inline(never)]
    fn worked_for_several_ops(&self, path: &Path, ops: &Ops, now_ns: u64) -> [u64; 2] {
        let (die, mut worked) = (&self.dies[usize::from(path.die)], self.owns[path.own].sums);
        let mut index = if matches!(die.at, Wait::HostReads | Wait::HostWrites) { die.first } else { NONE };
        while index != NONE {
            let op = &ops[index];
            if op.cause == Cause::Host && self.paths.get(index as usize).is_some_and(|other| other.own == path.own) {
                worked[die.at as usize] += now_ns - die.since_ns;
                break;
            }
            index = op.next;
        }
        worked
    }

    /// From now on its data waits for the bus or is on it.
    #[inline(always)]
    pub fn wait_for_bus(&mut self, index: u32, ops: &Ops, now_ns: u64) {
        self.turn(index, ops, now_ns);
        let path = &mut self.paths[index as usize];
        path.on_bus = true;
        path.charges.add(Wait::Bus, now_ns.wrapping_neg());
    }

    /// Its data is in the registers and waits for the cells.
    pub fn wait_for_die(&mut self, index: u32, ops: &Ops, now_ns: u64) {
        self.turn(index, ops, now_ns);
        self.paths[index as usize].on_bus = false;
        self.turn(index, ops, now_ns);
    }

    /// An operation takes over what one of the same request, which has just ended, was charged for.
    pub fn inherit(&mut self, from: u32, to: u32, ops: &Ops, now_ns: u64) {
        self.paths[to as usize].charges = self.paths[from as usize].charges;
        self.turn(to, ops, now_ns);
    }

    /// An operation has ended; `done` says of which owner that ends a request. `turned` says whether it has turned.
    #[inline(always)]
    pub fn ended(&mut self, index: u32, turned: bool, done: Option<u32>, ops: &Ops, now_ns: u64) {
        let path = &self.paths[index as usize];
        if path.own != NONE {
            return self.one_of_several_ended(index, turned, done, ops, now_ns);
        }
        if let Some(owner) = done {
            let charges = numbered(&mut self.done, owner);
            if path.on_bus && !turned {
                *charges = path.charges.and_bus(now_ns);
                return;
            }
            *charges = path.charges;
            if !turned {
                path.turn(charges, &self.dies, [0; 2], now_ns);
            }
        }
    }

    #[inline(never)]
    fn one_of_several_ended(&mut self, index: u32, turned: bool, done: Option<u32>, ops: &Ops, now_ns: u64) {
        if !turned && done.is_some() {
            self.turn(index, ops, now_ns);
        }
        let own = std::mem::replace(&mut self.paths[index as usize].own, NONE);
        self.owns[own].ops -= 1;
        if self.owns[own].ops == 0 {
            self.owns.remove(own);
        }
        self.ended(index, true, done, ops, now_ns);
    }

    /// What the last request of an owner that is done was charged for.
    #[inline(always)]
    pub fn of(&self, owner: u32) -> &Charges {
        &self.done[owner as usize]
    }

    /// What the dies did so far, summed.
    #[inline(always)]
    pub fn of_dies(&self, now_ns: u64) -> DieTime {
        self.all.so_far(now_ns)
    }
}

#[cfg(test)]
mod twin;

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts are whole nanoseconds, as near to the share of the dies as that allows, and add up.
    #[test]
    fn a_time_is_divided_by_what_dies_did() {
        let divided = |time_ns, dies: DieTime| Charges::divide(time_ns, &dies).parts(time_ns);
        assert_eq!(divided(900, [10, 0, 20, 0, 0, 60, 1_000]), [100, 0, 200, 0, 0, 600, 0, 0]);
        assert_eq!(divided(10, [1, 1, 1, 0, 0, 0, 0]), [3, 3, 4, 0, 0, 0, 0, 0]);
        assert_eq!(divided(7, [0, 0, 0, 0, 0, 0, 50]), [0, 0, 0, 0, 0, 0, 7, 0]);
        let long_ns = u64::MAX - 1;
        assert_eq!(divided(long_ns, [3, 5, 0, 7, 1, 9, 0]).iter().sum::<u64>(), long_ns);
    }
}
