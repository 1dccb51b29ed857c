//! `bfq`: budgets of sectors for processes, fair by weight (block/bfq-iosched.c and block/bfq-wf2q.c of Linux 6;
//! Valente and Checconi: High Throughput Disk Scheduling with Fair Bandwidth Distribution).
//!
//! - `service`: B-WF2Q+ decides which queue is served next.
//! - `budget`, `rate`: for how many sectors and how long; `idle`: whether the device waits when it has run empty.
//! - `inject`: what others may do meanwhile.
//! - `raise`: weights of interactive and soft real-time processes; `burst`: those that begin together get none.
//! - `merge`: queues of processes that cooperate.
//! - `arrive`, `serve` and this file: requests come, go to the device and end; within a queue the elevator of CFQ.
//!
//! As the kernel does, times that matter little are counted in jiffies, of 4 ms.
//!
//! Left out: groups (cgroups), as traces have none; the ends of processes, which traces do not tell; several actuators;
//! queues are merged when a request comes, not already when a bio looks for one to become part of. Of two other queues near
//! a request, the kernel asks the one that is lower in its red-black tree; here it is the nearer one.

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
use super::nearest::rank;
use super::owner::Owner;
use super::{Device, Elevator};
use crate::MS;
use crate::bio::{Bio, Direction, Flags};
use crate::request::{Request, RequestId, Requests};
use budget::{DEFAULT_BUDGET, Reason};
use burst::Burst;
use idle::{DeviceQueue, Weights};
use queue::{Process, Queue};
use rate::Rate;
use service::Service;
pub(super) use settings::INFO;

/// Whose a request is.
#[derive(Clone, Copy, Debug, Default)]
struct Holder {
    queue: usize,
    pid: u32,
}

#[derive(Debug)]
pub(super) struct Bfq {
    processes: FxHashMap<u32, Process>,
    queues: Vec<Queue>,
    /// Queues of asynchronous requests, by priority.
    async_queues: FxHashMap<Owner, usize>,
    /// By slot of a request.
    holders: Vec<Holder>,
    service: Service,
    weights: Weights,
    /// Busy queues by class, and those with a raised weight.
    busy: [u32; 3],
    raised_busy: u32,
    /// Requests that wait, and those at the device.
    queued: u32,
    in_driver: u32,
    in_service: Option<usize>,
    turn_since: u64,
    /// When idling ends, and when it began.
    idle_until: Option<u64>,
    idling_since: u64,
    idling_since_jiffy: i64,
    /// Where the latest request ended, and the latest of the queue in service.
    last_position: u64,
    last_position_in_turn: u64,
    /// Queues that may cooperate, by where their next request begins.
    positions: BTreeMap<u64, usize>,
    rate: Rate,
    device: DeviceQueue,
    /// Budgets assigned, as a decaying mean of 256.
    budgets: u64,
    max_budget: u64,
    fixed_budget: bool,
    burst: Burst,
    /// The queue whose request ended last, and the one created last.
    completed_last: Option<usize>,
    created_last: Option<usize>,
    /// Whether requests of others were injected; whether the next request of the queue in service is to be measured,
    /// the one that is, and since when.
    injected: bool,
    sample_next: bool,
    sampled: Option<RequestId>,
    sample_since: u64,
    now: u64,
    jiffy: i64,
    jiffies: Jiffies,
    slice_idle: u64,
    fifo_expire: [u64; 2],
    back_seek_max: u64,
    back_seek_penalty: u64,
    timeout_ns: u64,
    strict: bool,
    low_latency: bool,
    /// What the clock of a kernel says while requests are plugged.
    #[cfg(test)]
    clock: Option<u64>,
    /// Weights of groups that a process has for itself, by process: traces have none, but a capture has.
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
            processes: FxHashMap::default(),
            queues: Vec::new(),
            async_queues: FxHashMap::default(),
            holders: Vec::new(),
            service: Service::default(),
            weights: Weights::new(),
            busy: [0; 3],
            raised_busy: 0,
            queued: 0,
            in_driver: 0,
            in_service: None,
            turn_since: 0,
            idle_until: None,
            idling_since: 0,
            idling_since_jiffy: 0,
            last_position: 0,
            last_position_in_turn: 0,
            positions: BTreeMap::new(),
            rate,
            device: DeviceQueue::new(device.rotational),
            budgets: 0,
            max_budget: if fixed > 0 { fixed } else { adapted },
            fixed_budget: fixed > 0,
            burst: Burst::new(0),
            completed_last: None,
            created_last: None,
            injected: false,
            sample_next: false,
            sampled: None,
            sample_since: 0,
            now: 0,
            jiffy: 0,
            jiffies,
            slice_idle: settings.ns("slice_idle"),
            fifo_expire: [settings.ns("fifo_expire_async"), settings.ns("fifo_expire_sync")],
            back_seek_max: settings.get("back_seek_max") * 2,
            back_seek_penalty: settings.get("back_seek_penalty"),
            timeout_ns,
            strict: settings.is_set("strict_guarantees"),
            low_latency: settings.is_set("low_latency"),
            #[cfg(test)]
            clock: None,
            #[cfg(test)]
            groups: FxHashMap::default(),
        }
    }

    fn at(&mut self, now: u64) {
        #[cfg(test)]
        let clock = self.clock.map_or(now, |clock| clock.min(now));
        #[cfg(not(test))]
        let clock = now;
        self.now = clock;
        self.jiffy = self.jiffies.last(now) as i64;
    }

    /// The one of two requests of a queue to go first when the device is at `last`.
    fn choose(&self, candidates: [Option<RequestId>; 2], last: u64, requests: &Requests) -> Option<RequestId> {
        candidates.into_iter().flatten().min_by_key(|&id| {
            let rq = &requests[id];
            let near = rank(rq.start, last, self.back_seek_max, self.back_seek_penalty);
            (!rq.is_sync(), !rq.flags.any(Flags::META), near)
        })
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

impl Elevator for Bfq {
    fn insert(&mut self, rq: &Request, requests: &Requests, now: u64) -> bool {
        self.at(now);
        let (pid, sync) = (rq.pid, rq.is_sync());
        let mut queue = self.queue_for(pid, sync, rq.priority);
        self.processes.get_mut(&pid).expect("it has a queue").requests += 1;
        let q = &mut self.queues[queue];
        if q.merged_into.is_none() && q.processes == 1 {
            q.owner = Some(pid);
        }
        self.look_for_burst(queue);
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
        self.at(now);
        if self.strict && self.in_driver > 0 && !force {
            return None;
        }
        loop {
            let queue = self.select(requests);
            let (Some(current), None, true) = (self.in_service, queue, force) else {
                return queue.and_then(|queue| self.serve(queue, requests));
            };
            self.expire(current, Reason::NoMoreRequests, self.now);
        }
    }

    fn completed(&mut self, rq: &Request, now: u64) {
        self.at(now);
        let Holder { queue, pid } = self.holders[rq.id.slot()];
        if self.sampled == Some(rq.id) {
            self.adapt_injection(queue);
        }
        self.look_at_device();
        self.in_driver -= 1;
        let jiffy = self.jiffy;
        let q = &mut self.queues[queue];
        q.dispatched -= 1;
        if q.dispatched == 0 && !q.busy {
            q.timeout = jiffy;
            self.uncount_weight(queue);
        }
        self.queues[queue].think.last_end = now;
        self.sample_completion();
        self.completed_last = (!self.queues[queue].shared).then_some(queue);
        self.note_completion(queue);
        self.processes.get_mut(&pid).expect("it has sent the request").requests -= 1;
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
        self.left(queue);
        self.processes.get_mut(&pid).expect("it has sent the request").requests -= 1;
    }

    fn depth(&self, bio: &Bio, nr_requests: u32) -> u32 {
        // Writes must not take all requests from reads, less so while a weight is raised.
        let most = nr_requests * 3 / 4;
        let share = match (bio.is_sync(), bio.direction, self.raised_busy > 0) {
            (true, Direction::Read, _) => nr_requests,
            (true, Direction::Write, false) => most,
            (false, _, false) => most * 2 / 3,
            (true, Direction::Write, true) => most / 2,
            (false, _, true) => most / 4,
        };
        share.max(1)
    }

    fn timer_ns(&self) -> Option<u64> {
        self.idle_until
    }

    fn on_timer(&mut self, now: u64) {
        self.at(now);
        self.idle_until = None;
        let Some(queue) = self.in_service else { return };
        self.queues[queue].waited_for = false;
        // Waiting does not make a queue slow.
        if self.is_timed_out(queue) {
            self.expire(queue, Reason::Timeout, self.idling_since);
        } else if self.queues[queue].queued == 0 {
            self.expire(queue, Reason::TooIdle, self.idling_since);
        }
    }
}
