//! The front of a drive: queues of requests, the controller that takes them, and the link that data moves over.

use std::collections::VecDeque;

use crate::setup::drive::{Arbitration, Front, Protocol};

/// Requests that wait to be taken by the drive.
#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<u32>,
    /// Requests of this queue in the drive.
    inside: u32,
}

/// Queues between host and drive.
#[derive(Debug)]
pub(crate) struct Queues {
    queues: Vec<Queue>,
    /// Requests of one queue that the drive may hold.
    depth: u32,
    /// Requests that the drive may hold.
    slots: u32,
    inside: u32,
    waiting: u32,
    arbitration: Arbitration,
    /// Queue whose turn it is, and requests it may still hand over in this turn.
    turn: (usize, u32),
}

impl Queues {
    pub fn new(protocol: Protocol) -> Self {
        let one_by_one = Arbitration::RoundRobin { burst: 1 };
        let (queues, depth, slots, arbitration) = match protocol {
            Protocol::Direct => (1, u32::MAX, u32::MAX, one_by_one),
            Protocol::SingleQueue { depth } => (1, depth, depth, one_by_one),
            Protocol::MultiQueue { queues, depth, slots, arbitration } => (queues, depth, slots, arbitration),
        };
        let mut queues = Self {
            queues: (0..queues).map(|_| Queue::default()).collect(),
            depth,
            slots,
            inside: 0,
            waiting: 0,
            arbitration,
            turn: (0, 0),
        };
        queues.turn.1 = queues.quantum(0);
        queues
    }

    fn quantum(&self, queue: usize) -> u32 {
        match self.arbitration {
            Arbitration::RoundRobin { burst } => burst,
            Arbitration::Weighted { weights } => u32::from(weights[queue % weights.len()]),
        }
    }

    /// The queue that a stream uses.
    pub fn queue_of(&self, stream: u16) -> u16 {
        let queues = self.queues.len();
        if usize::from(stream) < queues { stream } else { (usize::from(stream) % queues) as u16 }
    }

    /// Requests in the drive.
    pub fn inside(&self) -> u32 {
        self.inside
    }

    /// Requests that wait to be taken.
    #[inline]
    pub fn waiting(&self) -> u32 {
        self.waiting
    }

    /// Requests in the drive or waiting for it.
    pub fn outstanding(&self) -> u32 {
        self.inside + self.waiting
    }

    #[inline]
    pub fn push(&mut self, queue: u16, request: u32) {
        self.queues[usize::from(queue)].waiting.push_back(request);
        self.waiting += 1;
    }

    /// The request that the drive takes next, if it may hold one more.
    #[inline(always)]
    pub fn take(&mut self) -> Option<u32> {
        if self.waiting == 0 || self.inside >= self.slots {
            return None;
        }
        for _ in 0..=self.queues.len() {
            let (at, left) = self.turn;
            // If no other queue has any, the turn comes round to this one again.
            let is_alone = self.queues[at].waiting.len() == self.waiting as usize;
            let left = if left == 0 && is_alone { self.quantum(at) } else { left };
            let queue = &mut self.queues[at];
            if left > 0
                && queue.inside < self.depth
                && let Some(request) = queue.waiting.pop_front()
            {
                queue.inside += 1;
                self.turn.1 = left - 1;
                self.inside += 1;
                self.waiting -= 1;
                return Some(request);
            }
            let next = if at + 1 == self.queues.len() { 0 } else { at + 1 };
            self.turn = (next, self.quantum(next));
        }
        None
    }

    /// A request of this queue has left the drive.
    pub fn leave(&mut self, queue: u16) {
        self.queues[usize::from(queue)].inside -= 1;
        self.inside -= 1;
    }
}

/// A first-come, first-served server. It is exact as long as it is asked in order of time.
#[derive(Debug, Default)]
struct Server {
    free_ns: u64,
}

impl Server {
    /// When work that could begin now will be done.
    fn serve(&mut self, now_ns: u64, duration_ns: u64) -> u64 {
        self.free_ns = self.free_ns.max(now_ns) + duration_ns;
        self.free_ns
    }
}

/// Requests inside a server, in the order in which they leave.
#[derive(Debug, Default)]
pub(crate) struct Pipe(VecDeque<(u64, u32)>);

impl Pipe {
    /// When the first comes out.
    #[inline(always)]
    pub fn next_ns(&self) -> u64 {
        self.0.front().map_or(u64::MAX, |&(time_ns, _)| time_ns)
    }

    /// A request comes out at this time, which is told again.
    fn enter(&mut self, request: u32, done_ns: u64) -> u64 {
        self.0.push_back((done_ns, request));
        done_ns
    }

    /// The first, if it comes out by now.
    #[inline]
    pub fn pop(&mut self, now_ns: u64) -> Option<u32> {
        let &(_, request) = self.0.front().filter(|&&(time_ns, _)| time_ns <= now_ns)?;
        self.0.pop_front();
        Some(request)
    }
}

/// The controller's work on commands, and the link.
#[derive(Debug)]
pub(crate) struct Path {
    front: Front,
    controller: Server,
    inward: Server,
    outward: Server,
    pub commands: Pipe,
    pub incoming: Pipe,
    pub outgoing: Pipe,
}

impl Path {
    pub fn new(front: Front) -> Self {
        Self {
            front,
            controller: Server::default(),
            inward: Server::default(),
            outward: Server::default(),
            commands: Pipe::default(),
            incoming: Pipe::default(),
            outgoing: Pipe::default(),
        }
    }

    /// Time that so many bytes take on the link, rounded to the nearest nanosecond.
    fn link_ns(&self, bytes: u32) -> u64 {
        self.front.link_bytes_per_s.map_or(0, |rate| (u64::from(bytes) * 1_000_000_000 + rate / 2) / rate)
    }

    /// Lets the controller work on a request; says when that is done, if it takes time.
    pub fn command(&mut self, request: u32, now_ns: u64) -> Option<u64> {
        let duration_ns = self.front.command.0;
        (duration_ns > 0).then(|| self.commands.enter(request, self.controller.serve(now_ns, duration_ns)))
    }

    /// Moves data to the drive; likewise.
    pub fn receive(&mut self, request: u32, bytes: u32, now_ns: u64) -> Option<u64> {
        let duration_ns = self.link_ns(bytes);
        (duration_ns > 0).then(|| self.incoming.enter(request, self.inward.serve(now_ns, duration_ns)))
    }

    /// Moves data to the host; likewise.
    pub fn send(&mut self, request: u32, bytes: u32, now_ns: u64) -> Option<u64> {
        let duration_ns = self.link_ns(bytes);
        let link = if self.front.full_duplex { &mut self.outward } else { &mut self.inward };
        (duration_ns > 0).then(|| self.outgoing.enter(request, link.serve(now_ns, duration_ns)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdlab_core::Nanos;

    fn taken(arbitration: Arbitration) -> Vec<u32> {
        let mut queues = Queues::new(Protocol::MultiQueue { queues: 3, depth: 100, slots: 8, arbitration });
        for request in 0..6 {
            queues.push(0, request);
            queues.push(1, 10 + request);
        }
        queues.push(2, 20);
        std::iter::from_fn(|| queues.take()).collect()
    }

    #[test]
    fn queues_are_served_in_turn_until_the_slots_are_taken() {
        assert_eq!(taken(Arbitration::RoundRobin { burst: 1 }), [0, 10, 20, 1, 11, 2, 12, 3]);
        assert_eq!(taken(Arbitration::RoundRobin { burst: 2 }), [0, 1, 10, 11, 20, 2, 3, 12]);
        let weights = [3, 1, 1, 1, 1, 1, 1, 1];
        assert_eq!(taken(Arbitration::Weighted { weights }), [0, 1, 2, 10, 20, 3, 4, 5]);
    }

    #[test]
    fn a_queue_that_is_full_in_the_drive_waits() {
        let mut queues = Queues::new(Protocol::SingleQueue { depth: 2 });
        (0..4).for_each(|request| queues.push(0, request));
        assert_eq!([queues.take(), queues.take(), queues.take()], [Some(0), Some(1), None]);
        queues.leave(0);
        assert_eq!([queues.take(), queues.take()], [Some(2), None]);
        assert_eq!((queues.inside(), queues.outstanding()), (2, 3));
    }

    #[test]
    fn a_half_duplex_link_carries_one_direction_at_a_time() {
        for (full_duplex, read_done_ns) in [(true, 1_000), (false, 3_000)] {
            let front = Front {
                protocol: Protocol::Direct,
                link_bytes_per_s: Some(1_000_000_000),
                full_duplex,
                command: Nanos(0),
            };
            let mut path = Path::new(front);
            assert_eq!(path.receive(1, 2_000, 0), Some(2_000));
            assert_eq!(path.send(2, 1_000, 0), Some(read_done_ns));
            assert_eq!((path.incoming.next_ns(), path.outgoing.next_ns()), (2_000, read_done_ns));
            assert_eq!(path.command(1, 0), None);
        }
    }
}
