//! The host: which request comes next, and when.
//!
//! ```text
//! closed: a request completes -> after the think time its stream may issue one more, from now on in trace order
//! open:   a request comes at its time in the trace
//! ```
//! With a queue depth for each stream the host looks ahead in the trace for streams that could issue, as far as
//! [`LOOK_AHEAD`] requests; a stream whose next request lies further waits.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use ssdlab_trace::{Request, Source};

use crate::engine::{BATCH, scaled};
use crate::parallel::NEVER;
use crate::{Control, Monitor, Phase, Replay, SimError, Status};

/// Requests held back because their streams have as many outstanding as they may.
const LOOK_AHEAD: usize = 1 << 16;

/// No request comes later: half of what 64 bits count, 292 years.
const LATEST_NS: u64 = u64::MAX / 2;

/// One request and when it was issued.
#[derive(Clone, Copy, Debug)]
pub(super) struct Issued {
    pub request: Request,
    pub time_ns: u64,
}

/// What the host does next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Next {
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
    waiting: VecDeque<Request>,
    /// Whether it is among the streams that can issue.
    listed: bool,
}

/// Takes requests from the source as the host would issue them.
pub(super) struct Issuer<'s> {
    source: &'s mut dyn Source,
    monitor: &'s mut dyn Monitor,
    phase: Phase,
    replay: Replay,
    /// Requests still to be taken from the source.
    left: u64,
    batch: Vec<Request>,
    next: usize,
    /// First and latest time in the batch that was fetched last.
    pub arrivals_ns: Option<(u64, u64)>,
    pub control: Control,
    issued: u64,
    /// Open loop: what is added to times of the trace.
    shift_ns: Option<u64>,
    streams: Vec<Stream>,
    held_back: usize,
    /// Streams that can issue.
    able: VecDeque<u16>,
    /// Tokens to come.
    thinking: BinaryHeap<Reverse<(u64, u16)>>,
}

impl<'s> Issuer<'s> {
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
            batch: Vec::with_capacity(BATCH),
            next: 0,
            arrivals_ns: None,
            control: Control::Continue,
            issued,
            shift_ns: None,
            streams: Vec::new(),
            held_back: 0,
            able: VecDeque::new(),
            thinking: BinaryHeap::new(),
        }
    }

    /// The request that comes `ahead` after the next one in the trace, if it has been fetched.
    #[inline]
    pub fn ahead(&self, ahead: usize) -> Option<&Request> {
        self.batch.get(self.next + ahead)
    }

    /// Fetches the next batch if there is none; false at the end.
    fn fetch(&mut self) -> Result<bool, SimError> {
        if self.next < self.batch.len() {
            return Ok(true);
        }
        if self.control == Control::Stop {
            return Ok(false);
        }
        if !self.batch.is_empty() {
            let progress = self.source.progress();
            let status =
                Status { phase: self.phase, done: progress.done, total: progress.total, requests: self.issued };
            self.control = self.monitor.report(&status);
            if self.control == Control::Stop {
                return Ok(false);
            }
        }
        self.batch.clear();
        self.next = 0;
        let count = BATCH.min(usize::try_from(self.left).unwrap_or(BATCH));
        let count = if count == 0 { 0 } else { self.source.fill(&mut self.batch, count)? };
        self.left -= count as u64;
        let Some((first, last)) = self.batch.first().zip(self.batch.last()) else {
            self.left = 0;
            return Ok(false);
        };
        self.arrivals_ns = Some((self.arrivals_ns.map_or(first.time_ns, |(first, _)| first), last.time_ns));
        Ok(true)
    }

    /// What the host does at `now_ns`.
    #[inline]
    pub fn next(&mut self, now_ns: u64) -> Result<Next, SimError> {
        match self.replay {
            Replay::Open { time_scale } => self.next_open(now_ns, time_scale),
            Replay::Closed { depth, per_stream, .. } => self.next_closed(now_ns, depth, per_stream),
        }
    }

    fn next_open(&mut self, now_ns: u64, time_scale: f64) -> Result<Next, SimError> {
        if !self.fetch()? {
            return Ok(Next::End);
        }
        let request = self.batch[self.next];
        let traced_ns = scaled(request.time_ns, time_scale);
        // A phase begins when the one before it is over: what came meanwhile comes that much later.
        let shift_ns = *self.shift_ns.get_or_insert(now_ns.saturating_sub(traced_ns));
        let time_ns = traced_ns.saturating_add(shift_ns);
        if time_ns > LATEST_NS {
            return Err(SimError::BeyondTime { number: self.issued + 1, time_ns: request.time_ns, time_scale });
        }
        if time_ns > now_ns {
            return Ok(Next::Wait(time_ns));
        }
        self.next += 1;
        self.issued += 1;
        Ok(Next::Issue(Issued { request, time_ns }))
    }

    fn next_closed(&mut self, now_ns: u64, depth: u32, per_stream: bool) -> Result<Next, SimError> {
        while let Some(&Reverse((time_ns, stream))) = self.thinking.peek() {
            if time_ns > now_ns {
                break;
            }
            self.thinking.pop();
            self.give_token(stream);
        }
        loop {
            if let Some(&number) = self.able.front() {
                let stream = &mut self.streams[usize::from(number)];
                let request = stream.waiting.pop_front().expect("a stream that can issue has a request");
                stream.tokens -= 1;
                stream.listed = stream.tokens > 0 && !stream.waiting.is_empty();
                if !stream.listed {
                    self.able.pop_front();
                }
                self.held_back -= 1;
                self.issued += 1;
                return Ok(Next::Issue(Issued { request, time_ns: now_ns }));
            }
            let may_look = self.held_back < if per_stream { LOOK_AHEAD } else { 1 };
            if !may_look || !self.fetch()? {
                let later = self.thinking.peek().map_or(NEVER, |&Reverse((time_ns, _))| time_ns);
                return Ok(if may_look && self.held_back == 0 { Next::End } else { Next::Wait(later) });
            }
            let request = self.batch[self.next];
            self.next += 1;
            self.hold(request, if per_stream { request.stream } else { 0 }, depth);
        }
    }

    fn hold(&mut self, request: Request, number: u16, depth: u32) {
        if self.streams.len() <= usize::from(number) {
            self.streams.resize_with(usize::from(number) + 1, Stream::default);
        }
        let stream = &mut self.streams[usize::from(number)];
        if !stream.known {
            stream.known = true;
            stream.tokens = depth;
        }
        stream.waiting.push_back(request);
        self.held_back += 1;
        self.list(number);
    }

    fn give_token(&mut self, number: u16) {
        self.streams[usize::from(number)].tokens += 1;
        self.list(number);
    }

    fn list(&mut self, number: u16) {
        let stream = &mut self.streams[usize::from(number)];
        if !stream.listed && stream.tokens > 0 && !stream.waiting.is_empty() {
            stream.listed = true;
            self.able.push_back(number);
        }
    }

    /// A request of the host is complete.
    #[inline]
    pub fn completed(&mut self, stream: u16, now_ns: u64) {
        if let Replay::Closed { per_stream, think, .. } = self.replay {
            let number = if per_stream { stream } else { 0 };
            if think.0 == 0 {
                self.give_token(number);
            } else {
                self.thinking.push(Reverse((now_ns + think.0, number)));
            }
        }
    }
}
