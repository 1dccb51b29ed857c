//! Dispatch: selects the queue in service, and the next request within a queue.

use super::Bfq;
use super::budget::Reason;
use crate::request::{Request, RequestId, Requests};

impl Bfq {
    /// Returns the queue to dispatch from; `None` while the device is kept idle or no request waits.
    pub(super) fn select(&mut self, requests: &Requests) -> Option<usize> {
        let timed_out = |queue: &usize| self.may_time_out(*queue) && !self.must_idle(*queue);
        if let Some(queue) = self.in_service.filter(timed_out) {
            self.expire(queue, Reason::Timeout, self.clock.now);
        }
        loop {
            let queue = match self.in_service {
                Some(queue) => queue,
                None => {
                    let queue = self.take_next()?;
                    self.in_service = Some(queue);
                    self.begin_turn(queue);
                    queue
                }
            };
            let reason = if let Some(next) = self.queues[queue].next {
                // The next request may have grown by merges since it was chosen, so the queue is updated.
                self.set_next(queue, Some(next), requests);
                if self.affords_next(queue) {
                    self.end_idling(queue);
                    return Some(queue);
                }
                Reason::Exhausted
            } else {
                let q = &self.queues[queue];
                if q.waited_for || (q.dispatched > 0 && self.better_to_idle(queue)) {
                    return self.choose_injection(queue);
                }
                Reason::NoMoreRequests
            };
            self.expire(queue, reason, self.clock.now);
        }
    }

    /// Returns the next request of a queue after request `leaving` leaves the queue. The first call of each service
    /// period returns the oldest request if it has expired.
    pub(super) fn find_next(&mut self, queue: usize, leaving: &Request, requests: &Requests) -> Option<RequestId> {
        let q = &mut self.queues[queue];
        if !std::mem::replace(&mut q.fifo_checked, true) {
            let overdue = q.requests.fifo.overdue(self.clock.now + 1).filter(|&id| id != leaving.id);
            if overdue.is_some() {
                return overdue;
            }
        }
        let neighbours = self.queues[queue].requests.neighbours(leaving.id);
        self.tunables.order.choose(neighbours, leaving.start, requests)
    }

    /// Updates the queue's next request and its counts just before `rq` leaves the queue.
    pub(super) fn forget_request(&mut self, queue: usize, rq: &Request, requests: &Requests) {
        if self.queues[queue].next == Some(rq.id) {
            let next = self.find_next(queue, rq, requests);
            self.set_next(queue, next, requests);
            self.next_changed(queue);
        }
        self.load.queued -= 1;
        self.queues[queue].queued -= 1;
    }

    /// Updates a queue after a request was removed from it; the queue may now be empty.
    pub(super) fn after_removal(&mut self, queue: usize) {
        if self.queues[queue].requests.is_empty() {
            if self.queues[queue].busy && self.in_service != Some(queue) {
                self.remove_busy(queue, false);
                let entity = &mut self.queues[queue].entity;
                (entity.budget, entity.service) = (0, 0);
            }
            if let Some(position) = self.queues[queue].position.take() {
                self.positions.remove(&position);
            }
        } else {
            self.update_position(queue);
        }
    }

    pub(super) fn serve(&mut self, queue: usize, requests: &Requests) -> Option<RequestId> {
        let id = self.queues[queue].next?;
        let (rq, in_service) = (&requests[id], self.in_service == Some(queue));
        let charge = self.charge(queue);
        self.served(queue, charge);
        if in_service && std::mem::take(&mut self.sample.next) {
            self.sample.request = Some(id);
        }
        self.queues[queue].dispatched += 1;
        self.sample_rate(rq, in_service);
        self.forget_request(queue, rq, requests);
        self.queues[queue].requests.remove(id);
        self.after_removal(queue);
        if in_service {
            self.lower(queue);
            if self.busy_queues() > 1 && self.queues[queue].is_idle_class() {
                self.expire(queue, Reason::Exhausted, self.clock.now);
            }
        }
        self.load.in_driver += 1;
        Some(id)
    }
}
