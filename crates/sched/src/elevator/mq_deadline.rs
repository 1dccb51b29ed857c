//! `mq-deadline`: deadline for blk-mq (block/mq-deadline.c of Linux 6.x).
//!
//! Unlike [`super::deadline`], a batch continues from a position, the first sector of the request dispatched last in
//! that direction, so late arrivals behind it join; after a change of direction it continues at that direction's
//! position; a deadline has passed when it is reached; the first batch counts as one of writes; and three classes of
//! priority are served one after the other, the lower ones only while the higher have nothing waiting or at the device,
//! or after `prio_aging_expire`.

use ssdlab_core::{Parameter, Settings, Unit};

use super::deadline::{FIFO_BATCH, FRONT_MERGES, READ_EXPIRE, WRITE_EXPIRE, WRITES_STARVED};
use super::lists::SortedFifo;
use super::{Elevator, MergeIndex, SchedulerInfo};
use crate::bio::{Bio, Direction};
use crate::layer::Frame;
use crate::request::{Request, RequestId, Requests};

pub(super) static INFO: SchedulerInfo = SchedulerInfo {
    name: "mq-deadline",
    help: "sorted batches of one direction with deadlines and classes of priority; Linux 6",
    frame: Frame::Modern,
    merge_index: MergeIndex::Hash,
    work_conserving: false,
    sorted_drain: false,
    bounded_wait: true,
    by_process: false,
    by_sync: false,
    tunables: &[
        READ_EXPIRE,
        WRITE_EXPIRE,
        WRITES_STARVED,
        FIFO_BATCH,
        FRONT_MERGES,
        Parameter {
            name: "prio_aging_expire",
            unit: Unit::Millis,
            default: 10_000,
            min: 0,
            max: 3_600_000,
            example: None,
            help: "How long a request of a lower class may wait before it goes ahead of higher ones.",
        },
        Parameter {
            name: "async_depth",
            unit: Unit::Count("requests"),
            default: 0,
            min: 0,
            max: 1_000_000,
            example: None,
            help: "Requests in use up to which all but reads are given one; 0 is all, as since Linux 6.",
        },
    ],
    build: |settings, _| Ok(Box::new(MqDeadline::new(settings))),
};

/// Requests of one class of priority.
#[derive(Debug, Default)]
struct Class {
    queues: [SortedFifo; 2],
    /// First sector of the request dispatched last, for each direction.
    position: [u64; 2],
    /// Requests that wait or are at the device.
    queued: u64,
}

/// A request and the state after it is dispatched.
#[derive(Clone, Copy, Debug)]
struct Decision {
    id: RequestId,
    direction: Direction,
    batching: u64,
    starved: u64,
}

#[derive(Debug)]
pub(super) struct MqDeadline {
    classes: [Class; 3],
    batching: u64,
    starved: u64,
    last: Direction,
    expire: [u64; 2],
    writes_starved: u64,
    fifo_batch: u64,
    front_merges: bool,
    prio_aging_expire: u64,
    async_depth: u64,
}

impl MqDeadline {
    fn new(settings: &Settings) -> Self {
        Self {
            classes: Default::default(),
            batching: 0,
            starved: 0,
            last: Direction::Write,
            expire: [settings.ns("read_expire"), settings.ns("write_expire")],
            writes_starved: settings.get("writes_starved"),
            fifo_batch: settings.get("fifo_batch"),
            front_merges: settings.is_set("front_merges"),
            prio_aging_expire: settings.ns("prio_aging_expire"),
            async_depth: settings.get("async_depth"),
        }
    }

    fn queue(&self, rq: &Request) -> &SortedFifo {
        &self.classes[rq.priority.class as usize].queues[rq.direction as usize]
    }

    fn queue_mut(&mut self, rq: &Request) -> &mut SortedFifo {
        &mut self.classes[rq.priority.class as usize].queues[rq.direction as usize]
    }

    /// What a class would dispatch now.
    #[inline]
    fn decide(&self, class: usize, now: u64) -> Option<Decision> {
        let Class { queues, position, .. } = &self.classes[class];
        let next = |direction: Direction| queues[direction as usize].from(position[direction as usize]);
        let in_batch = if self.batching < self.fifo_batch { next(self.last) } else { None };
        if let Some(id) = in_batch {
            return Some(Decision { id, direction: self.last, batching: self.batching + 1, starved: self.starved });
        }
        let [reads, writes] = [&queues[0], &queues[1]].map(|queue| !queue.is_empty());
        let (direction, starved) = if reads && (!writes || self.starved < self.writes_starved) {
            (Direction::Read, self.starved + u64::from(writes))
        } else if writes {
            (Direction::Write, 0)
        } else {
            return None;
        };
        let fifo = &queues[direction as usize].fifo;
        let overdue = fifo.head().filter(|&id| fifo.deadline(id) <= now);
        let id = overdue.or_else(|| next(direction)).or(fifo.head())?;
        Some(Decision { id, direction, batching: 1, starved })
    }

    /// What a lower class would dispatch, if that had arrived at `latest`. The kernel lets a request that is too young
    /// count in `starved` and end the batch all the same; here a decision not taken changes nothing.
    #[cold]
    fn aged(&self, now: u64, latest: u64) -> Option<(usize, Decision)> {
        (1..self.classes.len()).find_map(|class| {
            let decision = self.decide(class, now)?;
            let direction = decision.direction as usize;
            let deadline = self.classes[class].queues[direction].fifo.deadline(decision.id);
            (deadline - self.expire[direction] <= latest).then_some((class, decision))
        })
    }

    /// The class to serve, and what it would dispatch.
    #[inline]
    fn choose(&self, now: u64, force: bool) -> Option<(usize, Decision)> {
        if self.classes.iter().filter(|class| class.queued > 0).count() > 1
            && let Some(latest) = now.checked_sub(self.prio_aging_expire)
            && let Some(aged) = self.aged(now, latest)
        {
            return Some(aged);
        }
        for class in (0..self.classes.len()).filter(|&class| self.classes[class].queued > 0) {
            let decision = self.decide(class, now);
            // While requests of a class are at the device, those below it wait.
            if decision.is_some() || !force {
                return decision.map(|decision| (class, decision));
            }
        }
        None
    }

    /// Carries a decision out.
    #[inline]
    fn take(&mut self, class: usize, decision: &Decision, requests: &Requests) -> RequestId {
        let Decision { id, direction, batching, starved } = *decision;
        (self.last, self.batching, self.starved) = (direction, batching, starved);
        let class = &mut self.classes[class];
        class.queues[direction as usize].remove(id);
        class.position[direction as usize] = requests[id].start;
        id
    }
}

impl Elevator for MqDeadline {
    fn insert(&mut self, rq: &Request, _requests: &Requests, now: u64) -> bool {
        let deadline = now + self.expire[rq.direction as usize];
        self.queue_mut(rq).push(rq, deadline);
        self.classes[rq.priority.class as usize].queued += 1;
        false
    }

    fn dispatch(&mut self, requests: &Requests, now: u64, force: bool) -> Option<RequestId> {
        let (class, decision) = self.choose(now, force)?;
        Some(self.take(class, &decision, requests))
    }

    fn passes(&self) -> bool {
        true
    }

    /// A batch goes on if the request lies behind its position, as if it were found there; else the next one begins.
    fn pass(&mut self, rq: &Request) -> bool {
        let own = rq.priority.class as usize;
        // A class may have to wait for what those above it have at the device.
        if self.classes.iter().enumerate().any(|(class, of)| class != own && of.queued > 0) {
            return false;
        }
        let class = &mut self.classes[own];
        class.queued += 1;
        let position = std::mem::replace(&mut class.position[rq.direction as usize], rq.start);
        let in_batch = self.batching < self.fifo_batch && rq.direction == self.last && position <= rq.start;
        self.batching = if in_batch { self.batching + 1 } else { 1 };
        if !in_batch && rq.direction == Direction::Write {
            self.starved = 0;
        }
        self.last = rq.direction;
        true
    }

    fn completed(&mut self, rq: &Request, _now: u64) {
        self.classes[rq.priority.class as usize].queued -= 1;
    }

    fn front_merge(&self, bio: &Bio) -> Option<RequestId> {
        let queue = &self.classes[bio.priority.class as usize].queues[bio.direction as usize];
        queue.starting_at(bio.end()).filter(|_| self.front_merges)
    }

    fn moved(&mut self, rq: &Request) {
        self.queue_mut(rq).moved(rq);
    }

    fn former(&self, rq: &Request) -> Option<RequestId> {
        self.queue(rq).former(rq.id)
    }

    fn latter(&self, rq: &Request) -> Option<RequestId> {
        self.queue(rq).latter(rq.id)
    }

    fn merged(&mut self, survivor: &Request, absorbed: &Request, _requests: &Requests) {
        self.queue_mut(absorbed).absorb(survivor.id, absorbed.id);
        self.classes[absorbed.priority.class as usize].queued -= 1;
    }

    fn depth(&self, bio: &Bio, nr_requests: u32) -> u32 {
        let limit = u32::try_from(self.async_depth).expect("the range is small");
        if bio.direction == Direction::Read || limit == 0 { nr_requests } else { nr_requests.min(limit) }
    }
}

#[cfg(test)]
pub(super) mod oracle {
    use super::*;
    use crate::elevator::oracle::Replayed;

    pub fn model(changes: &[(String, u64)]) -> MqDeadline {
        MqDeadline::new(&INFO.settings(changes).unwrap())
    }

    impl Replayed for MqDeadline {
        fn propose(&mut self, _requests: &Requests, now: u64) -> Option<RequestId> {
            self.choose(now, false).map(|(_, decision)| decision.id)
        }

        fn follow(&mut self, id: RequestId, requests: &Requests, now: u64) {
            let (rq, decision) = (&requests[id], self.choose(now, false).map(|(_, decision)| decision));
            let (direction, starved) = (rq.direction, decision.map_or(self.starved, |decision| decision.starved));
            let same = decision.filter(|decision| decision.direction == direction);
            let batching = same.map_or(1, |decision| decision.batching);
            self.take(rq.priority.class as usize, &Decision { id, direction, batching, starved }, requests);
        }
    }
}
