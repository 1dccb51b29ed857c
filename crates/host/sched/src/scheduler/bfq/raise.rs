//! Raises the weight (`low_latency`) of interactive processes, i.e. processes that have just started, and of soft
//! real-time processes, which send few requests at regular intervals.

use super::Bfq;
use super::queue::{NEVER, Raise};
use crate::MS;

/// Factor by which the weight of interactive processes is raised.
const COEFFICIENT: u64 = 30;
/// Additional factor for the weight of soft real-time processes.
const SOFT_RT_FACTOR: u64 = 100;
/// Maximum time for which the weight of a soft real-time process stays raised.
pub(super) const SOFT_RT_NS: i64 = 300 * MS as i64;
/// A process that was idle for this long counts as interactive again.
pub(super) const MIN_IDLE_NS: i64 = 2_000 * MS as i64;
/// Minimum gap between two asynchronous requests for the second to raise the weight of the queue again.
const ASYNC_GAP_NS: i64 = 500 * MS as i64;
/// Maximum bandwidth of a soft real-time process, in sectors per second.
const SOFT_RT_RATE: u64 = 7_000;
/// Limits on the weight raising of an interactive process: minimum and maximum duration, and the number of served
/// sectors after which it ends.
const MIN_START_NS: u64 = 3_000 * MS;
const MAX_START_NS: u64 = 25_000 * MS;
const MAX_START_SECTORS: u64 = 120_000;
/// Weight of the default priority; only queues with this weight can have their weight raised.
const DEFAULT_WEIGHT: u64 = 40;
/// A process that was idle for longer than this no longer belongs to its burst.
const BURST_OVER_NS: i64 = 10_000 * MS as i64;

/// Classification of a queue when a request makes it active: interactive, soft real-time or neither.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    was_raised: bool,
    interactive: bool,
    soft_rt: bool,
    /// True if the queue qualifies for a raised weight.
    deserves: bool,
}

impl Bfq {
    /// Returns the duration for which the weight of an interactive process stays raised.
    fn start_time(&self) -> i64 {
        self.clock.jiffies.whole(self.rate.start_ns()).clamp(MIN_START_NS, MAX_START_NS) as i64
    }

    /// Classifies a queue that becomes active.
    pub(super) fn classify_arrival(&mut self, queue: usize, stably_merged: bool) -> Arrival {
        let q = &self.queues[queue];
        let idle_since = q.timeout;
        let long_idle = q.dispatched == 0 && idle_since + MIN_IDLE_NS < self.clock.jiffy;
        let default = q.entity.new_weight == DEFAULT_WEIGHT && !q.in_large_burst;
        let regular = q.seeks != u32::MAX && q.soft_rt_next < self.clock.jiffy && q.dispatched == 0;
        let (interactive, soft_rt) = (long_idle && default, regular && default);
        let own = q.owner.is_some() || stably_merged;
        let deserves = self.tunables.low_latency && (q.is_raised() || (q.sync && own && (interactive || soft_rt)));
        if !q.just_created && long_idle && idle_since + BURST_OVER_NS < self.clock.jiffy {
            self.leave_burst(queue);
        }
        Arrival { was_raised: self.queues[queue].is_raised(), interactive, soft_rt, deserves }
    }

    /// Raises or lowers the weight of a queue according to its classification. Returns true if the process is
    /// interactive and its weight raising therefore starts anew.
    pub(super) fn raise(&mut self, queue: usize, arrival: Arrival) -> bool {
        let q = &self.queues[queue];
        if !self.tunables.low_latency || q.split + MIN_IDLE_NS >= self.clock.jiffy {
            return arrival.interactive;
        }
        let (start, least) = (self.start_time(), 2 * self.min_budget());
        let q = &mut self.queues[queue];
        let before = q.raise.coefficient;
        if !arrival.was_raised && arrival.deserves {
            if arrival.interactive {
                q.raise.service = 0;
                (q.raise.coefficient, q.raise.duration) = (COEFFICIENT, start);
            } else {
                q.raise.interactive_since = NEVER;
                (q.raise.coefficient, q.raise.duration) = (COEFFICIENT * SOFT_RT_FACTOR, SOFT_RT_NS);
            }
            q.entity.budget = q.entity.budget.min(least);
        } else if arrival.was_raised {
            if arrival.interactive {
                (q.raise.coefficient, q.raise.duration) = (COEFFICIENT, start);
            } else if q.in_large_burst {
                q.raise.coefficient = 1;
            } else if arrival.soft_rt {
                if q.raise.duration != SOFT_RT_NS {
                    q.raise.interactive_since = q.raise.since;
                    (q.raise.coefficient, q.raise.duration) = (COEFFICIENT * SOFT_RT_FACTOR, SOFT_RT_NS);
                }
                q.raise.since = self.clock.jiffy;
            }
        }
        q.entity.changed |= q.raise.coefficient != before;
        arrival.interactive
    }

    /// Raises the weight of a busy queue that receives an asynchronous request after a gap.
    pub(super) fn raise_async(&mut self, queue: usize) {
        let start = self.start_time();
        let q = &mut self.queues[queue];
        if self.tunables.low_latency && !q.is_raised() && q.raise.since + ASYNC_GAP_NS < self.clock.jiffy {
            (q.raise.coefficient, q.raise.duration) = (COEFFICIENT, start);
            q.entity.changed = true;
            self.load.raised += 1;
        }
    }

    fn end_raising(&mut self, queue: usize) {
        let q = &mut self.queues[queue];
        if q.raise.duration != SOFT_RT_NS {
            q.soft_rt_next = self.clock.jiffy;
        }
        self.load.raised -= u32::from(q.busy);
        (q.raise.coefficient, q.raise.duration, q.raise.since) = (1, 0, self.clock.jiffy);
        q.entity.changed = true;
    }

    /// Ends the soft real-time weight raising of a queue; returns to interactive raising if the interactive raising has
    /// not expired.
    fn end_soft_rt(&mut self, queue: usize) {
        let start = self.start_time();
        let q = &mut self.queues[queue];
        if q.raise.interactive_since + start < self.clock.jiffy {
            self.end_raising(queue);
        } else {
            (q.raise.coefficient, q.raise.duration) = (COEFFICIENT, start);
            q.raise.since = q.raise.interactive_since;
            q.entity.changed = true;
        }
    }

    /// Ends the soft real-time weight raising of a queue whose latest 32 requests were all seeks.
    pub(super) fn lower_seeky(&mut self, queue: usize) {
        let q = &self.queues[queue];
        if q.is_raised() && q.raise.duration == SOFT_RT_NS && q.seeks == u32::MAX {
            self.end_soft_rt(queue);
        }
    }

    /// Ends a queue's weight raising if it has expired, and applies the new weight immediately.
    pub(super) fn lower(&mut self, queue: usize) {
        let q = &self.queues[queue];
        if q.is_raised() {
            let soft_rt = q.raise.duration == SOFT_RT_NS;
            if q.in_large_burst {
                self.end_raising(queue);
            } else if q.raise.since + q.raise.duration < self.clock.jiffy {
                if soft_rt { self.end_soft_rt(queue) } else { self.end_raising(queue) }
            }
            let raise = &self.queues[queue].raise;
            if raise.coefficient > 1 && raise.duration != SOFT_RT_NS && raise.service > MAX_START_SECTORS {
                self.end_raising(queue);
            }
        }
        let q = &self.queues[queue];
        if (q.entity.weight > q.entity.own_weight) != q.is_raised() {
            self.update_weight(queue, false);
        }
    }

    /// Returns the earliest arrival time at which the next request counts as soft real-time. If the request arrives
    /// earlier, the process either exceeds `SOFT_RT_RATE` or may be sending requests without pauses.
    fn soft_rt_next(&self, queue: usize) -> i64 {
        let q = &self.queues[queue];
        let fair_ns = self.clock.jiffies.whole(q.backlog_service * 1_000 * MS / SOFT_RT_RATE) as i64;
        let greedy_ns = self.clock.jiffies.whole(self.tunables.slice_idle) as i64 + self.clock.jiffies.ticks(4);
        q.soft_rt_next.max(q.backlog_since + fair_ns).max(self.clock.jiffy + greedy_ns)
    }

    /// Updates the soft real-time detection for a queue whose service period ends.
    pub(super) fn note_expiry(&mut self, queue: usize) {
        let next = self.soft_rt_next(queue);
        let q = &mut self.queues[queue];
        if !q.is_raised() {
            q.raise.since = self.clock.jiffy;
        }
        if q.requests.is_empty() {
            if q.dispatched == 0 {
                q.soft_rt_next = next;
            } else {
                q.soft_rt_due = true;
            }
        }
    }

    /// Updates the soft real-time detection of a queue after its last completion, if requests were pending when its
    /// service period ended.
    pub(super) fn note_completion(&mut self, queue: usize) {
        let next = self.soft_rt_next(queue);
        let q = &mut self.queues[queue];
        if q.soft_rt_due && q.dispatched == 0 && q.requests.is_empty() && q.raise.coefficient != COEFFICIENT {
            q.soft_rt_next = next;
        }
    }

    /// Returns the weight raising to save for a new queue that is merged before its first activation.
    pub(super) fn first_raise(&self) -> Raise {
        let (coefficient, duration) = (COEFFICIENT, self.start_time());
        Raise { coefficient, since: self.clock.jiffy, duration, interactive_since: NEVER, service: 0 }
    }

    /// Resumes the weight raising that was saved when the process joined a shared queue. Ends it if it has expired or
    /// if the queue belongs to a large burst. However, an expired soft real-time raising is replaced by the interactive
    /// raising that it interrupted, if that has not expired and the queue belongs to no large burst.
    pub(super) fn resume_raise(&mut self, queue: usize) {
        let start = self.start_time();
        let q = &mut self.queues[queue];
        let over = q.in_large_burst || q.raise.since + q.raise.duration < self.clock.jiffy;
        if !q.is_raised() || !over {
            return;
        }
        let soft_rt = q.raise.duration == SOFT_RT_NS && !q.in_large_burst;
        if soft_rt && q.raise.interactive_since + start >= self.clock.jiffy {
            (q.raise.coefficient, q.raise.duration) = (COEFFICIENT, start);
            q.raise.since = q.raise.interactive_since;
        } else {
            q.raise.coefficient = 1;
        }
    }
}
