//! A drive at work on many requests: from the host's queues through front, write buffer and FTL to the flash in time.
//!
//! ```text
//! issued -> queue -> taken -> command -> [data in] -> submitted: FTL, flash, buffer -> [data out] -> complete
//!          waiting           service                  waiting until its first operation begins, then service
//! ```
//! The loop takes the earliest event: work ends on flash, on the link or in the controller, the host issues a request,
//! the cache above has copied a page, a timer expires, the drive is idle. Mapping changes when a request is submitted;
//! its cost appears in the queues of the dies.

pub(crate) mod buffer;
mod buffering;
mod event_loop;
mod front;
pub(crate) mod parts;
pub(crate) mod serial;
pub(crate) mod sinks;
pub(crate) mod stack;
mod submission;

use std::collections::VecDeque;

use ssdlab_core::{Pages, Slab};
use ssdlab_nand::Counts;
use ssdlab_nand::backend::parallel::{Requester, UntimedFlash};
use ssdlab_nand::backend::{Flash, Resume};
use ssdlab_sched::RequestId;
use ssdlab_trace::{Request, SliceSource, Source};

use crate::check::buffer::BufferOracle;
use crate::check::data_checker::Checker;
use crate::drive::buffer::{Buffer, BufferCounters};
use crate::drive::buffering::{Stalled, Unsafe};
use crate::drive::parts::{TimedParts, Untimed};
use crate::drive::stack::Stack;
use crate::host::block::BlockStage;
use crate::host::cache::in_time::CacheStage;
use crate::host::fit::AddressMapper;
use crate::host::issue::HostReplay;
use crate::observe::activity::Meters;
use crate::observe::attribution::LatencyAttribution;
use crate::observe::measurement::{Measurement, OfDrive};
use crate::observe::summary::PreconditionSummary;
use crate::run::Outcome;
use crate::run::error::SimError;
use crate::run::monitor::{Control, Monitor, Phase};
use crate::run::repeat::{Replayed, Replayer, Replays, replay_all};
use crate::run::steady::Written;
use crate::setup::Setup;
use crate::setup::drive::DriveOptions;
use crate::setup::host::Replay;
use crate::state;
use front::{Path, Queues};

/// Owners from here on are slots of the write buffer.
const BUFFERED: u32 = 1 << 31;
/// Owners from here on are planes in which garbage is collected ahead of need.
const COLLECTION: u32 = 3 << 30;

/// The origin of a request that the host itself has issued. Other origins are numbers of the cache above.
const HOST: u32 = u32::MAX;

/// How long a drive runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Until {
    /// All requests are complete.
    Complete,
    /// All that happens up to this time has happened.
    Time(u64),
}

/// A request on its way.
#[derive(Clone, Copy, Debug)]
struct InFlightRequest {
    request: Request,
    /// Time when it entered its queue.
    issued_ns: u64,
    /// Time when the drive took it from there.
    taken_ns: u64,
    /// Time when buffer and FTL got it, a write with its data.
    submitted_ns: u64,
    /// Time spent behind others.
    waited_ns: u64,
    queue: u16,
    /// Number among the requests submitted.
    number: u64,
    /// Whether one of the other direction was in the drive when it took this.
    met_other: bool,
    /// Who completes it: [`HOST`], or a number of the cache; told to the block layer where there is one.
    origin: u32,
    /// The request of the block layer that it is; none if there is no block layer.
    block: Option<RequestId>,
}

impl InFlightRequest {
    /// As operations name it.
    fn requester(&self) -> Requester {
        Requester { number: self.number, arrived_ns: self.issued_ns }
    }
}

/// A drive and its host.
pub(crate) struct TimedDrive<P: TimedParts> {
    options: DriveOptions,
    stack: Stack<P>,
    fitter: AddressMapper,
    measurement: Measurement,
    meters: Meters,
    /// Latency attribution, if it is on.
    attribution: Option<Box<LatencyAttribution>>,
    cache: Option<CacheStage>,
    block: Option<BlockStage>,
    flights: Slab<InFlightRequest>,
    queues: Queues,
    /// Requests in the drive by operation.
    inside: [u32; 4],
    path: Path,
    buffer: Option<Buffer>,
    oracle: Option<BufferOracle>,
    /// Writes that wait for room in the buffer, oldest first, by runs of pages.
    stalled: VecDeque<Stalled>,
    /// Requests that wait until everything before a mark is safe.
    unsafe_flights: VecDeque<Unsafe>,
    /// Most flash operations under way while more are added: by requests taken from the queues, or by pages of the
    /// buffer where there is one.
    most_under_way: usize,
    /// Planes that may need collection ahead of need and are not being collected.
    uncollected: Vec<u32>,
    /// Planes in which nothing was found to collect since the last write.
    collected: Vec<u32>,
    /// Pages copied and blocks erased by collection ahead of need since measuring began.
    collected_ahead: u64,
    idle_since_ns: u64,
    /// Pages in the buffer when measuring began: waiting, and all.
    waiting_at_start: u32,
    held_at_start: u32,
}

impl<P: TimedParts> TimedDrive<P> {
    /// A drive whose flash is idle.
    ///
    /// # Errors
    /// If the cache or the block layer is impossible.
    pub fn new(mut stack: Stack<P>, options: DriveOptions) -> Result<Self, SimError> {
        let parallelism = stack.setup.geometry.parallelism;
        let measurement = Measurement::start(&mut stack);
        let closed_loop = !matches!(stack.setup.replay, Replay::Open { .. });
        let block = stack.setup.block.as_ref();
        let block = block.map(|block| BlockStage::new(&stack.setup, block, closed_loop)).transpose()?;
        let attribution = stack.setup.attribution.then(|| Box::new(LatencyAttribution::new()));
        let oracle = (stack.sinks.checker.is_on() && options.buffer.is_some()).then(BufferOracle::default);
        let cache = stack.setup.cache.as_ref().map(|cache| CacheStage::new(&stack.setup, cache)).transpose()?;
        Ok(Self {
            options,
            fitter: AddressMapper::new(&stack.setup),
            stack,
            measurement,
            meters: Meters::new(0),
            attribution,
            flights: Slab::default(),
            queues: Queues::new(options.front.protocol),
            inside: [0; 4],
            path: Path::new(options.front),
            buffer: options.buffer.map(Buffer::new),
            oracle,
            stalled: VecDeque::new(),
            unsafe_flights: VecDeque::new(),
            most_under_way: options.backlog as usize * parallelism.dies() as usize,
            uncollected: (0..parallelism.planes()).collect(),
            collected: Vec::new(),
            collected_ahead: 0,
            idle_since_ns: 0,
            waiting_at_start: 0,
            held_at_start: 0,
            cache,
            block,
        })
    }

    /// Replays all there is, and measures the last replay.
    pub fn run(
        mut self,
        source: &mut Replays<'_>,
        monitor: &mut dyn Monitor,
        (precondition, control): (PreconditionSummary, Control),
        save: Option<&std::path::Path>,
    ) -> Result<Outcome, SimError> {
        let Replayed { repeat, warmup_pages, control } = replay_all(&mut self, source, monitor, control)?;
        let now_ns = self.stack.sinks.flash.now_ns();
        self.stack.sinks.flash.record_unfinished();
        let waiting = self.buffer.as_ref().map_or(0, Buffer::waiting);
        let held = self.buffered_pages();
        let buffer = self.buffer.as_ref().map(|buffer| buffer.counters);
        let unwritten = i64::from(waiting) - i64::from(self.waiting_at_start);
        let absorbed = buffer.map_or(0, |counters| counters.pages_overwritten + counters.pages_trimmed) as i64;
        let attribution = self.attribution.map(|attribution| attribution.finish(&self.stack.sinks.flash));
        let (summary, activity) = self.meters.finish(
            &self.stack.setup.geometry,
            self.stack.sinks.flash.recorded(),
            buffer,
            self.block,
            attribution,
            now_ns,
        );
        let buffered_pages = i64::from(held) - i64::from(self.held_at_start);
        let drive = OfDrive { summary, activity, absorbed_pages: absorbed + unwritten, buffered_pages };
        let partial = control == Control::Stop;
        let collected_ahead = self.collected_ahead;
        let mut outcome = self.measurement.finish(&mut self.stack, precondition, partial, Some(drive));
        outcome.collected_ahead = collected_ahead;
        if let (Some(cache), Some(time)) = (self.cache, &mut outcome.summary.time) {
            outcome.summary.cache = Some(cache.finish(&outcome.latency, time));
        }
        outcome.summary.repeat = repeat;
        outcome.warmup_pages = warmup_pages;
        if let Some(path) = save.filter(|_| !partial) {
            state::save(&mut shut_down(self.stack, self.buffer), precondition, path)?;
        }
        Ok(outcome)
    }

    /// Flash operations since the device was made.
    pub fn counts(&self) -> Counts {
        self.stack.sinks.flash.counts()
    }

    /// Pages in the write buffer.
    pub fn buffered_pages(&self) -> u32 {
        self.buffer.as_ref().map_or(0, Buffer::held)
    }

    /// Runs until the time of this request, or not at all if that has passed, and takes it.
    pub fn take_live(&mut self, request: Request, done: &mut Vec<(Request, u64)>) -> Result<(), SimError> {
        self.go_on_live(&mut SliceSource::new(&[request]), request.time_ns, done).map(drop)
    }

    /// Runs up to `until_ns` without new requests. Returns the time of the next event, if there is one.
    pub fn advance_live(&mut self, until_ns: u64, done: &mut Vec<(Request, u64)>) -> Result<Option<u64>, SimError> {
        self.go_on_live(&mut SliceSource::new(&[]), until_ns, done)
    }

    fn go_on_live(
        &mut self,
        source: &mut dyn Source,
        until_ns: u64,
        done: &mut Vec<(Request, u64)>,
    ) -> Result<Option<u64>, SimError> {
        let (replay, number) = (Replay::Open { time_scale: 1.0 }, self.fitter.requests());
        let mut nobody = ();
        let mut issuer = HostReplay::new(source, &mut nobody, Phase::Measure, replay, u64::MAX, number);
        issuer.done = Some(done);
        self.go_on(&mut issuer, Until::Time(until_ns))
    }
}

impl<P: TimedParts> Replayer for TimedDrive<P> {
    fn setup(&self) -> &Setup {
        &self.stack.setup
    }

    fn written(&self) -> Written {
        self.measurement.written(&self.stack)
    }

    fn start_measuring(&mut self) {
        self.measurement = Measurement::start(&mut self.stack);
        self.collected_ahead = 0;
        self.stack.sinks.flash.record(self.stack.setup.gantt);
        self.meters = Meters::new(self.measurement.start_ns());
        if let Some(attribution) = &mut self.attribution {
            attribution.start_measuring(&self.stack.sinks.flash);
        }
        if let Some(cache) = &mut self.cache {
            cache.start_measuring();
        }
        if let Some(block) = &mut self.block {
            block.start_measuring(self.measurement.start_ns());
        }
        if let Some(buffer) = &mut self.buffer {
            buffer.counters = BufferCounters::default();
            self.waiting_at_start = buffer.waiting();
            self.held_at_start = buffer.held();
        }
    }

    /// All of them are complete at the end.
    fn replay(
        &mut self,
        source: &mut dyn Source,
        monitor: &mut dyn Monitor,
        phase: Phase,
        limit: u64,
    ) -> Result<Control, SimError> {
        if limit == 0 {
            return Ok(Control::Continue);
        }
        let mut issuer =
            HostReplay::new(source, monitor, phase, self.stack.setup.replay, limit, self.fitter.requests());
        self.idle_since_ns = self.now_ns();
        self.go_on(&mut issuer, Until::Complete)?;
        self.measurement.cycled(issuer.cycles);
        if let Some((first_ns, latest_ns)) = issuer.arrivals_ns() {
            self.measurement.arrived(first_ns, latest_ns, issuer.shift_ns.unwrap_or(0));
        }
        Ok(issuer.control)
    }
}

/// The drive at rest: what waits in its buffer is programmed, and nothing is under way.
fn shut_down<P: TimedParts>(stack: Stack<P>, buffer: Option<Buffer>) -> Stack<Untimed<P>> {
    let geometry = stack.setup.geometry;
    let mut stack = stack.with_flash(|flash| {
        let mut at_rest = UntimedFlash::new(&geometry, None);
        at_rest.resume(flash.counts(), std::iter::empty());
        at_rest
    });
    for held in buffer.iter().flat_map(Buffer::unprogrammed) {
        stack.write(held.context, Pages { first: held.lpn, count: 1, head: !held.whole, tail: false });
    }
    stack
}

#[cfg(test)]
mod tests {
    use super::*;

    use ssdlab_core::Nanos;
    use ssdlab_ftl::FtlChoice;
    use ssdlab_ftl::gc;
    use ssdlab_ftl::map::ram;
    use ssdlab_ftl::page::{PageFtl, PageOptions};
    use ssdlab_ftl::placement;
    use ssdlab_nand::backend::parallel::ParallelFlash;
    use ssdlab_nand::backend::parallel::scheduler::{DieSchedulerInfo, DieSchedulerRules};
    use ssdlab_nand::{Commands, Counts, Geometry, PageTimes, Parallelism, ProgramOrder, Timing};
    use ssdlab_trace::{Op, SliceSource};

    use crate::drive::parts::Combined;
    use crate::drive::sinks::Sinks;
    use crate::setup::drive::{Collect, Front, Protocol};
    use crate::setup::{Clock, Setup};

    /// Lets no operation begin.
    static BLOCKED: DieSchedulerInfo = DieSchedulerInfo {
        name: "blocked",
        help: "none ever",
        source: "",
        parameters: &[],
        role: DieSchedulerRules { pick: |_| None, in_order: false },
    };

    /// A stuck drive ends with an account of its queues.
    #[test]
    fn a_drive_whose_dies_do_nothing_says_so_and_stops() {
        let options = PageOptions::new(gc::greedy::INFO.defaults(), &placement::shared::INFO);
        let timing = Timing {
            read: PageTimes::uniform(Nanos(100)),
            program: PageTimes::uniform(Nanos(1_000)),
            erase: Nanos(10_000),
            transfer_per_kib: Nanos(5),
            copyback: false,
            partial_read: false,
        };
        let front =
            Front { protocol: Protocol::Direct, link_bytes_per_s: None, full_duplex: true, command: Nanos::ZERO };
        let drive = DriveOptions {
            commands: Commands::default(),
            scheduler: &BLOCKED,
            front,
            buffer: None,
            collect: Collect::Foreground,
            backlog: 10,
        };
        let geometry = Geometry {
            page_bytes: 4096,
            pages_per_block: 4,
            blocks: 8,
            order: ProgramOrder::Ascending,
            parallelism: Parallelism::SINGLE,
        };
        let setup = Setup {
            clock: Clock::Event(timing, drive),
            replay: Replay::Closed { depth: 3, per_stream: false, think: Nanos::ZERO },
            ..Setup::new(geometry, 16, FtlChoice::Page(options, ram::INFO.defaults()))
        };
        let ftl = PageFtl::new(setup.shape(), options, 1).expect("large enough");
        let flash = ParallelFlash::new(&setup.geometry, &timing, drive.array(), Counts::default(), None);
        let stack = Stack::<Combined<_, _, (), ()>>::new(&setup, ftl, Sinks { flash, checker: (), meter: () });
        let write = Request { time_ns: 0, offset: 0, bytes: 4096, op: Op::Write, flags: 0, stream: 0 };
        let error = TimedDrive::new(stack, drive)
            .expect("a drive")
            .run(
                &mut Replays::new(&mut SliceSource::new(&[write; 5])),
                &mut (),
                (PreconditionSummary::default(), Control::Continue),
                None,
            )
            .expect_err("nothing can go on");
        let text = error.to_string();
        assert!(text.contains("cannot go on: 3 requests are outstanding, 3 of them in the drive"), "{text}");
        assert!(text.contains("3 flash operations have not ended; die 0: 3 wait, cells Idle"), "{text}");
    }
}
