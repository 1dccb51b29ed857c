//! BFQ told what the kernel did.

#![cfg(test)]

use super::budget::Reason;
use super::*;
use crate::elevator::oracle::{JIFFY_NS, Proposal, Replayed};

pub fn model(changes: &[(String, u64)], device: &Device) -> Bfq {
    Bfq::new(&INFO.settings(changes).unwrap(), device)
}

impl Replayed for Bfq {
    fn propose(&mut self, requests: &Requests, now: u64) -> Option<Proposal> {
        self.at(now);
        if self.strict && self.in_driver > 0 {
            return None;
        }
        let queue = self.select(requests)?;
        self.queues[queue].next.map(|id| Proposal { id, state: [queue as u64, 0, 0] })
    }

    fn follow(&mut self, id: RequestId, proposal: Option<Proposal>, requests: &Requests, now: u64) {
        self.at(now);
        let queue = self.queue_of(&requests[id]);
        if proposal.is_none_or(|proposal| proposal.state[0] != queue as u64) && self.in_service != Some(queue) {
            if let Some(current) = self.in_service {
                self.expire(current, Reason::Preempted, now);
            }
            self.service.set_next(queue);
            self.in_service = self.take_next();
            self.begin_turn(queue);
        }
        if self.queues[queue].next != Some(id) {
            self.set_next(queue, Some(id), requests);
        }
        self.serve(queue, requests);
    }

    fn tick(&mut self, phase_ns: u64) {
        self.jiffies = Jiffies::new(JIFFY_NS, phase_ns);
    }

    fn group(&mut self, pid: u32, weight: u64) {
        self.groups.insert(pid, weight);
    }
}
