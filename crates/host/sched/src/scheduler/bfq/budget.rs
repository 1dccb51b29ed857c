//! Budgets: the sectors that a queue may transfer in a service period, the charges for its requests, and the end of the
//! service period.

use super::idle::SHORT_IDLE_NS;
use super::raise::SOFT_RT_NS;
use super::{Bfq, InjectionSample};
use crate::MS;
use crate::request::Request;

/// Factor by which the charge for an asynchronous request is multiplied.
const ASYNC_CHARGE: u64 = 3;
/// Maximum budget in sectors until the rate of the device has been estimated.
pub(super) const DEFAULT_BUDGET: u64 = 16 * 1024;
/// Value that `Bfq::budgets` must reach before the maximum budget follows the estimated rate of the device; this takes
/// 11 service periods.
const ENOUGH_BUDGETS: u64 = 194;
/// Minimum duration of a measured service period. For a shorter period, the queue is charged a fixed time.
const MIN_TURN_US: u32 = 1_000;
/// Service periods of at most this duration are too short for measuring the bandwidth of a queue.
const SHORT_TURN_US: u32 = 20_000;
/// Distance from the previous request above which a request counts as a seek.
const FAR_SECTORS: u64 = 800;
/// Requests of at least this many sectors never count as seeks on an SSD.
const SMALL_SECTORS: u32 = 64;

/// Reason why the service period of a queue ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// The idling period ended, and the queue was still empty.
    TooIdle,
    Timeout,
    /// The queue has used up its budget.
    Exhausted,
    NoMoreRequests,
    Preempted,
}

impl Bfq {
    /// Returns the charge for dispatching the queue's next request, in sectors.
    pub(super) fn charge(&self, queue: usize) -> u64 {
        let q = &self.queues[queue];
        let once = q.sync || q.is_raised() || self.is_asymmetric(queue);
        u64::from(q.next_sectors) * if once { 1 } else { ASYNC_CHARGE }
    }

    /// True if the queue's budget suffices for its next request.
    pub(super) fn affords_next(&self, queue: usize) -> bool {
        self.charge(queue) as i64 <= self.queues[queue].budget_left()
    }

    /// True if a request counts as a seek; `last` is the end sector of the previous request, 0 if there was none.
    pub(super) fn is_far(&self, last: u64, rq: &Request) -> bool {
        let small = self.device.rotational || rq.sectors < SMALL_SECTORS;
        last != 0 && rq.start.abs_diff(last) > FAR_SECTORS && small
    }

    /// Returns the initial `max_budget` of a queue.
    pub(super) fn first_budget(&self) -> u64 {
        2 * if self.budgets < ENOUGH_BUDGETS { DEFAULT_BUDGET } else { self.max_budget } / 3
    }

    pub(super) fn min_budget(&self) -> u64 {
        if self.budgets < ENOUGH_BUDGETS { DEFAULT_BUDGET / 32 } else { self.max_budget / 32 }
    }

    /// Adjusts the budget of a queue that is not in service after its next request has changed, so that the budget
    /// covers this request.
    pub(super) fn next_changed(&mut self, queue: usize) {
        if self.in_service == Some(queue) || self.queues[queue].next.is_none() {
            return;
        }
        let charge = self.charge(queue);
        let q = &mut self.queues[queue];
        let budget = q.max_budget.max(charge).max(q.entity.service);
        if q.entity.budget != budget {
            q.entity.budget = budget;
            self.requeue(queue, false);
        }
    }

    /// Sets the budget of a queue that becomes active. Returns true if the queue came back soon enough to keep the rest
    /// of its budget; such a queue may preempt the queue in service.
    pub(super) fn activation_budget(&mut self, queue: usize, in_time: bool) -> bool {
        let charge = self.charge(queue);
        let q = &mut self.queues[queue];
        let left = q.budget_left();
        q.returns &= in_time && left > 0;
        q.entity.budget = if q.returns { q.max_budget.min(left as u64) } else { q.max_budget.max(charge) };
        q.entity.service = 0;
        q.returns
    }

    /// Starts the service period of a queue.
    pub(super) fn begin_turn(&mut self, queue: usize) {
        self.budgets = (7 * self.budgets + 256) / 8;
        let jiffy = self.clock.jiffy;
        let q = &mut self.queues[queue];
        q.fifo_checked = false;
        let soft_rt = q.raise.duration == SOFT_RT_NS;
        if q.raise.since < jiffy && q.is_raised() && soft_rt && q.timeout < jiffy {
            // Time spent waiting for service does not count towards soft real-time raising.
            q.raise.since = if q.timeout > q.raise.since { q.raise.since + jiffy - q.timeout } else { jiffy };
        }
        let times = if soft_rt { 1 } else { q.entity.weight / q.entity.own_weight };
        q.timeout = jiffy + self.tunables.timeout_ns as i64 * times as i64;
        self.turn_since = self.clock.now;
        self.last_position_in_turn = 0;
    }

    pub(super) fn is_timed_out(&self, queue: usize) -> bool {
        self.queues[queue].timeout <= self.clock.jiffy
    }

    /// True if the timeout may end the service period of the queue. The timeout has no effect while the device idles
    /// for a queue that has used more than two thirds of its budget.
    pub(super) fn may_time_out(&self, queue: usize) -> bool {
        let q = &self.queues[queue];
        let much_left = q.budget_left() >= (q.entity.budget / 3) as i64;
        (!q.waited_for || much_left) && self.is_timed_out(queue)
    }

    /// Returns whether the queue is slow, and its time in service in milliseconds.
    fn slowness(&self, queue: usize, until: u64) -> (bool, u64) {
        let q = &self.queues[queue];
        if !q.sync {
            return (false, 0);
        }
        // The clock may be behind the start of the service period. As in the kernel, the negative difference is stored
        // as an unsigned number, so the period seems very long.
        let turn_us = ((until as i64 - self.turn_since as i64) / 1_000) as u32;
        if turn_us < MIN_TURN_US {
            // A queue whose service period is shorter than the minimum is charged a fixed time, on a disk at least the
            // time of one seek.
            let ms = if self.device.rotational { 8 } else { SHORT_IDLE_NS / MS };
            return (q.is_seeky(), ms);
        }
        let slow = if turn_us > SHORT_TURN_US { q.entity.service < self.max_budget / 2 } else { q.is_seeky() };
        (slow, u64::from(turn_us / 1_000))
    }

    /// Charges a queue for its time in service, in proportion to the budget of a full service period.
    fn charge_time(&mut self, queue: usize, ms: u64) {
        let full_ms = self.clock.jiffies.whole(125 * MS) / MS;
        let entity = &mut self.queues[queue].entity;
        let charge = (self.max_budget * ms.min(full_ms) / full_ms).max(entity.service);
        entity.budget = entity.budget.max(charge);
        let extra = charge - entity.service;
        self.served(queue, extra);
    }

    /// Ends the service period of the queue in service; `until` is the time when the period ended.
    pub(super) fn expire(&mut self, queue: usize, reason: Reason, until: u64) {
        let (slow, ms) = self.slowness(queue, until);
        let q = &self.queues[queue];
        let unused = q.budget_left() >= (q.entity.budget / 3) as i64;
        if !q.is_raised() && (slow || (reason == Reason::Timeout && unused)) {
            self.charge_time(queue, ms);
        }
        if self.tunables.low_latency {
            self.note_expiry(queue);
        }
        self.sample = InjectionSample::default();
        self.adapt_budget(queue, reason);
        self.put_back(queue, reason);
        let q = &mut self.queues[queue];
        if !q.busy && !matches!(reason, Reason::Timeout | Reason::Exhausted) {
            // Keeps the number of charged sectors in case the queue soon becomes active again.
            q.returns = true;
        } else {
            q.entity.service = 0;
        }
    }

    /// Takes a queue out of service and puts it back into its service tree.
    fn put_back(&mut self, queue: usize, reason: Reason) {
        let fair = self.idling_is_fair(queue);
        let q = &mut self.queues[queue];
        q.to_split |= q.shared && q.is_seeky();
        // A queue that needs idling for fairness and was preempted stays active even if it is empty.
        if q.requests.is_empty() && !(reason == Reason::Preempted && fair) {
            if q.dispatched == 0 {
                q.timeout = self.clock.jiffy;
            }
            self.remove_busy(queue, true);
        } else {
            self.requeue(queue, true);
            self.update_position(queue);
        }
        self.end_idling(queue);
        self.in_service = None;
        self.service.current = None;
    }

    /// Adapts the queue's budget, depending on why its service period ended.
    fn adapt_budget(&mut self, queue: usize, reason: Reason) {
        let min = self.min_budget();
        let q = &self.queues[queue];
        let old = q.max_budget;
        let budget = match reason {
            _ if !q.sync => self.max_budget,
            _ if q.is_raised() => 2 * min,
            Reason::TooIdle if q.dispatched > 0 => (2 * old).min(self.max_budget),
            Reason::TooIdle if old > 5 * min => old - 4 * min,
            Reason::TooIdle => min,
            Reason::Timeout => (2 * old).min(self.max_budget),
            Reason::Exhausted => (4 * old).min(self.max_budget),
            Reason::NoMoreRequests => q.entity.service.max(min),
            Reason::Preempted => return,
        };
        let adapts = self.budgets >= ENOUGH_BUDGETS && !self.tunables.fixed_budget;
        let budget = if adapts { budget.min(self.max_budget) } else { budget };
        let charge = self.charge(queue);
        let q = &mut self.queues[queue];
        q.max_budget = budget;
        if q.next.is_some() {
            q.entity.budget = budget.max(charge);
        }
    }

    /// Marks a queue as busy (`bfq_add_bfqq_busy`).
    pub(super) fn add_busy(&mut self, queue: usize) {
        let non_blocking = std::mem::take(&mut self.queues[queue].returns);
        self.activate(queue, non_blocking);
        let q = &mut self.queues[queue];
        q.busy = true;
        self.load.busy[q.entity.class] += 1;
        let (raised, dispatched, waker) = (q.is_raised(), q.dispatched, q.waker);
        if dispatched == 0 && !raised {
            self.count_weight(queue);
        }
        self.load.raised += u32::from(raised);
        if let Some(waker) = waker {
            let woken = &mut self.queues[waker].woken;
            woken.retain(|&other| other != queue);
            woken.insert(0, queue);
        }
    }

    /// Marks a queue without requests as no longer busy (`bfq_del_bfqq_busy`).
    pub(super) fn remove_busy(&mut self, queue: usize, expires: bool) {
        let q = &mut self.queues[queue];
        q.busy = false;
        self.load.busy[q.entity.class] -= 1;
        self.load.raised -= u32::from(q.is_raised());
        self.deactivate(queue, expires);
        if self.queues[queue].dispatched == 0 {
            self.uncount_weight(queue);
        }
    }

    pub(super) fn busy_queues(&self) -> u32 {
        self.load.busy.iter().sum()
    }
}
