//! `cfq`: time slices for processes (block/cfq-iosched.c of Linux 2.6.32).
//!
//! Each process has a queue for its synchronous requests; asynchronous writes share one queue per priority. Queues are
//! served in the order of a key: the time of queueing, plus an offset for short slices, minus the unused part of the
//! last slice. The clock of a slice starts with its first completion. An empty queue keeps the device idle for
//! `slice_idle` if its process is likely to send more requests. SSDs with a command queue do not idle.
//!
//! Checked against the source of 2.6.32.71. Differences:
//!
//! - Instead of idling, CFQ may serve another process out of turn, but only once, if that process accesses nearby
//!   sectors. This behaviour of 2.6.32 could not be checked against its source; in 2.6.32.71 such processes share one
//!   queue from then on.
//! - Processes do not exit, and do not change their priority while they have requests waiting.
//! - While the device idles, the awaited process may exceed the limit of requests at any time, not just once per slice.
//! - After the request that ends the idling, no further request is dispatched past the end of the slice.
//! - For two requests at the same sector, the kernel dispatches the older one at once; here both stay queued.
//! - If there are close queues on both sides of the head, the kernel's choice depends on the shape of its tree. Here
//!   the queue ahead is chosen.
//!
//! The kernels of Enterprise Linux 6 carry a later CFQ, which is not modelled:
//!
//! | | 2.6.32 | Enterprise Linux 6 |
//! |---|---|---|
//! | `quantum` | 4 | 8 |
//! | idling between groups | none | `group_idle` 8 ms |
//! | slices | fixed | shortened so that all queues are served within 300 ms (`target_latency`) |
//! | service trees | one | three per priority: asynchronous, not worth idling for, synchronous |
//! | seeks | mean distance above 8192 sectors | bit history: 800 sectors; on SSDs requests below 64 sectors |
//! | end of a slice | no extra request | `wait_busy`: a queue that has used up its slice may wait for one more |
//! | `slice_idle` 0 | no idling | slices are counted in requests (IOPS mode) |
//!
//! Setting `quantum` to 8 brings this model closest to these kernels. The right column describes a later kernel of the
//! series.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use ssdlab_core::{Parameter, Settings, Unit};

use super::lists::SortedFifo;
use super::mean::Mean;
use super::nearest::NearestOrder;
use super::owner::Owner;
use super::{Device, IoScheduler, SchedulerInfo, SchedulerRules};
use crate::MS;
use crate::bio::{Bio, Flags, Priority, PriorityClass};
use crate::layer::BlockLayerKind;
use crate::request::{Request, RequestId, Requests};
use crate::tunable::{BACK_SEEK_MAX, BACK_SEEK_PENALTY};

pub(super) static INFO: SchedulerInfo = SchedulerInfo {
    name: "cfq",
    help: "time slices per process, with idling; Linux 2.6.32",
    source: "Linux 2.6.32, block/cfq-iosched.c",
    parameters: TUNABLES,
    role: SchedulerRules {
        sorted_drain: true,
        bounded_wait: false,
        by_process: true,
        by_sync: true,
        ..SchedulerRules::new(BlockLayerKind::SingleQueue, &|settings, device| Ok(Box::new(Cfq::new(settings, device))))
    },
};

const TUNABLES: &[Parameter] = &[
    Parameter::new(
        "quantum",
        Unit::Count("requests"),
        4,
        [1, 1_000_000],
        "Maximum requests that one queue may have at the device; four times as many if no other queue is busy.",
    ),
    Parameter::ms(
        "fifo_expire_sync",
        125,
        0,
        "Age at which a synchronous request is served first when its queue's slice starts.",
    ),
    Parameter::ms(
        "fifo_expire_async",
        250,
        0,
        "Age at which an asynchronous request is served first when its queue's slice starts.",
    ),
    BACK_SEEK_MAX,
    BACK_SEEK_PENALTY,
    Parameter::ms("slice_sync", 100, 1, "Slice duration of a synchronous queue of priority 4."),
    Parameter::ms("slice_async", 40, 1, "Slice duration of an asynchronous queue of priority 4."),
    Parameter::new(
        "slice_async_rq",
        Unit::Count("requests"),
        2,
        [1, 1_000_000],
        "Scales the number of requests per slice of an asynchronous queue; the default gives 16 at priority 4.",
    ),
    Parameter::ms("slice_idle", 8, 0, "Maximum time to idle for the next request of a process."),
    Parameter::switch(
        "low_latency",
        true,
        "True to limit asynchronous requests for some time after a synchronous request completes.",
    ),
];

/// Mean seek distance above which a process counts as seeky, in sectors.
const SEEK_THRESHOLD: u64 = 8 * 1024;
/// An idle-class queue is sorted after all others: its key is the key of the last queue in the service tree plus this
/// time.
const IDLE_CLASS_NS: i64 = 200 * MS as i64;
/// A preempting queue is sorted before all others: its key is the key of the first queue minus this time.
const FRONT_NS: i64 = 1_000 * MS as i64;
/// Maximum idling time for a seeky process.
const SEEKY_IDLE_NS: u64 = 2 * MS;
/// Minimum number of requests, waiting or at the device, for a sample that can show whether the device queues commands.
const HW_QUEUE_MIN: u64 = 5;
/// Number of samples after which `hw_tag` is decided.
const HW_SAMPLES: u32 = 50;

/// Number of sectors per memory page.
const PAGE_SECTORS: u32 = 8;

#[derive(Debug, Default)]
struct Queue {
    sync: bool,
    priority: Priority,
    requests: SortedFifo,
    next: Option<RequestId>,
    /// First sector of the queue's next request, which is its key in `Cfq::positions`.
    position: Option<u64>,
    /// Key of the queue in the service tree.
    place: Option<(PriorityClass, i64, u64)>,
    /// Number of the queue's requests at the device.
    dispatched: u64,
    meta_pending: u64,
    slice_new: bool,
    slice_end: u64,
    slice_dispatched: u64,
    /// Unused part of the queue's last slice; negative if the queue exceeded its slice.
    residual: i64,
    idle_window: bool,
    /// True if the device idles, or has idled, for this queue in its current slice.
    waits: bool,
    must_dispatch: bool,
    fifo_checked: bool,
    /// True if the queue was served out of turn because its next request was close. It may be served out of turn only
    /// once before its next regular turn.
    cooperated: bool,
    /// Mean distance between consecutive requests of the process, in sectors.
    seek: Mean,
    /// End sector of the latest request of the process.
    end: u64,
}

impl Queue {
    fn new(key: Owner, priority: Priority) -> Self {
        let sync = matches!(key, Owner::Process(_));
        Self { sync, priority, idle_window: sync && priority.class != PriorityClass::Idle, ..Self::default() }
    }

    fn is_seeky(&self) -> bool {
        self.seek.mean > SEEK_THRESHOLD
    }

    /// True if the mean seek distance of the process is large and based on enough requests.
    fn is_surely_seeky(&self) -> bool {
        self.seek.is_valid() && self.is_seeky()
    }

    fn is_idle_class(&self) -> bool {
        self.priority.class == PriorityClass::Idle
    }

    fn slice_used(&self, now: u64) -> bool {
        !self.slice_new && now >= self.slice_end
    }
}

/// State that CFQ keeps for a process.
#[derive(Clone, Copy, Debug)]
struct Process {
    think_time: Mean,
    /// Completion time of the latest synchronous request; until there is one, the arrival time of the first request.
    last_end: u64,
}

#[derive(Debug, Default)]
struct Cfq {
    keys: FxHashMap<Owner, usize>,
    queues: Vec<Queue>,
    processes: FxHashMap<u32, Process>,
    /// Queues with requests, in service order.
    service: BTreeSet<((PriorityClass, i64, u64), usize)>,
    /// Queues by priority level and first sector of their next request, used to find close queues.
    positions: BTreeSet<(u8, u64, usize)>,
    active: Option<usize>,
    /// Process whose request opened the current slice.
    active_process: Option<u32>,
    idle_until: Option<u64>,
    last_position: u64,
    /// Number of requests at the device: asynchronous requests at index 0, synchronous requests at index 1.
    in_driver: [u64; 2],
    waiting: u64,
    last_end_sync: u64,
    hw_tag: bool,
    hw_samples: u32,
    in_driver_peak: u64,
    places: u64,
    rotational: bool,
    quantum: u64,
    fifo_expire: [u64; 2],
    order: NearestOrder,
    slice: [u64; 2],
    slice_async_rq: u64,
    slice_idle: u64,
    low_latency: bool,
}

impl Cfq {
    fn new(settings: &Settings, device: &Device) -> Self {
        Self {
            hw_tag: true,
            rotational: device.rotational,
            quantum: settings.get("quantum"),
            fifo_expire: [settings.ns("fifo_expire_async"), settings.ns("fifo_expire_sync")],
            order: NearestOrder::new(settings),
            slice: [settings.ns("slice_async"), settings.ns("slice_sync")],
            slice_async_rq: settings.get("slice_async_rq"),
            slice_idle: settings.ns("slice_idle"),
            low_latency: settings.is_set("low_latency"),
            ..Self::default()
        }
    }

    fn queue_of(&self, rq: &Request) -> usize {
        self.keys[&Owner::new(rq.pid, rq.is_sync(), rq.priority)]
    }

    /// Returns the duration of the slice of a queue, given its type (synchronous or asynchronous) and priority level.
    fn slice(&self, sync: bool, level: u8) -> u64 {
        let base = self.slice[usize::from(sync)];
        (base + 4 * (base / 5)).saturating_sub(base / 5 * u64::from(level))
    }

    /// Chooses the next request of a queue from two candidates.
    fn choose_next(&mut self, queue: usize, candidates: [Option<RequestId>; 2], requests: &Requests) {
        let next = self.order.choose(candidates, self.last_position, requests);
        self.set_next(queue, next, next.map(|id| requests[id].start));
    }

    fn set_next(&mut self, queue: usize, next: Option<RequestId>, start: Option<u64>) {
        let q = &mut self.queues[queue];
        let level = q.priority.level;
        q.next = next;
        let position = start.filter(|_| !q.is_idle_class());
        if q.position == position {
            return;
        }
        if let Some(old) = std::mem::replace(&mut q.position, position) {
            self.positions.remove(&(level, old, queue));
        }
        if let Some(new) = position {
            self.positions.insert((level, new, queue));
        }
    }

    /// Inserts a queue into the service tree, or moves a queue within the service tree.
    fn enqueue(&mut self, queue: usize, front: bool, now: u64) {
        let last = self.service.last().filter(|&&(_, last)| last != queue).map(|&((_, key, _), _)| key);
        if let Some(place) = self.queues[queue].place.take() {
            self.service.remove(&(place, queue));
        }
        let q = &self.queues[queue];
        let now = now as i64;
        let key = if q.is_idle_class() {
            last.unwrap_or(now) + IDLE_CLASS_NS
        } else if front {
            self.service.first().map_or(now, |&((_, key, _), _)| key) - FRONT_NS
        } else {
            let offset = self.slice(true, 0) as i64 - self.slice(q.sync, q.priority.level) as i64;
            now + self.service.len() as i64 * offset - q.residual
        };
        let place = (q.priority.class, key, self.places);
        self.places += 1;
        let q = &mut self.queues[queue];
        if !front {
            q.residual = 0;
        }
        q.place = Some(place);
        self.service.insert((place, queue));
    }

    /// Ends the slice of the active queue. With `keep`, unused time or an overrun carries over to the queue's next
    /// slice.
    fn expire(&mut self, keep: bool, now: u64) {
        let Some(active) = self.active.take() else { return };
        self.active_process = None;
        self.idle_until = None;
        let q = &mut self.queues[active];
        q.waits = false;
        if keep && !q.slice_new {
            q.residual = q.slice_end as i64 - now as i64;
        }
        if q.place.is_some() {
            self.enqueue(active, false, now);
        }
    }

    fn activate(&mut self, queue: usize) {
        let q = &mut self.queues[queue];
        (q.slice_new, q.slice_end, q.slice_dispatched) = (true, 0, 0);
        (q.waits, q.must_dispatch, q.fifo_checked) = (false, false, false);
        self.idle_until = None;
        self.active = Some(queue);
    }

    /// True if sector `start` is within the usual seek distance of the active process.
    fn is_close(&self, start: u64) -> bool {
        let Some(seek) = self.active.map(|active| &self.queues[active].seek) else { return false };
        let reach = if seek.is_valid() { seek.mean } else { SEEK_THRESHOLD };
        start.abs_diff(self.last_position) <= reach
    }

    /// Returns a synchronous queue of the same priority level whose next request is close.
    fn cooperator(&self, active: usize) -> Option<usize> {
        let q = &self.queues[active];
        if !q.sync || q.is_seeky() {
            return None;
        }
        let level = q.priority.level;
        let here = (level, self.last_position, 0);
        let next = self.positions.range(here..=(level, u64::MAX, usize::MAX)).next();
        let previous = self.positions.range((level, 0, 0)..here).next_back();
        let close = [next, previous].into_iter().flatten().find(|&&(_, start, _)| self.is_close(start));
        let fits = |q: &Queue| q.sync && !q.cooperated && !q.is_seeky();
        close.map(|&(_, _, queue)| queue).filter(|&queue| queue != active && fits(&self.queues[queue]))
    }

    /// Returns the queue to serve; `None` if the device should idle.
    fn select(&mut self, now: u64) -> Option<usize> {
        let mut close = None;
        if let Some(active) = self.active {
            let q = &self.queues[active];
            if !q.slice_used(now) || q.must_dispatch {
                if !q.requests.is_empty() {
                    return Some(active);
                }
                close = self.cooperator(active);
                if close.is_none() && (self.idle_until.is_some() || (q.dispatched > 0 && q.idle_window)) {
                    return None;
                }
            }
            self.expire(false, now);
        }
        if let Some(queue) = close {
            self.queues[queue].cooperated = true;
        }
        let queue = close.or_else(|| {
            let &(_, first) = self.service.first()?;
            self.queues[first].cooperated = false;
            Some(first)
        })?;
        self.activate(queue);
        Some(queue)
    }

    /// True if another request of the queue may be dispatched now.
    fn may_dispatch(&self, queue: usize, now: u64) -> bool {
        let q = &self.queues[queue];
        if (q.idle_window && self.in_driver[0] > 0) || (!q.sync && self.in_driver[1] > 0) {
            return false;
        }
        let mut most = if q.is_idle_class() { 1 } else { self.quantum };
        if q.dispatched >= most {
            if q.is_idle_class() || self.service.len() > 1 {
                return false;
            }
            most *= 4;
        }
        if !q.sync && self.low_latency {
            let depth = (now - self.last_end_sync) / self.slice[1];
            most = most.min(if depth == 0 && q.dispatched == 0 { 1 } else { depth });
        }
        q.dispatched < most
    }

    /// Chooses the next request of a queue when `rq` leaves it: one of the neighbours of `rq` in sector order.
    fn go_on(&mut self, queue: usize, rq: &Request, requests: &Requests) {
        self.choose_next(queue, self.queues[queue].requests.neighbours(rq.id), requests);
    }

    /// Updates the counts of a queue after a request leaves it.
    fn count_out(&mut self, queue: usize, rq: &Request) {
        self.queues[queue].meta_pending -= u64::from(rq.flags.any(Flags::META));
        self.waiting -= 1;
    }

    fn remove(&mut self, queue: usize, rq: &Request, requests: &Requests) {
        // The next request is a neighbour of `rq`, even if `rq` itself was dispatched because it had expired.
        self.go_on(queue, rq, requests);
        self.count_out(queue, rq);
        let q = &mut self.queues[queue];
        q.requests.remove(rq.id);
        if q.requests.is_empty()
            && let Some(place) = q.place.take()
        {
            self.service.remove(&(place, queue));
        }
    }

    fn should_preempt(&self, queue: usize, rq: &Request, now: u64) -> bool {
        let Some(active) = self.active else { return false };
        let (q, active) = (&self.queues[queue], &self.queues[active]);
        if active.slice_used(now) {
            return true;
        }
        if q.is_idle_class() || active.is_idle_class() {
            return !q.is_idle_class();
        }
        let real_time = |queue: &Queue| queue.priority.class == PriorityClass::RealTime;
        (rq.is_sync() && !active.sync)
            || (rq.flags.any(Flags::META) && active.meta_pending == 0)
            || (real_time(q) && !real_time(active))
            || (active.waits && self.is_close(rq.start))
    }

    /// Updates process statistics with an arrival, and decides if idling for the process is worthwhile.
    fn learn(&mut self, queue: usize, rq: &Request, now: u64) {
        let process = self.processes.entry(rq.pid).or_insert(Process { think_time: Mean::default(), last_end: now });
        process.think_time.add((now - process.last_end).min(2 * self.slice_idle));
        let think_time = process.think_time;
        let q = &mut self.queues[queue];
        q.seek.add_seek(if q.end == 0 { 0 } else { rq.start.abs_diff(q.end) });
        q.end = rq.end();
        if !q.sync || q.is_idle_class() {
            return;
        }
        if self.slice_idle == 0 || (!self.low_latency && self.hw_tag && q.is_seeky()) {
            q.idle_window = false;
        } else if think_time.is_valid() {
            let max_think = if q.is_surely_seeky() { SEEKY_IDLE_NS } else { self.slice_idle };
            q.idle_window = think_time.mean <= max_think;
        }
    }

    /// Starts idling for the active process if idling is worthwhile.
    fn arm_idling(&mut self, active: usize, now: u64) {
        let q = &self.queues[active];
        let ssd_with_queue = !self.rotational && self.hw_tag;
        if ssd_with_queue || self.slice_idle == 0 || !q.idle_window || self.in_driver != [0; 2] {
            return;
        }
        let Some(process) = self.active_process.map(|pid| &self.processes[&pid]) else { return };
        if process.think_time.is_valid() && q.slice_end - now < process.think_time.mean {
            return;
        }
        let most = if q.is_surely_seeky() { SEEKY_IDLE_NS } else { self.slice_idle };
        self.idle_until = Some(now + self.slice_idle.min(most));
        self.queues[active].waits = true;
    }

    /// Updates `hw_tag`: estimates if the device accepts several requests at once.
    fn detect_queueing(&mut self) {
        let in_driver = self.in_driver[0] + self.in_driver[1];
        self.in_driver_peak = self.in_driver_peak.max(in_driver);
        if self.waiting <= HW_QUEUE_MIN && in_driver <= HW_QUEUE_MIN {
            return;
        }
        self.hw_samples += 1;
        if self.hw_samples > HW_SAMPLES {
            self.hw_tag = self.in_driver_peak >= HW_QUEUE_MIN;
            (self.hw_samples, self.in_driver_peak) = (0, 0);
        }
    }
}

impl IoScheduler for Cfq {
    fn insert(&mut self, rq: &Request, requests: &Requests, now: u64) -> bool {
        let sync = rq.is_sync();
        let key = Owner::new(rq.pid, sync, rq.priority);
        let queue = *self.keys.entry(key).or_insert_with(|| {
            self.queues.push(Queue::new(key, rq.priority));
            self.queues.len() - 1
        });
        let q = &mut self.queues[queue];
        if q.requests.is_empty() && q.priority != rq.priority {
            q.priority = rq.priority;
            q.idle_window = sync && !q.is_idle_class();
        }
        q.requests.push(rq, now + self.fifo_expire[usize::from(sync)]);
        q.meta_pending += u64::from(rq.flags.any(Flags::META));
        self.waiting += 1;
        self.choose_next(queue, [self.queues[queue].next, Some(rq.id)], requests);
        if self.queues[queue].place.is_none() {
            self.enqueue(queue, false, now);
        }
        self.learn(queue, rq, now);
        if self.active == Some(queue) {
            let q = &mut self.queues[queue];
            if !q.waits {
                return false;
            }
            // If no other queue has requests, a small request is held back for a while, because further requests may
            // merge with it.
            if rq.sectors > PAGE_SECTORS || self.service.len() > 1 {
                self.idle_until = None;
                return true;
            }
            q.must_dispatch = true;
            return false;
        }
        let preempts = self.should_preempt(queue, rq, now);
        if preempts {
            self.expire(true, now);
            self.enqueue(queue, true, now);
        }
        preempts
    }

    fn dispatch(&mut self, _queue: u16, requests: &Requests, now: u64, force: bool) -> Option<RequestId> {
        let queue = if force {
            self.service.first()?.1
        } else {
            self.select(now).filter(|&queue| self.may_dispatch(queue, now))?
        };
        let q = &mut self.queues[queue];
        // The oldest request of a queue is checked for expiry once per slice.
        let check = !force && !std::mem::replace(&mut q.fifo_checked, true);
        let id = check.then(|| q.requests.fifo.overdue(now + 1)).flatten().or(q.next)?;
        let rq = &requests[id];
        self.remove(queue, rq, requests);
        self.in_driver[usize::from(rq.is_sync())] += 1;
        self.last_position = rq.end();
        let busy = self.service.len();
        let q = &mut self.queues[queue];
        q.dispatched += 1;
        q.slice_dispatched += 1;
        q.must_dispatch = false;
        let most = 2 * (self.slice_async_rq + self.slice_async_rq * u64::from(7 - q.priority.level));
        let async_done = !q.sync && q.slice_dispatched >= most;
        let idle_class = q.is_idle_class();
        if force {
            if busy == 0 {
                self.expire(false, now);
            }
        } else {
            self.active_process.get_or_insert(rq.pid);
            if busy > 1 && (async_done || idle_class) {
                self.expire(false, now);
            }
        }
        Some(id)
    }

    fn completed(&mut self, rq: &Request, now: u64) {
        let queue = self.queue_of(rq);
        let sync = rq.is_sync();
        self.detect_queueing();
        self.in_driver[usize::from(sync)] -= 1;
        self.queues[queue].dispatched -= 1;
        if sync {
            self.processes.get_mut(&rq.pid).expect("`insert` must have created the process").last_end = now;
            self.last_end_sync = now;
        }
        if self.active != Some(queue) {
            return;
        }
        let q = &self.queues[queue];
        let slice = self.slice(q.sync, q.priority.level);
        let q = &mut self.queues[queue];
        if std::mem::take(&mut q.slice_new) {
            q.slice_end = now + slice;
        }
        if q.slice_used(now) || q.is_idle_class() {
            self.expire(true, now);
        } else if q.requests.is_empty() && sync && !rq.flags.any(Flags::NOIDLE) && self.cooperator(queue).is_none() {
            self.arm_idling(queue, now);
        }
    }

    fn front_merge(&self, bio: &Bio) -> Option<RequestId> {
        let &queue = self.keys.get(&Owner::new(bio.pid, bio.is_sync(), bio.priority))?;
        self.queues[queue].requests.starting_at(bio.end())
    }

    fn allow_merge(&self, rq: &Request, bio: &Bio) -> bool {
        Owner::new(rq.pid, rq.is_sync(), rq.priority) == Owner::new(bio.pid, bio.is_sync(), bio.priority)
    }

    fn moved(&mut self, rq: &Request) {
        let queue = self.queue_of(rq);
        self.queues[queue].requests.moved(rq);
        if self.queues[queue].next == Some(rq.id) {
            self.set_next(queue, Some(rq.id), Some(rq.start));
        }
    }

    fn former(&self, rq: &Request) -> Option<RequestId> {
        self.queues[self.queue_of(rq)].requests.former(rq.id)
    }

    fn latter(&self, rq: &Request) -> Option<RequestId> {
        self.queues[self.queue_of(rq)].requests.latter(rq.id)
    }

    fn merged(&mut self, survivor: &Request, absorbed: &Request, requests: &Requests) {
        let queue = self.queue_of(absorbed);
        if self.queues[queue].next == Some(absorbed.id) {
            self.go_on(queue, absorbed, requests);
        }
        self.count_out(queue, absorbed);
        self.queues[queue].requests.absorb(survivor.id, absorbed.id);
    }

    fn must_queue(&self, bio: &Bio) -> bool {
        let key = Owner::new(bio.pid, bio.is_sync(), bio.priority);
        self.idle_until.is_some() && self.active.is_some() && self.active == self.keys.get(&key).copied()
    }

    fn timer_ns(&self) -> Option<u64> {
        self.idle_until
    }

    fn on_timer(&mut self, now: u64) {
        self.idle_until = None;
        let Some(active) = self.active else { return };
        let q = &self.queues[active];
        let goes_on = q.must_dispatch || self.service.is_empty() || !q.requests.is_empty();
        if !goes_on || (q.slice_used(now) && !q.must_dispatch) {
            self.expire(false, now);
        }
    }
}
