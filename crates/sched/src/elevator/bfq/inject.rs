//! Requests of other queues while the queue in service is empty and waited for.

use super::Bfq;
use crate::MS;
use crate::request::RequestId;

/// A queue that goes on so soon after another one's completion may have waited for it.
const WAKE_NS: u64 = 4 * MS;
/// So often in a row it has.
const WAKES: u32 = 3;
/// Requests of so many sectors are large.
const LARGE_SECTORS: u32 = 64;
const RESET_NS: u64 = 1_000 * MS;
const SETTLE_NS: u64 = 100 * MS;
const SAMPLE_APART_NS: u64 = 10 * MS;

impl Bfq {
    /// Finds out whether a process that thinks long goes on when another one's request ends.
    pub(super) fn look_for_waker(&mut self, queue: usize) {
        let q = &self.queues[queue];
        let Some(other) = self.completed_last.filter(|&other| other != queue) else { return };
        if q.think.short || self.now.wrapping_sub(self.rate.last_completion) >= WAKE_NS {
            return;
        }
        let (now, over) = (self.now, q.wakes_since + 128 * self.slice_idle);
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
        self.sampled = None;
        let jiffy = self.jiffy;
        let q = &mut self.queues[queue];
        q.inject.alone_ns = 0;
        q.inject.limit = u32::from(!q.think.short);
        q.inject.decreased = jiffy;
    }

    /// A request comes that is the only one of its process: perhaps the right one to measure what injection costs.
    pub(super) fn consider_sample(&mut self, queue: usize) {
        if self.queues[queue].inject.decreased + RESET_NS as i64 <= self.jiffy {
            self.reset_injection(queue);
        }
        let inject = &self.queues[queue].inject;
        let alone = self.in_driver == 0;
        let beside = inject.alone_ns > 0 && self.injected && self.in_driver > 0;
        let apart = inject.decreased + self.jiffies.whole_up(SAMPLE_APART_NS) as i64 <= self.jiffy;
        if self.in_service == Some(queue) && (alone || beside) && apart {
            self.sample_since = self.now;
            self.sample_next = true;
            if alone {
                self.injected = false;
            }
        }
    }

    /// The request measured has ended; called before it is taken off.
    pub(super) fn adapt_injection(&mut self, queue: usize) {
        let took_ns = self.now.wrapping_sub(self.sample_since);
        let (jiffy, injected, alone) = (self.jiffy, self.injected, self.in_driver == 1);
        let peak = self.device.peak;
        let inject = &mut self.queues[queue].inject;
        let old = inject.limit;
        if inject.alone_ns > 0 && injected {
            let much_ns = inject.alone_ns.wrapping_mul(3) >> 1;
            if took_ns >= much_ns && old > 0 {
                inject.limit -= 1;
                inject.decreased = jiffy;
            } else if took_ns < much_ns && old <= peak {
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
        self.sampled = None;
        self.injected = false;
    }

    /// A think time has become short, or long.
    pub(super) fn think_changed(&mut self, queue: usize) {
        let q = &self.queues[queue];
        let settled = q.inject.decreased + SETTLE_NS as i64 <= self.jiffy;
        if q.inject.alone_ns == 0 && (settled || !q.think.short) {
            self.reset_injection(queue);
        }
    }

    fn can_inject(&self, queue: usize) -> bool {
        self.queues[queue].busy && self.queues[queue].next.is_some() && self.affords_next(queue)
    }

    /// The queue that may be served while one in service is empty.
    pub(super) fn choose_injection(&mut self, queue: usize) -> Option<usize> {
        let q = &self.queues[queue];
        // Asynchronous requests of the same process, what it waits for, and what waits for it.
        let own = q
            .owner
            .and_then(|pid| self.processes[&pid].queues[0])
            .filter(|&own| self.queues[own].next.is_some_and(|next| q.owner == Some(self.pid_of(next))));
        let related = [own, q.waker, q.woken.first().copied()];
        if let Some(related) = related.into_iter().flatten().find(|&queue| self.can_inject(queue)) {
            return Some(related);
        }
        let tolerates = !q.is_raised() || self.raised_busy > 1 || !q.think.short;
        if self.idling_helps(queue) || !tolerates { None } else { self.any_injection(queue) }
    }

    fn any_injection(&mut self, queue: usize) -> Option<usize> {
        let q = &self.queues[queue];
        let always = !q.is_raised() || !q.think.short;
        let waits_long = q.waited_for && self.idling_since_jiffy + self.slice_idle_jiffies() <= self.jiffy;
        let limit = match q.inject.limit {
            0 if q.inject.alone_ns == 0 && waits_long => 1,
            limit => limit,
        };
        if self.in_driver >= limit {
            return None;
        }
        let chosen = self.service.active.iter().rev().map(|&(_, queue)| queue).find(|&other| {
            let q = &self.queues[other];
            let large = !self.device.rotational && q.next_sectors >= LARGE_SECTORS && self.in_driver >= 1;
            q.next.is_some() && (always || q.is_raised()) && self.affords_next(other) && !large
        });
        self.injected |= chosen.is_some();
        chosen
    }

    /// The kernel adds nanoseconds to jiffies here, so that the wait never counts as long unless there is none.
    fn slice_idle_jiffies(&self) -> i64 {
        self.jiffies.ticks(self.slice_idle)
    }

    fn pid_of(&self, id: RequestId) -> u32 {
        self.holders[id.slot()].pid
    }
}
