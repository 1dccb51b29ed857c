//! How many sectors a queue may be served at a time, what it is charged, and when its turn ends.

use super::Bfq;
use super::idle::SHORT_IDLE_NS;
use crate::MS;
use crate::request::Request;

/// Asynchronous service counts so many times.
const ASYNC_CHARGE: u64 = 3;
/// Largest budget until the device is known, in sectors.
pub(super) const DEFAULT_BUDGET: u64 = 16 * 1024;
/// Budgets assigned, as a decaying mean of 256, from which on the largest budget follows the device.
const ENOUGH_BUDGETS: u64 = 194;
/// A turn that took less does not tell how fast a queue is; one that took more does.
const MIN_TURN_US: u32 = 1_000;
const TELLING_TURN_US: u32 = 20_000;
/// A request farther from the one before is far; on a device without moving parts, only if it is small.
const FAR_SECTORS: u64 = 800;
const SMALL_SECTORS: u32 = 64;

/// Why a turn ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// It was waited for in vain.
    TooIdle,
    Timeout,
    Exhausted,
    NoMoreRequests,
    Preempted,
}

impl Bfq {
    /// What dispatching its next request costs a queue.
    pub(super) fn charge(&self, queue: usize) -> u64 {
        let q = &self.queues[queue];
        let once = q.sync || q.is_raised() || self.is_asymmetric(queue);
        u64::from(q.next_sectors) * if once { 1 } else { ASYNC_CHARGE }
    }

    /// Whether the budget of a queue suffices for its next request.
    pub(super) fn affords_next(&self, queue: usize) -> bool {
        self.charge(queue) as i64 <= self.queues[queue].budget_left()
    }

    /// Whether a request is far from where the one before ended, if there was one.
    pub(super) fn is_far(&self, last: u64, rq: &Request) -> bool {
        let small = self.device.rotational || rq.sectors < SMALL_SECTORS;
        last != 0 && rq.start.abs_diff(last) > FAR_SECTORS && small
    }

    /// The largest budget of a new queue.
    pub(super) fn first_budget(&self) -> u64 {
        2 * if self.budgets < ENOUGH_BUDGETS { DEFAULT_BUDGET } else { self.max_budget } / 3
    }

    pub(super) fn min_budget(&self) -> u64 {
        if self.budgets < ENOUGH_BUDGETS { DEFAULT_BUDGET / 32 } else { self.max_budget / 32 }
    }

    /// The budget of a queue that has got another next request has to suffice for it.
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

    /// Sets the budget of a queue that gets a request again. Whether it goes on with the one it has, as if it had not
    /// run empty; then it may preempt the queue in service.
    pub(super) fn activation_budget(&mut self, queue: usize, in_time: bool) -> bool {
        let charge = self.charge(queue);
        let q = &mut self.queues[queue];
        let left = q.budget_left();
        if q.returns && in_time && left > 0 {
            q.entity.budget = q.max_budget.min(left as u64);
            q.entity.service = 0;
            return true;
        }
        q.entity.service = 0;
        q.entity.budget = q.max_budget.max(charge);
        q.returns = false;
        false
    }

    /// Starts the clock of a turn.
    pub(super) fn begin_turn(&mut self, queue: usize) {
        self.budgets = (7 * self.budgets + 256) / 8;
        let jiffy = self.jiffy;
        let rt_time = self.soft_rt_time();
        let q = &mut self.queues[queue];
        q.fifo_checked = false;
        let soft_rt = q.raise.most == rt_time;
        if q.raise.since < jiffy && q.is_raised() && soft_rt && q.timeout < jiffy {
            // What a soft real-time queue waits for service does not use up its time.
            q.raise.since = if q.timeout > q.raise.since { q.raise.since + jiffy - q.timeout } else { jiffy };
        }
        let times = if soft_rt { 1 } else { q.entity.weight / q.entity.own_weight };
        q.timeout = jiffy + self.timeout_ns as i64 * times as i64;
        self.turn_since = self.now;
        self.last_position_in_turn = 0;
    }

    pub(super) fn is_timed_out(&self, queue: usize) -> bool {
        self.queues[queue].timeout <= self.jiffy
    }

    /// A queue that is waited for keeps its turn if it has used most of its budget.
    pub(super) fn may_time_out(&self, queue: usize) -> bool {
        let q = &self.queues[queue];
        let much_left = q.budget_left() >= (q.entity.budget / 3) as i64;
        (!q.waited_for || much_left) && self.is_timed_out(queue)
    }

    /// Whether a queue is slow, and for how many milliseconds it was in service.
    fn slowness(&self, queue: usize, until: u64) -> (bool, u64) {
        let q = &self.queues[queue];
        if !q.sync {
            return (false, 0);
        }
        // Negative where the clock of a plug lags behind; then the turn counts as a long one, as in the kernel.
        let turn_us = ((until as i64 - self.turn_since as i64) / 1_000) as u32;
        if turn_us < MIN_TURN_US {
            // At least a seek.
            let ms = if self.device.rotational { 8 } else { SHORT_IDLE_NS / MS };
            return (q.is_seeky(), ms);
        }
        let slow = if turn_us > TELLING_TURN_US { q.entity.service < self.max_budget / 2 } else { q.is_seeky() };
        (slow, u64::from(turn_us / 1_000))
    }

    /// Charges a queue for time: as many sectors as the device would have transferred.
    fn charge_time(&mut self, queue: usize, ms: u64) {
        let full_ms = self.jiffies.whole(125 * MS) / MS;
        let entity = &mut self.queues[queue].entity;
        let charge = (self.max_budget * ms.min(full_ms) / full_ms).max(entity.service);
        entity.budget = entity.budget.max(charge);
        let more = charge - entity.service;
        self.served(queue, more);
    }

    /// Ends the turn of the queue in service, which was served until a time.
    pub(super) fn expire(&mut self, queue: usize, reason: Reason, until: u64) {
        let (slow, ms) = self.slowness(queue, until);
        let q = &self.queues[queue];
        let unused = q.budget_left() >= (q.entity.budget / 3) as i64;
        if !q.is_raised() && (slow || (reason == Reason::Timeout && unused)) {
            self.charge_time(queue, ms);
        }
        if self.low_latency {
            self.note_expiry(queue);
        }
        self.injected = false;
        self.sample_next = false;
        self.sampled = None;
        self.adapt_budget(queue, reason);
        self.put_back(queue, reason);
        let q = &mut self.queues[queue];
        if !q.busy && !matches!(reason, Reason::Timeout | Reason::Exhausted) {
            // What it was charged counts if it returns soon.
            q.returns = true;
        } else {
            q.entity.service = 0;
        }
    }

    /// Takes the queue in service out of service.
    fn put_back(&mut self, queue: usize, reason: Reason) {
        let fair = self.idling_is_fair(queue);
        let jiffy = self.jiffy;
        let q = &mut self.queues[queue];
        if q.shared && q.is_seeky() {
            q.to_split = true;
        }
        // A queue that is preempted while it has to be waited for is served again before others.
        if q.requests.is_empty() && !(reason == Reason::Preempted && fair) {
            if q.dispatched == 0 {
                q.timeout = jiffy;
            }
            self.leave(queue, true);
        } else {
            self.requeue(queue, true);
            self.update_position(queue);
        }
        self.end_idling(queue);
        self.in_service = None;
        self.service.end();
    }

    /// The next budget of a queue follows from how this one ended.
    fn adapt_budget(&mut self, queue: usize, reason: Reason) {
        let min = self.min_budget();
        let q = &self.queues[queue];
        let raised = q.is_raised();
        let budget = if raised { 2 * min } else { q.max_budget };
        let budget = if q.sync && !raised {
            match reason {
                Reason::TooIdle if q.dispatched > 0 => (2 * budget).min(self.max_budget),
                Reason::TooIdle if budget > 5 * min => budget - 4 * min,
                Reason::TooIdle => min,
                Reason::Timeout => (2 * budget).min(self.max_budget),
                Reason::Exhausted => (4 * budget).min(self.max_budget),
                Reason::NoMoreRequests => q.entity.service.max(min),
                Reason::Preempted => return,
            }
        } else if q.sync {
            budget
        } else {
            self.max_budget
        };
        let adapts = self.budgets >= ENOUGH_BUDGETS && !self.fixed_budget;
        let budget = if adapts { budget.min(self.max_budget) } else { budget };
        let charge = self.charge(queue);
        let q = &mut self.queues[queue];
        q.max_budget = budget;
        if q.next.is_some() {
            q.entity.budget = budget.max(charge);
        }
    }

    /// A queue begins to take part.
    pub(super) fn join(&mut self, queue: usize) {
        let awaited = std::mem::take(&mut self.queues[queue].returns);
        self.activate(queue, awaited);
        let q = &mut self.queues[queue];
        q.busy = true;
        self.busy[q.entity.class] += 1;
        let (raised, dispatched, waker) = (q.is_raised(), q.dispatched, q.waker);
        if dispatched == 0 && !raised {
            self.count_weight(queue);
        }
        self.raised_busy += u32::from(raised);
        if let Some(waker) = waker {
            let woken = &mut self.queues[waker].woken;
            woken.retain(|&other| other != queue);
            woken.insert(0, queue);
        }
    }

    /// A queue without requests takes part no longer.
    pub(super) fn leave(&mut self, queue: usize, expires: bool) {
        let q = &mut self.queues[queue];
        q.busy = false;
        self.busy[q.entity.class] -= 1;
        self.raised_busy -= u32::from(q.is_raised());
        self.deactivate(queue, expires);
        if self.queues[queue].dispatched == 0 {
            self.uncount_weight(queue);
        }
    }

    pub(super) fn busy_queues(&self) -> u32 {
        self.busy.iter().sum()
    }
}
