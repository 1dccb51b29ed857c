//! `deadline`: batches in ascending order, one direction at a time, with deadlines (block/deadline-iosched.c of Linux
//! 2.6.32).
//!
//! Points that are easily implemented wrongly:
//!
//! - Deadlines are checked only between batches.
//! - A batch ends at the highest sector and does not wrap around.
//! - The next request is fixed when its predecessor is dispatched. A request that arrives later for a sector between
//!   the two is skipped by this batch.
//! - After a change of direction, the batch begins with the oldest request.
//! - `starved` counts only while both directions wait.
//!
//! For two requests at the same sector, Linux 2.6.32 dispatches the older one at once. Here both stay queued, as in the
//! kernels of Enterprise Linux 6.

use ssdlab_core::{Parameter, Settings, Unit};

use super::lists::SortedFifo;
use super::{IoScheduler, SchedulerInfo, SchedulerRules};
use crate::bio::{Bio, Direction};
use crate::layer::BlockLayerKind;
use crate::request::{Request, RequestId, Requests};

pub(super) static INFO: SchedulerInfo = SchedulerInfo {
    name: "deadline",
    help: "sorted batches of reads or writes with deadlines; prefers reads; Linux 2.6.32",
    source: "Linux 2.6.32, block/deadline-iosched.c",
    parameters: TUNABLES,
    role: SchedulerRules {
        work_conserving: true,
        ..SchedulerRules::new(BlockLayerKind::SingleQueue, &|settings, _| Ok(Box::new(Deadline::new(settings))))
    },
};

/// The parameters are shared with `mq-deadline`, which uses the same names and defaults.
pub(super) const READ_EXPIRE: Parameter = Parameter::ms(
    "read_expire",
    500,
    1,
    "Once the oldest read is this old, the next read batch starts with it rather than in sector order.",
);
pub(super) const WRITE_EXPIRE: Parameter = Parameter::ms(
    "write_expire",
    5000,
    1,
    "Once the oldest write is this old, the next write batch starts with it rather than in sector order.",
);
pub(super) const WRITES_STARVED: Parameter = Parameter::new(
    "writes_starved",
    Unit::Count("batches"),
    2,
    [0, 1_000_000],
    "Number of read batches that may be served while writes wait.",
);
pub(super) const FIFO_BATCH: Parameter =
    Parameter::new("fifo_batch", Unit::Count("requests"), 16, [1, 1_000_000], "Maximum requests per batch.");
pub(super) const FRONT_MERGES: Parameter =
    Parameter::switch("front_merges", true, "True to allow front merges into waiting requests.");

const TUNABLES: &[Parameter] = &[READ_EXPIRE, WRITE_EXPIRE, WRITES_STARVED, FIFO_BATCH, FRONT_MERGES];

#[derive(Debug, Default)]
struct Deadline {
    queues: [SortedFifo; 2],
    /// Request that continues the batch, by direction; at most one of the two is set.
    next: [Option<RequestId>; 2],
    /// Number of requests dispatched in the current batch so far.
    batching: u64,
    /// Number of read batches started while writes were waiting.
    starved: u64,
    expire: [u64; 2],
    writes_starved: u64,
    fifo_batch: u64,
    front_merges: bool,
}

impl Deadline {
    fn new(settings: &Settings) -> Self {
        Self {
            expire: [settings.ns("read_expire"), settings.ns("write_expire")],
            writes_starved: settings.get("writes_starved"),
            fifo_batch: settings.get("fifo_batch"),
            front_merges: settings.is_set("front_merges"),
            ..Self::default()
        }
    }

    /// Returns the direction of the next batch.
    fn direction(&mut self) -> Option<Direction> {
        let [reads, writes] = [&self.queues[0], &self.queues[1]].map(|queue| !queue.is_empty());
        if reads {
            // The counter is incremented after the comparison. With the default of 2, two read batches are therefore
            // followed by a batch of writes.
            if !writes || self.starved < self.writes_starved {
                self.starved += u64::from(writes);
                return Some(Direction::Read);
            }
        } else if !writes {
            return None;
        }
        self.starved = 0;
        Some(Direction::Write)
    }
}

impl IoScheduler for Deadline {
    fn insert(&mut self, rq: &Request, _requests: &Requests, now: u64) -> bool {
        let direction = rq.direction as usize;
        self.queues[direction].push(rq, now + self.expire[direction]);
        false
    }

    fn dispatch(&mut self, _queue: u16, _requests: &Requests, now: u64, _force: bool) -> Option<RequestId> {
        let going_on = [Direction::Write, Direction::Read].into_iter().find(|&d| self.next[d as usize].is_some());
        let (direction, id) = match going_on {
            Some(direction) if self.batching < self.fifo_batch => (direction, self.next[direction as usize]?),
            _ => {
                let direction = self.direction()?;
                let fifo = &self.queues[direction as usize].fifo;
                let id = fifo.overdue(now).or(self.next[direction as usize]).or(fifo.head())?;
                self.batching = 0;
                (direction, id)
            }
        };
        self.batching += 1;
        self.next[direction.other() as usize] = None;
        self.next[direction as usize] = self.queues[direction as usize].latter(id);
        self.queues[direction as usize].remove(id);
        Some(id)
    }

    fn completed(&mut self, _rq: &Request, _now: u64) {}

    fn front_merge(&self, bio: &Bio) -> Option<RequestId> {
        self.queues[bio.direction as usize].starting_at(bio.end()).filter(|_| self.front_merges)
    }

    fn moved(&mut self, rq: &Request) {
        self.queues[rq.direction as usize].moved(rq);
    }

    fn former(&self, rq: &Request) -> Option<RequestId> {
        self.queues[rq.direction as usize].former(rq.id)
    }

    fn latter(&self, rq: &Request) -> Option<RequestId> {
        self.queues[rq.direction as usize].latter(rq.id)
    }

    fn merged(&mut self, survivor: &Request, absorbed: &Request, _requests: &Requests) {
        let direction = absorbed.direction;
        if self.next[direction as usize] == Some(absorbed.id) {
            self.next[direction as usize] = self.queues[direction as usize].latter(absorbed.id);
        }
        self.queues[direction as usize].absorb(survivor.id, absorbed.id);
    }
}
