//! Raised weights (`low_latency`): for processes that just began, or that ask for little at regular times.

use super::Bfq;
use super::queue::NEVER;
use crate::MS;

/// What a weight is raised by, and once more for soft real-time.
const COEFFICIENT: u64 = 30;
const SOFT_RT_FACTOR: u64 = 100;
const SOFT_RT_NS: u64 = 300 * MS;
/// A process that has been idle for so long begins anew.
const MIN_IDLE_NS: u64 = 2_000 * MS;
/// As does one whose asynchronous requests have been apart for so long.
const ASYNC_APART_NS: u64 = 500 * MS;
/// Soft real-time needs at most so many sectors in a second.
const SOFT_RT_RATE: u64 = 7_000;
/// How long an interactive process is raised, at least and at most, and for how many sectors.
const MIN_START_NS: u64 = 3_000 * MS;
const MAX_START_NS: u64 = 25_000 * MS;
const MAX_START_SECTORS: u64 = 120_000;
/// The weight that processes have unless somebody sets it: only such ones are raised.
const DEFAULT_WEIGHT: u64 = 40;
/// A process that has been idle for so long does not belong to the burst it began in.
const BURST_OVER_NS: u64 = 10_000 * MS;

/// What a request that ends the idleness of a queue says of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    was_raised: bool,
    interactive: bool,
    soft_rt: bool,
    deserves: bool,
}

impl Bfq {
    pub(super) fn soft_rt_time(&self) -> i64 {
        SOFT_RT_NS as i64
    }

    pub(super) fn min_idle(&self) -> i64 {
        MIN_IDLE_NS as i64
    }

    /// How long an interactive process is raised.
    fn start_time(&self) -> i64 {
        self.jiffies.whole(self.rate.start_ns()).clamp(MIN_START_NS, MAX_START_NS) as i64
    }

    /// Finds out whether a queue that begins to have requests deserves a raised weight.
    pub(super) fn look_at_arrival(&mut self, queue: usize, stably_merged: bool) -> Arrival {
        let q = &self.queues[queue];
        let idle_since = q.timeout;
        let long_idle = q.dispatched == 0 && idle_since + (MIN_IDLE_NS as i64) < self.jiffy;
        let default = q.entity.new_weight == DEFAULT_WEIGHT && !q.in_large_burst;
        let regular = q.seeks != u32::MAX && q.soft_rt_next < self.jiffy && q.dispatched == 0;
        let (interactive, soft_rt) = (long_idle && default, regular && default);
        let own = q.owner.is_some() || stably_merged;
        let deserves = self.low_latency && (q.is_raised() || (q.sync && own && (interactive || soft_rt)));
        if !q.just_created && long_idle && idle_since + (BURST_OVER_NS as i64) < self.jiffy {
            self.leave_burst(queue);
        }
        Arrival { was_raised: self.queues[queue].is_raised(), interactive, soft_rt, deserves }
    }

    /// Raises or lowers a weight accordingly. Whether raising begins anew because the process is interactive.
    pub(super) fn raise(&mut self, queue: usize, arrival: Arrival) -> bool {
        let q = &self.queues[queue];
        if !self.low_latency || q.split + self.min_idle() >= self.jiffy {
            return arrival.interactive;
        }
        let (jiffy, start) = (self.jiffy, self.start_time());
        let least = 2 * self.min_budget();
        let q = &mut self.queues[queue];
        let before = q.raise.coefficient;
        if !arrival.was_raised && arrival.deserves {
            if arrival.interactive {
                q.raise.service = 0;
                (q.raise.coefficient, q.raise.most) = (COEFFICIENT, start);
            } else {
                q.raise.interactive_since = NEVER;
                (q.raise.coefficient, q.raise.most) = (COEFFICIENT * SOFT_RT_FACTOR, SOFT_RT_NS as i64);
            }
            q.entity.budget = q.entity.budget.min(least);
        } else if arrival.was_raised {
            if arrival.interactive {
                (q.raise.coefficient, q.raise.most) = (COEFFICIENT, start);
            } else if q.in_large_burst {
                q.raise.coefficient = 1;
            } else if arrival.soft_rt {
                if q.raise.most != SOFT_RT_NS as i64 {
                    q.raise.interactive_since = q.raise.since;
                    (q.raise.coefficient, q.raise.most) = (COEFFICIENT * SOFT_RT_FACTOR, SOFT_RT_NS as i64);
                }
                q.raise.since = jiffy;
            }
        }
        q.entity.changed |= q.raise.coefficient != before;
        arrival.interactive
    }

    /// Raises a busy queue of asynchronous requests that had not come for a while.
    pub(super) fn raise_async(&mut self, queue: usize) {
        let start = self.start_time();
        let q = &mut self.queues[queue];
        if self.low_latency && !q.is_raised() && q.raise.since + (ASYNC_APART_NS as i64) < self.jiffy {
            (q.raise.coefficient, q.raise.most) = (COEFFICIENT, start);
            q.entity.changed = true;
            self.raised_busy += 1;
        }
    }

    fn end_raising(&mut self, queue: usize) {
        let jiffy = self.jiffy;
        let q = &mut self.queues[queue];
        if q.raise.most != SOFT_RT_NS as i64 {
            q.soft_rt_next = jiffy;
        }
        self.raised_busy -= u32::from(q.busy);
        (q.raise.coefficient, q.raise.most, q.raise.since) = (1, 0, jiffy);
        q.entity.changed = true;
    }

    /// Soft real-time raising ends; interactive raising goes on if it is not over yet.
    fn end_soft_rt(&mut self, queue: usize) {
        let start = self.start_time();
        let q = &mut self.queues[queue];
        if q.raise.interactive_since + start < self.jiffy {
            self.end_raising(queue);
        } else {
            (q.raise.coefficient, q.raise.most) = (COEFFICIENT, start);
            q.raise.since = q.raise.interactive_since;
            q.entity.changed = true;
        }
    }

    /// Ends soft real-time raising of a process whose requests all lie far apart.
    pub(super) fn lower_seeky(&mut self, queue: usize) {
        let q = &self.queues[queue];
        if q.is_raised() && q.raise.most == SOFT_RT_NS as i64 && q.seeks == u32::MAX {
            self.end_soft_rt(queue);
        }
    }

    /// Ends raising that has lasted long enough, and puts the weight to use at once.
    pub(super) fn lower(&mut self, queue: usize) {
        let q = &self.queues[queue];
        if q.is_raised() {
            let soft_rt = q.raise.most == SOFT_RT_NS as i64;
            if q.in_large_burst {
                self.end_raising(queue);
            } else if q.raise.since + q.raise.most < self.jiffy {
                if soft_rt { self.end_soft_rt(queue) } else { self.end_raising(queue) }
            }
            let raise = &self.queues[queue].raise;
            if raise.coefficient > 1 && raise.most != SOFT_RT_NS as i64 && raise.service > MAX_START_SECTORS {
                self.end_raising(queue);
            }
        }
        let q = &self.queues[queue];
        if (q.entity.weight > q.entity.own_weight) != q.is_raised() {
            self.update_weight(queue, false);
        }
    }

    /// When the next request may come of a process that is soft real-time: not before it could have been served at the
    /// rate of one, nor as soon as those come of a process that is merely slowed down.
    fn soft_rt_next(&self, queue: usize) -> i64 {
        let q = &self.queues[queue];
        let fair_ns = self.jiffies.whole(q.backlog_service * 1_000 * MS / SOFT_RT_RATE) as i64;
        let greedy_ns = self.jiffies.whole(self.slice_idle) as i64 + self.jiffies.ticks(4);
        q.soft_rt_next.max(q.backlog_since + fair_ns).max(self.jiffy + greedy_ns)
    }

    /// Notes when a turn ends.
    pub(super) fn note_expiry(&mut self, queue: usize) {
        let next = self.soft_rt_next(queue);
        let jiffy = self.jiffy;
        let q = &mut self.queues[queue];
        if !q.is_raised() {
            q.raise.since = jiffy;
        }
        if q.requests.is_empty() {
            if q.dispatched == 0 {
                q.soft_rt_next = next;
            } else {
                q.soft_rt_due = true;
            }
        }
    }

    /// Notes when the last request of a queue ends that was not known to be regular when its turn ended.
    pub(super) fn note_completion(&mut self, queue: usize) {
        let next = self.soft_rt_next(queue);
        let q = &mut self.queues[queue];
        if q.soft_rt_due && q.dispatched == 0 && q.requests.is_empty() && q.raise.coefficient != COEFFICIENT {
            q.soft_rt_next = next;
        }
    }

    /// What the weight of a queue would have become that is merged before it was raised.
    pub(super) fn first_raise(&self) -> super::queue::Raise {
        let (coefficient, most) = (COEFFICIENT, self.start_time());
        super::queue::Raise { coefficient, since: self.jiffy, most, interactive_since: NEVER, service: 0 }
    }

    /// Whether raising that was kept while a queue was shared is over.
    pub(super) fn resume_raise(&mut self, queue: usize) {
        let start = self.start_time();
        let q = &mut self.queues[queue];
        let over = q.in_large_burst || q.raise.since + q.raise.most < self.jiffy;
        if !q.is_raised() || !over {
            return;
        }
        let soft_rt = q.raise.most == SOFT_RT_NS as i64 && !q.in_large_burst;
        if soft_rt && q.raise.interactive_since + start >= self.jiffy {
            (q.raise.coefficient, q.raise.most) = (COEFFICIENT, start);
            q.raise.since = q.raise.interactive_since;
        } else {
            q.raise.coefficient = 1;
        }
    }
}
