//! The front end of a drive: queues of requests, the controller, and the link to the host.

use std::collections::VecDeque;

use ssdlab_nand::backend::parallel::NEVER;

use crate::setup::drive::{Arbitration, Front, Protocol};

/// A queue of requests between host and drive.
#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<u32>,
    /// Number of requests from this queue that are inside the drive.
    inside: u32,
}

/// All queues between host and drive.
#[derive(Debug)]
pub(crate) struct Queues {
    queues: Vec<Queue>,
    /// Maximum number of requests that the drive holds per queue.
    depth: u32,
    /// Maximum number of requests that the drive holds of all queues together.
    slots: u32,
    inside: u32,
    waiting: u32,
    arbitration: Arbitration,
    /// Queue that is being served, and the number of requests left in its turn.
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

    /// Returns the number of the queue that a stream uses.
    pub fn queue_of(&self, stream: u16) -> u16 {
        let queues = self.queues.len();
        if usize::from(stream) < queues { stream } else { (usize::from(stream) % queues) as u16 }
    }

    /// Returns the number of requests that the drive holds.
    pub fn inside(&self) -> u32 {
        self.inside
    }

    /// Returns the number of requests that wait in the queues.
    #[inline]
    pub fn waiting(&self) -> u32 {
        self.waiting
    }

    /// Returns the number of requests that the drive holds or that wait in the queues.
    pub fn outstanding(&self) -> u32 {
        self.inside + self.waiting
    }

    #[inline]
    pub fn push(&mut self, queue: u16, request: u32) {
        self.queues[usize::from(queue)].waiting.push_back(request);
        self.waiting += 1;
    }

    /// Takes the next request from the queues into the drive, if the drive has room.
    #[inline]
    pub fn take(&mut self) -> Option<u32> {
        if self.waiting == 0 || self.inside >= self.slots {
            return None;
        }
        for _ in 0..=self.queues.len() {
            let (at, left) = self.turn;
            // If all other queues are empty, this queue may take another turn.
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

    /// Removes a request from the drive and frees its place in queue `queue`.
    pub fn leave(&mut self, queue: u16) {
        self.queues[usize::from(queue)].inside -= 1;
        self.inside -= 1;
    }
}

/// A first-come, first-served server. Its times are exact only if requests arrive in order of time.
#[derive(Debug, Default)]
struct Server {
    free_ns: u64,
}

impl Server {
    /// Returns the time when the server will have done work that arrives now and takes the given duration.
    fn serve(&mut self, now_ns: u64, duration_ns: u64) -> u64 {
        self.free_ns = self.free_ns.max(now_ns) + duration_ns;
        self.free_ns
    }
}

/// Requests that a server is processing, in the order in which they end.
#[derive(Debug, Default)]
pub(crate) struct Pipe(VecDeque<(u64, u32)>);

impl Pipe {
    /// Returns the end time of the first request, or [`NEVER`].
    #[inline]
    fn next_ns(&self) -> u64 {
        self.0.front().map_or(NEVER, |&(time_ns, _)| time_ns)
    }

    /// Removes and returns the first request if it has ended.
    #[inline]
    pub fn pop(&mut self, now_ns: u64) -> Option<u32> {
        let &(_, request) = self.0.front().filter(|&&(time_ns, _)| time_ns <= now_ns)?;
        self.0.pop_front();
        Some(request)
    }
}

/// The controller's command processing, and the link to the host.
#[derive(Debug)]
pub(crate) struct FrontEnd {
    options: Front,
    controller: Server,
    inward: Server,
    outward: Server,
    pub commands: Pipe,
    pub incoming: Pipe,
    pub outgoing: Pipe,
}

impl FrontEnd {
    pub fn new(options: Front) -> Self {
        Self {
            options,
            controller: Server::default(),
            inward: Server::default(),
            outward: Server::default(),
            commands: Pipe::default(),
            incoming: Pipe::default(),
            outgoing: Pipe::default(),
        }
    }

    /// Returns the time of the front end's next event, or [`NEVER`].
    #[inline]
    pub fn next_ns(&self) -> u64 {
        self.commands.next_ns().min(self.incoming.next_ns()).min(self.outgoing.next_ns())
    }

    /// Returns the transfer time of `bytes` on the link, rounded to the nearest nanosecond.
    fn link_ns(&self, bytes: u32) -> u64 {
        self.options.link_bytes_per_s.map_or(0, |rate| (u64::from(bytes) * 1_000_000_000 + rate / 2) / rate)
    }

    /// Lets the controller process the command of a request. Returns false if this takes no time.
    pub fn command(&mut self, request: u32, now_ns: u64) -> bool {
        enter(&mut self.commands, &mut self.controller, request, now_ns, self.options.command.0)
    }

    /// Transfers the data of a request to the drive. Returns false if the transfer takes no time.
    pub fn receive(&mut self, request: u32, bytes: u32, now_ns: u64) -> bool {
        let duration_ns = self.link_ns(bytes);
        enter(&mut self.incoming, &mut self.inward, request, now_ns, duration_ns)
    }

    /// Transfers the data of a request to the host. Returns false if the transfer takes no time.
    pub fn send(&mut self, request: u32, bytes: u32, now_ns: u64) -> bool {
        let duration_ns = self.link_ns(bytes);
        let link = if self.options.full_duplex { &mut self.outward } else { &mut self.inward };
        enter(&mut self.outgoing, link, request, now_ns, duration_ns)
    }
}

/// Lets a server process a request, which stays in `pipe` until it is done. Returns false if processing takes no time.
fn enter(pipe: &mut Pipe, server: &mut Server, request: u32, now_ns: u64, duration_ns: u64) -> bool {
    if duration_ns > 0 {
        pipe.0.push_back((server.serve(now_ns, duration_ns), request));
    }
    duration_ns > 0
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
            let mut front_end = FrontEnd::new(front);
            assert!(front_end.receive(1, 2_000, 0));
            assert!(front_end.send(2, 1_000, 0));
            assert_eq!((front_end.incoming.next_ns(), front_end.outgoing.next_ns()), (2_000, read_done_ns));
            assert!(!front_end.command(1, 0));
        }
    }
}
