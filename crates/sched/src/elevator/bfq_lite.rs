//! `bfq-lite`: WF2Q+ with budgets, idling, no weight raising (after block/bfq-iosched.c and block/bfq-wf2q.c of Linux 6;
//! Valente and Checconi: High Throughput Disk Scheduling with Fair Bandwidth Distribution).
//!
//! Written from memory of these sources; only constants were compared with them.
//!
//! Kept from BFQ: a queue for each process, and one for each priority for asynchronous writes; B-WF2Q+ between the
//! queues of a class; a queue in service keeps the device until its budget or its time is used up or it runs empty;
//! idling for synchronous queues, on SSDs that take several requests only while weights differ; asynchronous service
//! counts three times; within a queue the elevator of CFQ.
//!
//! Left out, hence the name: raising the weights of interactive and soft real-time processes (`low_latency`), bursts,
//! merging of queues that cooperate, injection of requests while idling, preemption, groups, and budgets that adapt to
//! the process and to the peak rate of the device: every budget is `max_budget`.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;
use ssdlab_core::{Parameter, Settings, Unit};

use super::lists::SortedFifo;
use super::nearest::rank;
use super::owner::Owner;
use super::{Device, Elevator, MergeIndex, SchedulerInfo};
use crate::bio::{Bio, Direction, Flags, Priority, PriorityClass};
use crate::layer::Frame;
use crate::request::{Request, RequestId, Requests};
use crate::tunable::{BACK_SEEK_MAX, BACK_SEEK_PENALTY};

pub(super) static INFO: SchedulerInfo = SchedulerInfo {
    name: "bfq-lite",
    help: "budgets of sectors for processes, fair by weight, with idling; BFQ of Linux 6 without weight raising",
    frame: Frame::Modern,
    merge_index: MergeIndex::Hash,
    work_conserving: false,
    sorted_drain: false,
    bounded_wait: true,
    by_process: true,
    by_sync: true,
    tunables: TUNABLES,
    build: |settings, device| Ok(Box::new(BfqLite::new(settings, device))),
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
    Parameter::ms("timeout_sync", 125, 1, "How long a queue may be served at a time."),
    Parameter {
        name: "max_budget",
        unit: Unit::Sectors,
        default: 16 * 1024,
        min: 1,
        max: 1 << 40,
        example: None,
        help: "Sectors for which a queue is served at a time.",
    },
];

/// How much more asynchronous service counts.
const ASYNC_CHARGE: u64 = 3;
/// Virtual time of one sector at weight one; weights divide it closely enough.
const VIRTUAL_UNIT: u128 = 1 << 22;
/// More requests in flight than this show that the device takes several; looks at it that make a verdict.
const HW_QUEUE_THRESHOLD: u32 = 3;
const HW_SAMPLES: u32 = 32;
/// Classes of priority.
const CLASSES: usize = 3;

#[derive(Debug, Default)]
struct Queue {
    sync: bool,
    priority: Priority,
    requests: SortedFifo,
    next: Option<RequestId>,
    in_flight: u32,
    /// Service received in its present turn, in charged sectors.
    service: u64,
    /// When that turn has to end.
    until: Option<u64>,
    fifo_checked: bool,
    /// Virtual times between which the budget is due.
    start: u128,
    finish: u128,
    /// Whether it takes part in its class: it has requests, or is in service.
    active: bool,
}

impl Queue {
    fn weight(&self) -> u64 {
        u64::from(8 - self.priority.level.min(7)) * 10
    }

    fn virtual_time(&self, sectors: u64) -> u128 {
        u128::from(sectors) * VIRTUAL_UNIT / u128::from(self.weight())
    }
}

/// B-WF2Q+ among the queues of a class: of those whose budget is due, the one whose budget ends first.
#[derive(Debug, Default)]
struct Class {
    time: u128,
    weights: u64,
    /// Due queues by virtual finish, the others by virtual start; without the queue in service.
    due: BTreeSet<(u128, usize)>,
    later: BTreeSet<(u128, usize)>,
}

impl Class {
    /// Advances virtual time.
    fn advance(&mut self, to: u128, queues: &[Queue]) {
        self.time = self.time.max(to);
        while let Some(&(start, queue)) = self.later.first().filter(|&&(start, _)| start <= self.time) {
            self.later.remove(&(start, queue));
            self.due.insert((queues[queue].finish, queue));
        }
    }

    fn insert(&mut self, queue: usize, queues: &[Queue]) {
        let Queue { start, finish, .. } = queues[queue];
        if start <= self.time {
            self.due.insert((finish, queue));
        } else {
            self.later.insert((start, queue));
        }
    }

    /// Takes out the queue to be served next.
    fn take(&mut self, queues: &[Queue]) -> Option<usize> {
        if self.due.is_empty()
            && let Some(&(start, _)) = self.later.first()
        {
            self.advance(start, queues);
        }
        self.due.pop_first().map(|(_, queue)| queue)
    }
}

#[derive(Debug)]
pub(super) struct BfqLite {
    keys: FxHashMap<Owner, usize>,
    queues: Vec<Queue>,
    classes: [Class; CLASSES],
    /// Active queues of each weight.
    weights: BTreeMap<u64, usize>,
    in_service: Option<usize>,
    idle_until: Option<u64>,
    last_position: u64,
    in_flight: u32,
    waiting: u32,
    /// Whether the device takes several requests at a time; not known at first, and no longer asked once it has.
    hw_tag: Option<bool>,
    hw_samples: u32,
    peak: u32,
    rotational: bool,
    slice_idle: u64,
    fifo_expire: [u64; 2],
    back_seek_max: u64,
    back_seek_penalty: u64,
    timeout: u64,
    max_budget: u64,
}

impl BfqLite {
    fn new(settings: &Settings, device: &Device) -> Self {
        Self {
            keys: FxHashMap::default(),
            queues: Vec::new(),
            classes: Default::default(),
            weights: BTreeMap::new(),
            in_service: None,
            idle_until: None,
            last_position: 0,
            in_flight: 0,
            waiting: 0,
            hw_tag: None,
            hw_samples: 0,
            peak: 0,
            rotational: device.rotational,
            slice_idle: settings.ns("slice_idle"),
            fifo_expire: [settings.ns("fifo_expire_async"), settings.ns("fifo_expire_sync")],
            back_seek_max: settings.get("back_seek_max") * 2,
            back_seek_penalty: settings.get("back_seek_penalty"),
            timeout: settings.ns("timeout_sync"),
            max_budget: settings.get("max_budget"),
        }
    }

    fn queue_of(&self, rq: &Request) -> usize {
        self.keys[&Owner::new(rq.pid, rq.is_sync(), rq.priority)]
    }

    fn choose(&self, requests: &Requests, a: Option<RequestId>, b: Option<RequestId>) -> Option<RequestId> {
        let rank = |id: &RequestId| {
            let rq = &requests[*id];
            let near = rank(rq.start, self.last_position, self.back_seek_max, self.back_seek_penalty);
            (!rq.flags.any(Flags::META), near)
        };
        [a, b].into_iter().flatten().min_by_key(rank)
    }

    /// A request is about to leave its queue: another one will be next.
    fn forget(&mut self, queue: usize, rq: &Request, requests: &Requests) {
        let q = &self.queues[queue];
        if q.next == Some(rq.id) {
            let latter = q.requests.latter(rq.id).or_else(|| q.requests.first().filter(|&first| first != rq.id));
            let next = self.choose(requests, latter, q.requests.former(rq.id));
            self.queues[queue].next = next;
        }
        self.waiting -= 1;
    }

    /// A queue with requests begins to take part.
    fn activate(&mut self, queue: usize, priority: Priority) {
        let q = &mut self.queues[queue];
        q.priority = priority;
        q.active = true;
        let class = &mut self.classes[priority.class as usize];
        // Virtual time does not run back: an absent queue gains no credit, and one that returns early keeps its debt.
        q.start = q.finish.max(class.time);
        q.finish = q.start + q.virtual_time(self.max_budget);
        class.weights += q.weight();
        *self.weights.entry(q.weight()).or_default() += 1;
        class.insert(queue, &self.queues);
    }

    /// Ends the turn of the queue in service.
    fn expire(&mut self) {
        let Some(queue) = self.in_service.take() else { return };
        self.idle_until = None;
        let q = &mut self.queues[queue];
        let class = &mut self.classes[q.priority.class as usize];
        // It pays for what it got, not for its budget.
        q.finish = q.start + q.virtual_time(q.service);
        (q.service, q.until, q.fifo_checked) = (0, None, false);
        if q.requests.is_empty() {
            q.active = false;
            class.weights -= q.weight();
            let weight = q.weight();
            let queues = self.weights.get_mut(&weight).expect("an active queue is counted");
            *queues -= 1;
            if *queues == 0 {
                self.weights.remove(&weight);
            }
        } else {
            q.start = q.finish;
            q.finish = q.start + q.virtual_time(self.max_budget);
            class.insert(queue, &self.queues);
        }
    }

    /// Whether the device is kept idle for a queue that runs empty.
    fn idles_for(&self, queue: usize) -> bool {
        let q = &self.queues[queue];
        let several = self.hw_tag != Some(false) && !self.rotational;
        let symmetric = self.weights.len() < 2;
        self.slice_idle > 0 && q.sync && q.priority.class != PriorityClass::Idle && !(several && symmetric)
    }

    /// The queue to serve; `None` while the device is kept idle, or nothing waits.
    fn select(&mut self, requests: &Requests, now: u64) -> Option<usize> {
        if let Some(queue) = self.in_service {
            let q = &self.queues[queue];
            let timed_out = q.until.is_some_and(|until| now >= until);
            if let Some(next) = q.next {
                let charge = self.charge(&requests[next]);
                // A budget smaller than one request still lets one pass.
                if !timed_out && (q.service == 0 || q.service + charge <= self.max_budget) {
                    self.idle_until = None;
                    return Some(queue);
                }
            } else if !timed_out && (self.idle_until.is_some() || (q.in_flight > 0 && self.idles_for(queue))) {
                return None;
            }
            self.expire();
        }
        let queue = self.classes.iter_mut().find_map(|class| class.take(&self.queues))?;
        self.in_service = Some(queue);
        Some(queue)
    }

    /// The request of a queue to be dispatched. The oldest is looked at once in a turn.
    fn pick(&self, queue: usize, now: u64) -> Option<RequestId> {
        let q = &self.queues[queue];
        (!q.fifo_checked).then(|| q.requests.fifo.overdue(now + 1)).flatten().or(q.next)
    }

    /// Dispatches a request of the queue in service.
    fn serve(&mut self, queue: usize, id: RequestId, requests: &Requests, now: u64) {
        let rq = &requests[id];
        self.last_position = rq.end();
        self.forget(queue, rq, requests);
        let charge = self.charge(rq);
        let q = &mut self.queues[queue];
        q.fifo_checked = true;
        q.requests.remove(id);
        q.in_flight += 1;
        q.service += charge;
        q.until.get_or_insert(now + self.timeout);
        self.in_flight += 1;
        let class = &mut self.classes[q.priority.class as usize];
        let time = class.time + u128::from(charge) * VIRTUAL_UNIT / u128::from(class.weights);
        class.advance(time, &self.queues);
    }

    fn charge(&self, rq: &Request) -> u64 {
        u64::from(rq.sectors) * if rq.is_sync() { 1 } else { ASYNC_CHARGE }
    }

    /// Finds out whether the device takes several requests at a time.
    fn look_at_device(&mut self) {
        self.peak = self.peak.max(self.in_flight);
        if self.hw_tag == Some(true) || self.in_flight + self.waiting <= HW_QUEUE_THRESHOLD {
            return;
        }
        self.hw_samples += 1;
        if self.hw_samples > HW_SAMPLES {
            self.hw_tag = Some(self.peak > HW_QUEUE_THRESHOLD);
            (self.hw_samples, self.peak) = (0, 0);
        }
    }
}

impl Elevator for BfqLite {
    fn insert(&mut self, rq: &Request, requests: &Requests, now: u64) -> bool {
        let sync = rq.is_sync();
        let queue = *self.keys.entry(Owner::new(rq.pid, sync, rq.priority)).or_insert_with(|| {
            self.queues.push(Queue { sync, ..Queue::default() });
            self.queues.len() - 1
        });
        self.waiting += 1;
        self.queues[queue].requests.push(rq, now + self.fifo_expire[usize::from(sync)]);
        self.queues[queue].next = self.choose(requests, self.queues[queue].next, Some(rq.id));
        if !self.queues[queue].active {
            self.activate(queue, rq.priority);
        }
        // The request that the device was kept idle for has arrived.
        self.in_service == Some(queue) && self.idle_until.take().is_some()
    }

    fn dispatch(&mut self, requests: &Requests, now: u64, force: bool) -> Option<RequestId> {
        if force && self.in_service.is_some_and(|queue| self.queues[queue].next.is_none()) {
            self.expire();
        }
        let queue = self.select(requests, now)?;
        let id = self.pick(queue, now)?;
        self.serve(queue, id, requests, now);
        Some(id)
    }

    fn completed(&mut self, rq: &Request, now: u64) {
        let queue = self.queue_of(rq);
        self.look_at_device();
        self.in_flight -= 1;
        let q = &mut self.queues[queue];
        q.in_flight -= 1;
        if self.in_service == Some(queue) && q.requests.is_empty() && q.in_flight == 0 {
            if self.idles_for(queue) && !rq.flags.any(Flags::NOIDLE) {
                self.idle_until = Some(now + self.slice_idle);
            } else {
                self.expire();
            }
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
    }

    fn former(&self, rq: &Request) -> Option<RequestId> {
        self.queues[self.queue_of(rq)].requests.former(rq.id)
    }

    fn latter(&self, rq: &Request) -> Option<RequestId> {
        self.queues[self.queue_of(rq)].requests.latter(rq.id)
    }

    fn merged(&mut self, survivor: &Request, absorbed: &Request, requests: &Requests) {
        let queue = self.queue_of(absorbed);
        self.forget(queue, absorbed, requests);
        self.queues[queue].requests.absorb(survivor.id, absorbed.id);
    }

    fn depth(&self, bio: &Bio, nr_requests: u32) -> u32 {
        // Writes must not take all requests from reads.
        let share = match (bio.is_sync(), bio.direction) {
            (false, _) => nr_requests / 2,
            (true, Direction::Write) => nr_requests * 3 / 4,
            (true, Direction::Read) => nr_requests,
        };
        share.max(1)
    }

    fn timer_ns(&self) -> Option<u64> {
        self.idle_until
    }

    fn on_timer(&mut self, _now: u64) {
        self.expire();
    }
}

#[cfg(test)]
pub(super) mod oracle {
    use super::*;
    use crate::elevator::oracle::{Proposal, Replayed};

    pub fn model(changes: &[(String, u64)], device: &Device) -> BfqLite {
        BfqLite::new(&INFO.settings(changes).unwrap(), device)
    }

    impl Replayed for BfqLite {
        fn propose(&mut self, requests: &Requests, now: u64) -> Option<Proposal> {
            let queue = self.select(requests, now)?;
            self.pick(queue, now).map(|id| Proposal { id, state: [0; 3] })
        }

        fn follow(&mut self, id: RequestId, _proposal: Option<Proposal>, requests: &Requests, now: u64) {
            let queue = self.queue_of(&requests[id]);
            if self.in_service != Some(queue) {
                self.expire();
                let Queue { start, finish, ref priority, .. } = self.queues[queue];
                let class = &mut self.classes[priority.class as usize];
                class.due.remove(&(finish, queue));
                class.later.remove(&(start, queue));
                self.in_service = Some(queue);
            }
            if self.pick(queue, now) != Some(id) {
                // It was the kernel's next one: so the one after it is a neighbour of it.
                self.queues[queue].next = Some(id);
            }
            self.serve(queue, id, requests, now);
        }
    }
}
