//! BFQ told what the kernel did.

#![cfg(test)]

use super::budget::Reason;
use super::*;
use crate::bio::Priority;
use crate::elevator::oracle::{JIFFY_NS, Likeness, Proposal, Raised, Replayed};

pub fn model(changes: &[(String, u64)], device: &Device) -> Bfq {
    Bfq::new(&crate::elevator::tunables(&INFO, changes).unwrap(), device)
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

    fn raise_as(&mut self, id: RequestId, told: Raised, requests: &Requests) -> Likeness {
        let queue = self.queue_of(&requests[id]);
        let since = self.jiffies.last(told.asked) as i64 - told.lasted_ns as i64;
        let (q, most) = (&mut self.queues[queue], told.most_ns as i64);
        let (raise, was_raised) = (q.raise, q.is_raised());
        if raise.coefficient != told.coefficient {
            (q.raise.coefficient, q.entity.changed) = (told.coefficient, true);
            self.raised_busy += u32::from(told.coefficient > 1);
            self.raised_busy -= u32::from(was_raised);
        }
        if told.coefficient > 1 {
            (q.raise.since, q.raise.most) = (since, most);
        }
        let apart = raise.since.abs_diff(since);
        match raise.coefficient == told.coefficient {
            true if told.coefficient == 1 || (raise.most == most && apart == 0) => Likeness::Same,
            true if raise.most == most && apart == JIFFY_NS => Likeness::JiffyApart,
            _ => Likeness::Other,
        }
    }

    fn tick(&mut self, phase_ns: u64) -> bool {
        self.jiffies = Jiffies::new(JIFFY_NS, phase_ns);
        true
    }

    fn stop_clock(&mut self, clock: Option<u64>) {
        self.clock = clock;
    }

    fn group(&mut self, pid: u32, weight: u64) {
        self.groups.insert(pid, weight);
    }
}

/// A task whose plug holds its clock back ends a turn that began later, by the clock of another processor. The kernel keeps
/// the difference without a sign: -8 us are 4,294,967,288 us. So the turn counts as slow and is charged a whole budget.
#[test]
fn a_turn_that_ends_before_it_began_is_charged_whole() {
    const BEGAN: u64 = 100_000_000_000;
    let device = Device { sectors: u64::MAX, rotational: true, nr_requests: 256, queues: 1 };
    for (clock, budget) in [(BEGAN + 8_700, 2 * 16_384 / 3), (BEGAN - 8_700, 16_384)] {
        let mut bfq = model(&[("low_latency".to_owned(), 0)], &device);
        let mut requests = Requests::default();
        let (direction, flags, priority) = (Direction::Read, Flags::NONE, Priority::default());
        let bio = Bio { start: 8, sectors: 8, direction, flags, pid: 1, priority, owner: 0 };
        let id = requests.allocate(bio, 1, 0, BEGAN);
        bfq.insert(&requests[id], &requests, BEGAN);
        let proposal = bfq.propose(&requests, BEGAN);
        bfq.follow(id, proposal, &requests, BEGAN);
        bfq.stop_clock(Some(clock));
        bfq.at(BEGAN + 10_000);
        let queue = bfq.in_service.expect("its turn has begun");
        bfq.expire(queue, Reason::Preempted, bfq.now);
        assert_eq!(bfq.queues[queue].entity.budget, budget, "ended at {clock}");
    }
}
