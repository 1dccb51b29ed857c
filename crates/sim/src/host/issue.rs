//! The host: which request comes next, and when.
//!
//! ```text
//! closed:    a request completes -> after the think time its stream may issue one more, from now on in trace order
//! processes: a read or synchronous write completes -> after the think time its process continues;
//!            an asynchronous write is issued when all before it in the trace have been
//! open:      a request comes at its time in the trace
//! ```
//! Where streams proceed independently, the host looks ahead in the trace for those that could issue, as far as
//! [`LOOK_AHEAD`] requests; a stream whose next request lies further waits. Asynchronous writes keep their
//! place in the trace because they follow from what the others did: write-back cannot precede what it writes back.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use ssdlab_nand::backend::parallel::{MOST_EVENTS, NEVER};
use ssdlab_trace::{Op, Request, Source, flag};

use crate::observe::so_far::SoFar;
use crate::run::error::SimError;
use crate::run::monitor::{Control, Monitor, Phase, Status};
use crate::setup::host::Replay;

/// Requests fetched from a source at a time.
pub(crate) const BATCH: usize = 4096;
/// Bytes replayed between two looks at the monitor, where requests are so large that a batch has more.
pub(crate) const LOOK_BYTES: u64 = BATCH as u64 * 4096;

/// Requests held back because their streams have as many outstanding as they may.
const LOOK_AHEAD: usize = 1 << 16;

/// No request comes later: half of what 64 bits count, 292 years.
const LATEST_NS: u64 = u64::MAX / 2;

/// One request and when it was issued.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Issued {
    pub request: Request,
    pub time_ns: u64,
}

/// What the host does next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Next {
    /// Issues a request.
    Issue(Issued),
    /// Waits until then, or for a completion.
    Wait(u64),
    /// Nothing more.
    End,
}

/// Requests that a stream may issue and has to issue.
#[derive(Debug, Default)]
struct Stream {
    known: bool,
    /// Requests it may issue now.
    tokens: u32,
    /// With their numbers.
    waiting: VecDeque<(u64, Request)>,
    /// Whether it is among the streams that can issue.
    listed: bool,
}

/// Takes requests from the source as the host would issue them.
pub(crate) struct HostReplay<'s> {
    source: &'s mut dyn Source,
    monitor: &'s mut dyn Monitor,
    phase: Phase,
    replay: Replay,
    /// Requests still to be taken from the source.
    left: u64,
    batch: Vec<Request>,
    next: usize,
    bytes_since_look: u64,
    /// Events of the flash since then.
    events_since_look: u32,
    /// First and last time in the batches before this one.
    arrivals_before_ns: Option<(u64, u64)>,
    pub control: Control,
    issued: u64,
    /// Closed loop without streams: requests that may be issued now.
    tokens: u32,
    /// Open loop: what is added to times of the trace; none until there is a request.
    pub shift_ns: Option<u64>,
    streams: Vec<Stream>,
    held_back: usize,
    /// Streams that can issue.
    able: VecDeque<u16>,
    /// Tokens to come.
    thinking: BinaryHeap<Reverse<(u64, u16)>>,
    pub cycles: Cycles,
    /// Asynchronous writes, with their numbers.
    unawaited: VecDeque<(u64, Request)>,
    order: Order,
    /// Whether asynchronous writes are held back, because too many wait already.
    pub held_up: bool,
    /// Receives completed requests with their times, if asked for.
    pub done: Option<&'s mut Vec<(Request, u64)>>,
}

/// How a host that thinks spends the time from one request to the next, summed over all that it waited for; nothing of a
/// host that does not think.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cycles {
    pub thinking_ns: u128,
    pub waiting_ns: u128,
}

impl Cycles {
    /// None of a host that does not think.
    pub fn thinking_share(self) -> Option<f64> {
        let all_ns = self.thinking_ns + self.waiting_ns;
        (self.thinking_ns > 0).then(|| self.thinking_ns as f64 / all_ns as f64)
    }
}

/// Which requests have been issued, by their numbers in the trace; kept where they overtake each other and it matters.
#[derive(Debug, Default)]
struct Order {
    /// The first that has not.
    oldest: u64,
    /// Whether those from there on have.
    issued: VecDeque<bool>,
}

impl Order {
    /// The number of a request that is taken from the trace.
    fn number(&mut self) -> u64 {
        self.issued.push_back(false);
        self.oldest + self.issued.len() as u64 - 1
    }

    fn issue(&mut self, number: u64) {
        self.issued[(number - self.oldest) as usize] = true;
        while self.issued.front() == Some(&true) {
            self.issued.pop_front();
            self.oldest += 1;
        }
    }
}

impl<'s> HostReplay<'s> {
    /// Issues up to `limit` requests, the first of them being number `issued` + 1 of the run.
    pub fn new(
        source: &'s mut dyn Source,
        monitor: &'s mut dyn Monitor,
        phase: Phase,
        replay: Replay,
        limit: u64,
        issued: u64,
    ) -> Self {
        Self {
            source,
            monitor,
            phase,
            replay,
            left: limit,
            batch: Vec::new(),
            next: 0,
            bytes_since_look: 0,
            events_since_look: 0,
            arrivals_before_ns: None,
            control: Control::Continue,
            issued,
            tokens: if let Replay::Closed { depth, .. } = replay { depth } else { 0 },
            shift_ns: None,
            streams: Vec::new(),
            held_back: 0,
            able: VecDeque::new(),
            thinking: BinaryHeap::new(),
            cycles: Cycles::default(),
            unawaited: VecDeque::new(),
            order: Order::default(),
            held_up: false,
            done: None,
        }
    }

    /// The request that comes `ahead` after the next one in the trace, if it has been fetched.
    #[inline]
    pub fn ahead(&self, ahead: usize) -> Option<&Request> {
        self.batch.get(self.next + ahead)
    }

    /// Whether the monitor is asked before the next request is issued.
    #[inline]
    pub fn asks_next(&self) -> bool {
        let asks = self.next >= self.batch.len() || self.bytes_since_look > LOOK_BYTES;
        asks && self.control == Control::Continue && !self.batch.is_empty()
    }

    /// Shows the monitor, before it is asked, what the drive has done if it watches; `figures` is given the number of
    /// requests replayed.
    #[cold]
    pub fn watch(&mut self, figures: impl FnOnce(u64) -> SoFar) {
        if self.monitor.watches() {
            self.monitor.watch(&figures(self.issued));
        }
    }

    /// Fetches the next batch if there is none; false at the end.
    #[inline(always)]
    fn fetch(&mut self) -> Result<bool, SimError> {
        let left = self.next < self.batch.len();
        if left && self.bytes_since_look <= LOOK_BYTES && self.control == Control::Continue {
            Ok(true)
        } else {
            self.look_and_fetch(left)
        }
    }

    #[cold]
    fn look_and_fetch(&mut self, left: bool) -> Result<bool, SimError> {
        if self.control == Control::Continue && !self.batch.is_empty() {
            self.look();
        }
        if left || self.control == Control::Stop {
            return Ok(self.control == Control::Continue);
        }
        self.arrivals_before_ns = self.arrivals_ns();
        self.batch.clear();
        self.next = 0;
        let count = BATCH.min(usize::try_from(self.left).unwrap_or(BATCH));
        let count = if count == 0 { 0 } else { self.source.fill(&mut self.batch, count)? };
        self.left -= count as u64;
        if self.batch.is_empty() {
            self.left = 0;
        }
        Ok(!self.batch.is_empty())
    }

    /// First and last time in the trace of what was taken from it; none if nothing was.
    pub fn arrivals_ns(&self) -> Option<(u64, u64)> {
        let taken = &self.batch[..self.next];
        let Some((first, last)) = taken.first().zip(taken.last()) else { return self.arrivals_before_ns };
        Some((self.arrivals_before_ns.map_or(first.time_ns, |(first_ns, _)| first_ns), last.time_ns))
    }

    fn look(&mut self) {
        let status = Status::replaying(self.phase, self.source.progress(), self.issued);
        if self.monitor.report(&status) == Control::Stop {
            self.control = Control::Stop;
        }
        (self.bytes_since_look, self.events_since_look) = (0, 0);
    }

    /// The flash has gone through so many events. Returns whether to ask the monitor: requests may be so long that none is
    /// issued meanwhile.
    #[inline(always)]
    pub fn worked(&mut self, events: u32) -> bool {
        self.events_since_look += events;
        self.events_since_look >= MOST_EVENTS
    }

    /// Asks the monitor while requests are on their way.
    #[cold]
    pub fn ask(&mut self) -> Result<(), SimError> {
        self.look();
        if self.monitor.abandons() { Err(SimError::Abandoned) } else { Ok(()) }
    }

    /// The next request of the batch, which has one.
    #[inline]
    fn take(&mut self) -> Request {
        let request = self.batch[self.next];
        self.next += 1;
        self.bytes_since_look += u64::from(request.bytes);
        request
    }

    /// What the host does at `now_ns`.
    #[inline(always)]
    pub fn next(&mut self, now_ns: u64) -> Result<Next, SimError> {
        match self.replay {
            Replay::Open { time_scale } => self.next_open(now_ns, time_scale),
            Replay::Closed { per_stream: false, .. } => self.next_in_order(now_ns),
            Replay::Closed { depth, .. } => self.next_of_streams(now_ns, depth),
            Replay::Processes { .. } => self.next_of_streams(now_ns, 1),
        }
    }

    fn next_open(&mut self, now_ns: u64, time_scale: f64) -> Result<Next, SimError> {
        if !self.fetch()? {
            return Ok(Next::End);
        }
        let request = self.batch[self.next];
        let time_ns = arrival_ns(request.time_ns, time_scale, &mut self.shift_ns, now_ns);
        if time_ns > LATEST_NS {
            return Err(SimError::BeyondTime { number: self.issued + 1, time_ns: request.time_ns, time_scale });
        }
        if time_ns > now_ns {
            return Ok(Next::Wait(time_ns));
        }
        self.take();
        self.issued += 1;
        Ok(Next::Issue(Issued { request, time_ns }))
    }

    /// Gives the tokens whose time has come.
    #[inline]
    fn end_thinking(&mut self, now_ns: u64) {
        while let Some(&Reverse((time_ns, stream))) = self.thinking.peek() {
            if time_ns > now_ns {
                break;
            }
            self.thinking.pop();
            self.give_token(stream);
        }
    }

    /// When the next token comes that has a time; [`NEVER`] if none has.
    #[inline]
    fn next_token_ns(&self) -> u64 {
        self.thinking.peek().map_or(NEVER, |&Reverse((time_ns, _))| time_ns)
    }

    /// Whoever issues it, the next request is that of the trace.
    #[inline]
    fn next_in_order(&mut self, now_ns: u64) -> Result<Next, SimError> {
        self.end_thinking(now_ns);
        if !self.fetch()? {
            return Ok(Next::End);
        }
        if self.tokens == 0 {
            return Ok(Next::Wait(self.next_token_ns()));
        }
        self.tokens -= 1;
        self.issued += 1;
        Ok(Next::Issue(Issued { request: self.take(), time_ns: now_ns }))
    }

    fn next_of_streams(&mut self, now_ns: u64, depth: u32) -> Result<Next, SimError> {
        self.end_thinking(now_ns);
        loop {
            if let Some((number, request)) = self.take_unawaited().or_else(|| self.take_awaited()) {
                if matches!(self.replay, Replay::Processes { .. }) {
                    self.order.issue(number);
                }
                self.held_back -= 1;
                self.issued += 1;
                return Ok(Next::Issue(Issued { request, time_ns: now_ns }));
            }
            let may_look = self.held_back < LOOK_AHEAD;
            if !may_look || !self.fetch()? {
                let is_end = may_look && self.held_back == 0;
                return Ok(if is_end { Next::End } else { Next::Wait(self.next_token_ns()) });
            }
            let request = self.take();
            self.hold(request, depth);
        }
    }

    /// The next asynchronous write, if it is its turn.
    fn take_unawaited(&mut self) -> Option<(u64, Request)> {
        let in_turn = self.unawaited.front().is_some_and(|&(number, _)| number == self.order.oldest);
        if in_turn && !self.held_up { self.unawaited.pop_front() } else { None }
    }

    /// A request of a stream that can issue.
    fn take_awaited(&mut self) -> Option<(u64, Request)> {
        let stream = &mut self.streams[usize::from(*self.able.front()?)];
        let request = stream.waiting.pop_front().expect("a stream that can issue has a request");
        stream.tokens -= 1;
        stream.listed = stream.tokens > 0 && !stream.waiting.is_empty();
        if !stream.listed {
            self.able.pop_front();
        }
        Some(request)
    }

    fn hold(&mut self, request: Request, depth: u32) {
        let stream = request.stream;
        self.held_back += 1;
        let mut number = 0;
        if matches!(self.replay, Replay::Processes { .. }) {
            number = self.order.number();
            if !is_awaited(&request) {
                self.unawaited.push_back((number, request));
                return;
            }
        }
        if self.streams.len() <= usize::from(stream) {
            self.streams.resize_with(usize::from(stream) + 1, Stream::default);
        }
        let held = &mut self.streams[usize::from(stream)];
        if !held.known {
            held.known = true;
            held.tokens = depth;
        }
        held.waiting.push_back((number, request));
        self.list(stream);
    }

    #[inline]
    fn give_token(&mut self, number: u16) {
        if let Replay::Closed { per_stream: false, .. } = self.replay {
            self.tokens += 1;
        } else {
            self.streams[usize::from(number)].tokens += 1;
            self.list(number);
        }
    }

    fn list(&mut self, number: u16) {
        let stream = &mut self.streams[usize::from(number)];
        if !stream.listed && stream.tokens > 0 && !stream.waiting.is_empty() {
            stream.listed = true;
            self.able.push_back(number);
        }
    }

    /// A request of the host is complete, after so long.
    #[inline(always)]
    pub fn completed(&mut self, request: &Request, now_ns: u64, latency_ns: u64) {
        if let Some(done) = &mut self.done {
            done.push((*request, now_ns));
        }
        let (stream, think) = match self.replay {
            Replay::Open { .. } => return,
            Replay::Closed { think, .. } => (request.stream, think),
            Replay::Processes { .. } if !is_awaited(request) => return,
            Replay::Processes { think } => (request.stream, think),
        };
        if think.0 == 0 {
            self.give_token(stream);
        } else {
            self.cycles.thinking_ns += u128::from(think.0);
            self.cycles.waiting_ns += u128::from(latency_ns);
            self.thinking.push(Reverse((now_ns + think.0, stream)));
        }
    }
}

/// Whether the process that issued a request waits for it.
fn is_awaited(request: &Request) -> bool {
    matches!(request.op, Op::Read | Op::Flush) || request.flags & flag::SYNC != 0
}

/// When a request of an open loop comes. A phase begins when the one before it is over: what came meanwhile comes that
/// much later, by `shift_ns`, which the first request of a phase sets.
#[inline(always)]
pub(crate) fn arrival_ns(time_ns: u64, time_scale: f64, shift_ns: &mut Option<u64>, now_ns: u64) -> u64 {
    let traced_ns = scaled(time_ns, time_scale);
    traced_ns.saturating_add(*shift_ns.get_or_insert(now_ns.saturating_sub(traced_ns)))
}

/// A time of the trace on the clock of the run, rounded to the nearest nanosecond.
pub(crate) fn scaled(time_ns: u64, scale: f64) -> u64 {
    if scale == 1.0 { time_ns } else { (time_ns as f64 * scale).round() as u64 }
}
