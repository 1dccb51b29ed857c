//! `anticipatory`: alternates batches of synchronous and asynchronous requests, and idles for the process served last
//! (block/as-iosched.c of Linux 2.6.32, the last kernel to include it).
//!
//! Every batch has a time limit. A batch of asynchronous requests also has a limit on its number of requests, which
//! adapts to the duration of earlier batches. The device is drained between batches of different types, which hurts
//! drives with a command queue. After a synchronous request the device idles for its process, up to `antic_expire`. It
//! does not idle if a waiting request lies close by, or if the process's mean think time exceeds `antic_expire`. The
//! scheduler also idles on SSDs, because the kernel's check for SSDs is compiled out.
//!
//! Details that are easy to get wrong:
//!
//! - A close request of another process ends the wait. It counts as a request of the awaited process and updates that
//!   process's think time and seek distance.
//! - If completions drained the device, a batch continues at its last position. If the device was idle already, the
//!   batch starts with the oldest request.
//! - Queues are indexed by type (synchronous or asynchronous), but front merges look them up by direction. So reads
//!   find no candidates, and writes find only synchronous ones.
//!
//! Statistics of exiting processes are left out. For two requests at the same sector, the kernel dispatches the older
//! one at once; here both stay queued.

use rustc_hash::FxHashMap;
use ssdlab_core::{Parameter, Settings};

use super::lists::SortedFifo;
use super::mean::Mean;
use super::nearest::rank;
use super::{IoScheduler, SchedulerInfo, SchedulerRules};
use crate::MS;
use crate::bio::Bio;
use crate::layer::BlockLayerKind;
use crate::request::{Request, RequestId, Requests};

pub(super) static INFO: SchedulerInfo = SchedulerInfo {
    name: "anticipatory",
    help: "batches of synchronous or asynchronous requests; idles for the last process's next request; Linux 2.6.32",
    source: "Linux 2.6.32, block/as-iosched.c",
    parameters: TUNABLES,
    role: SchedulerRules {
        sorted_drain: true,
        by_process: true,
        by_sync: true,
        ..SchedulerRules::new(BlockLayerKind::SingleQueue, &|settings, _| Ok(Box::new(Anticipatory::new(settings))))
    },
};

const TUNABLES: &[Parameter] = &[
    Parameter::ms(
        "read_expire",
        125,
        0,
        "Age at which a synchronous request takes precedence over others; also the interval between age checks.",
    ),
    Parameter::ms(
        "write_expire",
        250,
        0,
        "Age at which an asynchronous request takes precedence over others; also the interval between age checks.",
    ),
    Parameter::ms("read_batch_expire", 500, 0, "Duration of a synchronous batch while asynchronous requests wait."),
    Parameter::ms("write_batch_expire", 125, 0, "Duration of an asynchronous batch while synchronous requests wait."),
    Parameter::ms("antic_expire", 6, 0, "Maximum time to idle for the next request of a process; 0 disables idling."),
];

/// Array indexes of the two request types, asynchronous and synchronous.
const ASYNC: usize = 0;
const SYNC: usize = 1;
/// Maximum backward distance in sectors, and the factor by which backward distances are multiplied.
const BACK_MAX: u64 = 1 << 20;
const BACK_PENALTY: u64 = 2;
/// Upper limit on measured think times. Once the scheduler has idled for this long, any request counts as close.
const MAX_THINK_NS: u64 = 20 * MS;
/// Initial distance in sectors within which a request counts as close. The distance doubles with each millisecond of
/// waiting.
const CLOSE_SECTORS: u64 = 8192;

/// State of anticipation: the scheduler may keep the device idle for the next request of the awaited process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Anticipation {
    #[default]
    Off,
    /// The scheduler waits for the completion of the process's current request.
    AwaitsEnd,
    /// The scheduler waits for the process's next request until this time.
    AwaitsNext(u64),
    /// Idling has just ended; the next request is dispatched without idling again.
    Finished,
}

/// Statistics of a process: think time and seek distance.
#[derive(Clone, Copy, Debug, Default)]
struct Process {
    think_time: Mean,
    seek: Mean,
    queued: u64,
    started: bool,
    last_end: Option<u64>,
    last_position: u64,
}

#[derive(Debug, Default)]
struct Anticipatory {
    queues: [SortedFifo; 2],
    next: [Option<RequestId>; 2],
    last_sector: [u64; 2],
    last_check: [u64; 2],
    processes: FxHashMap<u32, Process>,
    batch: usize,
    batch_end: u64,
    /// True if the type of batch (synchronous or asynchronous) has changed and the device is not drained yet.
    changed: bool,
    /// True until the first request of a synchronous batch completes. The time limit of the batch starts with that
    /// completion.
    new_batch: bool,
    writes_left: u64,
    write_batch: u64,
    /// True if the batch of writes has gone idle: no reads were waiting, and either no writes were waiting or the batch
    /// had reached its size. If such a batch lasts too long, the next batch is not made smaller.
    write_batch_idled: bool,
    in_flight: u64,
    state: Anticipation,
    /// Process of the last dispatched request, if the request was synchronous.
    awaited: Option<u32>,
    /// True if the last request of the awaited process has completed; `awaited_since` is the time of its completion.
    ended: bool,
    awaited_since: u64,
    /// Mean think time and seek distance of new processes, times 256; used for processes without samples.
    new_think: u64,
    new_seek: u64,
    fifo_expire: [u64; 2],
    batch_expire: [u64; 2],
    antic_expire: u64,
}

impl Anticipatory {
    fn new(settings: &Settings) -> Self {
        let batch_expire = [settings.ns("write_batch_expire"), settings.ns("read_batch_expire")];
        Self {
            batch: SYNC,
            batch_end: batch_expire[SYNC],
            // The initial batch size for writes assumes 10 ms per write.
            write_batch: (batch_expire[ASYNC] / (10 * MS)).max(2),
            fifo_expire: [settings.ns("write_expire"), settings.ns("read_expire")],
            batch_expire,
            antic_expire: settings.ns("antic_expire"),
            ..Self::default()
        }
    }

    fn choose(&self, kind: usize, candidates: [Option<RequestId>; 2], requests: &Requests) -> Option<RequestId> {
        let rank = |id: &RequestId| rank(requests[*id].start, self.last_sector[kind], BACK_MAX, BACK_PENALTY);
        candidates.into_iter().flatten().min_by_key(rank)
    }

    /// Returns the request that continues the batch after `rq` leaves the queue.
    fn successor(&self, rq: &Request, requests: &Requests) -> Option<RequestId> {
        let kind = usize::from(rq.is_sync());
        self.choose(kind, self.queues[kind].neighbours(rq.id), requests)
    }

    fn process(&mut self, pid: u32) -> &mut Process {
        self.processes.entry(pid).or_default()
    }

    fn is_waiting(&self) -> bool {
        matches!(self.state, Anticipation::AwaitsEnd | Anticipation::AwaitsNext(_))
    }

    fn batch_expired(&self, now: u64) -> bool {
        let over = now > self.batch_end || (self.batch == ASYNC && self.writes_left == 0);
        over && !self.changed && !self.new_batch
    }

    /// Returns the oldest request of the given type (synchronous or asynchronous) if it has expired. Checks at most
    /// once per `fifo_expire`.
    fn overdue(&mut self, kind: usize, now: u64) -> Option<RequestId> {
        if now - self.last_check[kind] < self.fifo_expire[kind] {
            return None;
        }
        self.last_check[kind] = now;
        self.queues[kind].fifo.overdue(now)
    }

    /// True if `rq` lies close to the end of the last request: within a distance that grows with the wait, or nearer
    /// than the usual seek distance of the awaited process. Also true if the scheduler has already waited too long for
    /// that process.
    fn is_close(&self, process: &Process, rq: &Request, now: u64) -> bool {
        let waited = if self.state == Anticipation::Off || !self.ended { 0 } else { now - self.awaited_since };
        if waited > MAX_THINK_NS || waited > self.antic_expire {
            return true;
        }
        let near = CLOSE_SECTORS << (waited / MS);
        let last = self.last_sector[self.batch];
        let typical = if process.seek.samples == 0 { self.new_seek / 256 } else { process.seek.mean };
        (last <= rq.start + near / 2 && rq.start <= last + near) || typical > rq.start.abs_diff(last)
    }

    /// True if the scheduler should not wait for process `pid`; `rq` is the request that could be dispatched now.
    fn breaks(&mut self, pid: u32, rq: Option<&Request>, now: u64) -> bool {
        let expired = self.ended && now >= self.awaited_since + self.antic_expire;
        if expired || rq.is_some_and(|rq| rq.pid == pid) {
            return true;
        }
        let process = &self.processes[&pid];
        if process.queued > 0 {
            return true;
        }
        if let Some(close) = rq.filter(|rq| rq.is_sync() && self.is_close(process, rq, now)) {
            // Processes that access the same area of the disk are treated as one, so this request ends the wait for the
            // awaited process.
            self.learn(pid, close, now);
            return true;
        }
        let thinks = if process.think_time.samples == 0 { self.new_think / 256 } else { process.think_time.mean };
        thinks > self.antic_expire
    }

    /// True if the scheduler should wait for the awaited process rather than dispatch `rq`.
    fn anticipates(&mut self, rq: Option<&Request>, now: u64) -> bool {
        self.state != Anticipation::Finished && self.awaited.is_some_and(|pid| !self.breaks(pid, rq, now))
    }

    /// Updates the statistics of process `pid` with a synchronous request.
    fn learn(&mut self, pid: u32, rq: &Request, now: u64) {
        let process = self.processes.entry(pid).or_default();
        if process.started {
            let idle = process.last_end.filter(|_| process.queued == 0);
            let think = idle.map_or(0, |end| (now - end).min(MAX_THINK_NS - MS));
            if process.think_time.samples == 0 {
                self.new_think = (7 * self.new_think + 256 * think) / 8;
            }
            process.think_time.add(think);
            let distance = rq.start.abs_diff(process.last_position);
            if process.seek.samples == 0 {
                self.new_seek = (7 * self.new_seek + 256 * distance) / 8;
            }
            process.seek.add_seek(distance);
        }
        process.last_position = rq.end();
        process.started = true;
    }

    /// Adapts the size of the next batch of writes when a batch of writes ends.
    fn adapt_write_batch(&mut self, now: u64) {
        let batch = self.batch_expire[ASYNC];
        let took = (now + batch).saturating_sub(self.batch_end);
        if took > batch && !self.write_batch_idled {
            self.write_batch = if took > 3 * batch { self.write_batch / 2 } else { self.write_batch - 1 };
        } else if took < batch && self.writes_left == 0 {
            self.write_batch = if batch > 3 * took { 2 * self.write_batch } else { self.write_batch + 1 };
        }
        self.write_batch = self.write_batch.max(1);
    }

    /// Begins a batch of the given type (synchronous or asynchronous); returns the oldest request of this type.
    fn begin(&mut self, kind: usize, now: u64) -> Option<RequestId> {
        if self.batch != kind {
            self.changed = true;
            self.new_batch = false;
        }
        self.batch = kind;
        if kind == ASYNC {
            self.writes_left = self.write_batch;
            self.write_batch_idled = false;
        }
        self.last_check[kind] = now;
        self.queues[kind].fifo.head()
    }

    /// Returns the request that continues the batch or begins a new one; `None` while the device idles.
    fn choose_batch(&mut self, requests: &Requests, now: u64) -> Option<RequestId> {
        let [writes, reads] = [&self.queues[ASYNC], &self.queues[SYNC]].map(|queue| !queue.is_empty());
        if !(reads && writes && self.batch_expired(now)) {
            let next = self.next[self.batch];
            if self.batch == SYNC && self.antic_expire > 0 {
                if let Some(overdue) = self.overdue(SYNC, now) {
                    return Some(overdue);
                }
                if self.anticipates(next.map(|id| &requests[id]), now) {
                    self.state = match self.ended {
                        true => Anticipation::AwaitsNext(self.awaited_since + self.antic_expire),
                        false => Anticipation::AwaitsEnd,
                    };
                    return None;
                }
            }
            if next.is_some() {
                if reads && !writes {
                    self.batch_end = now + self.batch_expire[SYNC];
                }
                return self.overdue(self.batch, now).or(next);
            }
        }
        let kind = if reads && !(writes && self.batch == SYNC) { SYNC } else { ASYNC };
        self.begin(kind, now)
    }

    fn take(&mut self, id: RequestId, requests: &Requests) -> RequestId {
        let rq = &requests[id];
        let kind = usize::from(rq.is_sync());
        self.state = Anticipation::Off;
        self.last_sector[kind] = rq.end();
        self.awaited = (kind == SYNC).then_some(rq.pid);
        self.ended = false;
        if kind == ASYNC {
            self.writes_left = self.writes_left.saturating_sub(1);
        }
        // The batch continues from the dispatched request, even if the request was dispatched because it had expired.
        self.next[kind] = self.successor(rq, requests);
        self.process(rq.pid).queued -= 1;
        self.queues[kind].remove(id);
        self.in_flight += 1;
        id
    }
}

impl IoScheduler for Anticipatory {
    fn insert(&mut self, rq: &Request, requests: &Requests, now: u64) -> bool {
        let kind = usize::from(rq.is_sync());
        if kind == SYNC {
            self.learn(rq.pid, rq, now);
        }
        self.process(rq.pid).queued += 1;
        self.queues[kind].push(rq, now + self.fifo_expire[kind]);
        self.next[kind] = self.choose(kind, [Some(rq.id), self.next[kind]], requests);
        let stops = self.is_waiting() && self.awaited.is_some_and(|pid| self.breaks(pid, Some(rq), now));
        if stops {
            self.state = Anticipation::Finished;
        }
        stops
    }

    fn dispatch(&mut self, _queue: u16, requests: &Requests, now: u64, force: bool) -> Option<RequestId> {
        if force {
            // A forced dispatch takes synchronous requests first and ignores batches.
            (self.batch, self.changed, self.new_batch) = (SYNC, false, false);
            let id = self.next[SYNC].or(self.next[ASYNC])?;
            return Some(self.take(id, requests));
        }
        let [writes, reads] = [&self.queues[ASYNC], &self.queues[SYNC]].map(|queue| !queue.is_empty());
        if self.batch == ASYNC && !reads && (self.writes_left == 0 || !writes) {
            self.write_batch_idled = true;
        }
        if !(reads || writes) || self.is_waiting() || self.changed {
            return None;
        }
        let id = self.choose_batch(requests, now)?;
        if self.changed {
            if self.in_flight > 0 {
                return None;
            }
            self.changed = false;
            if self.batch == ASYNC {
                self.batch_end = now + self.batch_expire[ASYNC];
            } else {
                self.new_batch = true;
            }
        }
        Some(self.take(id, requests))
    }

    fn completed(&mut self, rq: &Request, now: u64) {
        let kind = usize::from(rq.is_sync());
        self.in_flight -= 1;
        if self.changed && self.in_flight == 0 {
            self.changed = false;
            self.batch_end = now + self.batch_expire[self.batch];
            self.new_batch = self.batch == SYNC;
        }
        if self.new_batch && self.batch == kind {
            self.adapt_write_batch(now);
            self.batch_end = now + self.batch_expire[SYNC];
            self.new_batch = false;
        }
        if self.awaited == Some(rq.pid) {
            self.awaited_since = now;
            self.ended = true;
            if self.state == Anticipation::AwaitsEnd {
                self.state = Anticipation::AwaitsNext(now + self.antic_expire);
            }
        }
        if kind == SYNC {
            self.process(rq.pid).last_end = Some(now);
        }
    }

    fn front_merge(&self, bio: &Bio) -> Option<RequestId> {
        self.queues[bio.direction as usize].starting_at(bio.end())
    }

    fn moved(&mut self, rq: &Request) {
        self.queues[usize::from(rq.is_sync())].moved(rq);
    }

    fn former(&self, rq: &Request) -> Option<RequestId> {
        self.queues[usize::from(rq.is_sync())].former(rq.id)
    }

    fn latter(&self, rq: &Request) -> Option<RequestId> {
        self.queues[usize::from(rq.is_sync())].latter(rq.id)
    }

    fn merged(&mut self, survivor: &Request, absorbed: &Request, requests: &Requests) {
        let kind = usize::from(absorbed.is_sync());
        if self.next[kind] == Some(absorbed.id) {
            self.next[kind] = self.successor(absorbed, requests);
        }
        self.process(absorbed.pid).queued -= 1;
        self.queues[kind].absorb(survivor.id, absorbed.id);
    }

    fn must_queue(&self, bio: &Bio) -> bool {
        self.is_waiting() && self.awaited == Some(bio.pid)
    }

    fn timer_ns(&self) -> Option<u64> {
        match self.state {
            Anticipation::AwaitsNext(time) => Some(time),
            _ => None,
        }
    }

    fn on_timer(&mut self, _now: u64) {
        self.state = Anticipation::Finished;
    }
}
