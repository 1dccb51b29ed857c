//! A flash array in time: channels, dies and planes at work at once.
//!
//! The FTL emits operations as it decides, and its map changes at that moment; what they cost appears here. Each
//! operation waits in the queue of its die until what it depends on is done:
//!
//! - the operation before it on the same block (so nothing on one block is ever reordered, and a read of a page that is
//!   being programmed waits);
//! - a program: the read of what it writes, for copies and pages written in part;
//! - a host's read: the entry of the map that it had to load;
//! - an erase: the copies made from its block.
//!
//! Among those that are ready a [`scheduler`] picks. A die works on one command at a time (one operation, or one for
//! each of several planes):
//!
//! ```text
//! read     cells t_R -> bus, page by page         cache read: the next t_R during the transfer
//! program  bus, page by page -> cells t_PROG      cache program: the next page's transfer during t_PROG
//! erase    cells t_BERS
//! copyback cells t_R + t_PROG
//! ```
//! A die holds the command until both are done; transfers on a channel go in the order in which they were asked for. A
//! read may suspend a longer operation; see [`ssdlab_nand::Suspend`].
//!
//! There is one event ahead for each die and each channel at most. Time never runs ahead of the bus: a transfer is not
//! reserved in advance, it begins when data and bus are there.

mod agenda;
mod die;
mod ops;
mod record;
pub(crate) mod scheduler;
mod timeline;
mod untimed;
mod witness;

use std::collections::VecDeque;
use std::fmt::Write;

use ssdlab_core::{BlockId, Ppn, Reciprocal};
use ssdlab_ftl::{Cause, Counts, FlashSink, MergeCost, Oob, Source};
use ssdlab_nand::{Commands, Geometry, Interruption, PageTimes, Place, Suspend, Timing};

pub use agenda::NEVER;
pub use ops::Kind;
pub(crate) use record::Record;
pub(crate) use timeline::Bins;
pub(crate) use untimed::UntimedFlash;
pub(crate) use witness::InTime;
pub use witness::{Seen, Witness};

use crate::flash::Flash;
use crate::{Drive, Window};
use agenda::Agenda;
use die::{Cells, Command, Die, Registers};
use ops::{NONE, Op, Ops};
use scheduler::{Class, SchedulerInfo};

/// Work that somebody waits for.
#[derive(Clone, Copy, Debug)]
struct Job {
    /// Operations to come.
    left: u32,
    /// When its first operation began; [`NEVER`] before.
    began_ns: u64,
    /// Who waits.
    owner: u32,
    /// Whether it is done when everything emitted for it is done; otherwise what the host's data needs.
    everything: bool,
}

/// A job that is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Done {
    /// As given to [`ParallelFlash::submit`].
    pub owner: u32,
    /// When its first operation began; when it was submitted, if it had none.
    pub began_ns: u64,
}

/// Copies from one block since it was erased.
#[derive(Clone, Copy, Debug)]
struct Gate {
    /// Not yet programmed.
    left: u32,
    /// The erase that waits for them.
    erase: u32,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    /// Operation emitted last on it, while that is under way.
    last: u32,
    gate: u32,
}

#[derive(Debug)]
struct Channel {
    /// Dies that wait for the bus, first the one that has it.
    dies: VecDeque<u32>,
    began_ns: u64,
}

/// What has been emitted for the work being submitted.
#[derive(Clone, Copy, Debug)]
struct Submission {
    job: u32,
    /// The latest read, and why.
    read: u32,
    read_cause: Cause,
    /// The latest load of map entries.
    load: u32,
    /// Reads of pages that are about to be written in part.
    partial: [u32; 2],
}

const NOTHING_SUBMITTED: Submission =
    Submission { job: NONE, read: NONE, read_cause: Cause::Host, load: NONE, partial: [NONE; 2] };

/// A flash array in time.
pub struct ParallelFlash<W = ()> {
    now_ns: u64,
    counts: Counts,
    timing: Timing,
    /// Bus time of a whole page.
    page_transfer_ns: u64,
    page_bytes: u32,
    commands: Commands,
    planes_per_die: u32,
    scheduler: SchedulerInfo,
    pages_per_block: u32,
    block_of: Reciprocal,
    blocks_per_plane: u32,
    places: Vec<Place>,
    dies: Vec<Die>,
    channels: Vec<Channel>,
    /// Dies, then channels.
    agenda: Agenda,
    ops: Ops,
    blocks: Vec<Block>,
    gates: Vec<Gate>,
    free_gates: Vec<u32>,
    jobs: Vec<Job>,
    free_jobs: Vec<u32>,
    submission: Submission,
    /// Dies that may have something to begin.
    wake: Vec<u32>,
    done: VecDeque<Done>,
    /// Sum over the dies of the time that they held a command.
    held_ns: u64,
    record: Record,
    witness: W,
}

impl<W: Witness> ParallelFlash<W> {
    /// An array whose operations so far are `counts`, at time 0.
    pub fn new(geometry: &Geometry, timing: &Timing, drive: &Drive, counts: Counts, witness: W) -> Self {
        let parallelism = geometry.parallelism;
        let places: Vec<Place> = (0..parallelism.planes()).map(|plane| parallelism.place(plane)).collect();
        let (dies, channels) = (parallelism.dies() as usize, parallelism.channels as usize);
        Self {
            now_ns: 0,
            counts,
            timing: *timing,
            page_transfer_ns: timing.transfer(geometry.page_bytes).0,
            page_bytes: geometry.page_bytes,
            commands: drive.commands,
            planes_per_die: parallelism.planes,
            scheduler: scheduler::scheduler(drive.scheduler),
            pages_per_block: geometry.pages_per_block,
            block_of: Reciprocal::new(geometry.pages_per_block),
            blocks_per_plane: geometry.blocks / parallelism.planes(),
            places,
            dies: (0..parallelism.dies()).map(|die| Die::new(die / parallelism.dies_per_channel())).collect(),
            channels: (0..channels).map(|_| Channel { dies: VecDeque::new(), began_ns: 0 }).collect(),
            agenda: Agenda::new(dies + channels),
            ops: Ops::default(),
            blocks: vec![Block { last: NONE, gate: NONE }; geometry.blocks as usize],
            gates: Vec::new(),
            free_gates: Vec::new(),
            jobs: Vec::new(),
            free_jobs: Vec::new(),
            submission: NOTHING_SUBMITTED,
            wake: Vec::new(),
            done: VecDeque::new(),
            held_ns: 0,
            record: Record::new(dies, channels, 0, None),
            witness,
        }
    }

    /// Starts recording anew, with every operation of `window` one by one.
    pub(crate) fn record(&mut self, window: Option<Window>) {
        self.record = Record::new(self.dies.len(), self.channels.len(), self.now_ns, window);
    }

    /// What was recorded.
    pub(crate) fn recorded(&self) -> &Record {
        &self.record
    }

    /// When something happens next; [`NEVER`] if nothing is under way.
    #[inline(always)]
    pub fn next_ns(&self) -> u64 {
        self.agenda.earliest().0
    }

    /// Flash operations that have not ended.
    pub fn under_way(&self) -> usize {
        self.ops.len()
    }

    /// Jobs that are done and have not been asked for.
    #[inline]
    pub fn take_done(&mut self) -> Option<Done> {
        self.done.pop_front()
    }

    /// Lets time pass without an event; there is none before `time_ns`.
    #[inline]
    pub fn pass_until(&mut self, time_ns: u64) {
        debug_assert!(time_ns >= self.now_ns && time_ns <= self.next_ns(), "time passes an event");
        self.now_ns = time_ns;
    }

    /// Begins a job for `owner`: what is emitted until [`Self::submitted`] belongs to it. With `everything` it is done
    /// when all of that is; otherwise when what the host's data needs is, whatever collection or merges take.
    pub fn submit(&mut self, owner: u32, everything: bool) {
        let job = Job { left: 0, began_ns: NEVER, owner, everything };
        let index = if let Some(index) = self.free_jobs.pop() {
            self.jobs[index as usize] = job;
            index
        } else {
            self.jobs.push(job);
            self.jobs.len() as u32 - 1
        };
        self.submission = Submission { job: index, ..NOTHING_SUBMITTED };
    }

    /// Ends a job's submission; says how many operations it waits for. If there are none, it is over and
    /// [`Self::take_done`] will not name it.
    pub fn submitted(&mut self) -> u32 {
        let index = self.submission.job;
        self.submission = NOTHING_SUBMITTED;
        let left = self.jobs[index as usize].left;
        if left == 0 {
            self.free_jobs.push(index);
        }
        self.settle();
        left
    }

    /// Processes the next event.
    #[inline]
    pub fn advance(&mut self) {
        let (time_ns, resource) = self.agenda.earliest();
        debug_assert!(time_ns != NEVER, "nothing is under way");
        self.now_ns = time_ns;
        self.agenda.take(resource);
        match resource.checked_sub(self.dies.len()) {
            None => self.cells_done(resource as u32),
            Some(channel) => self.transfer_done(channel),
        }
        self.settle();
        self.agenda.settle(resource);
    }

    /// What the queues hold, for an error message.
    pub fn describe(&self) -> String {
        let mut text = format!("{} flash operations have not ended", self.ops.len());
        for (number, die) in self.dies.iter().enumerate().filter(|(_, die)| die.emitted > die.begun || !die.is_empty())
        {
            let _ = write!(
                text,
                "; die {number}: {} wait, cells {:?}, registers {:?}",
                die.emitted - die.begun,
                die.cells,
                die.registers
            );
        }
        text
    }

    fn seen(&self, index: u32) -> Seen {
        let op = &self.ops[index];
        let from = (op.from_block != NONE).then_some((op.from_block, u32::from(op.from_page)));
        let id = u64::from(op.die) << 48 | op.number;
        Seen { id, kind: op.kind, block: op.block, page: u32::from(op.page), from }
    }

    // Emission.

    /// Puts an operation into the queue of its die.
    #[inline]
    fn emit(&mut self, kind: Kind, ppn: Ppn, bytes: u32, from: Option<Ppn>, cause: Cause) -> u32 {
        let block = self.block_of.divide(ppn.0);
        let Place { die, plane, .. } = self.places[(block / self.blocks_per_plane) as usize];
        let class = match (cause, kind) {
            (Cause::Host | Cause::ReadModifyWrite | Cause::MapLoad, Kind::Read) => Class::HostRead,
            (Cause::Host, _) => Class::HostProgram,
            _ => Class::Internal,
        };
        let (from_block, from_page) = from.map_or((NONE, 0), |from| {
            let block = self.block_of.divide(from.0);
            (block, (from.0 - block * self.pages_per_block) as u16)
        });
        let mut job = self.submission.job;
        if job != NONE {
            let waited = matches!(cause, Cause::Host | Cause::ReadModifyWrite | Cause::MapLoad);
            if waited || self.jobs[job as usize].everything {
                self.jobs[job as usize].left += 1;
            } else {
                job = NONE;
            }
        }
        let number = self.dies[die as usize].emitted;
        self.dies[die as usize].emitted += 1;
        let index = self.ops.insert(Op {
            kind,
            cause,
            class: class as u8,
            passed: false,
            page: (ppn.0 - block * self.pages_per_block) as u16,
            die: die as u16,
            plane: plane as u8,
            block,
            from_block,
            from_page,
            gate: NONE,
            bytes,
            job,
            waits: 0,
            number,
            behind: NONE,
            behind_from: NONE,
            edges: NONE,
            previous: NONE,
            next: NONE,
        });
        self.chain(block, index);
        if from_block != NONE {
            if kind == Kind::Copyback && from_block != block {
                self.chain(from_block, index);
            }
            self.enter_gate(from_block, index);
        }
        if kind == Kind::Erase {
            self.wait_at_gate(block, index);
        }
        if W::ON {
            self.witness.emitted(self.seen(index));
        }
        index
    }

    /// Called when all that an operation waits for is known.
    #[inline]
    fn enqueue(&mut self, index: u32) {
        if self.ops[index].waits == 0 {
            self.make_ready(index);
        }
    }

    #[inline]
    fn make_ready(&mut self, index: u32) {
        let number = u32::from(self.ops[index].die);
        self.dies[number as usize].make_ready(index, &mut self.ops);
        self.wake(number);
    }

    #[inline]
    fn wait_for(&mut self, waiter: u32, index: u32) {
        if index != NONE {
            self.ops.wait_for(waiter, index);
        }
    }

    /// Makes an operation the last on a block, behind the one before it there.
    #[inline]
    fn chain(&mut self, block: u32, index: u32) {
        let before = std::mem::replace(&mut self.blocks[block as usize].last, index);
        if before == NONE {
            return;
        }
        let kind = self.ops[index].kind;
        let op = &mut self.ops[before];
        if op.passed && (op.kind == Kind::Read || kind == Kind::Program) {
            return;
        }
        if op.block == block {
            op.behind = index;
        } else {
            op.behind_from = index;
        }
        self.ops[index].waits += 1;
    }

    /// Counts a copy among those that the next erase of the block waits for.
    fn enter_gate(&mut self, block: u32, index: u32) {
        let mut gate = self.blocks[block as usize].gate;
        if gate == NONE {
            let new = Gate { left: 0, erase: NONE };
            gate = if let Some(gate) = self.free_gates.pop() {
                self.gates[gate as usize] = new;
                gate
            } else {
                self.gates.push(new);
                self.gates.len() as u32 - 1
            };
            self.blocks[block as usize].gate = gate;
        }
        self.gates[gate as usize].left += 1;
        self.ops[index].gate = gate;
    }

    fn wait_at_gate(&mut self, block: u32, erase: u32) {
        let gate = std::mem::replace(&mut self.blocks[block as usize].gate, NONE);
        if gate == NONE {
            return;
        }
        if self.gates[gate as usize].left == 0 {
            self.free_gates.push(gate);
        } else {
            self.gates[gate as usize].erase = erase;
            self.ops[erase].waits += 1;
        }
    }

    // Work.

    /// Lets every die that may have something to begin look at it.
    #[inline]
    fn settle(&mut self) {
        while let Some(number) = self.wake.pop() {
            self.dies[number as usize].awake = false;
            self.look(number);
        }
    }

    #[inline]
    fn wake(&mut self, number: u32) {
        let die = &mut self.dies[number as usize];
        if !die.awake {
            die.awake = true;
            self.wake.push(number);
        }
    }

    /// Begins whatever the die can begin now.
    fn look(&mut self, number: u32) {
        loop {
            let die = &self.dies[number as usize];
            match (die.cells, die.registers) {
                (Cells::Idle, Registers::Loaded(command)) => {
                    self.dies[number as usize].registers = Registers::Free;
                    self.work(number, command);
                }
                (Cells::Full(command), Registers::Free) => {
                    self.dies[number as usize].cells = Cells::Idle;
                    self.transfer(number, command);
                }
                (Cells::Idle, Registers::Free) => {
                    if !self.begin_any(number) {
                        break;
                    }
                }
                (Cells::Idle, Registers::Moving(command)) => {
                    if !self.begin_cached_read(number, command) {
                        break;
                    }
                }
                (Cells::Busy(command), Registers::Free) => {
                    if !self.suspend(number, command) && !self.begin_cached_program(number, command) {
                        break;
                    }
                }
                _ => break,
            }
        }
        let die = &mut self.dies[number as usize];
        if die.held_since_ns != NEVER && die.is_empty() {
            self.held_ns += self.now_ns - die.held_since_ns;
            die.held_since_ns = NEVER;
        }
    }

    /// On an idle die.
    fn begin_any(&mut self, number: u32) -> bool {
        let die = &self.dies[number as usize];
        if let Some(mut command) = die.suspended {
            // Only what it was suspended for; then it goes on.
            if self.picked(number) == Some(Class::HostRead) {
                self.begin(number, Class::HostRead);
            } else {
                command.began_ns = self.now_ns;
                command.ends_ns += self.now_ns;
                self.agenda.set(number as usize, command.ends_ns);
                let die = &mut self.dies[number as usize];
                die.suspended = None;
                die.cells = Cells::Busy(command);
            }
            return true;
        }
        self.picked(number).is_some_and(|class| {
            self.begin(number, class);
            true
        })
    }

    /// The class that the scheduler would begin now.
    #[inline]
    fn picked(&self, number: u32) -> Option<Class> {
        (self.scheduler.pick)(&self.dies[number as usize].view())
    }

    /// While a page read before is transferred out.
    fn begin_cached_read(&mut self, number: u32, moving: Command) -> bool {
        let die = &self.dies[number as usize];
        if !self.commands.cache_read || !moving.reads || die.suspended.is_some() {
            return false;
        }
        let Some(class) = self.picked(number) else { return false };
        if self.ops[die.first_ready(class as usize)].kind != Kind::Read {
            return false;
        }
        self.begin(number, class);
        true
    }

    /// While the page before it in the same block is programmed.
    fn begin_cached_program(&mut self, number: u32, programmed: Command) -> bool {
        let die = &self.dies[number as usize];
        if !self.commands.cache_program || self.ops[programmed.first].kind != Kind::Program {
            return false;
        }
        let Some(class) = self.picked(number) else { return false };
        let (next, before) = (&self.ops[die.first_ready(class as usize)], &self.ops[programmed.first]);
        if next.kind != Kind::Program || next.block != before.block {
            return false;
        }
        self.begin(number, class);
        true
    }

    /// Interrupts a longer operation for a read of the host, if that is next.
    fn suspend(&mut self, number: u32, mut command: Command) -> bool {
        let kind = self.ops[command.first].kind;
        let Interruption { time, limit } = match (self.commands.suspend, kind) {
            (Suspend::Erase(it), Kind::Erase) | (Suspend::EraseAndProgram(it), Kind::Erase | Kind::Program) => it,
            _ => return false,
        };
        let left_ns = command.ends_ns - self.now_ns;
        // One that would be done by then anyway is left to end.
        if command.suspensions >= limit || left_ns <= time.0 || self.picked(number) != Some(Class::HostRead) {
            return false;
        }
        self.record_cells(number, &command);
        command.suspensions += 1;
        command.ends_ns = left_ns;
        self.agenda.set(number as usize, self.now_ns + time.0);
        let die = &mut self.dies[number as usize];
        die.suspended = Some(command);
        die.cells = Cells::Suspending;
        self.record.suspensions += 1;
        true
    }

    /// Begins the first ready operation of a class, and with it those for other planes that fit into one command.
    #[inline]
    fn begin(&mut self, number: u32, class: Class) {
        let first = self.dies[number as usize].first_ready(class as usize);
        let mut candidate = self.ops[first].next;
        self.take(number, first);
        if self.commands.multiplane && self.planes_per_die > 1 && self.ops[first].kind != Kind::Copyback {
            let mut last = first;
            let mut planes = 1_u64 << self.ops[first].plane;
            // Looking further than this finds little.
            for _ in 0..4 * self.planes_per_die {
                if candidate == NONE {
                    break;
                }
                let (op, head) = (self.ops[candidate], self.ops[first]);
                let fits = op.kind == head.kind
                    && planes & (1 << op.plane) == 0
                    && (op.page == head.page || op.kind == Kind::Erase)
                    && (!self.scheduler.in_order || op.number == self.dies[number as usize].begun);
                if fits {
                    self.take(number, candidate);
                    self.ops[last].next = candidate;
                    planes |= 1 << op.plane;
                    last = candidate;
                } else if self.scheduler.in_order {
                    break;
                }
                candidate = op.next;
            }
        }
        let reads = self.ops[first].kind == Kind::Read;
        let command = Command { first, transfer: first, reads, began_ns: 0, ends_ns: 0, suspensions: 0 };
        let die = &mut self.dies[number as usize];
        if die.held_since_ns == NEVER {
            die.held_since_ns = self.now_ns;
        }
        match self.ops[first].kind {
            Kind::Program => self.transfer(number, command),
            Kind::Read | Kind::Erase | Kind::Copyback => self.work(number, command),
        }
    }

    /// Takes an operation out of the queue.
    #[inline]
    fn take(&mut self, number: u32, index: u32) {
        self.dies[number as usize].begin(index, &mut self.ops);
        let job = self.ops[index].job;
        if job != NONE {
            let job = &mut self.jobs[job as usize];
            job.began_ns = job.began_ns.min(self.now_ns);
        }
    }

    /// Puts the cells to work.
    fn work(&mut self, number: u32, mut command: Command) {
        let op = self.ops[command.first];
        let duration_ns = match op.kind {
            Kind::Read => self.timing.read.of_page(op.page.into()).0,
            Kind::Program => self.timing.program.of_page(op.page.into()).0,
            Kind::Erase => self.timing.erase.0,
            Kind::Copyback => {
                self.timing.read.of_page(op.from_page.into()).0 + self.timing.program.of_page(op.page.into()).0
            }
        };
        command.began_ns = self.now_ns;
        command.ends_ns = self.now_ns + duration_ns;
        self.agenda.set(number as usize, command.ends_ns);
        self.dies[number as usize].cells = Cells::Busy(command);
        if W::ON {
            let mut index = command.first;
            while index != NONE {
                self.witness.began(self.seen(index));
                index = self.ops[index].next;
            }
        }
        if self.commands.cache_program && op.kind == Kind::Program {
            let mut index = command.first;
            while index != NONE {
                self.ops[index].passed = true;
                let behind = self.ops[index].behind;
                if behind != NONE && self.ops[behind].kind == Kind::Program {
                    self.ops[index].behind = NONE;
                    self.release(behind);
                }
                index = self.ops[index].next;
            }
        }
    }

    /// Asks for the bus.
    fn transfer(&mut self, number: u32, command: Command) {
        let die = &mut self.dies[number as usize];
        die.registers = Registers::Moving(command);
        let channel = die.channel as usize;
        self.channels[channel].dies.push_back(number);
        if self.channels[channel].dies.len() == 1 {
            self.begin_transfer(channel);
        }
    }

    #[inline]
    fn begin_transfer(&mut self, channel: usize) {
        let Some(&number) = self.channels[channel].dies.front() else { return };
        let Registers::Moving(command) = self.dies[number as usize].registers else {
            unreachable!("a die that waits for the bus has data to move")
        };
        let bytes = self.ops[command.transfer].bytes;
        let duration_ns = if bytes == self.page_bytes { self.page_transfer_ns } else { self.timing.transfer(bytes).0 };
        self.channels[channel].began_ns = self.now_ns;
        self.agenda.set(self.dies.len() + channel, self.now_ns + duration_ns);
    }

    fn transfer_done(&mut self, channel: usize) {
        let number = self.channels[channel].dies.pop_front().expect("a transfer that ends has begun");
        let Registers::Moving(mut command) = self.dies[number as usize].registers else {
            unreachable!("a die on the bus has data to move")
        };
        let index = command.transfer;
        let next = self.ops[index].next;
        self.record.bus(channel, number, self.channels[channel].began_ns, self.now_ns, &self.ops[index]);
        if command.reads {
            self.end(index);
        }
        command.transfer = next;
        let die = &mut self.dies[number as usize];
        if next != NONE {
            die.registers = Registers::Moving(command);
            self.channels[channel].dies.push_back(number);
        } else {
            die.registers = if command.reads { Registers::Free } else { Registers::Loaded(command) };
            self.wake(number);
        }
        self.begin_transfer(channel);
    }

    fn cells_done(&mut self, resource: u32) {
        let die = &mut self.dies[resource as usize];
        match std::mem::replace(&mut die.cells, Cells::Idle) {
            Cells::Suspending => {}
            Cells::Busy(command) => {
                self.record_cells(resource, &command);
                if command.reads {
                    self.pass(command);
                    if matches!(self.dies[resource as usize].registers, Registers::Free) {
                        self.transfer(resource, command);
                    } else {
                        self.dies[resource as usize].cells = Cells::Full(command);
                    }
                } else {
                    let mut index = command.first;
                    while index != NONE {
                        let next = self.ops[index].next;
                        if W::ON {
                            self.witness.ended(self.seen(index));
                        }
                        self.end(index);
                        index = next;
                    }
                }
            }
            Cells::Idle | Cells::Full(_) => unreachable!("an event of cells that do nothing"),
        }
        self.wake(resource);
    }

    /// The cells have read these pages: the next operation on their blocks may come.
    fn pass(&mut self, command: Command) {
        let mut index = command.first;
        while index != NONE {
            if W::ON {
                self.witness.ended(self.seen(index));
            }
            self.ops[index].passed = true;
            let behind = std::mem::replace(&mut self.ops[index].behind, NONE);
            if behind != NONE {
                self.release(behind);
            }
            index = self.ops[index].next;
        }
    }

    fn record_cells(&mut self, number: u32, command: &Command) {
        let mut index = command.first;
        let mut planes = 0;
        while index != NONE {
            planes += 1;
            self.record.segment(number, command.began_ns, self.now_ns, &self.ops[index]);
            index = self.ops[index].next;
        }
        self.record.cells(number, command.began_ns, self.now_ns, &self.ops[command.first], planes);
    }

    /// One thing less to wait for.
    #[inline]
    fn release(&mut self, waiter: u32) {
        self.ops[waiter].waits -= 1;
        if self.ops[waiter].waits == 0 {
            self.make_ready(waiter);
        }
    }

    /// An operation is over.
    fn end(&mut self, index: u32) {
        let Op { block, from_block, gate, job, behind, behind_from, .. } = self.ops[index];
        for block in [block, from_block] {
            if block != NONE && self.blocks[block as usize].last == index {
                self.blocks[block as usize].last = NONE;
            }
        }
        for waiter in [behind, behind_from] {
            if waiter != NONE {
                self.release(waiter);
            }
        }
        while let Some(waiter) = self.ops.take_waiter(index) {
            self.release(waiter);
        }
        if gate != NONE {
            let left = &mut self.gates[gate as usize];
            left.left -= 1;
            if left.left == 0 && left.erase != NONE {
                let erase = left.erase;
                self.free_gates.push(gate);
                self.release(erase);
            }
        }
        if job != NONE {
            let state = &mut self.jobs[job as usize];
            state.left -= 1;
            if state.left == 0 {
                self.done.push_back(Done { owner: state.owner, began_ns: state.began_ns });
                self.free_jobs.push(job);
            }
        }
        self.ops.remove(index);
    }
}

impl<W: Witness> FlashSink for ParallelFlash<W> {
    #[inline]
    fn read(&mut self, ppn: Ppn, cause: Cause) {
        self.read_part(ppn, self.page_bytes, cause);
    }

    #[inline]
    fn read_part(&mut self, ppn: Ppn, bytes: u32, cause: Cause) {
        self.counts.read(ppn, cause);
        let index = self.emit(Kind::Read, ppn, bytes, None, cause);
        match cause {
            Cause::Host => self.wait_for(index, self.submission.load),
            Cause::ReadModifyWrite => {
                self.wait_for(index, self.submission.load);
                self.submission.partial = [self.submission.partial[1], index];
            }
            Cause::MapLoad => self.submission.load = index,
            _ => {}
        }
        self.submission.read = index;
        self.submission.read_cause = cause;
        self.enqueue(index);
    }

    #[inline]
    fn program(&mut self, ppn: Ppn, oob: Oob, source: Source, cause: Cause) {
        self.counts.program(ppn, oob, source, cause);
        let from = if let Source::Copy(from) = source { Some(from) } else { None };
        let index = self.emit(Kind::Program, ppn, self.page_bytes, from, cause);
        match source {
            Source::Host(_) => {
                let [first, second] = self.submission.partial;
                self.wait_for(index, first);
                self.wait_for(index, second);
            }
            // The page that it copies, or the rest of the map page that it changes, was read just before.
            Source::Copy(_) => self.wait_for(index, self.submission.read),
            Source::Map if self.submission.read_cause == cause => self.wait_for(index, self.submission.read),
            Source::Map => {}
        }
        self.submission.read = NONE;
        self.enqueue(index);
    }

    #[inline]
    fn erase(&mut self, block: BlockId, cause: Cause) {
        self.counts.erase(block, cause);
        let first = Ppn(block.0 * self.pages_per_block);
        let index = self.emit(Kind::Erase, first, 0, None, cause);
        self.enqueue(index);
    }

    /// An erase waits for the copies made from its block: that is all that a barrier asks for.
    #[inline(always)]
    fn barrier(&mut self) {}

    fn copy(&mut self, from: Ppn, to: Ppn, oob: Oob, cause: Cause) {
        let plane = |ppn: Ppn| self.block_of.divide(ppn.0) / self.blocks_per_plane;
        if self.timing.copyback && plane(from) == plane(to) {
            self.counts.copy(from, to, oob, cause);
            let index = self.emit(Kind::Copyback, to, 0, Some(from), cause);
            self.enqueue(index);
        } else {
            self.read(from, cause);
            self.program(to, oob, Source::Copy(from), cause);
        }
    }
}

impl<W: Witness> Flash for ParallelFlash<W> {
    const TIMED: bool = true;

    fn counts(&self) -> Counts {
        self.counts
    }

    #[inline(always)]
    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn busy_ns(&self) -> u64 {
        let holding = self.dies.iter().filter(|die| die.held_since_ns != NEVER);
        let held_ns: u64 = self.held_ns + holding.map(|die| self.now_ns - die.held_since_ns).sum::<u64>();
        held_ns / self.dies.len() as u64
    }

    fn cost_ns(&self, cost: MergeCost) -> Option<u64> {
        let mean = |times: &PageTimes| times.mean().0;
        let bus_ns = if self.timing.copyback { 0 } else { 2 * self.page_transfer_ns };
        let copy_ns = mean(&self.timing.read) + mean(&self.timing.program) + bus_ns;
        Some(u64::from(cost.copies) * copy_ns + u64::from(cost.erases) * self.timing.erase.0)
    }

    fn violation(&self) -> Option<&str> {
        self.witness.violation()
    }
}
