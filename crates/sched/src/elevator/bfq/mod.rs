//! `bfq`: budgets of sectors for processes, fair by weight (block/bfq-iosched.c and block/bfq-wf2q.c of Linux 6; Valente
//! and Checconi: High Throughput Disk Scheduling with Fair Bandwidth Distribution).
//!
//! - `service`: B-WF2Q+ decides which queue is served next.
//! - `budget`, `rate`: for how many sectors and how long; `idle`: whether the device waits when it has run empty.
//! - `inject`: what others may do meanwhile.
//! - `raise`: weights of interactive and soft real-time processes; `burst`: those that begin together get none.
//! - `merge`: queues of processes that cooperate.
//! - This file: requests come, go to the device and end; within a queue the elevator of CFQ.
//!
//! As the kernel does, times that matter little are counted in jiffies, of 4 ms.
//!
//! Left out: groups (cgroups), as traces have none; the ends of processes, which traces do not tell; several actuators;
//! queues are merged when a request comes, not already when a bio looks for one to become part of.

mod budget;
mod burst;
mod idle;
mod inject;
mod merge;
mod queue;
mod raise;
mod rate;
mod service;

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use ssdlab_core::{Parameter, Settings, Unit};

use super::jiffies::Jiffies;
use super::nearest::rank;
use super::owner::Owner;
use super::{Device, Elevator, MergeIndex, SchedulerInfo};
use crate::MS;
use crate::bio::{Bio, Direction, Flags};
use crate::layer::Frame;
use crate::request::{Request, RequestId, Requests};
use crate::tunable::{BACK_SEEK_MAX, BACK_SEEK_PENALTY};
use budget::{DEFAULT_BUDGET, Reason};
use burst::Burst;
use idle::{DeviceQueue, Weights};
use queue::{Process, Queue};
use rate::Rate;
use service::Service;

pub(super) static INFO: SchedulerInfo = SchedulerInfo {
    name: "bfq",
    help: "budgets of sectors for processes, fair by weight, with idling and raised weights; Linux 6",
    frame: Frame::Modern,
    merge_index: MergeIndex::Hash,
    work_conserving: false,
    sorted_drain: false,
    bounded_wait: true,
    by_process: true,
    by_sync: true,
    tunables: TUNABLES,
    build: |settings, device| Ok(Box::new(Bfq::new(settings, device))),
};

const TUNABLES: &[Parameter] = &[
    Parameter::ms(
        "slice_idle",
        8,
        0,
        "How long the device is kept idle for the next request of a process; 0 for not at all.",
    ),
    Parameter::ms(
        "fifo_expire_sync",
        125,
        0,
        "Age at which a synchronous request is taken first when its queue is served.",
    ),
    Parameter::ms(
        "fifo_expire_async",
        250,
        0,
        "Age at which an asynchronous request is taken first when its queue is served.",
    ),
    BACK_SEEK_MAX,
    BACK_SEEK_PENALTY,
    Parameter::ms("timeout_sync", 125, 4, "How long a queue may be served at a time, in whole jiffies of 4 ms."),
    Parameter {
        name: "max_budget",
        unit: Unit::Sectors,
        default: 0,
        min: 0,
        max: 1 << 31,
        example: None,
        help: "Sectors for which a queue is served at a time at most; 0 for what the device transfers in that time.",
    },
    Parameter {
        name: "strict_guarantees",
        unit: Unit::Switch,
        default: 0,
        min: 0,
        max: 1,
        example: None,
        help: "Whether the device gets one request at a time and is kept idle for every queue.",
    },
    Parameter {
        name: "low_latency",
        unit: Unit::Switch,
        default: 1,
        min: 0,
        max: 1,
        example: None,
        help: "Whether the weights of interactive and soft real-time processes are raised.",
    },
];

/// Think times are known when there are so many, as a decaying mean of 256.
const ENOUGH_THINK_TIMES: u64 = 80;
/// How far back the share of time is watched in which a process waits for requests.
const BUSY_WINDOW_NS: u64 = 200 * MS;
/// A request that ends idling though the next one might become part of it has so many sectors.
const LARGE_ENOUGH_SECTORS: u32 = 32;

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
    /// Whether requests of others were injected; whether the next request of the queue in service is to be measured, the
    /// one that is, and since when.
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
        }
    }

    fn at(&mut self, now: u64) {
        self.now = now;
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

    /// Learns how long a process takes between requests.
    fn update_think(&mut self, queue: usize) {
        let (now, most) = (self.now, 2 * self.slice_idle);
        let q = &mut self.queues[queue];
        if q.dispatched == 0 && !q.busy {
            let think = &mut q.think;
            let elapsed = now.wrapping_sub(think.last_end).min(most);
            think.samples = (7 * think.samples + 256) / 8;
            think.total = (7 * think.total + 256 * elapsed) / 8;
            think.mean_ns = (think.total + 128) / think.samples;
        }
        let just_split = q.split + self.min_idle() >= self.jiffy;
        let q = &mut self.queues[queue];
        if !q.sync || q.is_idle_class() || self.slice_idle == 0 || just_split {
            return;
        }
        let short = q.think.samples <= ENOUGH_THINK_TIMES || q.think.mean_ns <= self.slice_idle / 2;
        if std::mem::replace(&mut q.think.short, short) != short {
            self.think_changed(queue);
        }
    }

    /// Learns whether a process is busy nearly always.
    fn update_busy_share(&mut self, queue: usize) {
        let now = self.now;
        let q = &mut self.queues[queue];
        let think = &mut q.think;
        let window_ns = now - think.since;
        if q.requests.is_empty() && q.dispatched == 0 {
            think.idle_ns = think.idle_ns.wrapping_add(now.wrapping_sub(think.last_end));
        }
        if q.just_created {
            return;
        }
        think.io_bound = think.idle_ns.wrapping_mul(5) <= window_ns;
        if window_ns > BUSY_WINDOW_NS {
            think.since = now - window_ns / 2;
            think.idle_ns >>= 1;
        }
    }

    /// Puts a request into its queue.
    fn add(&mut self, queue: usize, rq: &Request, requests: &Requests) {
        let sync = rq.is_sync();
        self.queued += 1;
        self.queues[queue].queued += 1;
        let was_raised = self.queues[queue].is_raised();
        if self.queues[queue].sync {
            if self.processes[&rq.pid].requests <= 1 {
                self.look_for_waker(queue);
                self.consider_sample(queue);
            }
            self.update_busy_share(queue);
        }
        self.queues[queue].requests.push(rq, self.now + self.fifo_expire[usize::from(sync)]);
        let before = self.queues[queue].next;
        let next = self.choose([before, Some(rq.id)], self.last_position, requests);
        if before != next {
            self.set_next(queue, next, requests);
            self.update_position(queue);
        }
        let mut interactive = false;
        if !self.queues[queue].busy {
            interactive = self.begin_backlog(queue, rq.pid);
        } else {
            if !sync {
                self.raise_async(queue);
            }
            if before != next {
                self.next_changed(queue);
            }
        }
        let jiffy = self.jiffy;
        let q = &mut self.queues[queue];
        if self.low_latency && (!was_raised || !q.is_raised() || interactive) {
            q.raise.since = jiffy;
        }
    }

    /// A queue gets its first request. Whether its process is interactive.
    fn begin_backlog(&mut self, queue: usize, pid: u32) -> bool {
        let in_time = self.now <= self.queues[queue].think.last_end + 3 * self.slice_idle;
        let arrival = self.look_at_arrival(queue, self.processes[&pid].stably_merged);
        let recovers = self.activation_budget(queue, in_time);
        self.queues[queue].just_created = false;
        let interactive = self.raise(queue, arrival);
        let jiffy = self.jiffy;
        let q = &mut self.queues[queue];
        (q.backlog_since, q.backlog_service, q.soft_rt_due) = (jiffy, 0, false);
        self.join(queue);
        if let Some(current) = self.in_service {
            let [new, old] = [queue, current].map(|queue| &self.queues[queue]);
            let recovers = recovers && new.raise.coefficient >= old.raise.coefficient;
            let higher = new.entity.class < old.entity.class || new.entity.weight > old.entity.weight;
            if (recovers || higher || !self.better_to_idle(current)) && self.service.may_preempt() {
                self.expire(current, Reason::Preempted, self.now);
            }
        }
        interactive
    }

    /// A request for which the device was kept idle may have come.
    fn stop_idling(&mut self, queue: usize, rq: &Request) {
        let q = &mut self.queues[queue];
        q.last_position = rq.end();
        if self.in_service != Some(queue) || !q.waited_for {
            return;
        }
        let small = q.queued == 1 && rq.sectors < LARGE_ENOUGH_SECTORS;
        let timed_out = self.is_timed_out(queue);
        if small && !timed_out && self.idling_helps(queue) {
            return;
        }
        self.end_idling(queue);
        if timed_out {
            self.expire(queue, Reason::Timeout, self.now);
        }
    }

    /// The queue to take a request from; `None` while the device is kept idle, or nothing waits.
    fn select(&mut self, requests: &Requests) -> Option<usize> {
        let timed_out = |queue: &usize| self.may_time_out(*queue) && !self.must_idle(*queue);
        if let Some(queue) = self.in_service.filter(timed_out) {
            self.expire(queue, Reason::Timeout, self.now);
        }
        loop {
            let queue = match self.in_service {
                Some(queue) => queue,
                None => {
                    let queue = self.take_next()?;
                    self.in_service = Some(queue);
                    self.begin_turn(queue);
                    queue
                }
            };
            let reason = if let Some(next) = self.queues[queue].next {
                // It may have grown.
                self.set_next(queue, Some(next), requests);
                if self.affords_next(queue) {
                    self.end_idling(queue);
                    return Some(queue);
                }
                Reason::Exhausted
            } else {
                let q = &self.queues[queue];
                if q.waited_for || (q.dispatched > 0 && self.better_to_idle(queue)) {
                    return self.choose_injection(queue);
                }
                Reason::NoMoreRequests
            };
            self.expire(queue, reason, self.now);
        }
    }

    /// The request of a queue that follows one that leaves. The oldest is looked at once in a turn.
    fn find_next(&mut self, queue: usize, leaving: &Request, requests: &Requests) -> Option<RequestId> {
        let now = self.now;
        let q = &mut self.queues[queue];
        if !std::mem::replace(&mut q.fifo_checked, true) {
            let overdue = q.requests.fifo.overdue(now + 1).filter(|&id| id != leaving.id);
            if overdue.is_some() {
                return overdue;
            }
        }
        let sorted = &self.queues[queue].requests;
        let latter = sorted.latter(leaving.id).or_else(|| sorted.first().filter(|&first| first != leaving.id));
        self.choose([latter, sorted.former(leaving.id)], leaving.start, requests)
    }

    /// A request is about to leave its queue: another one will be next.
    fn forget_request(&mut self, queue: usize, rq: &Request, requests: &Requests) {
        if self.queues[queue].next == Some(rq.id) {
            let next = self.find_next(queue, rq, requests);
            self.set_next(queue, next, requests);
            self.next_changed(queue);
        }
        self.queued -= 1;
        self.queues[queue].queued -= 1;
    }

    /// A request has left its queue, which may be empty now.
    fn left(&mut self, queue: usize) {
        if self.queues[queue].requests.is_empty() {
            if self.queues[queue].busy && self.in_service != Some(queue) {
                self.leave(queue, false);
                let entity = &mut self.queues[queue].entity;
                (entity.budget, entity.service) = (0, 0);
            }
            if let Some(position) = self.queues[queue].position.take() {
                self.positions.remove(&position);
            }
        } else {
            self.update_position(queue);
        }
    }

    /// Dispatches the next request of a queue.
    fn serve(&mut self, queue: usize, requests: &Requests) -> Option<RequestId> {
        let id = self.queues[queue].next?;
        let (rq, in_service) = (&requests[id], self.in_service == Some(queue));
        let charge = self.charge(queue);
        self.served(queue, charge);
        if in_service && std::mem::take(&mut self.sample_next) {
            self.sampled = Some(id);
        }
        self.queues[queue].dispatched += 1;
        self.sample_rate(rq, in_service);
        self.forget_request(queue, rq, requests);
        self.queues[queue].requests.remove(id);
        self.left(queue);
        if in_service {
            self.lower(queue);
            if self.busy_queues() > 1 && self.queues[queue].is_idle_class() {
                self.expire(queue, Reason::Exhausted, self.now);
            }
        }
        self.in_driver += 1;
        Some(id)
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

    fn dispatch(&mut self, requests: &Requests, now: u64, force: bool) -> Option<RequestId> {
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

#[cfg(test)]
pub(super) mod oracle {
    use super::*;
    use crate::elevator::oracle::{JIFFY_NS, Proposal, Replayed};

    pub fn model(changes: &[(String, u64)], device: &Device) -> Bfq {
        Bfq::new(&INFO.settings(changes).unwrap(), device)
    }

    impl Replayed for Bfq {
        fn propose(&mut self, requests: &Requests, now: u64) -> Option<Proposal> {
            self.at(now);
            if self.strict && self.in_driver > 0 {
                return None;
            }
            let queue = self.select(requests)?;
            self.queues[queue].next.map(|id| Proposal { id, state: [queue as u64, 0, 0] })
        }

        fn follow(&mut self, id: RequestId, proposal: Option<Proposal>, requests: &Requests, now: u64) {
            self.at(now);
            let queue = self.queue_of(&requests[id]);
            if proposal.is_none_or(|proposal| proposal.state[0] != queue as u64) && self.in_service != Some(queue) {
                if let Some(current) = self.in_service {
                    self.expire(current, Reason::Preempted, now);
                }
                self.service.set_next(queue);
                self.in_service = self.take_next();
                self.begin_turn(queue);
            }
            if self.queues[queue].next != Some(id) {
                self.set_next(queue, Some(id), requests);
            }
            self.serve(queue, requests);
        }

        fn tick(&mut self, phase_ns: u64) {
            self.jiffies = Jiffies::new(JIFFY_NS, phase_ns);
        }
    }
}
