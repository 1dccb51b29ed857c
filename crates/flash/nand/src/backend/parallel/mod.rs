//! A timed flash array: channels, dies and planes work in parallel.
//!
//! The FTL changes its map when it emits an operation; this array determines when the operation executes. Each
//! operation waits in the queue of its die for the operations on which it depends:
//!
//! - every operation waits for the previous operation on the same block, so that a block's operations keep their order
//!   and a read waits for the program of its page;
//! - a program of a copy, or of a partly written page, waits for the read of its data;
//! - a host read waits for the map entry that it had to load;
//! - an erase waits for the copies from its block.
//!
//! If dies program several pages at once, the dependencies differ (see `gathering.rs`). `parity.rs` describes parity,
//! and `passes.rs` describes two-pass programming.
//!
//! Each operation stores the number of operations for which it waits. A die lists only ready operations (which wait for
//! no other operation), by class. A [`scheduler`] is therefore a pure function of a few numbers, and may choose any
//! ready operation. A die works on one command at a time (one operation, or one operation for each of several planes):
//!
//! ```text
//! read     cells t_R -> bus, page by page         cache read: the next t_R during the transfer
//! program  bus, page by page -> cells t_PROG      cache program: the next page's transfer during t_PROG
//! erase    cells t_BERS
//! copyback cells t_R + t_PROG
//! ```
//! A die holds the command until both cells and bus are done. Transfers on a channel are served first come, first
//! served. A read may suspend a longer operation; see [`crate::Suspend`].
//!
//! **The bus is never reserved in advance.** A transfer begins when both data and bus are ready. If a model reserves
//! the channel at submission instead, the bus idles before a later transfer, and its throughput is wrong by half.
//!
//! **Jobs.** Requests, pages of the write buffer and steps of background collection are jobs. A job ends when its
//! operations have ended. A request waits for its own operations and for the map entries that it loads. Collection
//! delays a request only by occupying the queues.
//!
//! **Two orders, two checks.** The simulator's `DataChecker` checks operations in the order of emission.
//! [`TimingChecker`] checks the same operations in the order of execution.
//!
//! **Latency attribution** charges the waits of each operation of a request to causes (`attribution.rs`).

mod agenda;
mod attribution;
mod die;
mod emission;
mod gathered;
mod gathering;
mod ops;
mod parity;
mod passes;
mod record;
pub mod scheduler;
mod timeline;
mod timing_checker;
mod untimed;
mod work;

use std::collections::VecDeque;
use std::fmt::Write;

use ssdlab_core::{Nanos, Rng, Slab};

pub use agenda::NEVER;
pub use attribution::{CAUSES, StallCause, StallTimes};
pub use ops::Kind;
pub use record::{Record, Requester, Segment};
pub use timeline::Bins;
pub use timing_checker::TimingChecker;
pub use untimed::UntimedFlash;

use crate::backend::{Flash, cost_ns};
use crate::{Cause, Commands, Counts, Geometry, Layout, MergeCost, Suspend, Timing};
use agenda::Agenda;
use attribution::Attribution;
use die::Die;
use gathered::Gathered;
use ops::{NONE, Ops};
use scheduler::DieSchedulerInfo;

/// Maximum number of events processed per call, so that the caller regularly gets a chance to stop the run.
pub const MOST_EVENTS: u32 = 1 << 16;

/// Options of an array's dies.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ArrayOptions {
    /// Optional commands that the chips support.
    pub commands: Commands,
    /// Scheduler that picks the next operation of a die.
    pub scheduler: &'static DieSchedulerInfo,
    /// Seed of the random part of suspension times.
    pub seed: u64,
    /// True if pages that wait in memory for the other pages of their program unit survive a power loss.
    pub memory_survives: bool,
}

/// A period of simulated time, relative to the start of recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// Start of the period, relative to the start of recording.
    pub from: Nanos,
    /// Length of the period.
    pub length: Nanos,
}

/// Type of a job, which determines the operations for which the job waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JobKind {
    /// A host request: waits for the operations on its own data, but not for garbage collection or merges.
    Request,
    /// A page of the write buffer: waits for the same operations as a request.
    BufferedPage,
    /// A step of background collection: waits for all emitted operations.
    Collection,
}

/// A request, a page of the write buffer or a step of collection. A job ends when its operations have ended.
#[derive(Clone, Copy, Debug)]
struct Job {
    left: u32,
    /// Time when the job's first operation began; [`NEVER`] if no operation has begun.
    began_ns: u64,
    owner: u32,
    /// True if the job waits for all its operations; false if it waits only for operations on host data.
    everything: bool,
}

/// A completed job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Done {
    /// Owner of the job, as passed to [`ParallelFlash::submit`].
    pub owner: u32,
    /// Time when the job's first operation began.
    pub began_ns: u64,
}

/// Copies from a block since its latest erase; the next erase of the block waits for them.
#[derive(Clone, Copy, Debug)]
struct Gate {
    /// Number of copies in the group that are not yet programmed.
    left: u32,
    /// Erase that waits for the copies to be programmed.
    erase: u32,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    /// Latest operation on the block, while the operation is in flight.
    last: u32,
    gate: u32,
}

#[derive(Debug)]
struct Channel {
    /// Queue of dies for the channel's bus: the first die is using the bus, the others wait.
    dies: VecDeque<u32>,
    began_ns: u64,
}

/// The job that is being submitted, and the operations on which its next operations may depend.
#[derive(Clone, Copy, Debug)]
struct Submission {
    job: u32,
    /// Host request of the job, as passed to [`ParallelFlash::submit`].
    requester: Requester,
    /// True if latency attribution covers the job's operations.
    attributed: bool,
    /// Latest read of the job.
    read: u32,
    read_cause: Cause,
    /// Latest read of the job that loads map entries.
    load: u32,
    /// Reads of pages that are about to be partly overwritten.
    partial: [u32; 2],
}

const NOTHING_SUBMITTED: Submission = Submission {
    job: NONE,
    requester: Requester { number: 0, arrived_ns: 0 },
    attributed: false,
    read: NONE,
    read_cause: Cause::Host,
    load: NONE,
    partial: [NONE; 2],
};

struct Chips {
    timing: Timing,
    planes_per_die: u32,
    page_transfer_ns: u64,
    page_bytes: u32,
    commands: Commands,
    /// True if a busy die may begin another command, such as a cache read.
    overlaps: bool,
    scheduler: &'static DieSchedulerInfo,
}

/// A timed flash array: channels, dies and planes work in parallel.
pub struct ParallelFlash {
    now_ns: u64,
    counts: Counts,
    chips: Chips,
    layout: Layout,
    dies: Vec<Die>,
    channels: Vec<Channel>,
    /// Time of the next event of each resource: first the dies, then the channels.
    agenda: Agenda,
    ops: Ops,
    /// Number of operations emitted so far, modulo 2^32.
    emitted: u32,
    blocks: Vec<Block>,
    /// Program units that are being gathered; None if [`Geometry::gathers`] is false.
    gathered: Option<Box<Gathered>>,
    gates: Slab<Gate>,
    jobs: Slab<Job>,
    submission: Submission,
    suspension_rng: Rng,
    /// Flash page of the command that is being formed, on each plane that this command uses.
    flash_pages: Vec<(u32, u16)>,
    /// Dies that may be able to begin a command.
    wake: Vec<u32>,
    done: VecDeque<Done>,
    /// Time in nanoseconds during which dies held a command, summed over the dies.
    held_ns: u64,
    record: Record,
    attribution: Option<Box<Attribution>>,
    /// Checker of the order in which operations are executed, if enabled.
    checker: Option<Box<TimingChecker>>,
}

impl ParallelFlash {
    /// Creates an array, with the clock at 0, that continues from the state of `before`, which does not model time.
    pub fn new(geometry: &Geometry, timing: &Timing, options: ArrayOptions, before: UntimedFlash) -> Self {
        let UntimedFlash { counts, layout, checker } = before;
        let (parallelism, commands) = (geometry.parallelism, options.commands);
        let (dies, channels) = (parallelism.dies() as usize, parallelism.channels as usize);
        let die_blocks = (geometry.blocks * geometry.dies_per_block()) as usize;
        Self {
            now_ns: 0,
            counts,
            chips: Chips {
                timing: *timing,
                planes_per_die: parallelism.planes,
                page_transfer_ns: timing.transfer(geometry.page_bytes).0,
                page_bytes: geometry.page_bytes,
                commands,
                overlaps: commands.cache_read || commands.cache_program || commands.suspend != Suspend::Never,
                scheduler: options.scheduler,
            },
            layout,
            dies: (0..parallelism.dies()).map(|die| Die::new(die / parallelism.dies_per_channel())).collect(),
            channels: (0..channels).map(|_| Channel { dies: VecDeque::new(), began_ns: 0 }).collect(),
            agenda: Agenda::new(dies + channels),
            ops: Ops::default(),
            emitted: 0,
            blocks: vec![Block { last: NONE, gate: NONE }; die_blocks],
            gathered: geometry.gathers().then(|| {
                Box::new(Gathered::new(die_blocks, geometry.units.pass_distance > 0, options.memory_survives))
            }),
            gates: Slab::default(),
            jobs: Slab::default(),
            submission: NOTHING_SUBMITTED,
            suspension_rng: Rng::named(options.seed, "suspend"),
            flash_pages: vec![(NONE, 0); parallelism.planes as usize],
            wake: Vec::new(),
            done: VecDeque::new(),
            held_ns: 0,
            record: Record::new(dies, channels, 0, None),
            attribution: None,
            checker,
        }
    }

    /// Restarts recording. If `window` is given, every operation within it is recorded individually.
    pub fn record(&mut self, window: Option<Window>) {
        self.record = Record::new(self.dies.len(), self.channels.len(), self.now_ns, window);
    }

    /// Turns latency attribution on; no operation may be in flight.
    pub fn attribute_latency(&mut self) {
        debug_assert_eq!(self.ops.len(), 0, "attribution must start while no operation is in flight");
        self.attribution = Some(Box::new(Attribution::new(self.dies.len() as u32, self.now_ns)));
    }

    /// Returns the latency of the latest completed request of `owner`, by cause; None without attribution.
    pub fn stalls_of(&self, owner: u32) -> Option<&StallTimes> {
        self.attribution.as_ref().map(|attribution| attribution.of(owner))
    }

    /// Returns the time spent on each stall cause so far, summed over all dies; idle time counts as
    /// [`StallCause::Dependency`]. Returns None without attribution.
    pub fn stalls_of_dies(&self) -> Option<StallTimes> {
        self.attribution.as_ref().map(|attribution| attribution.of_dies(self.now_ns))
    }

    /// Returns the recording of busy times and operations.
    pub fn recorded(&self) -> &Record {
        &self.record
    }

    /// Returns the time of the next event; [`NEVER`] if no operation is in flight.
    #[inline(always)]
    pub fn next_ns(&self) -> u64 {
        self.agenda.earliest().0
    }

    /// Returns the number of unfinished flash operations, without programs that wait for others of their program unit.
    pub fn under_way(&self) -> usize {
        self.ops.len() - self.gathered.as_ref().map_or(0, |gathered| gathered.waiting)
    }

    /// Returns the number of host pages that wait in memory for the other pages of their program unit.
    pub fn gathered_for_host(&self) -> u32 {
        self.gathered.as_ref().map_or(0, |gathered| gathered.waiting_for_host)
    }

    /// Removes and returns the next completed job.
    #[inline]
    pub fn take_done(&mut self) -> Option<Done> {
        self.done.pop_front()
    }

    /// Advances the clock to `time_ns`. No pending event may precede that time.
    #[inline]
    pub fn pass_until(&mut self, time_ns: u64) {
        debug_assert!(
            time_ns >= self.now_ns && time_ns <= self.next_ns(),
            "the time is in the past or after the next event"
        );
        self.now_ns = time_ns;
    }

    /// Begins a job for `owner`; all operations until [`Self::submitted`] belong to the job. Recordings show
    /// `requester` as the host request of these operations.
    #[inline]
    pub fn submit(&mut self, owner: u32, requester: Requester, kind: JobKind) {
        let job = Job { left: 0, began_ns: NEVER, owner, everything: kind == JobKind::Collection };
        let index = self.jobs.insert(job);
        self.submission = Submission { job: index, requester, ..NOTHING_SUBMITTED };
        if let Some(attribution) = &mut self.attribution
            && kind == JobKind::Request
        {
            self.submission.attributed = true;
            attribution.submit();
        }
    }

    /// Ends a job's submission; returns the number of operations for which the job waits. A job without operations is
    /// complete immediately, and [`Self::take_done`] does not return it.
    #[inline]
    pub fn submitted(&mut self) -> u32 {
        let index = self.submission.job;
        self.submission = NOTHING_SUBMITTED;
        let left = self.jobs[index].left;
        if left == 0 {
            self.jobs.remove(index);
        }
        self.settle();
        left
    }

    /// Advances the clock to the next event and processes it.
    #[inline(always)]
    pub fn advance(&mut self) {
        let (time_ns, resource) = self.agenda.earliest();
        debug_assert!(time_ns != NEVER, "no operation is in flight");
        self.now_ns = time_ns;
        self.agenda.take(resource);
        match resource.checked_sub(self.dies.len()) {
            None => self.cells_done(resource as u32),
            Some(channel) => self.transfer_done(channel),
        }
        self.settle();
        self.agenda.settle(resource);
    }

    /// Processes at most [`MOST_EVENTS`] events up to `until_ns`, and returns their number. Stops early when a job is
    /// done, or when the number of operations in flight falls below `most_under_way`.
    #[inline]
    pub fn advance_until(&mut self, until_ns: u64, most_under_way: usize) -> u32 {
        let is_full = self.under_way() >= most_under_way;
        let mut events = 0;
        loop {
            self.advance();
            events += 1;
            let next_ns = self.next_ns();
            let has_room_now = is_full && self.under_way() < most_under_way;
            let is_long = events == MOST_EVENTS;
            if !self.done.is_empty() || has_room_now || next_ns > until_ns || next_ns == NEVER || is_long {
                break events;
            }
        }
    }

    /// Describes the queues of dies and channels for an error message.
    pub fn describe(&self) -> String {
        let mut text = format!("{} flash operations are unfinished", self.ops.len());
        for (number, die) in self.dies.iter().enumerate().filter(|(_, die)| die.emitted > die.begun || !die.is_empty())
        {
            let _ = write!(
                text,
                "; die {number}: {} operations waiting, cell state {:?}, register state {:?}",
                die.emitted - die.begun,
                die.cells,
                die.registers
            );
        }
        text
    }
}

impl Flash for ParallelFlash {
    #[inline(always)]
    fn is_timed(&self) -> bool {
        true
    }

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
        Some(cost_ns(&self.chips.timing, self.chips.page_bytes, cost))
    }

    fn violation(&self) -> Option<&str> {
        self.checker.as_ref()?.violation()
    }
}
