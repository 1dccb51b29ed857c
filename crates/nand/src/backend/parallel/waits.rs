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
//! Nothing is walked: each die has running sums of what it did. While an operation waits for the die, it keeps where
//! these stood when it began to, less what it was charged before; so it goes both from charges to that and back by
//! being taken off the sums. A die is told when its cells begin and end, and when it holds the first command and none;
//! the rest follows at the end, because sums are linear:
//!
//! ```text
//! bus = held - cells at work      order = all - held
//! ```
//! So in running sums [`Wait::Bus`] stands for the time that a command is held, and [`Wait::Order`] for all time. For
//! the same reason requests can be added up before their parts are told apart ([`Charges`]).

use ssdlab_core::Slab;

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

    #[inline(always)]
    fn of(op: &Op) -> Self {
        Self::OF[usize::from(op.kind != Kind::Read)][op.cause as usize]
    }
}

/// What time went to, before its parts are told apart; see above. Modulo 2^64, so that sums may run and be added up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Charges(pub [u64; WAITS]);

impl Charges {
    #[inline(always)]
    fn add(&mut self, wait: Wait, ns: u64) {
        self.0[wait as usize] = self.0[wait as usize].wrapping_add(ns);
    }

    #[inline(always)]
    fn sub(&mut self, wait: Wait, ns: u64) {
        self.0[wait as usize] = self.0[wait as usize].wrapping_sub(ns);
    }

    /// The other way round: the difference from these to `sums`.
    #[inline(always)]
    fn take_off(&mut self, sums: &Self) {
        self.0.iter_mut().zip(sums.0).for_each(|(own, sum)| *own = sum.wrapping_sub(*own));
    }

    /// From `earlier` ones until these.
    #[inline(always)]
    pub fn since(&self, earlier: &Self) -> Self {
        Self(std::array::from_fn(|wait| self.0[wait].wrapping_sub(earlier.0[wait])))
    }

    /// These are what dies did: a time, in proportion to that, those that rested left out. Its parts are whole
    /// nanoseconds and add up to it.
    pub fn divide(&self, time_ns: u64) -> Self {
        let held = self.0[Wait::Bus as usize];
        let ns_each = time_ns as f64 / held as f64;
        let mut divided = Self::default();
        let (mut before, mut given_ns) = (0, 0);
        let cells = divided.0.iter_mut().zip(self.0).take(Wait::Bus as usize);
        for (part, work) in cells.filter(|(_, work)| *work > 0) {
            before += work;
            // A processor converts numbers with a sign in one step.
            let until_ns = (before as i64 as f64 * ns_each) as i64 as u64;
            let until_ns = if before == held { time_ns } else { until_ns.min(time_ns) };
            *part = until_ns - given_ns;
            given_ns = until_ns;
        }
        divided.0[Wait::Bus as usize] = if held > 0 { time_ns } else { 0 };
        divided.0[Wait::Order as usize] = time_ns;
        divided
    }

    /// These are what dies did: as times.
    pub fn die_time(self) -> DieTime {
        let [time @ .., _own] = self.parts();
        time
    }

    /// What the time went to, by [`Wait`].
    pub fn parts(mut self) -> [u64; WAITS] {
        let [.., held, all, own] = self.0;
        let at_work = self.0[..Wait::Bus as usize].iter().fold(own, |sum, &part| sum.wrapping_add(part));
        self.0[Wait::Bus as usize] = held.wrapping_sub(at_work);
        self.0[Wait::Order as usize] = all.wrapping_sub(held);
        self.0
    }
}

/// What a die does.
#[derive(Clone, Copy, Debug)]
struct Running {
    /// Of what it is at, less when that began.
    sums: Charges,
    /// All ones for what it is at, else 0: so its time is added to all sums at once.
    at: [u64; WAITS],
    /// What the cells work on, also while they interrupt it; none while they rest.
    cells: Option<Wait>,
    /// The first operation of a command for pages of the host, while the cells work on it; else none.
    host: u32,
    /// When they began to.
    since_ns: u64,
}

impl Running {
    /// A die that rests from time 0 on.
    const REST: Self = {
        let mut at = [0; WAITS];
        at[Wait::Order as usize] = u64::MAX;
        Self { sums: Charges([0; WAITS]), at, cells: None, host: NONE, since_ns: 0 }
    };

    /// What it did so far.
    #[inline(always)]
    fn so_far(&self, now_ns: u64) -> Charges {
        Charges(std::array::from_fn(|wait| self.sums.0[wait].wrapping_add(self.at[wait] & now_ns)))
    }

    /// It is at this.
    #[inline(always)]
    fn begin(&mut self, wait: Wait, now_ns: u64) {
        self.sums.sub(wait, now_ns);
        self.at[wait as usize] = u64::MAX;
    }

    /// It is at this no more.
    #[inline(always)]
    fn end(&mut self, wait: Wait, now_ns: u64) {
        self.sums.add(wait, now_ns);
        self.at[wait as usize] = 0;
    }

    #[inline(always)]
    fn turn_to(&mut self, cells: Option<Wait>, all: &mut AllDies, now_ns: u64) {
        if let Some(ended) = std::mem::replace(&mut self.cells, cells) {
            self.end(ended, now_ns);
            all.end(ended, now_ns);
        }
        if let Some(begun) = cells {
            self.begin(begun, now_ns);
            all.begin(begun, now_ns);
        }
    }

    /// The cells no longer work on pages of the host, if they did: that was for whoever asked for them.
    #[inline(always)]
    fn end_work(&mut self, owns: &mut Slab<Own>, paths: &mut [Path], ops: &Ops, now_ns: u64) {
        let mut index = std::mem::replace(&mut self.host, NONE);
        let worked_ns = now_ns - self.since_ns;
        let Some(cells) = self.cells else { return };
        while index != NONE {
            let op = &ops[index];
            if op.watched && op.cause == Cause::Host {
                let path = &mut paths[index as usize];
                if path.own == NONE {
                    path.sums.add(cells, worked_ns);
                    path.sums.sub(Wait::Own, worked_ns);
                } else if let own = &mut owns[path.own]
                    && own.until_ns != now_ns
                {
                    own.sums[cells as usize] += worked_ns;
                    own.until_ns = now_ns;
                }
            }
            index = op.next;
        }
    }
}

/// What all dies do, summed over them.
#[derive(Clone, Copy, Debug)]
struct AllDies {
    /// Of what they are at, less when that began.
    sums: Charges,
    /// How many are at it.
    dies: [u64; WAITS],
}

impl AllDies {
    /// Dies that rest from `now_ns` on.
    fn rest(dies: usize, now_ns: u64) -> Self {
        let mut all = Self { sums: Charges([0; WAITS]), dies: [0; WAITS] };
        (0..dies).for_each(|_| all.begin(Wait::Order, now_ns));
        all
    }

    /// One more is at this.
    #[inline(always)]
    fn begin(&mut self, wait: Wait, now_ns: u64) {
        self.sums.sub(wait, now_ns);
        self.dies[wait as usize] += 1;
    }

    /// One less is.
    #[inline(always)]
    fn end(&mut self, wait: Wait, now_ns: u64) {
        self.sums.add(wait, now_ns);
        self.dies[wait as usize] -= 1;
    }

    /// What they did so far.
    fn so_far(&self, now_ns: u64) -> Charges {
        Charges(std::array::from_fn(|wait| self.sums.0[wait].wrapping_add(self.dies[wait].wrapping_mul(now_ns))))
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

/// What an operation of a request was charged for since its emission.
#[derive(Clone, Copy, Debug, Default)]
struct Path {
    die: u32,
    /// Whether it waits for the bus instead.
    on_bus: bool,
    /// What its die does for its request; none while it is the only operation of that on the die.
    own: u32,
    /// What it was charged for; while it waits for its die, where the sums of that stood when it began to, less that;
    /// while it waits for the bus, less the time when it began to.
    sums: Charges,
}

/// Charges operations of requests.
#[derive(Debug)]
pub(super) struct Waits {
    dies: Vec<Running>,
    all: AllDies,
    owns: Slab<Own>,
    /// By the number of the operation.
    paths: Vec<Path>,
    /// Submissions of requests so far; the latest that each die is used by, with its last operation there.
    submissions: u64,
    latest: Vec<(u64, u32)>,
    /// What the last request of each owner that is done was charged for.
    done: Vec<Charges>,
}

impl Waits {
    pub fn new(dies: usize, now_ns: u64) -> Self {
        let mut rest = Running::REST;
        rest.sums.sub(Wait::Order, now_ns);
        Self {
            dies: vec![rest; dies],
            all: AllDies::rest(dies, now_ns),
            owns: Slab::default(),
            paths: Vec::new(),
            submissions: 0,
            latest: vec![(0, NONE); dies],
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
    pub fn emitted(&mut self, index: u32, die: u32, now_ns: u64) {
        let own = self.own_of(die, index);
        let running = &self.dies[die as usize];
        *entry(&mut self.paths, index) = Path { die, on_bus: false, own, sums: running.so_far(now_ns) };
    }

    /// The operations of a request on a die share what that does for the request, from the second on. They are emitted
    /// before any of them begins.
    #[inline(always)]
    fn own_of(&mut self, die: u32, index: u32) -> u32 {
        let (submission, before) = std::mem::replace(&mut self.latest[die as usize], (self.submissions, index));
        if submission != self.submissions { NONE } else { self.shared_own(before) }
    }

    #[cold]
    fn shared_own(&mut self, before: u32) -> u32 {
        let own = &mut self.paths[before as usize].own;
        if *own == NONE {
            *own = self.owns.insert(Own { ops: 1, sums: [0; 2], until_ns: 0 });
        }
        self.owns[*own].ops += 1;
        *own
    }

    /// A die holds a command, the first.
    #[inline(always)]
    pub fn holds(&mut self, number: u32, now_ns: u64) {
        let die = &mut self.dies[number as usize];
        die.begin(Wait::Bus, now_ns);
        self.all.begin(Wait::Bus, now_ns);
    }

    /// It holds none any more.
    #[inline(always)]
    pub fn is_free(&mut self, number: u32, now_ns: u64) {
        let die = &mut self.dies[number as usize];
        die.end(Wait::Bus, now_ns);
        self.all.end(Wait::Bus, now_ns);
    }

    /// The cells begin or resume work on a command.
    #[inline(always)]
    pub fn cells_begin(&mut self, number: u32, first: u32, ops: &Ops, now_ns: u64) {
        let die = &mut self.dies[number as usize];
        let op = &ops[first];
        die.turn_to(Some(Wait::of(op)), &mut self.all, now_ns);
        let is_asked_for = op.cause == Cause::Host && (op.watched || op.next != NONE);
        (die.host, die.since_ns) = (if is_asked_for { first } else { NONE }, now_ns);
    }

    /// They interrupt it.
    #[inline(always)]
    pub fn cells_interrupt(&mut self, number: u32, ops: &Ops, now_ns: u64) {
        let Self { dies, owns, paths, .. } = self;
        dies[number as usize].end_work(owns, paths, ops, now_ns);
    }

    /// They end it.
    #[inline(always)]
    pub fn cells_end(&mut self, number: u32, ops: &Ops, now_ns: u64) {
        let Self { dies, all, owns, paths, .. } = self;
        let die = &mut dies[number as usize];
        die.end_work(owns, paths, ops, now_ns);
        die.turn_to(None, all, now_ns);
    }

    /// What a die did so far for a request: reads and programs.
    fn own(&self, die: &Running, own: u32, ops: &Ops, now_ns: u64) -> [u64; 2] {
        let mut sums = self.owns[own].sums;
        let Some(cells) = die.cells else { return sums };
        let mut index = die.host;
        while index != NONE {
            let op = &ops[index];
            if op.watched && op.cause == Cause::Host && self.paths[index as usize].own == own {
                sums[cells as usize] += now_ns - die.since_ns;
                break;
            }
            index = op.next;
        }
        sums
    }

    /// From now on an operation waits for its die, or its data for the bus; or it has waited there.
    #[inline(always)]
    pub fn turn(&mut self, index: u32, ops: &Ops, now_ns: u64) {
        let path = &mut self.paths[index as usize];
        if path.on_bus {
            path.sums.add(Wait::Bus, now_ns);
            path.sums.add(Wait::Order, now_ns);
            return;
        }
        let die = &self.dies[path.die as usize];
        path.sums.take_off(&die.so_far(now_ns));
        if path.own != NONE {
            self.turn_own(index, ops, now_ns);
        }
    }

    /// Tells apart what its die did for its request.
    fn turn_own(&mut self, index: u32, ops: &Ops, now_ns: u64) {
        let Path { die, own, .. } = self.paths[index as usize];
        let worked = self.own(&self.dies[die as usize], own, ops, now_ns);
        let sums = &mut self.paths[index as usize].sums;
        for (state, worked_ns) in [Wait::HostReads, Wait::HostWrites].into_iter().zip(worked) {
            sums.sub(state, worked_ns);
            sums.add(Wait::Own, worked_ns);
        }
    }

    /// From now on its data waits for the bus or is on it.
    pub fn wait_for_bus(&mut self, index: u32, ops: &Ops, now_ns: u64) {
        self.turn(index, ops, now_ns);
        let path = &mut self.paths[index as usize];
        path.on_bus = true;
        path.sums.sub(Wait::Bus, now_ns);
        path.sums.sub(Wait::Order, now_ns);
    }

    /// Its data is in the registers and waits for the cells.
    pub fn wait_for_die(&mut self, index: u32, ops: &Ops, now_ns: u64) {
        self.turn(index, ops, now_ns);
        self.paths[index as usize].on_bus = false;
        self.turn(index, ops, now_ns);
    }

    /// An operation takes over what one of the same request, which has just ended, was charged for.
    pub fn inherit(&mut self, from: u32, to: u32, ops: &Ops, now_ns: u64) {
        self.paths[to as usize].sums = self.paths[from as usize].sums;
        self.turn(to, ops, now_ns);
    }

    /// An operation has ended, and with it the request of an owner or none.
    #[inline(always)]
    pub fn ended(&mut self, index: u32, done: Option<u32>) {
        let path = &self.paths[index as usize];
        if path.own != NONE {
            let own = &mut self.owns[path.own];
            own.ops -= 1;
            if own.ops == 0 {
                self.owns.remove(path.own);
            }
        }
        if let Some(owner) = done {
            *entry(&mut self.done, owner) = path.sums;
        }
    }

    /// What the last request of an owner that is done was charged for.
    #[inline(always)]
    pub fn of(&self, owner: u32) -> &Charges {
        &self.done[owner as usize]
    }

    /// What the dies did so far, summed.
    #[inline(always)]
    pub fn of_dies(&self, now_ns: u64) -> Charges {
        self.all.so_far(now_ns)
    }
}

/// The item with a number, after filling up to there.
#[inline(always)]
fn entry<T: Copy + Default>(items: &mut Vec<T>, number: u32) -> &mut T {
    if items.len() <= number as usize {
        fill(items, number);
    }
    &mut items[number as usize]
}

#[cold]
#[inline(never)]
fn fill<T: Copy + Default>(items: &mut Vec<T>, number: u32) {
    items.resize(number as usize + 1, T::default());
}

#[cfg(test)]
mod twin;

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts are whole nanoseconds, as near to the share of the dies as that allows, and add up.
    #[test]
    fn a_time_is_divided_by_what_dies_did() {
        let divided = |time_ns, [cells @ .., bus, idle]: DieTime| {
            let (mut dies, held) = (Charges::default(), bus + cells.iter().sum::<u64>());
            dies.0[..cells.len()].copy_from_slice(&cells);
            (dies.0[Wait::Bus as usize], dies.0[Wait::Order as usize]) = (held, held + idle);
            assert_eq!(dies.die_time()[cells.len()..], [bus, idle]);
            dies.divide(time_ns).parts()
        };
        assert_eq!(divided(900, [10, 0, 20, 0, 0, 60, 1_000]), [100, 0, 200, 0, 0, 600, 0, 0]);
        assert_eq!(divided(10, [1, 1, 1, 0, 0, 0, 0]), [3, 3, 4, 0, 0, 0, 0, 0]);
        assert_eq!(divided(7, [0, 0, 0, 0, 0, 0, 50]), [0, 0, 0, 0, 0, 0, 7, 0]);
        let long_ns = u64::MAX - 1;
        assert_eq!(divided(long_ns, [3, 5, 0, 7, 1, 9, 0]).iter().sum::<u64>(), long_ns);
    }
}
