//! State of a die: waiting operations and current commands.

use super::agenda::NEVER;
use super::attribution::StallCause;
use super::ops::{NONE, Ops};
use super::scheduler::{CLASSES, DieView, NOTHING};

/// List of the ready operations of one class, sorted by operation number.
#[derive(Clone, Copy, Debug)]
struct Ready {
    first: u32,
    last: u32,
    /// Number of the first ready operation; [`NOTHING`] if the list is empty.
    number: u64,
}

impl Ready {
    /// Returns the last operation with a number below `number`; [`NONE`] if there is none.
    #[inline(always)]
    fn before(&self, number: u64, ops: &Ops) -> u32 {
        if self.last == NONE || ops[self.last].number < number { self.last } else { self.search(number, ops) }
    }

    /// Searches from both ends, because after long requests the next operation on a block is usually near the front.
    fn search(&self, number: u64, ops: &Ops) -> u32 {
        let (mut front, mut back) = (self.first, ops[self.last].previous);
        loop {
            if ops[front].number > number {
                return ops[front].previous;
            }
            if back == NONE || ops[back].number < number {
                return back;
            }
            (front, back) = (ops[front].next, ops[back].previous);
        }
    }
}

/// A command of a die: one operation, or several operations of the same kind on different planes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Command {
    /// First operation of the command. Its operations are linked by `next`.
    pub first: u32,
    /// Next operation of the command whose data is to be transferred; [`NONE`] once all data is transferred.
    pub transfer: u32,
    /// True if the command is a read.
    pub reads: bool,
}

/// A command that is being executed in the cells (read, program or erase), or was interrupted there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    pub command: Command,
    /// Time at which execution in the cells last began or resumed.
    pub began_ns: u64,
    /// Time at which execution in the cells ends; for a suspended command, the time left, with the cost of resuming.
    pub ends_ns: u64,
    pub suspensions: u32,
}

/// A command that was suspended for a host read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Suspended {
    pub work: Work,
    /// Next program of a cached program sequence, whose data is already in the chip. The program waits until the
    /// suspended command resumes, because the host read uses the page registers.
    pub loaded: Option<Command>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Cells {
    Idle,
    Busy(Work),
    /// A read from the cells has ended, but the registers still hold the previous page (cache read).
    Full(Command),
    /// An operation in the cells is being suspended, so that a host read can begin.
    Suspending,
}

/// State of the page registers, not counting the command that is being executed in the cells.
#[derive(Clone, Copy, Debug)]
pub(super) enum Registers {
    Free,
    /// A command whose data waits for the bus or is being transferred.
    Moving(Command),
    /// A program whose data is in the registers, and which waits until the cells are idle.
    Loaded(Command),
}

#[derive(Debug)]
pub(super) struct Die {
    pub channel: u32,
    ready: [Ready; CLASSES],
    pub cells: Cells,
    pub registers: Registers,
    pub suspended: Option<Suspended>,
    pub emitted: u64,
    pub begun: u64,
    /// True if the die is already listed among the dies that may be able to begin a command.
    pub awake: bool,
    /// Start time of the die's current command; [`NEVER`] if it has none.
    pub held_since_ns: u64,
}

impl Die {
    pub fn new(channel: u32) -> Self {
        Self {
            channel,
            ready: [Ready { first: NONE, last: NONE, number: NOTHING }; CLASSES],
            cells: Cells::Idle,
            registers: Registers::Free,
            suspended: None,
            emitted: 0,
            begun: 0,
            awake: false,
            held_since_ns: NEVER,
        }
    }

    /// True if the die has no command.
    pub fn is_empty(&self) -> bool {
        matches!(self.cells, Cells::Idle) && matches!(self.registers, Registers::Free) && self.suspended.is_none()
    }

    /// Returns the stall cause to which the waits of other operations are charged while the die is in this state.
    pub fn stall_cause(&self, ops: &Ops) -> StallCause {
        match (&self.cells, &self.suspended) {
            (Cells::Busy(work), _) | (Cells::Suspending, Some(Suspended { work, .. })) => {
                StallCause::of_work(&ops[work.command.first])
            }
            _ if self.is_empty() => StallCause::Dependency,
            _ => StallCause::Bus,
        }
    }

    #[inline]
    pub fn first_ready(&self, class: usize) -> u32 {
        self.ready[class].first
    }

    #[inline]
    pub fn view(&self) -> DieView {
        DieView { ready: self.ready.map(|list| list.number), begun: self.begun }
    }

    /// Adds a ready operation to the list of its class, which is sorted by number; it usually comes last.
    #[inline]
    pub fn make_ready(&mut self, index: u32, ops: &mut Ops) {
        let list = &mut self.ready[ops[index].class as usize];
        let before = list.before(ops[index].number, ops);
        let after = if before == NONE { list.first } else { ops[before].next };
        ops[index].previous = before;
        ops[index].next = after;
        match before {
            NONE => (list.first, list.number) = (index, ops[index].number),
            before => ops[before].next = index,
        }
        match after {
            NONE => list.last = index,
            after => ops[after].previous = index,
        }
    }

    /// Removes an operation that begins, with its program unit, from the ready list.
    #[inline(always)]
    pub fn begin(&mut self, index: u32, ops: &mut Ops) {
        let list = &mut self.ready[ops[index].class as usize];
        let (previous, next) = (ops[index].previous, ops[index].next);
        match previous {
            NONE => {
                list.first = next;
                list.number = if next == NONE { NOTHING } else { ops[next].number };
            }
            previous => ops[previous].next = next,
        }
        match next {
            NONE => list.last = previous,
            next => ops[next].previous = previous,
        }
        ops[index].next = ops[index].members;
        self.begun += 1;
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_core::Rng;

    use super::super::ops::Op;
    use super::super::scheduler::Class;
    use super::*;

    /// Goal: the first ready operation has the lowest number, for any order in which operations become ready. Method:
    /// compares the list of ready operations with a sorted set.
    #[test]
    fn ready_operations_are_in_the_order_of_their_numbers() {
        let mut rng = Rng::named(1, "ready");
        let (mut die, mut ops) = (Die::new(0), Ops::default());
        let mut ready = std::collections::BTreeSet::new();
        for _ in 0..20_000 {
            let number = rng.below(500);
            if rng.below(3) < 2 && ready.insert(number) {
                let index = ops.insert(Op { number, ..Op::FREE });
                die.make_ready(index, &mut ops);
            } else if let Some(lowest) = ready.pop_first() {
                let index = die.first_ready(Class::HostRead as usize);
                assert_eq!(ops[index].number, lowest);
                die.begin(index, &mut ops);
                ops.remove(index);
            }
            assert_eq!(die.view().ready[0], ready.first().copied().unwrap_or(NOTHING));
        }
    }
}
