//! The block layer of the host: requests become bios, and bios become device requests.
//!
//! ```text
//! request -> bios of at most max_sectors -> block layer: plug, merge, scheduler -> drive
//!            complete when all its bios are <- completion of the merged request <-
//! ```
//! A process (a stream of the trace) releases its plug when it goes to sleep. It sleeps when it has issued all requests
//! that it can and waits for a completion. In an open loop above the single-queue layer, only processes that wait for a
//! request sleep. Other requests leave the plugged queue when it is full or its timer expires.

use serde::Serialize;
use ssdlab_core::Slab;
use ssdlab_nand::backend::parallel::NEVER;
use ssdlab_sched::{
    Bio, BlockCounters, BlockLayer, BlockLayerKind, Direction, Dispatched, Flags, Left, Operation, Priority, RequestId,
    SchedulerInfo, Submitted, ThrottleCounters,
};
use ssdlab_trace::{Op, Request, flag};

use crate::host::fit::runs;
use crate::host::replay::Issued;
use crate::run::error::SimError;
use crate::setup::Setup;
use crate::setup::host::BlockOptions;

/// Size of a sector in bytes.
const SECTOR: u64 = 512;

/// Results of the block layer in the measured phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BlockSummary {
    /// Name of the I/O scheduler.
    pub scheduler: &'static str,
    /// Counters of the block layer.
    pub counters: BlockCounters,
    /// Counters of writeback throttling, if throttling is on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttling: Option<ThrottleCounters>,
    /// Bios merged into other requests, as a share of all bios.
    pub merged_share: f64,
    /// Mean size of a dispatched read in bytes; `None` without reads.
    pub read_bytes_mean: Option<f64>,
    /// Mean size of a dispatched write in bytes; `None` without writes.
    pub write_bytes_mean: Option<f64>,
    /// Scheduler rules that had no effect, because the trace lacks the request properties that these rules use.
    pub idle_rules: Vec<&'static str>,
}

/// Request properties that schedulers use and that a trace may lack.
#[derive(Clone, Copy, Debug, Default)]
struct Marks {
    /// Process (stream) of the first bio.
    first_pid: Option<u32>,
    several_pids: bool,
    writes: bool,
    sync_writes: bool,
}

impl Marks {
    fn note(&mut self, bio: &Bio) {
        self.several_pids |= *self.first_pid.get_or_insert(bio.pid) != bio.pid;
        if bio.direction == Direction::Write {
            self.writes = true;
            self.sync_writes |= bio.is_sync();
        }
    }
}

/// A request of the host or of the host's cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostRequest {
    pub request: Request,
    /// Number that the cache gave to the request; 0 without a cache.
    pub cache_number: u32,
    pub issued_ns: u64,
}

/// The block layer and the host requests in it.
pub(crate) struct BlockStage {
    layer: BlockLayer,
    max_sectors: u32,
    device_bytes: u64,
    kind: BlockLayerKind,
    /// True if the requests of a process stay in its plug until it sleeps (multi-queue layer).
    plug: bool,
    /// True if every process sleeps after it has issued requests: in a closed loop, because it waits for a completion;
    /// in the multi-queue layer, because it always releases its plug then.
    all_sleep: bool,
    /// Host requests, each with the number of its bios that have not ended.
    requests: Slab<(HostRequest, u32)>,
    outstanding: u32,
    /// Processes that have submitted requests since they last slept; `has_submitted` holds a flag for each process.
    awake: Vec<u16>,
    has_submitted: Vec<bool>,
    /// Host requests whose bios have all ended.
    done: Vec<u32>,
    /// Scratch buffer for the bios of a completed request; kept to reuse its memory.
    ended: Vec<Bio>,
    marks: Marks,
    /// Counters of the block layer when measuring began.
    start: BlockCounters,
    throttling_start: Option<ThrottleCounters>,
    /// Requests dispatched to the drive, if they are recorded.
    dispatched: Option<Vec<Request>>,
    scheduler: &'static SchedulerInfo,
    start_ns: u64,
    /// Cached time of the next timer; `None` if the time must be computed.
    timer_ns: Option<u64>,
}

impl BlockStage {
    /// Creates the block layer that `options` describes.
    ///
    /// # Errors
    /// Fails if the scheduler or a tunable is unknown.
    pub fn new(setup: &Setup, options: &BlockOptions, closed_loop: bool) -> Result<Self, SimError> {
        let scheduler =
            ssdlab_sched::SCHEDULERS.get(&options.scheduler).map_err(|error| SimError::Setup(error.to_string()))?;
        let device_bytes = setup.capacity_bytes();
        let options = BlockOptions { device_sectors: device_bytes / SECTOR, ..options.clone() };
        Ok(Self {
            max_sectors: options.max_sectors,
            device_bytes,
            kind: options.kind,
            plug: options.plug,
            all_sleep: closed_loop || options.kind == BlockLayerKind::MultiQueue,
            layer: BlockLayer::new(options).map_err(|error| SimError::Setup(error.to_string()))?,
            requests: Slab::default(),
            outstanding: 0,
            awake: Vec::new(),
            has_submitted: Vec::new(),
            done: Vec::new(),
            ended: Vec::new(),
            marks: Marks::default(),
            start: BlockCounters::default(),
            throttling_start: None,
            dispatched: setup.record.then(Vec::new),
            scheduler,
            start_ns: 0,
            timer_ns: None,
        })
    }

    /// Starts measuring the block layer.
    pub fn start_measuring(&mut self, now_ns: u64) {
        self.start = self.layer.counters();
        self.throttling_start = self.layer.throttle_counters();
        self.start_ns = now_ns;
        if let Some(dispatched) = &mut self.dispatched {
            dispatched.clear();
        }
    }

    /// Returns the results since measuring began, and the dispatched requests if they were recorded.
    pub fn finish(self) -> (BlockSummary, Option<Vec<Request>>) {
        let counters = self.layer.counters() - self.start;
        let merged = counters.back_merges + counters.front_merges;
        let mean = |sectors: u64, requests: u64| (requests > 0).then(|| (sectors * SECTOR) as f64 / requests as f64);
        let summary = BlockSummary {
            scheduler: self.scheduler.name,
            counters,
            throttling: self
                .layer
                .throttle_counters()
                .map(|counters| counters - self.throttling_start.unwrap_or_default()),
            merged_share: if counters.bios > 0 { merged as f64 / counters.bios as f64 } else { 0.0 },
            read_bytes_mean: mean(counters.dispatched_read_sectors, counters.dispatched_reads),
            write_bytes_mean: mean(counters.dispatched_write_sectors, counters.dispatched_writes),
            idle_rules: self.idle_rules(),
        };
        (summary, self.dispatched)
    }

    fn idle_rules(&self) -> Vec<&'static str> {
        let Marks { several_pids, writes, sync_writes, .. } = self.marks;
        let mut rules = Vec::new();
        if self.scheduler.role.by_process && !several_pids {
            rules.push("per-process rules have no effect: all requests come from one process");
        }
        let by_sync = self.scheduler.role.by_sync
            || self.kind == BlockLayerKind::SingleQueue
            || self.layer.throttle_counters().is_some();
        if by_sync && writes && !sync_writes {
            rules.push(
                "rules for synchronous writes have no effect: no write is marked as synchronous, so every write counts \
                 as write-back",
            );
        }
        rules
    }

    /// Returns the number of incomplete host requests.
    pub fn outstanding(&self) -> u32 {
        self.outstanding
    }

    /// Returns true if an asynchronous bio waits because no request is free or writes are throttled.
    pub fn holds_up(&self) -> bool {
        self.layer.async_bios_wait()
    }

    /// Records that a writer waits for dirty cache pages to be written.
    pub fn dirty_wait(&mut self, now_ns: u64) {
        self.layer.dirty_wait(now_ns);
    }

    pub fn left(&self) -> Left {
        self.layer.left()
    }

    /// Returns the time of the next timer, or [`NEVER`].
    #[inline]
    pub fn timer_ns(&mut self) -> u64 {
        *self.timer_ns.get_or_insert_with(|| self.layer.timer_ns().unwrap_or(NEVER))
    }

    pub fn on_timer(&mut self, now_ns: u64) {
        self.timer_ns = None;
        self.layer.on_timer(now_ns);
    }

    /// Passes a request of the host or of the host's cache to the block layer.
    #[inline(always)]
    pub fn submit(&mut self, issued: Issued, cache_number: u32, now_ns: u64) {
        self.timer_ns = None;
        let Issued { request, time_ns } = issued;
        // Most requests fit one bio; the bio of a flush has no data.
        let flush = request.op == Op::Flush;
        let (start, sectors) =
            if flush { (request.offset / SECTOR, 0) } else { sectors_of(request.offset, request.end()) };
        let one = flush || (request.end() <= self.device_bytes && sectors <= u64::from(self.max_sectors));
        let cuts = if one { Vec::new() } else { self.cut(&request) };
        let bios = if one { 1 } else { cuts.len() as u32 };
        let owner = self.requests.insert((HostRequest { request, cache_number, issued_ns: time_ns }, bios));
        self.outstanding += 1;
        let pid = u32::from(request.stream);
        let waits = self.all_sleep || request.op == Op::Read || request.flags & flag::SYNC != 0;
        if waits {
            self.wake(request.stream);
        }
        if self.plug {
            self.layer.plug(pid);
        }
        let direction = if request.op == Op::Read { Direction::Read } else { Direction::Write };
        let bio = Bio {
            start,
            sectors: sectors as u32,
            direction,
            flags: flags_of(&request),
            pid,
            priority: Priority::default(),
            owner,
        };
        self.marks.note(&bio);
        if one {
            self.submit_bio(bio, now_ns);
        }
        for (start, sectors) in cuts {
            self.submit_bio(Bio { start, sectors, ..bio }, now_ns);
        }
    }

    #[inline]
    fn submit_bio(&mut self, bio: Bio, now_ns: u64) {
        if self.layer.submit(bio, now_ns) == Submitted::Ended {
            self.bio_ended(bio.owner);
        }
    }

    /// Splits a request that is too large for one bio, or wraps around the device, into bios. Returns their first
    /// sectors and lengths in sectors.
    fn cut(&self, request: &Request) -> Vec<(u64, u32)> {
        let largest = u64::from(self.max_sectors);
        let bios = |(offset, end)| {
            let (start, sectors) = sectors_of(offset, end);
            let number = sectors.div_ceil(largest);
            (0..number).map(move |bio| (start + bio * largest, (sectors - bio * largest).min(largest) as u32))
        };
        runs(request, self.device_bytes).flat_map(bios).collect()
    }

    fn wake(&mut self, stream: u16) {
        if self.has_submitted.len() <= usize::from(stream) {
            self.has_submitted.resize(usize::from(stream) + 1, false);
        }
        if !std::mem::replace(&mut self.has_submitted[usize::from(stream)], true) {
            self.awake.push(stream);
        }
    }

    /// Returns true if processes have submitted requests since they last slept.
    #[inline]
    pub fn is_awake(&self) -> bool {
        !self.awake.is_empty()
    }

    /// Puts processes to sleep, which releases their plugs. Returns false if all processes were already asleep.
    #[inline]
    pub fn sleep(&mut self, now_ns: u64) -> bool {
        if !self.is_awake() {
            return false;
        }
        self.timer_ns = None;
        while let Some(stream) = self.awake.pop() {
            self.has_submitted[usize::from(stream)] = false;
            self.layer.unplug(u32::from(stream), now_ns);
        }
        true
    }

    /// Returns true if the block layer might have a request ready for the drive.
    #[inline]
    pub fn has_work(&self) -> bool {
        self.layer.has_work()
    }

    /// Dispatches the next request to the drive, with the stream of its first process.
    #[inline(always)]
    pub fn next(&mut self, now_ns: u64) -> Option<(RequestId, Request)> {
        self.timer_ns = None;
        let Dispatched { id, operation, start, sectors, pid, .. } = self.layer.next(now_ns)?;
        let (op, flags) = match operation {
            Operation::Read => (Op::Read, 0),
            Operation::Write => (Op::Write, 0),
            Operation::WriteThrough => (Op::Write, flag::FUA),
            Operation::Discard => (Op::Trim, 0),
            Operation::Flush => (Op::Flush, 0),
        };
        let bytes = u32::try_from(u64::from(sectors) * SECTOR).expect("requests are shorter than 4 GiB");
        // The process number is the number of the stream in the trace.
        let time_ns = now_ns - self.start_ns;
        let request = Request { time_ns, offset: start * SECTOR, bytes, op, flags, stream: pid as u16 };
        if let Some(dispatched) = &mut self.dispatched {
            dispatched.push(request);
        }
        Some((id, request))
    }

    /// Completes a request that the block layer sent to the drive.
    #[inline(always)]
    pub fn completed(&mut self, id: RequestId, now_ns: u64) {
        self.timer_ns = None;
        self.layer.completed(id, now_ns, &mut self.ended);
        // Wake-ups are discarded, because replayed processes never wait for a free request of the block layer.
        while self.layer.woken().is_some() {}
        while let Some(Bio { owner, .. }) = self.ended.pop() {
            self.bio_ended(owner);
        }
    }

    #[inline]
    fn bio_ended(&mut self, owner: u32) {
        let (_, bios) = &mut self.requests[owner];
        *bios -= 1;
        if *bios == 0 {
            self.done.push(owner);
        }
    }

    /// Removes and returns a host request whose bios have all ended, if any.
    #[inline]
    pub fn take_done(&mut self) -> Option<HostRequest> {
        let owner = self.done.pop()?;
        self.outstanding -= 1;
        let (request, _) = self.requests[owner];
        self.requests.remove(owner);
        Some(request)
    }
}

/// Returns the first sector and the number of sectors that a byte range touches.
#[inline]
fn sectors_of(offset: u64, end: u64) -> (u64, u64) {
    let start = offset / SECTOR;
    (start, end.div_ceil(SECTOR) - start)
}

/// Returns the flags of a bio. Asynchronous writes count as background writes, because traces do not mark background
/// writes.
fn flags_of(request: &Request) -> Flags {
    let mut flags = match request.op {
        Op::Write if request.flags & flag::SYNC == 0 => Flags::BACKGROUND,
        _ => Flags::NONE,
    };
    if request.flags == 0 && matches!(request.op, Op::Read | Op::Write) {
        return flags;
    }
    for (bit, meaning) in [
        (flag::SYNC, Flags::SYNC),
        (flag::META, Flags::META),
        (flag::AHEAD, Flags::READAHEAD),
        (flag::FUA, Flags::FUA),
        (flag::PREFLUSH, Flags::FLUSH),
    ] {
        if request.flags & bit != 0 {
            flags = flags | meaning;
        }
    }
    match request.op {
        Op::Trim => flags | Flags::DISCARD,
        Op::Flush => flags | Flags::FLUSH,
        Op::Read | Op::Write => flags,
    }
}
