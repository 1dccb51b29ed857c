//! A drive that processes many requests at once. Requests pass from the host's queues through front end, write buffer
//! and FTL to the flash.
//!
//! ```text
//! issued -> queue -> taken -> command -> [data in] -> submitted: FTL, flash, buffer -> [data out, completion] -> complete
//!          waiting           service                  waiting until its first operation begins, then service
//! ```
//! The event loop takes the earliest event of all components. The FTL's map changes when a request is submitted; the
//! cost of the request appears in the queues of the dies.

pub(crate) mod buffer;
mod buffering;
mod collection;
mod event_loop;
mod front;
pub(crate) mod host_memory;
mod pace;
pub(crate) mod parts;
mod read_ahead;
mod reading;
pub(crate) mod serial;
pub(crate) mod sinks;
pub(crate) mod stack;
mod submission;
mod thermal;

use std::path::Path;

use ssdlab_core::{Pages, Slab};
use ssdlab_ftl::Ftl;
use ssdlab_nand::backend::parallel::{ParallelFlash, Requester, UntimedFlash};
use ssdlab_nand::backend::{Flash, Resume};
use ssdlab_nand::{Counts, Timing};
use ssdlab_sched::RequestId;
use ssdlab_trace::{Request, SliceSource, Source};

use crate::check::data_checker::Checker;
use crate::drive::buffering::BufferStage;
use crate::drive::collection::CollectionAhead;
use crate::drive::host_memory::OwnMapMemory;
use crate::drive::parts::{AtRest, Timed};
use crate::drive::read_ahead::{Counts as ReadAheadCounts, ReadCache};
use crate::drive::stack::Stack;
use crate::drive::thermal::Throttle;
use crate::host::block::BlockStage;
use crate::host::cache::in_time::CacheStage;
use crate::host::fit::AddressMapper;
use crate::host::replay::HostReplay;
use crate::observe::activity::Meters;
use crate::observe::attribution::LatencyAttribution;
use crate::observe::controller::ControllerCounters;
use crate::observe::measurement::{Measurement, OfDrive};
use crate::precondition::PreconditionSummary;
use crate::run::Outcome;
use crate::run::error::SimError;
use crate::run::monitor::{Control, Monitor, Phase};
use crate::run::repeat::{Replayed, Replayer, Replays, replay_all};
use crate::run::steady::Written;
use crate::setup::Setup;
use crate::setup::drive::DriveOptions;
use crate::setup::host::Replay;
use crate::state;
use event_loop::Until;
use front::{FrontEnd, Queues};

/// A request that is in the drive or in its queues.
#[derive(Clone, Copy, Debug)]
struct InFlightRequest {
    request: Request,
    /// Number that the host cache gave to the request; 0 without a cache.
    cache_number: u32,
    /// Identifier of the request in the block layer, if there is a block layer.
    block: Option<RequestId>,
    /// Time when the request entered its queue.
    issued_ns: u64,
    /// Time when the drive took the request from its queue into the drive.
    taken_ns: u64,
    /// Time when the FTL or the buffer received the request. A write counts as received once all its data has arrived.
    submitted_ns: u64,
    /// Time when the first flash operation of a read began, if the read has several parts; [`NEVER`] until then.
    began_ns: u64,
    /// Waiting time of the request: in its queue, and from its submission until its service began.
    waited_ns: u64,
    queue: u16,
    /// Sequence number of the request, in the order in which the drive received requests; starts at 1.
    number: u64,
    /// True if the drive held writes when it took this read, or reads when it took this write.
    met_other: bool,
    /// For a write, the number of bytes that have arrived; for a read, the number of bytes that have left the flash or
    /// the buffer.
    moved_bytes: u32,
    /// Number of parts of a read that have not left the flash yet; at most 1 if the request is read in one part.
    parts: u32,
    /// Number of pages in the read cache that the request waits for.
    cached_parts: u32,
    /// Delay caused by look-ups that fetched map entries from host memory, in nanoseconds.
    lookup_ns: u64,
    /// Number of transfers of read data to the host that have not ended, including those that have not begun.
    sending: u32,
    /// True if the write has waited for buffer space or a token.
    has_stalled: bool,
}

impl InFlightRequest {
    /// Returns the number and arrival time that identify the request in recorded flash operations.
    fn requester(&self) -> Requester {
        Requester { number: self.number, arrived_ns: self.issued_ns }
    }
}

/// A host request that has completed.
#[derive(Clone, Copy, Debug)]
struct Completed {
    request: Request,
    time_ns: u64,
    latency_ns: u64,
}

/// A drive with timing, and the host above it.
pub(crate) struct TimedDrive {
    stack: Stack<Timed>,
    mapper: AddressMapper,
    cache: Option<CacheStage>,
    block: Option<BlockStage>,
    /// Requests in the drive or in its queues.
    requests: Slab<InFlightRequest>,
    queues: Queues,
    front: FrontEnd,
    buffer: Option<BufferStage>,
    read_cache: Option<Box<ReadCache>>,
    throttle: Option<Box<Throttle>>,
    collection: CollectionAhead,
    /// Number of map-entry fetches from host memory before measuring began.
    fetches_at_start: u64,
    /// Maximum number of flash operations in flight. At this limit, a drive without a write buffer takes no further
    /// requests, and a drive with a write buffer programs no further pages from the buffer.
    most_under_way: usize,
    /// Completed requests that were not yet reported to the host.
    completed: Vec<Completed>,
    measurement: Measurement,
    meters: Meters,
    /// Latency attribution, if enabled.
    attribution: Option<Box<LatencyAttribution>>,
}

impl TimedDrive {
    /// Starts the clock of a prepared drive: adds the time model of its flash, its buffer, queues, cache and block
    /// layer.
    ///
    /// # Errors
    /// Fails if the options of the cache or the block layer are invalid.
    pub fn start(device: Stack<AtRest>, timing: &Timing, options: DriveOptions) -> Result<Self, SimError> {
        let Setup { geometry, seed, attribution, .. } = device.setup;
        let mut stack = device.with_flash(|_, before| {
            let mut flash = ParallelFlash::new(&geometry, timing, options.array(seed), before);
            if attribution {
                flash.attribute_latency();
            }
            flash
        });
        let measurement = Measurement::start(&mut stack);
        stack.sinks.own_map_memory = options.host_memory.map(|memory| Box::new(OwnMapMemory::new(memory)));
        let setup = &stack.setup;
        let closed_loop = !matches!(setup.replay, Replay::Open { .. });
        let block = setup.block.as_ref().map(|block| BlockStage::new(setup, block, closed_loop)).transpose()?;
        let cache = setup.cache.as_ref().map(|cache| CacheStage::new(setup, cache)).transpose()?;
        let checks = stack.sinks.checker.get().is_some();
        let parallelism = setup.geometry.parallelism;
        Ok(Self {
            mapper: AddressMapper::new(setup),
            cache,
            block,
            requests: Slab::default(),
            queues: Queues::new(options.front.protocol),
            front: FrontEnd::new(options.front, setup.geometry.page_bytes),
            buffer: options.buffer.map(|buffer| BufferStage::new(buffer, options.pace, checks)),
            read_cache: options.read_ahead.map(|ahead| Box::new(ReadCache::new(ahead, stack.page))),
            throttle: options.thermal.map(|thermal| Box::new(Throttle::new(thermal))),
            collection: CollectionAhead::new(options.collect, &setup.geometry),
            fetches_at_start: 0,
            most_under_way: options.backlog as usize * parallelism.dies() as usize,
            completed: Vec::new(),
            measurement,
            meters: Meters::new(0),
            attribution: setup.attribution.then(|| Box::new(LatencyAttribution::new())),
            stack,
        })
    }

    /// Replays the source as often as the set-up requires, and measures the last replay.
    pub fn run(
        mut self,
        source: &mut Replays<'_>,
        monitor: &mut dyn Monitor,
        (precondition, control): (PreconditionSummary, Control),
        save: Option<&Path>,
    ) -> Result<Outcome, SimError> {
        let Replayed { repeat, warmup_pages, control } = replay_all(&mut self, source, monitor, control)?;
        let partial = control == Control::Stop;
        let controller = self.controller_counters();
        let flash = &mut self.stack.sinks.flash;
        flash.record_unfinished();
        let buffered = self.buffer.as_ref().map(BufferStage::measured).unwrap_or_default();
        let (summary, activity) = self.meters.finish(
            &self.stack.setup.geometry,
            flash.recorded(),
            (buffered.counters, controller),
            self.block,
            self.attribution.map(|attribution| attribution.finish(flash)),
            flash.now_ns(),
        );
        let drive = OfDrive {
            summary,
            activity,
            absorbed_pages: buffered.absorbed_pages,
            buffered_pages: buffered.buffered_pages,
        };
        let mut outcome = self.measurement.finish(&mut self.stack, precondition, partial, Some(drive));
        outcome.collected_ahead = self.collection.measured;
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

    /// Returns the controller's counters; `None` if the drive has neither read-ahead nor a map cache in host memory nor
    /// thermal throttling.
    fn controller_counters(&self) -> Option<ControllerCounters> {
        let (own_map_memory, read_cache) = (&self.stack.sinks.own_map_memory, &self.read_cache);
        if own_map_memory.is_none() && read_cache.is_none() && self.throttle.is_none() {
            return None;
        }
        let read_ahead = read_cache.as_ref().map(|cache| cache.counts).unwrap_or_default();
        let throttle = self.throttle.as_ref();
        Some(ControllerCounters {
            host_memory_fetches: own_map_memory.as_ref().map_or(0, |memory| memory.fetches - self.fetches_at_start),
            read_ahead_pages: read_ahead.pages,
            read_ahead_hits: read_ahead.hits,
            read_ahead_wasted: read_ahead.wasted,
            throttles: throttle.map_or(0, |throttle| throttle.throttles),
            throttled_requests: throttle.map_or(0, |throttle| throttle.throttled_requests),
            highest_temperature: throttle.map_or(0, |throttle| (throttle.highest * 1e3).round() as u64),
        })
    }

    /// Returns the counts of flash operations since the device was created.
    pub fn counts(&self) -> Counts {
        self.stack.sinks.flash.counts()
    }

    /// Returns the number of pages in the write buffer.
    pub fn buffered_pages(&self) -> u32 {
        self.buffer.as_ref().map_or(0, BufferStage::held)
    }

    /// Runs the drive up to `until_ns`, unless that time has passed, and accepts the requests that arrive by then.
    /// Returns the time of the next event, if any.
    pub fn run_live(&mut self, requests: &[Request], until_ns: u64) -> Result<Option<u64>, SimError> {
        let (mut source, mut nobody) = (SliceSource::new(requests), ());
        let (replay, issued) = (Replay::AS_TRACED, self.mapper.requests());
        let mut host = HostReplay::new(&mut source, &mut nobody, Phase::Measure, replay, u64::MAX, issued);
        self.advance(&mut host, Until::Time(until_ns))
    }

    /// Removes and returns the completed requests of a live run, with their completion times.
    pub fn take_completed(&mut self) -> impl Iterator<Item = (Request, u64)> {
        self.completed.drain(..).map(|completed| (completed.request, completed.time_ns))
    }
}

impl Replayer for TimedDrive {
    fn setup(&self) -> &Setup {
        &self.stack.setup
    }

    fn written(&self) -> Written {
        self.measurement.written(&self.stack)
    }

    fn start_measuring(&mut self) {
        self.measurement = Measurement::start(&mut self.stack);
        let start_ns = self.measurement.start_ns();
        self.collection.measured = 0;
        self.stack.sinks.flash.record(self.stack.setup.gantt);
        self.meters = Meters::new(start_ns);
        if let Some(attribution) = &mut self.attribution {
            attribution.start_measuring(&self.stack.sinks.flash);
        }
        if let Some(cache) = &mut self.cache {
            cache.start_measuring();
        }
        if let Some(block) = &mut self.block {
            block.start_measuring(start_ns);
        }
        if let Some(buffer) = &mut self.buffer {
            buffer.start_measuring();
        }
        if let Some(cache) = &mut self.read_cache {
            cache.counts = ReadAheadCounts::default();
        }
        if let Some(throttle) = &mut self.throttle {
            throttle.start_measuring();
        }
        self.fetches_at_start = self.stack.sinks.own_map_memory.as_ref().map_or(0, |memory| memory.fetches);
    }

    /// Replays the source until all its requests are complete.
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
        let mut host = HostReplay::new(source, monitor, phase, self.stack.setup.replay, limit, self.mapper.requests());
        self.collection.idle_since_ns = self.now_ns();
        self.advance(&mut host, Until::Complete)?;
        self.measurement.cycled(host.cycles());
        if let Some(arrivals_ns) = host.reader.arrivals_ns() {
            self.measurement.arrived(arrivals_ns, host.shift_ns(), host.backlog);
        }
        Ok(host.finish())
    }
}

/// Programs the pages that wait in the buffer. Returns the drive's stack with its flash idle and its time model
/// removed.
fn shut_down(stack: Stack<Timed>, buffer: Option<BufferStage>) -> Stack<AtRest> {
    let geometry = stack.setup.geometry;
    let mut stack = stack.with_flash(|ftl, flash| {
        let mut at_rest = UntimedFlash::new(&geometry, None);
        at_rest.resume(flash.counts(), &ftl.slc_blocks(), std::iter::empty());
        at_rest
    });
    for held in buffer.iter().flat_map(|stage| stage.buffer.unprogrammed()) {
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
    use ssdlab_nand::backend::parallel::scheduler::{Class, DieSchedulerInfo, DieSchedulerRules};
    use ssdlab_nand::{Commands, Geometry, PageTimes, Parallelism, ProgramOrder, Units};
    use ssdlab_trace::{Op, SliceSource};

    use crate::drive::sinks::Sinks;
    use crate::setup::Clock;
    use crate::setup::drive::{Collect, Controller, Front, Packets, Protocol, TransferUnit};

    /// A die scheduler that never starts an operation.
    static BLOCKED: DieSchedulerInfo = DieSchedulerInfo {
        name: "blocked",
        help: "no operation",
        source: "",
        parameters: &[],
        role: DieSchedulerRules { pick: |_| None, in_order: false, internal_read: Class::Internal },
    };

    /// A drive that makes no progress ends the run with an error that describes its queues.
    #[test]
    fn a_drive_whose_dies_do_nothing_ends_with_an_error() {
        let options = PageOptions::new(gc::greedy::INFO.defaults(), &placement::shared::INFO);
        let timing = Timing {
            read: PageTimes::uniform(Nanos(100)),
            program: PageTimes::uniform(Nanos(1_000)),
            erase: Nanos(10_000),
            slc: None,
            transfer_per_kib: Nanos(5),
            copyback: false,
            partial_read: false,
        };
        let controller = Controller::serial(Nanos::ZERO);
        let (protocol, packets) = (Protocol::Direct, Packets::FREE);
        let front = Front {
            protocol,
            link_bytes_per_s: None,
            packets,
            full_duplex: true,
            transfer: TransferUnit::Request,
            dram_bytes_per_s: None,
            controller,
        };
        let drive = DriveOptions {
            commands: Commands::default(),
            scheduler: &BLOCKED,
            front,
            buffer: None,
            pace: None,
            read_ahead: None,
            host_memory: None,
            thermal: None,
            collect: Collect::Foreground,
            backlog: 10,
        };
        let geometry = Geometry {
            page_bytes: 4096,
            pages_per_block: 4,
            blocks: 8,
            order: ProgramOrder::Ascending,
            parallelism: Parallelism::SINGLE,
            units: Units::PAGE,
        };
        let setup = Setup {
            clock: Clock::Event(timing, drive),
            replay: Replay::Closed { depth: 3, per_stream: false, think: Nanos::ZERO },
            ..Setup::new(geometry, 16, FtlChoice::Page(options, ram::INFO.defaults()))
        };
        let ftl = PageFtl::new(setup.shape(), options, 1).expect("large enough");
        let flash = UntimedFlash::new(&setup.geometry, None);
        let stack = Stack::<AtRest>::new(&setup, ftl.boxed(), Sinks::new(flash, None, None));
        let write = Request { time_ns: 0, offset: 0, bytes: 4096, op: Op::Write, flags: 0, stream: 0 };
        let error = TimedDrive::start(stack, &timing, drive)
            .expect("a drive")
            .run(
                &mut Replays::new(&mut SliceSource::new(&[write; 5])),
                &mut (),
                (PreconditionSummary::default(), Control::Continue),
                None,
            )
            .expect_err("nothing can go on");
        let text = error.to_string();
        assert!(text.contains("cannot continue: 3 requests are outstanding: 3 in the drive"), "{text}");
        assert!(text.contains("3 flash operations are unfinished; die 0: 3 operations waiting"), "{text}");
    }
}
