//! Insertion of a request: updates the statistics of its process and the state of the queue in service.

use super::Bfq;
use super::budget::Reason;
use super::raise::MIN_IDLE_NS;
use crate::MS;
use crate::request::{Request, Requests};

/// A mean think time is reliable if its samples have more than this weight, which takes three samples.
const ENOUGH_THINK_TIMES: u64 = 80;
/// Length of the window over which the idle share of a process is measured.
const BUSY_WINDOW_NS: u64 = 200 * MS;
/// Minimum size in sectors of a request that ends idling immediately. A smaller request waits, because further requests
/// may merge with it.
const LARGE_ENOUGH_SECTORS: u32 = 32;

impl Bfq {
    /// Updates the mean think time of the queue's process: the mean time between a completion and the next request.
    pub(super) fn update_think(&mut self, queue: usize) {
        let q = &mut self.queues[queue];
        if q.dispatched == 0 && !q.busy {
            let think = &mut q.think;
            let elapsed = self.clock.now.wrapping_sub(think.last_end).min(2 * self.tunables.slice_idle);
            think.samples = (7 * think.samples + 256) / 8;
            think.total = (7 * think.total + 256 * elapsed) / 8;
            think.mean_ns = (think.total + 128) / think.samples;
        }
        let just_split = q.split + MIN_IDLE_NS >= self.clock.jiffy;
        if !q.sync || q.is_idle_class() || self.tunables.slice_idle == 0 || just_split {
            return;
        }
        let short = q.think.samples <= ENOUGH_THINK_TIMES || q.think.mean_ns <= self.tunables.slice_idle / 2;
        if std::mem::replace(&mut q.think.short, short) != short {
            self.think_changed(queue);
        }
    }

    /// Sets `io_bound` if the process has requests pending at least 80 % of the time.
    pub(super) fn update_busy_share(&mut self, queue: usize) {
        let now = self.clock.now;
        let q = &mut self.queues[queue];
        let think = &mut q.think;
        let window_ns = now.wrapping_sub(think.since);
        if q.requests.is_empty() && q.dispatched == 0 {
            think.idle_ns = think.idle_ns.wrapping_add(now.wrapping_sub(think.last_end));
        }
        if q.just_created {
            return;
        }
        think.io_bound = think.idle_ns.wrapping_mul(5) <= window_ns;
        if window_ns > BUSY_WINDOW_NS {
            think.since = now.wrapping_sub(window_ns / 2);
            think.idle_ns >>= 1;
        }
    }

    pub(super) fn add(&mut self, queue: usize, rq: &Request, requests: &Requests) {
        let sync = rq.is_sync();
        self.load.queued += 1;
        self.queues[queue].queued += 1;
        let was_raised = self.queues[queue].is_raised();
        if self.queues[queue].sync {
            if self.processes[&rq.pid].requests <= 1 {
                self.detect_waker(queue);
                self.consider_sample(queue);
            }
            self.update_busy_share(queue);
        }
        self.queues[queue].requests.push(rq, self.clock.now + self.tunables.fifo_expire[usize::from(sync)]);
        let before = self.queues[queue].next;
        let next = self.tunables.order.choose([before, Some(rq.id)], self.last_position, requests);
        if before != next {
            self.set_next(queue, next, requests);
            self.update_position(queue);
        }
        let mut interactive = false;
        if !self.queues[queue].busy {
            interactive = self.begin_backlog(queue, rq.pid);
        } else {
            if !sync {
                self.raise_async(queue);
            }
            if before != next {
                self.next_changed(queue);
            }
        }
        let q = &mut self.queues[queue];
        if self.tunables.low_latency && (!was_raised || !q.is_raised() || interactive) {
            q.raise.since = self.clock.jiffy;
        }
    }

    /// Activates a queue that was empty; returns true if its process is interactive.
    pub(super) fn begin_backlog(&mut self, queue: usize, pid: u32) -> bool {
        let in_time = self.clock.now <= self.queues[queue].think.last_end + 3 * self.tunables.slice_idle;
        let arrival = self.classify_arrival(queue, self.processes[&pid].stably_merged);
        let recovers = self.activation_budget(queue, in_time);
        self.queues[queue].just_created = false;
        let interactive = self.raise(queue, arrival);
        let q = &mut self.queues[queue];
        (q.backlog_since, q.backlog_service, q.soft_rt_due) = (self.clock.jiffy, 0, false);
        self.add_busy(queue);
        if let Some(current) = self.in_service {
            let [new, old] = [queue, current].map(|queue| &self.queues[queue]);
            let recovers = recovers && new.raise.coefficient >= old.raise.coefficient;
            let higher = new.entity.class < old.entity.class || new.entity.weight > old.entity.weight;
            if (recovers || higher || !self.better_to_idle(current)) && self.service.next != self.service.current {
                self.expire(current, Reason::Preempted, self.clock.now);
            }
        }
        interactive
    }

    /// Ends idling for `queue` if `rq` is the awaited request and is not expected to grow by further merges.
    pub(super) fn stop_idling(&mut self, queue: usize, rq: &Request) {
        let q = &mut self.queues[queue];
        q.last_position = rq.end();
        if self.in_service != Some(queue) || !q.waited_for {
            return;
        }
        let small = q.queued == 1 && rq.sectors < LARGE_ENOUGH_SECTORS;
        let timed_out = self.is_timed_out(queue);
        if small && !timed_out && self.idling_helps(queue) {
            return;
        }
        self.end_idling(queue);
        if timed_out {
            self.expire(queue, Reason::Timeout, self.clock.now);
        }
    }
}
