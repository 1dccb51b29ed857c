//! Injection: dispatch from other queues while the device would idle for the queue in service.

use super::Bfq;
use super::queue::Inject;
use crate::MS;

/// Maximum time between a queue's completion and the activation of another queue that may have been waiting for it.
const WAKE_NS: u64 = 4 * MS;
/// Number of consecutive times that one queue must wake another to count as its waker.
const WAKES: u32 = 3;
/// Requests of at least this many sectors are not injected on an SSD while it executes other requests.
const LARGE_SECTORS: u32 = 64;
/// An injection limit is reset if it has not been lowered for this long.
const RESET_NS: i64 = 1_000 * MS as i64;
/// Minimum time after the injection limit was lowered before a changed think time may reset it.
const SETTLE_NS: i64 = 100 * MS as i64;
/// Minimum time after the injection limit was lowered before the next measurement.
const SAMPLE_APART_NS: u64 = 10 * MS;

impl Bfq {
    /// Checks if the queue whose request completed last wakes this queue. Does nothing if this queue's process has a
    /// short think time.
    pub(super) fn detect_waker(&mut self, queue: usize) {
        let q = &self.queues[queue];
        let Some(other) = self.completed_last.filter(|&other| other != queue) else { return };
        if q.think.short || self.clock.now.wrapping_sub(self.rate.last_completion) >= WAKE_NS {
            return;
        }
        let (now, over) = (self.clock.now, q.wakes_since + 128 * self.tunables.slice_idle);
        let q = &mut self.queues[queue];
        if q.maybe_waker != Some(other) || now > over {
            (q.maybe_waker, q.wakes, q.wakes_since) = (Some(other), 1, now);
        } else {
            q.wakes += 1;
        }
        if q.wakes == WAKES {
            q.maybe_waker = None;
            self.set_waker(queue, other);
        }
    }

    pub(super) fn set_waker(&mut self, queue: usize, waker: usize) {
        if let Some(old) = self.queues[queue].waker.replace(waker) {
            self.queues[old].woken.retain(|&woken| woken != queue);
        }
        self.queues[waker].woken.insert(0, queue);
    }

    pub(super) fn reset_injection(&mut self, queue: usize) {
        self.sample.request = None;
        let q = &mut self.queues[queue];
        q.inject = Inject { limit: u32::from(!q.think.short), alone_ns: 0, decreased: self.clock.jiffy };
    }

    /// If possible, starts to measure the response time of the queue's only pending request, with or without injection.
    pub(super) fn consider_sample(&mut self, queue: usize) {
        if self.queues[queue].inject.decreased + RESET_NS <= self.clock.jiffy {
            self.reset_injection(queue);
        }
        let inject = &self.queues[queue].inject;
        let alone = self.load.in_driver == 0;
        let beside = inject.alone_ns > 0 && self.sample.injected && self.load.in_driver > 0;
        let apart = inject.decreased + self.clock.jiffies.whole_up(SAMPLE_APART_NS) as i64 <= self.clock.jiffy;
        if self.in_service == Some(queue) && (alone || beside) && apart {
            self.sample.since = self.clock.now;
            self.sample.next = true;
            if alone {
                self.sample.injected = false;
            }
        }
    }

    /// Adapts the injection limit to the response time of the measured request. The caller must not have decremented
    /// `in_driver` yet.
    pub(super) fn adapt_injection(&mut self, queue: usize) {
        let took_ns = self.clock.now.wrapping_sub(self.sample.since);
        let (injected, alone) = (self.sample.injected, self.load.in_driver == 1);
        let inject = &mut self.queues[queue].inject;
        let old = inject.limit;
        if inject.alone_ns > 0 && injected {
            let limit_ns = inject.alone_ns.wrapping_mul(3) >> 1;
            if took_ns >= limit_ns && old > 0 {
                inject.limit -= 1;
                inject.decreased = self.clock.jiffy;
            } else if took_ns < limit_ns && old <= self.device.peak {
                inject.limit += 1;
            }
        }
        if (inject.alone_ns == 0 && alone) || took_ns < inject.alone_ns {
            if inject.alone_ns == 0 {
                inject.limit = old.max(1);
            }
            inject.alone_ns = took_ns;
        } else if !injected && alone {
            inject.alone_ns = took_ns;
        }
        self.sample.request = None;
        self.sample.injected = false;
    }

    /// Resets the injection limit after a change between short and long think times, unless the response time without
    /// injection is known. A change to short think times resets the limit only if the limit was not lowered or reset
    /// within the last `SETTLE_NS`.
    pub(super) fn think_changed(&mut self, queue: usize) {
        let q = &self.queues[queue];
        let settled = q.inject.decreased + SETTLE_NS <= self.clock.jiffy;
        if q.inject.alone_ns == 0 && (settled || !q.think.short) {
            self.reset_injection(queue);
        }
    }

    fn can_inject(&self, queue: usize) -> bool {
        self.queues[queue].busy && self.queues[queue].next.is_some() && self.affords_next(queue)
    }

    /// Returns the queue to inject from while the queue in service is empty.
    pub(super) fn choose_injection(&mut self, queue: usize) -> Option<usize> {
        let q = &self.queues[queue];
        // Candidates for injection: the asynchronous queue of the same process, the waker of this queue, and a queue
        // that this queue wakes.
        let own = q
            .owner
            .and_then(|pid| self.processes[&pid].queues[0])
            .filter(|&own| self.queues[own].next.is_some_and(|next| q.owner == Some(self.holders[next.slot()].pid)));
        let related = [own, q.waker, q.woken.first().copied()];
        if let Some(related) = related.into_iter().flatten().find(|&queue| self.can_inject(queue)) {
            return Some(related);
        }
        let tolerates = !q.is_raised() || self.load.raised > 1 || !q.think.short;
        if self.idling_helps(queue) || !tolerates { None } else { self.any_injection(queue) }
    }

    fn any_injection(&mut self, queue: usize) -> Option<usize> {
        let q = &self.queues[queue];
        let always = !q.is_raised() || !q.think.short;
        // The kernel mistakes the number of nanoseconds of `slice_idle` for a number of jiffies. Because of this error,
        // a queue counts as idle for long only if `slice_idle` is 0.
        let misread_idle = self.clock.jiffies.ticks(self.tunables.slice_idle);
        let waits_long = q.waited_for && self.idling.since_jiffy + misread_idle <= self.clock.jiffy;
        let limit = match q.inject.limit {
            0 if q.inject.alone_ns == 0 && waits_long => 1,
            limit => limit,
        };
        if self.load.in_driver >= limit {
            return None;
        }
        let chosen = self.service.active.iter().rev().map(|&(_, queue)| queue).find(|&other| {
            let q = &self.queues[other];
            let large = !self.device.rotational && q.next_sectors >= LARGE_SECTORS && self.load.in_driver >= 1;
            q.next.is_some() && (always || q.is_raised()) && self.affords_next(other) && !large
        });
        self.sample.injected |= chosen.is_some();
        chosen
    }
}
