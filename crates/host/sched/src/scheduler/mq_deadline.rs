//! `mq-deadline`: deadline for blk-mq (block/mq-deadline.c of Linux 6.x).
//!
//! Differences from [`super::deadline`]:
//!
//! - A batch continues from a position: the first sector of the request last dispatched in its direction. Requests that
//!   arrive later beyond this position therefore join the batch. Each direction keeps its position while the other
//!   direction is served.
//! - A deadline counts as expired as soon as it is reached.
//! - The first batch counts as a batch of writes.
//! - There are three priority classes. A lower class is served only while higher classes have no request waiting or at
//!   the device, or after `prio_aging_expire`.

use ssdlab_core::{Parameter, Settings, Unit};

use super::deadline::{FIFO_BATCH, FRONT_MERGES, READ_EXPIRE, WRITE_EXPIRE, WRITES_STARVED};
use super::lists::SortedFifo;
use super::{IoScheduler, SchedulerInfo, SchedulerRules};
use crate::bio::{Bio, Direction};
use crate::layer::BlockLayerKind;
use crate::request::{Request, RequestId, Requests};

pub(super) static INFO: SchedulerInfo = SchedulerInfo {
    name: "mq-deadline",
    help: "sorted batches of reads or writes, with deadlines and priority classes; Linux 6",
    source: "Linux 6, block/mq-deadline.c",
    parameters: &[
        READ_EXPIRE,
        WRITE_EXPIRE,
        WRITES_STARVED,
        FIFO_BATCH,
        FRONT_MERGES,
        Parameter::ms(
            "prio_aging_expire",
            10_000,
            0,
            "Waiting time after which a request is served before requests of higher priority classes.",
        ),
        Parameter::new(
            "async_depth",
            Unit::Count("requests"),
            0,
            [0, 1_000_000],
            "Maximum number of allocated non-read requests; 0, the default since Linux 6, sets no limit.",
        ),
    ],
    role: SchedulerRules::new(BlockLayerKind::MultiQueue, &|settings, _| Ok(Box::new(MqDeadline::new(settings)))),
};

/// Requests of one priority class.
#[derive(Debug, Default)]
struct Class {
    queues: [SortedFifo; 2],
    /// First sector of the request dispatched last, by direction.
    position: [u64; 2],
    /// Number of requests of the class that are waiting or at the device.
    queued: u64,
}

/// State of the current batch.
#[derive(Clone, Copy, Debug)]
struct Batch {
    direction: Direction,
    /// Number of requests dispatched in the batch so far.
    length: u64,
    /// Number of read batches started since writes began to wait.
    starved: u64,
}

#[derive(Debug)]
pub(super) struct MqDeadline {
    classes: [Class; 3],
    batch: Batch,
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
            batch: Batch { direction: Direction::Write, length: 0, starved: 0 },
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

    /// Chooses the next request of a class and updates `batch` accordingly.
    #[inline]
    fn decide(&self, class: usize, batch: &mut Batch, now: u64) -> Option<RequestId> {
        let Class { queues, position, .. } = &self.classes[class];
        let next = |direction: Direction| queues[direction as usize].from(position[direction as usize]);
        let in_batch = if batch.length < self.fifo_batch { next(batch.direction) } else { None };
        if in_batch.is_some() {
            return in_batch;
        }
        let [reads, writes] = [&queues[0], &queues[1]].map(|queue| !queue.is_empty());
        let direction = if reads && (!writes || batch.starved < self.writes_starved) {
            batch.starved += u64::from(writes);
            Direction::Read
        } else if writes {
            batch.starved = 0;
            Direction::Write
        } else {
            return None;
        };
        (batch.direction, batch.length) = (direction, 0);
        let fifo = &queues[direction as usize].fifo;
        let overdue = fifo.head().filter(|&id| fifo.deadline(id) <= now);
        overdue.or_else(|| next(direction)).or(fifo.head())
    }

    /// Chooses a request of a lower priority class that has waited for `prio_aging_expire`. As in the kernel, `batch`
    /// changes even if no request has waited long enough.
    #[cold]
    fn aged(&self, batch: &mut Batch, now: u64) -> Option<(usize, RequestId)> {
        (1..self.classes.len()).find_map(|class| {
            let id = self.decide(class, batch, now)?;
            let direction = batch.direction as usize;
            let arrived = self.classes[class].queues[direction].fifo.deadline(id) - self.expire[direction];
            (arrived + self.prio_aging_expire <= now).then_some((class, id))
        })
    }

    /// Chooses a priority class and its next request; also returns the new state of the batch.
    #[inline]
    fn choose(&self, now: u64, force: bool) -> (Batch, Option<(usize, RequestId)>) {
        let mut batch = self.batch;
        if self.classes.iter().filter(|class| class.queued > 0).count() > 1 {
            let aged = self.aged(&mut batch, now);
            if aged.is_some() {
                return (batch, aged);
            }
        }
        for class in (0..self.classes.len()).filter(|&class| self.classes[class].queued > 0) {
            let id = self.decide(class, &mut batch, now);
            // Lower classes wait while a higher class has requests at the device.
            if id.is_some() || !force {
                return (batch, id.map(|id| (class, id)));
            }
        }
        (batch, None)
    }

    /// Removes a request from its class and counts it in the batch.
    #[inline]
    fn take(&mut self, class: usize, id: RequestId, requests: &Requests) -> RequestId {
        self.batch.length += 1;
        let (class, direction) = (&mut self.classes[class], self.batch.direction as usize);
        class.queues[direction].remove(id);
        class.position[direction] = requests[id].start;
        id
    }
}

impl IoScheduler for MqDeadline {
    fn insert(&mut self, rq: &Request, _requests: &Requests, now: u64) -> bool {
        let deadline = now + self.expire[rq.direction as usize];
        self.queue_mut(rq).push(rq, deadline);
        self.classes[rq.priority.class as usize].queued += 1;
        false
    }

    fn dispatch(&mut self, _queue: u16, requests: &Requests, now: u64, force: bool) -> Option<RequestId> {
        let (batch, chosen) = self.choose(now, force);
        self.batch = batch;
        chosen.map(|(class, id)| self.take(class, id, requests))
    }

    fn passes(&self) -> bool {
        true
    }

    /// The batch continues if the request lies at or beyond the batch's position; otherwise a new batch begins.
    fn pass(&mut self, rq: &Request) -> bool {
        let own = rq.priority.class as usize;
        // If other priority classes have requests waiting or at the device, this class may have to wait for them.
        if self.classes.iter().enumerate().any(|(index, class)| index != own && class.queued > 0) {
            return false;
        }
        let class = &mut self.classes[own];
        class.queued += 1;
        let position = std::mem::replace(&mut class.position[rq.direction as usize], rq.start);
        let batch = &mut self.batch;
        let in_batch = batch.length < self.fifo_batch && rq.direction == batch.direction && position <= rq.start;
        batch.length = if in_batch { batch.length + 1 } else { 1 };
        if !in_batch && rq.direction == Direction::Write {
            batch.starved = 0;
        }
        batch.direction = rq.direction;
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
        let limit = u32::try_from(self.async_depth).expect("async_depth must fit u32");
        if bio.direction == Direction::Read || limit == 0 { nr_requests } else { nr_requests.min(limit) }
    }
}

#[cfg(test)]
pub(super) mod oracle {
    use super::*;
    use crate::scheduler::oracle::{Proposal, Replayed};

    pub fn model(changes: &[(String, u64)]) -> MqDeadline {
        MqDeadline::new(&crate::scheduler::tunables(&INFO, changes).unwrap())
    }

    impl Replayed for MqDeadline {
        fn propose(&mut self, _requests: &Requests, now: u64) -> Option<Proposal> {
            let (batch, chosen) = self.choose(now, false);
            // If no request was chosen, `follow` is not called, so the batch state must be stored here.
            let Some((_, id)) = chosen else {
                self.batch = batch;
                return None;
            };
            Some(Proposal { id, state: [batch.direction as u64, batch.length, batch.starved] })
        }

        fn follow(&mut self, id: RequestId, proposal: Option<Proposal>, requests: &Requests, _now: u64) {
            if let Some(Proposal { state: [direction, length, starved], .. }) = proposal {
                self.batch = Batch { direction: Direction::BOTH[direction as usize], length, starved };
            }
            let rq = &requests[id];
            if rq.direction != self.batch.direction {
                let starved = if rq.direction == Direction::Write { 0 } else { self.batch.starved };
                self.batch = Batch { direction: rq.direction, length: 0, starved };
            }
            self.take(rq.priority.class as usize, id, requests);
        }
    }
}
