//! A drive at work on many requests: from the host's queues through front, write buffer and FTL to the flash in time.
//!
//! ```text
//! issued -> queue -> taken -> command -> [data in] -> submitted: FTL, flash, buffer -> [data out] -> complete
//!          waiting           service                  waiting until its first operation begins, then service
//! ```
//! The loop takes whatever comes first: the end of work on flash, on the link or in the controller, a request of the
//! host, an idle moment. Mapping changes when a request is submitted; what that costs appears in the queues of the dies.

mod activity;
mod block;
mod buffer;
mod front;
mod issue;
pub(crate) mod options;
mod oracle;

use std::collections::VecDeque;

use ssdlab_ftl::{FlashSink, Ftl};
use ssdlab_sched::RequestId;
use ssdlab_trace::{Op, Request, SliceSource, Source, flag};

pub use activity::{Activity, DriveSummary, GanttBar, Interference, Spread, StreamSummary};
pub use block::BlockSummary;
pub use buffer::BufferCounters;

use crate::engine::LOOKAHEAD;
use crate::flash::Flash;
use crate::log_meter::Meter;
use crate::measure::{Measurement, OfDrive};
use crate::parallel::{Done, NEVER, ParallelFlash, Witness};
use crate::shadow::Checker;
use crate::slab::Slab;
use crate::stack::{Pages, Stack};
use crate::{Collect, CollectGoal, Control, Monitor, Outcome, Phase, PreconditionSummary, Replay, SimError};
use activity::Meters;
use block::{Block, HostRequest};
use buffer::{Accepted, Buffer};
use front::{Path, Queues};
use issue::{Issued, Issuer, Next};
use options::Drive as Options;
use oracle::BufferOracle;

/// Owners from here on are slots of the write buffer.
const BUFFERED: u32 = 1 << 31;
/// Owners from here on are planes in which garbage is collected ahead of need.
const COLLECTION: u32 = 3 << 30;

/// How long a drive goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Until {
    /// All requests are complete.
    Complete,
    /// All that happens up to this time has happened.
    Time(u64),
}

/// A request on its way.
#[derive(Clone, Copy, Debug)]
struct Flight {
    request: Request,
    issued_ns: u64,
    taken_ns: u64,
    submitted_ns: u64,
    /// Time spent behind others.
    waited_ns: u64,
    queue: u16,
    /// Whether one of the other direction was in the drive when it took this.
    met_other: bool,
    /// The request of the block layer that it is; none if it is the host's own.
    block: Option<RequestId>,
}

/// A write that waits for room in the buffer.
#[derive(Clone, Copy, Debug)]
struct Stalled {
    flight: u32,
    pages: Pages,
    next: u32,
}

/// A drive and its host.
pub(crate) struct Drive<F, W, C, M> {
    options: Options,
    stack: Stack<F, ParallelFlash<W>, C, M>,
    measurement: Measurement,
    meters: Meters,
    block: Option<Block>,
    flights: Slab<Flight>,
    queues: Queues,
    /// Requests in the drive by operation.
    inside: [u32; 4],
    path: Path,
    buffer: Option<Buffer>,
    oracle: Option<BufferOracle>,
    /// Writes that wait for room in the buffer, oldest first, by runs of pages.
    stalled: VecDeque<Stalled>,
    /// Requests that wait until everything before a mark is safe.
    unsafe_flights: VecDeque<(u64, u32)>,
    /// Most flash operations under way while more are added: by requests taken from the queues, or by pages of the
    /// buffer where there is one.
    most_under_way: usize,
    /// Planes in which nothing is being collected ahead of need, and something may have to be.
    uncollected: Vec<u32>,
    /// Planes in which nothing was found to collect since the last write.
    collected: Vec<u32>,
    idle_since_ns: u64,
    /// Pages in the buffer when measuring began.
    waiting_at_start: u32,
}

impl<F: Ftl, W: Witness, C: Checker + FlashSink, M: Meter> Drive<F, W, C, M> {
    /// A drive whose flash is idle.
    ///
    /// # Errors
    /// If the block layer is impossible.
    pub fn new(mut stack: Stack<F, ParallelFlash<W>, C, M>, options: Options) -> Result<Self, SimError> {
        let parallelism = stack.setup.geometry.parallelism;
        let measurement = Measurement::start(&mut stack);
        let closed_loop = !matches!(stack.setup.replay, Replay::Open { .. });
        let capacity_bytes = stack.setup.capacity_bytes();
        let block = stack.setup.block.map(|block| Block::new(&block, capacity_bytes, closed_loop)).transpose()?;
        Ok(Self {
            options,
            stack,
            measurement,
            meters: Meters::new(0),
            flights: Slab::default(),
            queues: Queues::new(options.front.protocol),
            inside: [0; 4],
            path: Path::new(options.front),
            buffer: options.buffer.map(Buffer::new),
            oracle: (C::ON && options.buffer.is_some()).then(BufferOracle::default),
            stalled: VecDeque::new(),
            unsafe_flights: VecDeque::new(),
            most_under_way: options.backlog as usize * parallelism.dies() as usize,
            uncollected: (0..parallelism.planes()).collect(),
            collected: Vec::new(),
            idle_since_ns: 0,
            waiting_at_start: 0,
            block,
        })
    }

    /// Replays the warm-up and the measured phase.
    pub fn run(
        mut self,
        source: &mut dyn Source,
        monitor: &mut dyn Monitor,
        precondition: PreconditionSummary,
        mut control: Control,
    ) -> Result<Outcome, SimError> {
        if control == Control::Continue {
            control = self.replay(source, monitor, Phase::Warmup, self.stack.setup.warmup_requests)?;
        }
        self.start_measuring();
        if control == Control::Continue {
            control = self.replay(source, monitor, Phase::Measure, u64::MAX)?;
        }
        let now_ns = self.stack.sinks.flash.now_ns();
        self.stack.sinks.flash.record_unfinished();
        let waiting = self.buffer.as_ref().map_or(0, Buffer::waiting);
        let buffer = self.buffer.as_ref().map(|buffer| buffer.counters);
        let unwritten = i64::from(waiting) - i64::from(self.waiting_at_start);
        let absorbed = buffer.map_or(0, |counters| counters.pages_overwritten + counters.pages_trimmed) as i64;
        let (summary, activity) = self.meters.finish(
            &self.stack.setup.geometry,
            self.stack.sinks.flash.recorded(),
            buffer,
            self.block,
            now_ns,
        );
        let drive = OfDrive { summary, activity, absorbed_pages: absorbed + unwritten };
        Ok(self.measurement.finish(self.stack, precondition, control == Control::Stop, Some(drive)))
    }

    fn start_measuring(&mut self) {
        self.measurement = Measurement::start(&mut self.stack);
        self.stack.sinks.flash.record(self.stack.setup.gantt);
        self.meters = Meters::new(self.measurement.start_ns());
        if let Some(block) = &mut self.block {
            block.start_measuring(self.measurement.start_ns());
        }
        if let Some(buffer) = &mut self.buffer {
            buffer.counters = BufferCounters::default();
            self.waiting_at_start = buffer.waiting();
        }
    }

    /// Replays up to `limit` requests until all are complete.
    fn replay(
        &mut self,
        source: &mut dyn Source,
        monitor: &mut dyn Monitor,
        phase: Phase,
        limit: u64,
    ) -> Result<Control, SimError> {
        if limit == 0 {
            return Ok(Control::Continue);
        }
        let mut issuer = Issuer::new(source, monitor, phase, self.stack.setup.replay, limit, self.stack.requests);
        self.idle_since_ns = self.now_ns();
        self.go_on(&mut issuer, Until::Complete)?;
        if let Some((first_ns, latest_ns)) = issuer.arrivals_ns {
            self.measurement.arrived(first_ns, latest_ns);
        }
        Ok(issuer.control)
    }

    /// Takes this request, at its time if that has not passed, and goes on until then.
    pub fn take_live(&mut self, request: Request, done: &mut Vec<(Request, u64)>) -> Result<(), SimError> {
        self.go_on_live(&mut SliceSource::new(&[request]), request.time_ns, done).map(drop)
    }

    /// Goes on without new requests up to what happens at `until_ns`: when the next thing will, if anything.
    pub fn advance_live(&mut self, until_ns: u64, done: &mut Vec<(Request, u64)>) -> Result<Option<u64>, SimError> {
        self.go_on_live(&mut SliceSource::new(&[]), until_ns, done)
    }

    fn go_on_live(
        &mut self,
        source: &mut dyn Source,
        until_ns: u64,
        done: &mut Vec<(Request, u64)>,
    ) -> Result<Option<u64>, SimError> {
        let (replay, number) = (Replay::Open { time_scale: 1.0 }, self.stack.requests);
        let mut nobody = ();
        let mut issuer = Issuer::new(source, &mut nobody, Phase::Measure, replay, u64::MAX, number);
        issuer.done = Some(done);
        self.go_on(&mut issuer, Until::Time(until_ns))
    }

    /// Goes on until nothing is left to do or as told: when the next thing happens, if anything does.
    fn go_on(&mut self, issuer: &mut Issuer<'_>, until: Until) -> Result<Option<u64>, SimError> {
        loop {
            let host_ns = loop {
                issuer.held_up = self.block.as_ref().is_some_and(Block::holds_up);
                match issuer.next(self.now_ns())? {
                    Next::Issue(issued) => {
                        if let Some(ahead) = issuer.ahead(LOOKAHEAD) {
                            self.stack.prefetch(ahead);
                        }
                        self.issue(issued, issuer);
                        self.take_requests(issuer)?;
                    }
                    Next::Wait(time_ns) => break time_ns,
                    Next::End if until == Until::Complete && self.outstanding() == 0 => return Ok(None),
                    Next::End => break NEVER,
                }
            };
            if self.let_sleep() {
                let outstanding = self.outstanding();
                self.take_requests(issuer)?;
                let held_up = self.block.as_ref().is_some_and(Block::holds_up);
                // What took no time may let the host go on at once.
                if self.outstanding() < outstanding || held_up != issuer.held_up {
                    continue;
                }
            }
            self.collect_ahead();
            let flash_ns = self.stack.sinks.flash.next_ns();
            let path_ns =
                self.path.commands.next_ns().min(self.path.incoming.next_ns()).min(self.path.outgoing.next_ns());
            let block_ns = self.block.as_ref().map_or(NEVER, Block::timer_ns);
            let next_ns = flash_ns.min(path_ns).min(host_ns).min(self.idle_collection_ns()).min(block_ns);
            if next_ns == NEVER {
                return if self.outstanding() == 0 { Ok(None) } else { Err(self.stuck()) };
            }
            if let Until::Time(until_ns) = until
                && next_ns > until_ns
            {
                return Ok(Some(next_ns));
            }
            if next_ns == flash_ns {
                self.stack.sinks.flash.advance();
                while let Some(done) = self.stack.sinks.flash.take_done() {
                    self.flash_done(done, issuer)?;
                }
                self.go_on_flushing();
                self.stack.stop_at_violation()?;
            } else {
                self.stack.sinks.flash.pass_until(next_ns);
                self.follow_path(issuer)?;
                if next_ns == block_ns {
                    self.block.as_mut().expect("its timer").on_timer(next_ns);
                    self.pull();
                }
            }
            self.take_requests(issuer)?;
        }
    }

    /// Requests of the host that are not complete.
    fn outstanding(&self) -> u32 {
        self.block.as_ref().map_or(self.queues.outstanding(), Block::outstanding)
    }

    /// The host issues a request.
    fn issue(&mut self, issued: Issued, issuer: &mut Issuer<'_>) {
        let now_ns = self.now_ns();
        self.meters.outstanding(now_ns, self.outstanding() + 1);
        match &mut self.block {
            None => self.enter(issued.request, issued.time_ns, None),
            Some(block) => {
                block.submit(issued, now_ns);
                self.pull();
                self.finish_host_requests(0, issuer);
            }
        }
    }

    /// Moves what the block layer has for the drive into the drive's queues.
    #[inline(always)]
    fn pull(&mut self) {
        while self.block.as_ref().is_some_and(Block::has_work) && self.pull_one() {}
    }

    /// Moves the next request; whether there was one.
    fn pull_one(&mut self) -> bool {
        let now_ns = self.now_ns();
        let Some((id, request)) = self.block.as_mut().and_then(|block| block.next(now_ns)) else { return false };
        self.enter(request, now_ns, Some(id));
        true
    }

    /// The host has issued what it can for now; whether somebody goes to sleep over it.
    fn let_sleep(&mut self) -> bool {
        let now_ns = self.now_ns();
        let slept = self.block.as_mut().is_some_and(|block| block.sleep(now_ns));
        self.pull();
        slept
    }

    #[inline(always)]
    fn now_ns(&self) -> u64 {
        self.stack.sinks.flash.now_ns()
    }

    /// The simulation cannot go on: says what waits for what.
    fn stuck(&self) -> SimError {
        SimError::Stuck(format!(
            "{} requests are outstanding, {} of them in the drive, {} wait for the write buffer{}; {}",
            self.outstanding(),
            self.queues.inside(),
            self.stalled.len(),
            self.block.as_ref().map_or(String::new(), |block| format!("; block layer: {}", block.left())),
            self.stack.sinks.flash.describe()
        ))
    }

    /// A request enters its queue.
    #[inline]
    fn enter(&mut self, request: Request, issued_ns: u64, block: Option<RequestId>) {
        let queue = self.queues.queue_of(request.stream);
        let (taken_ns, submitted_ns, waited_ns, met_other) = (0, 0, 0, false);
        let flight = Flight { request, issued_ns, taken_ns, submitted_ns, waited_ns, queue, met_other, block };
        self.queues.push(queue, self.flights.insert(flight));
    }

    /// Takes requests from the queues while the drive has room for them.
    #[inline]
    fn take_requests(&mut self, issuer: &mut Issuer<'_>) -> Result<(), SimError> {
        if self.queues.waiting() > 0 { self.take_waiting(issuer) } else { Ok(()) }
    }

    fn take_waiting(&mut self, issuer: &mut Issuer<'_>) -> Result<(), SimError> {
        while self.buffer.is_some() || self.stack.sinks.flash.under_way() < self.most_under_way {
            let Some(index) = self.queues.take() else { break };
            let now_ns = self.now_ns();
            let flight = &mut self.flights[index];
            flight.taken_ns = now_ns;
            let op = flight.request.op;
            flight.met_other = match op {
                Op::Read => self.inside[Op::Write as usize] > 0,
                Op::Write => self.inside[Op::Read as usize] > 0,
                Op::Trim | Op::Flush => false,
            };
            self.inside[op as usize] += 1;
            if !self.path.command(index, now_ns) {
                self.receive(index, issuer)?;
            }
        }
        Ok(())
    }

    /// What is due on the way through controller and link.
    fn follow_path(&mut self, issuer: &mut Issuer<'_>) -> Result<(), SimError> {
        let now_ns = self.now_ns();
        while let Some(index) = self.path.commands.pop(now_ns) {
            self.receive(index, issuer)?;
        }
        while let Some(index) = self.path.incoming.pop(now_ns) {
            self.submit(index, issuer)?;
        }
        while let Some(index) = self.path.outgoing.pop(now_ns) {
            self.complete(index, issuer);
        }
        Ok(())
    }

    /// Moves in the data of a write.
    fn receive(&mut self, index: u32, issuer: &mut Issuer<'_>) -> Result<(), SimError> {
        let Request { op, bytes, .. } = self.flights[index].request;
        if op == Op::Write && self.path.receive(index, bytes, self.now_ns()) {
            return Ok(());
        }
        self.submit(index, issuer)
    }

    /// Hands a request to buffer and FTL.
    fn submit(&mut self, index: u32, issuer: &mut Issuer<'_>) -> Result<(), SimError> {
        let now_ns = self.now_ns();
        self.stack.requests += 1;
        let flight = &mut self.flights[index];
        flight.submitted_ns = now_ns;
        let request = flight.request;
        if request.op != Op::Read {
            self.uncollected.append(&mut self.collected);
        }
        match (request.op, self.buffer.is_some()) {
            (Op::Write, true) => return self.submit_to_buffer(index, &request, issuer),
            (Op::Flush, true) => {
                self.stack.place(&request, |_, _, _| {})?;
                self.make_safe(index, issuer);
                return Ok(());
            }
            _ => {}
        }
        self.stack.sinks.flash.submit(index, false);
        let (buffer, oracle) = (&mut self.buffer, &mut self.oracle);
        self.stack.place(&request, |stack, offset, end| match buffer {
            Some(buffer) => access_behind(stack, buffer, oracle, &request, offset, end),
            None => stack.access(&request, offset, end),
        })?;
        if self.stack.sinks.flash.submitted() == 0 {
            self.served(index, now_ns, issuer);
        }
        // A page trimmed in the buffer is one less to wait for.
        self.page_left_buffer(issuer);
        self.go_on_flushing();
        Ok(())
    }

    /// A write into the buffer; it waits there for room.
    fn submit_to_buffer(&mut self, index: u32, request: &Request, issuer: &mut Issuer<'_>) -> Result<(), SimError> {
        let had_to_wait = !self.stalled.is_empty();
        let stalled = &mut self.stalled;
        self.stack.place(request, |stack, offset, end| {
            let pages = stack.pages(offset, end);
            stack.count_written(pages);
            stalled.push_back(Stalled { flight: index, pages, next: 0 });
        })?;
        self.accept_pages(issuer);
        if had_to_wait || self.stalled.iter().any(|stalled| stalled.flight == index) {
            let buffer = self.buffer.as_mut().expect("writes stall before a buffer");
            buffer.counters.writes_stalled += 1;
        }
        self.go_on_flushing();
        self.stack.stop_at_violation()
    }

    /// Takes pages of writes into the buffer while there is room.
    fn accept_pages(&mut self, issuer: &mut Issuer<'_>) {
        while let Some(&Stalled { flight, pages, next }) = self.stalled.front() {
            let buffer = self.buffer.as_mut().expect("writes stall before a buffer");
            let stream = self.flights[flight].request.stream;
            for page in next..pages.count {
                let part = (page == 0 && pages.head) || (page + 1 == pages.count && pages.tail);
                let lpn = pages.first + page;
                let has_room = buffer.has_room_for(lpn);
                if !has_room {
                    self.stalled[0].next = page;
                    return;
                }
                let version = self.oracle.as_mut().map_or(0, |oracle| oracle.write(lpn));
                let accepted = buffer.accept(lpn, stream, !part, version);
                debug_assert_ne!(accepted, Accepted::Full, "there was room for page {lpn}");
            }
            self.stalled.pop_front();
            // A request that wraps around the device has a second run of pages.
            if self.stalled.front().is_none_or(|next| next.flight != flight) {
                let flags = self.flights[flight].request.flags;
                if flags & (flag::FUA | flag::PREFLUSH) != 0 {
                    self.make_safe(flight, issuer);
                } else {
                    self.served(flight, self.flights[flight].submitted_ns, issuer);
                }
            }
        }
    }

    /// Completes a request when everything accepted so far has been programmed, unless the buffer is safe by itself.
    fn make_safe(&mut self, index: u32, issuer: &mut Issuer<'_>) {
        let buffer = self.buffer.as_mut().expect("only a buffer is made safe");
        let mark = if buffer.protected { 0 } else { buffer.force() };
        if buffer.is_safe(mark) {
            self.served(index, self.flights[index].submitted_ns, issuer);
        } else {
            self.unsafe_flights.push_back((mark, index));
        }
        self.go_on_flushing();
    }

    /// Goes on with whoever waited for a page to leave the buffer.
    fn page_left_buffer(&mut self, issuer: &mut Issuer<'_>) {
        while let Some(&(mark, index)) = self.unsafe_flights.front() {
            if !self.buffer.as_ref().is_some_and(|buffer| buffer.is_safe(mark)) {
                break;
            }
            self.unsafe_flights.pop_front();
            self.served(index, self.flights[index].submitted_ns, issuer);
        }
        self.accept_pages(issuer);
    }

    /// Programs pages of the buffer as its policy says.
    fn go_on_flushing(&mut self) {
        let Some(buffer) = &mut self.buffer else { return };
        while self.stack.sinks.flash.under_way() < self.most_under_way
            && let Some((slot, held)) = buffer.flush_next()
        {
            if let Some(oracle) = &mut self.oracle {
                oracle.flush(held.lpn, held.version);
            }
            self.stack.sinks.flash.submit(BUFFERED | slot, false);
            self.stack.write(held.stream, Pages { first: held.lpn, count: 1, head: !held.whole, tail: false });
            let left = self.stack.sinks.flash.submitted();
            debug_assert!(left > 0, "a page written is a page programmed");
        }
    }

    /// A job of the flash is done.
    fn flash_done(&mut self, done: Done, issuer: &mut Issuer<'_>) -> Result<(), SimError> {
        let Done { owner, began_ns } = done;
        if owner >= COLLECTION {
            self.uncollected.push(owner - COLLECTION);
        } else if owner & BUFFERED != 0 {
            let buffer = self.buffer.as_mut().expect("its slots are its own");
            buffer.programmed(owner & !BUFFERED);
            self.page_left_buffer(issuer);
        } else {
            self.served(owner, began_ns, issuer);
        }
        if let Some(violation) = self.oracle.as_ref().and_then(|oracle| oracle.violation.clone()) {
            return Err(SimError::Check { number: self.stack.requests, violation });
        }
        Ok(())
    }

    /// Buffer and flash are done with a request, on which work began at `began_ns`.
    fn served(&mut self, index: u32, began_ns: u64, issuer: &mut Issuer<'_>) {
        let flight = &mut self.flights[index];
        flight.waited_ns = (flight.taken_ns - flight.issued_ns) + (began_ns - flight.submitted_ns);
        let Request { op, bytes, .. } = flight.request;
        if op != Op::Read || !self.path.send(index, bytes, self.now_ns()) {
            self.complete(index, issuer);
        }
    }

    /// A request is back at the host.
    fn complete(&mut self, index: u32, issuer: &mut Issuer<'_>) {
        let now_ns = self.now_ns();
        let Flight { request, issued_ns, taken_ns, waited_ns, queue, met_other, block, .. } = self.flights[index];
        self.inside[request.op as usize] -= 1;
        self.meters.left_drive(request.op, met_other, now_ns - taken_ns);
        self.flights.remove(index);
        self.queues.leave(queue);
        match block {
            None => self.finish(&request, issued_ns, waited_ns, issuer),
            Some(id) => {
                let block = self.block.as_mut().expect("it gave the request out");
                block.completed(id, now_ns);
                self.finish_host_requests(now_ns - issued_ns - waited_ns, issuer);
                self.pull();
            }
        }
    }

    /// Completes the requests of the host that have ended with one of the drive, which worked on that for so long.
    #[inline(always)]
    fn finish_host_requests(&mut self, service_ns: u64, issuer: &mut Issuer<'_>) {
        while let Some(done) = self.block.as_mut().and_then(Block::take_done) {
            let HostRequest { request, issued_ns, .. } = done;
            // A bio merged into a request that was at work cannot have come later than that.
            let waited_ns = (self.now_ns() - issued_ns).saturating_sub(service_ns);
            self.finish(&request, issued_ns, waited_ns, issuer);
        }
    }

    /// A request of the host is complete.
    fn finish(&mut self, request: &Request, issued_ns: u64, waited_ns: u64, issuer: &mut Issuer<'_>) {
        let now_ns = self.now_ns();
        self.meters.outstanding(now_ns, self.outstanding());
        let latency_ns = now_ns - issued_ns;
        self.meters.request_done(request, now_ns, latency_ns, waited_ns);
        self.measurement.request_done(&self.stack, request.op, latency_ns);
        issuer.completed(request, now_ns);
        if self.outstanding() == 0 {
            self.idle_since_ns = now_ns;
        }
    }

    /// When an idle drive begins to collect; [`NEVER`] if it does not.
    fn idle_collection_ns(&self) -> u64 {
        match self.options.collect {
            Collect::Idle { after, .. } if !self.uncollected.is_empty() && self.outstanding() == 0 => {
                (self.idle_since_ns + after.0).max(self.now_ns())
            }
            _ => NEVER,
        }
    }

    /// Steps of collection ahead of need, if it is time for them.
    fn collect_ahead(&mut self) {
        let goal = match self.options.collect {
            Collect::Foreground => return,
            Collect::Idle { goal, .. } if self.idle_collection_ns() <= self.now_ns() => goal,
            Collect::Background { goal } => goal,
            Collect::Idle { .. } => return,
        };
        let CollectGoal { blocks, step } = goal;
        while let Some(plane) = self.uncollected.pop() {
            self.stack.sinks.flash.submit(COLLECTION + plane, true);
            let worked = self.stack.ftl.background(plane, blocks, step, &mut self.stack.sinks);
            let left = self.stack.sinks.flash.submitted();
            debug_assert_eq!(worked, left > 0, "work is flash operations");
            if !worked {
                self.collected.push(plane);
            }
        }
    }
}

/// A read or trim of pages some of which may be in the buffer.
fn access_behind<F: Ftl, D: Flash, C: Checker + FlashSink, M: Meter>(
    stack: &mut Stack<F, D, C, M>,
    buffer: &mut Buffer,
    oracle: &mut Option<BufferOracle>,
    request: &Request,
    offset: u64,
    end: u64,
) {
    let page_bytes = u64::from(stack.setup.geometry.page_bytes);
    let Pages { first, count, .. } = stack.pages(offset, end);
    if request.op == Op::Trim {
        for lpn in first..first + count {
            let begin = u64::from(lpn) * page_bytes;
            if begin >= offset && begin + page_bytes <= end {
                buffer.trim(lpn);
                if let Some(oracle) = oracle {
                    oracle.trim(lpn);
                }
            }
        }
        return stack.trim(offset, end);
    }
    stack.host.pages_read += u64::from(count);
    // Reads what is not here, in runs as long as possible.
    let mut from = offset;
    for lpn in first..first + count {
        let held = buffer.newest(lpn);
        if let Some(oracle) = oracle {
            oracle.read(lpn, held.map(|held| held.version));
        }
        if held.is_some_and(|held| held.whole) {
            let begin = u64::from(lpn) * page_bytes;
            if from < begin {
                stack.read(from, begin);
            }
            from = (begin + page_bytes).min(end);
            buffer.counters.pages_read += 1;
        }
    }
    if from < end {
        stack.read(from, end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdlab_core::{Nanos, ProgramOrder};
    use ssdlab_ftl::page::{Allocation, PageFtl, PageOptions, Survivors, Trigger, VictimChoice};
    use ssdlab_nand::{Commands, Geometry, PageTimes, Parallelism, Timing};
    use ssdlab_trace::SliceSource;

    use crate::sinks::Sinks;
    use crate::{Clock, DieSchedulerChoice, Fit, Front, FtlChoice, Overwrite, Precondition, Protocol, Replay, Setup};

    /// What cannot go on ends with an account of its queues.
    #[test]
    fn a_drive_whose_dies_do_nothing_says_so_and_stops() {
        let options = PageOptions {
            gc: VictimChoice::Greedy,
            survivors: Survivors::Shared,
            trigger: Trigger::Victim,
            allocation: Allocation::Fifo,
        };
        let timing = Timing {
            read: PageTimes::uniform(Nanos(100)),
            program: PageTimes::uniform(Nanos(1_000)),
            erase: Nanos(10_000),
            transfer_per_kib: Nanos(5),
            copyback: false,
            partial_read: false,
        };
        let front =
            Front { protocol: Protocol::Direct, link_bytes_per_s: None, full_duplex: true, command: Nanos::ZERO };
        let drive = Options {
            commands: Commands::default(),
            scheduler: DieSchedulerChoice::Fifo,
            front,
            buffer: None,
            collect: Collect::Foreground,
            backlog: 10,
        };
        let setup = Setup {
            geometry: Geometry {
                page_bytes: 4096,
                pages_per_block: 4,
                blocks: 8,
                order: ProgramOrder::Ascending,
                parallelism: Parallelism::SINGLE,
            },
            logical_pages: 16,
            endurance_cycles: 1_000,
            ftl: FtlChoice::Page(options),
            clock: Clock::Event(timing, drive),
            replay: Replay::Closed { depth: 3, per_stream: false, think: Nanos::ZERO },
            cache: None,
            block: None,
            gantt: None,
            fit: Fit::Error,
            warmup_requests: 0,
            precondition: Precondition { fill: 0.0, overwrite: Overwrite::None },
            check: false,
            seed: 1,
        };
        let ftl = PageFtl::new(16, 8, 4, options, 1).expect("large enough");
        let mut flash = ParallelFlash::new(&setup.geometry, &timing, &drive, ssdlab_ftl::Counts::default(), ());
        flash.block();
        let stack = Stack::new(&setup, ftl, Sinks { flash, checker: (), meter: () });
        let write = Request { time_ns: 0, offset: 0, bytes: 4096, op: Op::Write, flags: 0, stream: 0 };
        let error = Drive::new(stack, drive)
            .expect("a drive")
            .run(&mut SliceSource::new(&[write; 5]), &mut (), PreconditionSummary::default(), Control::Continue)
            .expect_err("nothing can go on");
        let text = error.to_string();
        assert!(text.contains("cannot go on: 3 requests are outstanding, 3 of them in the drive"), "{text}");
        assert!(text.contains("3 flash operations have not ended; die 0: 3 wait, cells Idle"), "{text}");
    }
}
