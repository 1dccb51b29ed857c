//! `bfq`: budget fair queueing, with sector budgets per process and fairness by weight (block/bfq-iosched.c and
//! block/bfq-wf2q.c of Linux 6; Valente and Checconi: High Throughput Disk Scheduling with Fair Bandwidth
//! Distribution).
//!
//! | module | task |
//! |---|---|
//! | this file | state, and the entry points of the block layer |
//! | `queue` | state of a queue and of a process |
//! | `arrive`, `serve` | insertion and dispatch of requests; order within a queue as in CFQ |
//! | `service` | B-WF2Q+: chooses the next queue |
//! | `budget`, `rate` | length of a service period in sectors and time; estimate of the device's peak rate |
//! | `idle`, `inject` | idling for an empty queue; serving other queues in the meantime |
//! | `raise`, `burst` | raised weights of interactive and soft real-time processes; no raising in large bursts |
//! | `merge` | merging and splitting of queues whose processes cooperate |
//!
//! Fields named `jiffy`, and all times of type `i64`, advance in jiffies of 4 ms, as in the kernel.
//!
//! Differences from the kernel:
//!
//! - No cgroups and no exits of processes, because traces have neither; no devices with several actuators.
//! - Queues merge when a request arrives. In the kernel, they already merge when a bio looks for a request to merge
//!   with.
//! - If two queues are near a request, the kernel takes the lower one in its red-black tree; the model takes the nearer
//!   queue.

mod arrive;
mod budget;
mod burst;
mod idle;
mod inject;
mod merge;
#[cfg(test)]
pub(super) mod oracle;
mod queue;
mod raise;
mod rate;
mod serve;
mod service;
mod settings;

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use ssdlab_core::Settings;

use super::jiffies::Jiffies;
use super::nearest::NearestOrder;
use super::owner::Owner;
use super::{Device, IoScheduler};
use crate::MS;
use crate::bio::{Bio, Direction};
use crate::request::{Request, RequestId, Requests};
use budget::{DEFAULT_BUDGET, Reason};
use burst::Burst;
use idle::{DeviceQueue, Weights};
use queue::{Process, Queue};
use rate::Rate;
use service::Service;
pub(super) use settings::INFO;

/// Queue and process of a request in the scheduler.
#[derive(Clone, Copy, Debug, Default)]
struct Holder {
    queue: usize,
    pid: u32,
}

/// Counts of the scheduler's busy queues and of its requests.
#[derive(Debug, Default)]
struct Load {
    /// Number of busy queues, by priority class.
    busy: [u32; 3],
    /// Number of busy queues whose weight is raised.
    raised: u32,
    /// Number of requests waiting in the scheduler.
    queued: u32,
    /// Number of requests at the device.
    in_driver: u32,
}

/// Idling state of the in-service queue.
#[derive(Debug, Default)]
struct Idling {
    /// End of the idling period; `None` if the device does not idle.
    until: Option<u64>,
    /// Start time of the latest idling period.
    since: u64,
    since_jiffy: i64,
}

/// Measurement of one request's response time with or without injection, to adapt the injection limit.
#[derive(Debug, Default)]
struct InjectionSample {
    /// True if requests of other queues were injected.
    injected: bool,
    /// True if the response time of the next request of the in-service queue must be measured.
    next: bool,
    /// Request whose response time is being measured.
    request: Option<RequestId>,
    /// Time at which the measurement started.
    since: u64,
}

/// Current time of the scheduler, set at each call.
#[derive(Debug, Default)]
struct Clock {
    now: u64,
    /// Time of the latest tick of the kernel's clock.
    jiffy: i64,
    jiffies: Jiffies,
    /// Clock value at which the kernel's clock is stopped while requests are plugged; `None` while the clock runs.
    #[cfg(test)]
    stopped: Option<u64>,
}

/// Values of the tunables; times in nanoseconds.
#[derive(Debug, Default)]
struct Tunables {
    slice_idle: u64,
    /// Time after which a waiting request expires: asynchronous requests at index 0, synchronous requests at index 1.
    fifo_expire: [u64; 2],
    order: NearestOrder,
    timeout_ns: u64,
    /// True if the user set the tunable `max_budget`, so that the maximum budget does not follow the device's rate.
    fixed_budget: bool,
    strict: bool,
    low_latency: bool,
}

/// The BFQ scheduler. A queue is identified by its index in `queues`.
#[derive(Debug, Default)]
pub(super) struct Bfq {
    tunables: Tunables,
    clock: Clock,
    processes: FxHashMap<u32, Process>,
    queues: Vec<Queue>,
    /// Queues of asynchronous requests, by priority.
    async_queues: FxHashMap<Owner, usize>,
    /// Queue and process of each request, indexed by the request's slot.
    holders: Vec<Holder>,
    load: Load,
    service: Service,
    weights: Weights,
    in_service: Option<usize>,
    turn_since: u64,
    idling: Idling,
    sample: InjectionSample,
    device: DeviceQueue,
    rate: Rate,
    /// Estimate of the number of assigned budgets, in fixed point (`budgets_assigned` in the kernel). Each service
    /// period closes an eighth of the gap to 256.
    budgets: u64,
    max_budget: u64,
    burst: Burst,
    /// End sector of the request dispatched last.
    last_position: u64,
    /// End sector of the request dispatched last in the current service period; 0 if none.
    last_position_in_turn: u64,
    /// Queues that may cooperate, by the first sector of their next request.
    positions: BTreeMap<u64, usize>,
    /// Queue of the request completed last; `None` if that queue is shared.
    completed_last: Option<usize>,
    /// Queue that was created last.
    created_last: Option<usize>,
    /// Weights of processes that had their own cgroup when the capture was made.
    #[cfg(test)]
    groups: FxHashMap<u32, u64>,
}

impl Bfq {
    fn new(settings: &Settings, device: &Device) -> Self {
        let jiffies = Jiffies::new(4 * MS, 0);
        let (rate, fixed) = (Rate::new(device.rotational), settings.get("max_budget"));
        let timeout_ns = jiffies.whole(settings.ns("timeout_sync"));
        let default_timeout = timeout_ns == jiffies.whole(125 * MS);
        let adapted = if default_timeout { DEFAULT_BUDGET } else { rate.transfers(timeout_ns / MS) };
        Self {
            tunables: Tunables {
                slice_idle: settings.ns("slice_idle"),
                fifo_expire: [settings.ns("fifo_expire_async"), settings.ns("fifo_expire_sync")],
                order: NearestOrder::new(settings),
                timeout_ns,
                fixed_budget: fixed > 0,
                strict: settings.is_set("strict_guarantees"),
                low_latency: settings.is_set("low_latency"),
            },
            clock: Clock { jiffies, ..Clock::default() },
            device: DeviceQueue::new(device.rotational),
            rate,
            max_budget: if fixed > 0 { fixed } else { adapted },
            ..Self::default()
        }
    }

    fn set_time(&mut self, now: u64) {
        self.clock.now = now;
        #[cfg(test)]
        if let Some(stopped) = self.clock.stopped {
            self.clock.now = stopped.min(now);
        }
        self.clock.jiffy = self.clock.jiffies.last(now) as i64;
    }

    fn set_next(&mut self, queue: usize, next: Option<RequestId>, requests: &Requests) {
        let q = &mut self.queues[queue];
        q.next = next;
        let rq = next.map(|next| &requests[next]);
        (q.next_start, q.next_sectors) = rq.map_or((0, 0), |rq| (rq.start, rq.sectors));
    }

    fn queue_of_bio(&self, bio: &Bio) -> Option<usize> {
        self.processes.get(&bio.pid)?.queues[usize::from(bio.is_sync())]
    }

    fn queue_of(&self, rq: &Request) -> usize {
        self.holders[rq.id.slot()].queue
    }
}

impl IoScheduler for Bfq {
    fn insert(&mut self, rq: &Request, requests: &Requests, now: u64) -> bool {
        self.set_time(now);
        let (pid, sync) = (rq.pid, rq.is_sync());
        let mut queue = self.queue_for(pid, sync, rq.priority);
        self.process(pid).requests += 1;
        let q = &mut self.queues[queue];
        if q.merged_into.is_none() && q.processes == 1 {
            q.owner = Some(pid);
        }
        self.detect_burst(queue);
        if let Some(target) = self.cooperator(pid, queue, rq.start) {
            let old = queue;
            if self.processes[&pid].queues[1] == Some(queue) {
                self.merge(pid, queue, target);
            }
            self.queues[old].just_created = false;
            queue = target;
        }
        let slot = rq.id.slot();
        if self.holders.len() <= slot {
            self.holders.resize(slot + 1, Holder::default());
        }
        self.holders[slot] = Holder { queue, pid };
        self.update_think(queue);
        let far = self.is_far(self.queues[queue].last_position, rq);
        let q = &mut self.queues[queue];
        q.seeks = q.seeks << 1 | u32::from(far);
        let waited_for = q.waited_for;
        self.lower_seeky(queue);
        self.add(queue, rq, requests);
        self.stop_idling(queue, rq);
        waited_for && !self.queues[queue].waited_for
    }

    fn dispatch(&mut self, _queue: u16, requests: &Requests, now: u64, force: bool) -> Option<RequestId> {
        self.set_time(now);
        if self.tunables.strict && self.load.in_driver > 0 && !force {
            return None;
        }
        loop {
            let queue = self.select(requests);
            let (Some(current), None, true) = (self.in_service, queue, force) else {
                return queue.and_then(|queue| self.serve(queue, requests));
            };
            self.expire(current, Reason::NoMoreRequests, self.clock.now);
        }
    }

    fn completed(&mut self, rq: &Request, now: u64) {
        self.set_time(now);
        let Holder { queue, pid } = self.holders[rq.id.slot()];
        if self.sample.request == Some(rq.id) {
            self.adapt_injection(queue);
        }
        self.detect_queueing();
        self.load.in_driver -= 1;
        let q = &mut self.queues[queue];
        q.dispatched -= 1;
        if q.dispatched == 0 && !q.busy {
            q.timeout = self.clock.jiffy;
            self.uncount_weight(queue);
        }
        self.queues[queue].think.last_end = now;
        self.sample_completion();
        self.completed_last = (!self.queues[queue].shared).then_some(queue);
        self.note_completion(queue);
        self.process(pid).requests -= 1;
        if self.in_service != Some(queue) {
            return;
        }
        if self.must_idle(queue) {
            if self.queues[queue].dispatched == 0 {
                self.begin_idling(queue);
            }
        } else if self.may_time_out(queue) {
            self.expire(queue, Reason::Timeout, now);
        } else if self.queues[queue].requests.is_empty() {
            self.expire(queue, Reason::NoMoreRequests, now);
        }
    }

    fn front_merge(&self, bio: &Bio) -> Option<RequestId> {
        self.queues[self.queue_of_bio(bio)?].requests.starting_at(bio.end())
    }

    fn allow_merge(&self, rq: &Request, bio: &Bio) -> bool {
        (rq.is_sync() || !bio.is_sync()) && self.queue_of_bio(bio) == Some(self.queue_of(rq))
    }

    fn moved(&mut self, rq: &Request) {
        let queue = self.queue_of(rq);
        self.queues[queue].requests.moved(rq);
    }

    fn former(&self, rq: &Request) -> Option<RequestId> {
        self.queues[self.queue_of(rq)].requests.former(rq.id)
    }

    fn latter(&self, rq: &Request) -> Option<RequestId> {
        self.queues[self.queue_of(rq)].requests.latter(rq.id)
    }

    fn merged(&mut self, survivor: &Request, absorbed: &Request, requests: &Requests) {
        let Holder { queue, pid } = self.holders[absorbed.id.slot()];
        if self.queues[queue].next == Some(absorbed.id) {
            self.set_next(queue, Some(survivor.id), requests);
        }
        self.forget_request(queue, absorbed, requests);
        self.queues[queue].requests.absorb(survivor.id, absorbed.id);
        self.after_removal(queue);
        self.process(pid).requests -= 1;
    }

    fn depth(&self, bio: &Bio, nr_requests: u32) -> u32 {
        // Reserves part of the request pool for reads, and a larger part while the weight of a queue is raised.
        let limit = nr_requests * 3 / 4;
        let share = match (bio.is_sync(), bio.direction, self.load.raised > 0) {
            (true, Direction::Read, _) => nr_requests,
            (true, Direction::Write, false) => limit,
            (false, _, false) => limit * 2 / 3,
            (true, Direction::Write, true) => limit / 2,
            (false, _, true) => limit / 4,
        };
        share.max(1)
    }

    fn timer_ns(&self) -> Option<u64> {
        self.idling.until
    }

    fn on_timer(&mut self, now: u64) {
        self.set_time(now);
        self.idling.until = None;
        let Some(queue) = self.in_service else { return };
        self.queues[queue].waited_for = false;
        // The service period counts as ended when idling began. If it included the idle time, the queue would seem
        // slow.
        if self.is_timed_out(queue) {
            self.expire(queue, Reason::Timeout, self.idling.since);
        } else if self.queues[queue].queued == 0 {
            self.expire(queue, Reason::TooIdle, self.idling.since);
        }
    }
}
