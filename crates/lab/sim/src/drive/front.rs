//! The front end of a drive: queues of requests, the controller, and the link to the host.

use std::collections::VecDeque;

use ssdlab_core::Nanos;
use ssdlab_nand::backend::parallel::NEVER;
use ssdlab_trace::{Op, Request};

use crate::setup::drive::{Arbitration, Front, Protocol, StageTime, TransferUnit};

/// A queue of requests between host and drive.
#[derive(Debug, Default)]
struct Queue {
    /// Waiting requests, each with its arrival sequence number.
    waiting: VecDeque<(u64, u32)>,
    /// Number of requests from this queue that are inside the drive.
    inside: u32,
}

/// All queues between host and drive.
#[derive(Debug)]
pub(crate) struct Queues {
    queues: Vec<Queue>,
    /// Maximum number of requests that the drive holds from one queue.
    depth: u32,
    /// Maximum number of requests that the drive holds from all queues together.
    slots: u32,
    inside: u32,
    waiting: u32,
    /// Total number of requests that have arrived so far, over all queues.
    arrived: u64,
    arbitration: Arbitration,
    /// Index of the queue being served, and the number of requests that the drive may still take from this queue in its
    /// turn.
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
            arrived: 0,
            arbitration,
            turn: (0, 0),
        };
        queues.turn.1 = queues.quantum(0);
        queues
    }

    fn quantum(&self, queue: usize) -> u32 {
        match self.arbitration {
            Arbitration::RoundRobin { burst } => burst,
            Arbitration::Fifo => 1,
            Arbitration::Weighted { weights } => u32::from(weights[queue % weights.len()]),
        }
    }

    /// Returns the index of the queue that a stream uses.
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
        self.queues[usize::from(queue)].waiting.push_back((self.arrived, request));
        self.arrived += 1;
        self.waiting += 1;
    }

    /// Takes the next request from the queues into the drive, if the drive has room.
    #[inline]
    pub fn take(&mut self) -> Option<u32> {
        if self.waiting == 0 || self.inside >= self.slots {
            return None;
        }
        let next = if self.arbitration == Arbitration::Fifo { self.earliest() } else { self.next_in_turn() };
        let queue = &mut self.queues[next?];
        let (_, request) = queue.waiting.pop_front()?;
        queue.inside += 1;
        self.inside += 1;
        self.waiting -= 1;
        Some(request)
    }

    /// Returns the queue whose first request arrived earliest. Ignores queues that already have their maximum number of
    /// requests in the drive.
    fn earliest(&self) -> Option<usize> {
        let with_room = self.queues.iter().enumerate().filter(|(_, queue)| queue.inside < self.depth);
        let first = with_room.filter_map(|(at, queue)| Some((queue.waiting.front()?.0, at)));
        first.min().map(|(_, at)| at)
    }

    /// Returns the first queue that has a waiting request and fewer than its maximum number of requests in the drive.
    /// The search starts at the queue whose turn it is.
    #[inline]
    fn next_in_turn(&mut self) -> Option<usize> {
        for _ in 0..=self.queues.len() {
            let (at, left) = self.turn;
            // If all other queues are empty, this queue gets another turn.
            let is_alone = self.queues[at].waiting.len() == self.waiting as usize;
            let left = if left == 0 && is_alone { self.quantum(at) } else { left };
            let queue = &self.queues[at];
            if left > 0 && queue.inside < self.depth && !queue.waiting.is_empty() {
                self.turn.1 = left - 1;
                return Some(at);
            }
            let next = if at + 1 == self.queues.len() { 0 } else { at + 1 };
            self.turn = (next, self.quantum(next));
        }
        None
    }

    /// Removes a request from the drive, and frees its slot in the given queue.
    pub fn leave(&mut self, queue: u16) {
        self.queues[usize::from(queue)].inside -= 1;
        self.inside -= 1;
    }
}

/// Identical servers that share a queue and serve work in the order of arrival. End times are exact only if work
/// arrives in chronological order.
#[derive(Debug)]
struct Servers {
    /// For each server, the time at which its current work ends.
    free_ns: Vec<u64>,
}

impl Servers {
    fn new(count: u32) -> Self {
        Self { free_ns: vec![0; count as usize] }
    }

    /// Returns the end time of work that arrives now and takes the given duration. The work waits for the next free
    /// server, unless its duration is 0.
    fn serve(&mut self, now_ns: u64, duration_ns: u64) -> u64 {
        if duration_ns == 0 {
            return now_ns;
        }
        let free_ns = self.free_ns.iter_mut().min().expect("there is at least one server");
        *free_ns = (*free_ns).max(now_ns) + duration_ns;
        *free_ns
    }
}

/// Items that servers are processing, ordered by their end time. Items with equal end times are in the order of their
/// start.
#[derive(Debug)]
pub(crate) struct Pipe<T>(VecDeque<(u64, T)>);

impl<T> Default for Pipe<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T: Copy> Pipe<T> {
    /// Returns the end time of the item that ends first, or [`NEVER`].
    #[inline]
    fn next_ns(&self) -> u64 {
        self.0.front().map_or(NEVER, |&(time_ns, _)| time_ns)
    }

    /// Adds an item whose processing ends at `end_ns`. Returns false, without adding the item, if `end_ns` has already
    /// passed.
    #[inline]
    pub fn enter(&mut self, item: T, now_ns: u64, end_ns: u64) -> bool {
        if end_ns > now_ns {
            // If there are several servers, a short item may end before an item that was added earlier.
            let at = self.0.iter().rposition(|&(time_ns, _)| time_ns <= end_ns).map_or(0, |before| before + 1);
            self.0.insert(at, (end_ns, item));
        }
        end_ns > now_ns
    }

    /// Removes and returns the item that ends first, if it has ended.
    #[inline]
    pub fn pop(&mut self, now_ns: u64) -> Option<T> {
        let &(_, item) = self.0.front().filter(|&&(time_ns, _)| time_ns <= now_ns)?;
        self.0.pop_front();
        Some(item)
    }
}

/// Data in transit over the link or through the DRAM: all data of a request, or one of its pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Transfer {
    pub request: u32,
    pub bytes: u32,
    /// Number of times that the data crosses the DRAM interface: 1 for a move in or out, 2 for both, 0 without data.
    pub dram_passes: u32,
}

/// The controller's command processing and its DRAM, and the link to the host.
#[derive(Debug)]
pub(crate) struct FrontEnd {
    options: Front,
    page_bytes: u32,
    processors: Servers,
    dram: Servers,
    inward: Servers,
    outward: Servers,
    pub commands: Pipe<u32>,
    pub incoming: Pipe<Transfer>,
    pub in_dram: Pipe<Transfer>,
    /// Data transfers that are delayed until map entries have been fetched from host memory.
    pub looked_up: Pipe<Transfer>,
    /// Requests that thermal throttling delays.
    pub throttled: Pipe<u32>,
    pub outgoing: Pipe<Transfer>,
    pub completions: Pipe<u32>,
}

impl FrontEnd {
    pub fn new(options: Front, page_bytes: u32) -> Self {
        Self {
            options,
            page_bytes,
            processors: Servers::new(options.controller.processors),
            dram: Servers::new(1),
            inward: Servers::new(1),
            outward: Servers::new(1),
            commands: Pipe::default(),
            incoming: Pipe::default(),
            in_dram: Pipe::default(),
            looked_up: Pipe::default(),
            throttled: Pipe::default(),
            outgoing: Pipe::default(),
            completions: Pipe::default(),
        }
    }

    /// Returns the time of the next event in the controller or on the link, or [`NEVER`].
    #[inline]
    pub fn next_ns(&self) -> u64 {
        let delays_ns = self.looked_up.next_ns().min(self.throttled.next_ns());
        let controller_ns = self.commands.next_ns().min(self.completions.next_ns()).min(self.in_dram.next_ns());
        delays_ns.min(controller_ns).min(self.incoming.next_ns()).min(self.outgoing.next_ns())
    }

    /// True if the pages of a request are transferred separately.
    pub fn moves_pages(&self) -> bool {
        self.options.transfer == TransferUnit::Page
    }

    /// Returns the transfer time of `bytes` on the link, rounded to the nearest nanosecond.
    fn link_ns(&self, bytes: u32) -> u64 {
        let Front { link_bytes_per_s, packets, .. } = self.options;
        link_bytes_per_s.map_or(0, |rate| duration_ns(packets.on_link(bytes.into()), rate))
    }

    /// Lets the controller process the command of a request. Returns false if this takes no time.
    pub fn command(&mut self, index: u32, request: &Request, now_ns: u64) -> bool {
        let page_work = self.options.controller.page_work;
        let StageTime { work, latency } = self.options.controller.times(request.op).submission;
        let pages = match request.op {
            Op::Read | Op::Write if page_work > Nanos::ZERO => u64::from(request.bytes.div_ceil(self.page_bytes)),
            _ => 0,
        };
        let end_ns = self.processors.serve(now_ns, work.0 + pages * page_work.0) + latency.0;
        self.commands.enter(index, now_ns, end_ns)
    }

    /// Lets the controller complete a request that needs no further data transfer. Returns false if this takes no time.
    pub fn completion(&mut self, index: u32, op: Op, now_ns: u64) -> bool {
        let StageTime { work, latency } = self.options.controller.times(op).completion;
        let end_ns = self.processors.serve(now_ns, work.0) + latency.0;
        self.completions.enter(index, now_ns, end_ns)
    }

    /// Transfers data of a request to the drive. Returns false if the transfer takes no time.
    pub fn receive(&mut self, data: Transfer, now_ns: u64) -> bool {
        let end_ns = self.inward.serve(now_ns, self.link_ns(data.bytes));
        self.incoming.enter(data, now_ns, end_ns)
    }

    /// Transfers data of a request to the host. Returns false if the transfer takes no time.
    pub fn send(&mut self, data: Transfer, now_ns: u64) -> bool {
        let duration_ns = self.link_ns(data.bytes);
        let link = if self.options.full_duplex { &mut self.outward } else { &mut self.inward };
        let end_ns = link.serve(now_ns, duration_ns);
        self.outgoing.enter(data, now_ns, end_ns)
    }

    /// Moves data of a request into or out of the DRAM. Returns false if this takes no time.
    pub fn pass_dram(&mut self, data: Transfer, now_ns: u64) -> bool {
        let end_ns = self.use_dram(u64::from(data.bytes) * u64::from(data.dram_passes), now_ns);
        self.in_dram.enter(data, now_ns, end_ns)
    }

    /// Moves a page between DRAM and flash: a page of the write buffer, or a prefetched page.
    pub fn page_passes_dram(&mut self, now_ns: u64) {
        self.use_dram(self.page_bytes.into(), now_ns);
    }

    /// Moves `bytes` into or out of the DRAM, after earlier transfers. Returns the time when the move ends.
    fn use_dram(&mut self, bytes: u64, now_ns: u64) -> u64 {
        let duration_ns = self.options.dram_bytes_per_s.map_or(0, |rate| duration_ns(bytes, rate));
        self.dram.serve(now_ns, duration_ns)
    }
}

/// Returns the time to move `bytes` at a rate in bytes per second, rounded to the nearest nanosecond.
fn duration_ns(bytes: u64, rate: u64) -> u64 {
    (bytes * 1_000_000_000 + rate / 2) / rate
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::drive::{CommandTimes, Controller, Packets};

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

    /// Queue 2 has three requests before the other queues have any; the depth of each queue is two.
    #[test]
    fn requests_are_taken_in_the_order_of_arrival() {
        let protocol = Protocol::MultiQueue { queues: 3, depth: 2, slots: 8, arbitration: Arbitration::Fifo };
        let mut queues = Queues::new(protocol);
        for (queue, request) in [(2, 0), (2, 1), (2, 2), (0, 3), (1, 4), (2, 5), (0, 6)] {
            queues.push(queue, request);
        }
        let mut taken = || std::iter::from_fn(|| queues.take()).collect::<Vec<_>>();
        assert_eq!(taken(), [0, 1, 3, 4, 6]);
        queues.leave(2);
        assert_eq!(queues.take(), Some(2));
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
                packets: Packets::FREE,
                full_duplex,
                transfer: TransferUnit::Request,
                dram_bytes_per_s: None,
                controller: Controller::serial(Nanos(0)),
            };
            let mut front_end = FrontEnd::new(front, 4096);
            assert!(front_end.receive(Transfer { request: 1, bytes: 2_000, dram_passes: 1 }, 0));
            assert!(front_end.send(Transfer { request: 2, bytes: 1_000, dram_passes: 1 }, 0));
            assert_eq!((front_end.incoming.next_ns(), front_end.outgoing.next_ns()), (2_000, read_done_ns));
            assert!(!front_end.command(1, &request(Op::Read, 4096), 0));
        }
    }

    fn request(op: Op, bytes: u32) -> Request {
        Request { time_ns: 0, offset: 0, bytes, op, flags: 0, stream: 0 }
    }

    /// The controller has two processors. A read takes 10 ns, a write 100 ns, and each page 5 ns more. A read is then
    /// delayed for 30 ns, during which it occupies no processor.
    #[test]
    fn processors_share_the_commands() {
        let stage = |work, latency| StageTime { work: Nanos(work), latency: Nanos(latency) };
        let controller = Controller {
            processors: 2,
            page_work: Nanos(5),
            read: CommandTimes { submission: stage(10, 30), completion: stage(0, 7) },
            write: CommandTimes { submission: stage(100, 0), completion: stage(20, 0) },
        };
        let front = Front {
            protocol: Protocol::Direct,
            link_bytes_per_s: None,
            packets: Packets::FREE,
            full_duplex: true,
            transfer: TransferUnit::Request,
            dram_bytes_per_s: None,
            controller,
        };
        let mut front = FrontEnd::new(front, 4096);
        // The write occupies a processor until 105 ns. The reads use the other processor until 15, 35 (two pages) and
        // 50 ns; after their delay they end at 45, 65 and 80 ns.
        assert!(front.command(1, &request(Op::Write, 4096), 0));
        for (index, bytes) in [(2, 4096), (3, 4097), (4, 512)] {
            assert!(front.command(index, &request(Op::Read, bytes), 0));
        }
        let mut order = Vec::new();
        while front.commands.next_ns() != NEVER {
            let now_ns = front.next_ns();
            order.push((now_ns, front.commands.pop(now_ns).expect("a command ends")));
        }
        assert_eq!(order, [(45, 2), (65, 3), (80, 4), (105, 1)]);
        // Completions use the same processors as commands. At 90 ns one processor is free; the other is busy until 105
        // ns.
        assert!(
            front.completion(2, Op::Read, 90)
                && front.completion(1, Op::Write, 90)
                && front.completion(3, Op::Trim, 90)
        );
        let ends: Vec<u64> = front.completions.0.iter().map(|&(end_ns, _)| end_ns).collect();
        assert_eq!(ends, [97, 110, 125]);
    }
}
