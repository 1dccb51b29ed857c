//! Test support: replays the decisions of the kernel's BFQ and compares them with this implementation.

#![cfg(test)]

use super::budget::Reason;
use super::*;
use crate::bio::{Flags, Priority};
use crate::scheduler::oracle::{Agreement, JIFFY_NS, Proposal, Raised, Replayed};

pub fn model(changes: &[(String, u64)], device: &Device) -> Bfq {
    Bfq::new(&crate::scheduler::tunables(&INFO, changes).unwrap(), device)
}

impl Replayed for Bfq {
    fn propose(&mut self, requests: &Requests, now: u64) -> Option<Proposal> {
        self.set_time(now);
        if self.tunables.strict && self.load.in_driver > 0 {
            return None;
        }
        let queue = self.select(requests)?;
        self.queues[queue].next.map(|id| Proposal { id, state: [queue as u64, 0, 0] })
    }

    fn follow(&mut self, id: RequestId, proposal: Option<Proposal>, requests: &Requests, now: u64) {
        self.set_time(now);
        let queue = self.queue_of(&requests[id]);
        if proposal.is_none_or(|proposal| proposal.state[0] != queue as u64) && self.in_service != Some(queue) {
            if let Some(current) = self.in_service {
                self.expire(current, Reason::Preempted, now);
            }
            self.service.next = Some(queue);
            self.in_service = self.take_next();
            self.begin_turn(queue);
        }
        if self.queues[queue].next != Some(id) {
            self.set_next(queue, Some(id), requests);
        }
        self.serve(queue, requests);
    }

    fn raise_as(&mut self, id: RequestId, kernel: Raised, requests: &Requests) -> Agreement {
        let queue = self.queue_of(&requests[id]);
        let since = self.clock.jiffies.last(kernel.asked) as i64 - kernel.lasted_ns as i64;
        let (q, most) = (&mut self.queues[queue], kernel.most_ns as i64);
        let (raise, was_raised) = (q.raise, q.is_raised());
        if raise.coefficient != kernel.coefficient {
            (q.raise.coefficient, q.entity.changed) = (kernel.coefficient, true);
            self.load.raised += u32::from(kernel.coefficient > 1);
            self.load.raised -= u32::from(was_raised);
        }
        if kernel.coefficient > 1 {
            (q.raise.since, q.raise.duration) = (since, most);
        }
        let difference = raise.since.abs_diff(since);
        match raise.coefficient == kernel.coefficient {
            true if kernel.coefficient == 1 || (raise.duration == most && difference == 0) => Agreement::Same,
            true if raise.duration == most && difference == JIFFY_NS => Agreement::JiffyApart,
            _ => Agreement::Other,
        }
    }

    fn tick(&mut self, phase_ns: u64) -> bool {
        self.clock.jiffies = Jiffies::new(JIFFY_NS, phase_ns);
        true
    }

    fn stop_clock(&mut self, clock: Option<u64>) {
        self.clock.stopped = clock;
    }

    fn group(&mut self, pid: u32, weight: u64) {
        self.groups.insert(pid, weight);
    }
}

/// Goal: a queue whose service period has a negative duration is charged a whole budget. A task reads the clock only
/// once while it plugs requests. Its time may therefore lie before the start of the service period that it ends,
/// because the start was read on another processor. The kernel stores the difference as an unsigned number, so -8 us
/// becomes 4,294,967,288 us and the queue counts as slow.
#[test]
fn turn_with_negative_duration_is_charged_a_whole_budget() {
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
        bfq.set_time(BEGAN + 10_000);
        let queue = bfq.in_service.expect("the queue must be in service");
        bfq.expire(queue, Reason::Preempted, bfq.clock.now);
        assert_eq!(bfq.queues[queue].entity.budget, budget, "ended at {clock}");
    }
}
