//! Replays streams independently: each stream is a closed loop, or a process that waits for reads and synchronous
//! writes.
//!
//! To find a request of a stream that may issue one, the host reads ahead in the trace and holds back up to
//! [`LOOK_AHEAD`] requests. A stream whose next request is further ahead waits. An asynchronous write of a process is
//! issued after all earlier requests of the trace: write-back cannot precede the writes that dirtied its pages.

use std::collections::VecDeque;

use ssdlab_trace::{Op, Request, flag};

use super::closed::ThinkTimes;
use super::reader::{Issued, Next, TraceReader};
use crate::run::error::SimError;

/// Maximum number of requests that are held back because their streams are not yet allowed to issue them.
const LOOK_AHEAD: usize = 1 << 16;

/// State of one stream of the trace.
#[derive(Debug, Default)]
struct Stream {
    is_known: bool,
    /// Number of requests that the stream may issue now.
    tokens: u32,
    /// Requests of the stream that wait to be issued, with their positions in the trace.
    waiting: VecDeque<(u64, Request)>,
    /// True if the stream is in the list [`StreamReplay::ready`].
    is_ready: bool,
}

/// Asynchronous writes of processes, each issued after all earlier requests of the trace.
#[derive(Debug, Default)]
struct AsyncWrites {
    waiting: VecDeque<(u64, Request)>,
    /// Number of the first request in the trace that has not been issued.
    oldest: u64,
    /// For each request, starting with number `oldest`: true if the request has been issued.
    issued: VecDeque<bool>,
}

impl AsyncWrites {
    /// Returns the number of the request that was just taken from the trace.
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

    fn take(&mut self) -> Option<(u64, Request)> {
        let is_next = self.waiting.front().is_some_and(|&(number, _)| number == self.oldest);
        if is_next { self.waiting.pop_front() } else { None }
    }
}

/// Replays the streams of a trace independently of each other.
pub(super) struct StreamReplay {
    /// Maximum number of outstanding requests of a stream.
    depth: u32,
    streams: Vec<Stream>,
    /// Streams that may issue a request and have a request waiting.
    ready: VecDeque<u16>,
    /// Number of requests that were taken from the trace but are not issued yet.
    held_back: usize,
    pub thinking: ThinkTimes,
    /// Asynchronous writes; `None` if streams wait for every request.
    writes: Option<AsyncWrites>,
}

impl StreamReplay {
    /// Creates a replay in which every stream is a closed loop.
    pub fn of_closed_loops(depth: u32, think_ns: u64) -> Self {
        Self {
            depth,
            streams: Vec::new(),
            ready: VecDeque::new(),
            held_back: 0,
            thinking: ThinkTimes::new(think_ns),
            writes: None,
        }
    }

    /// Creates a replay in which every stream is a process.
    pub fn of_processes(think_ns: u64) -> Self {
        Self { writes: Some(AsyncWrites::default()), ..Self::of_closed_loops(1, think_ns) }
    }

    /// Returns the next action of the host. If `held_up` is true, asynchronous writes are held back.
    pub fn next(&mut self, reader: &mut TraceReader<'_>, now_ns: u64, held_up: bool) -> Result<Next, SimError> {
        while let Some(stream) = self.thinking.end_one(now_ns) {
            self.give_token(stream);
        }
        loop {
            let write = self.writes.as_mut().filter(|_| !held_up).and_then(AsyncWrites::take);
            if let Some((number, request)) = write.or_else(|| self.take_ready()) {
                if let Some(writes) = &mut self.writes {
                    writes.issue(number);
                }
                self.held_back -= 1;
                reader.issued += 1;
                return Ok(Next::Issue(Issued { request, time_ns: now_ns }));
            }
            let may_look = self.held_back < LOOK_AHEAD;
            if !may_look || reader.peek()?.is_none() {
                let is_end = may_look && self.held_back == 0;
                return Ok(if is_end { Next::End } else { Next::Wait(self.thinking.next_ns()) });
            }
            self.hold(reader.take());
        }
    }

    /// Takes the next request of the stream that has been ready for the longest time.
    fn take_ready(&mut self) -> Option<(u64, Request)> {
        let stream = &mut self.streams[usize::from(*self.ready.front()?)];
        let request = stream.waiting.pop_front().expect("every ready stream has a request");
        stream.tokens -= 1;
        stream.is_ready = stream.tokens > 0 && !stream.waiting.is_empty();
        if !stream.is_ready {
            self.ready.pop_front();
        }
        Some(request)
    }

    /// Holds back a request until its stream may issue it.
    fn hold(&mut self, request: Request) {
        let stream = request.stream;
        self.held_back += 1;
        let mut number = 0;
        if let Some(writes) = &mut self.writes {
            number = writes.number();
            if !is_awaited(&request) {
                writes.waiting.push_back((number, request));
                return;
            }
        }
        if self.streams.len() <= usize::from(stream) {
            self.streams.resize_with(usize::from(stream) + 1, Stream::default);
        }
        let held = &mut self.streams[usize::from(stream)];
        if !held.is_known {
            held.is_known = true;
            held.tokens = self.depth;
        }
        held.waiting.push_back((number, request));
        self.make_ready(stream);
    }

    fn give_token(&mut self, stream: u16) {
        self.streams[usize::from(stream)].tokens += 1;
        self.make_ready(stream);
    }

    fn make_ready(&mut self, number: u16) {
        let stream = &mut self.streams[usize::from(number)];
        if !stream.is_ready && stream.tokens > 0 && !stream.waiting.is_empty() {
            stream.is_ready = true;
            self.ready.push_back(number);
        }
    }

    pub fn completed(&mut self, request: &Request, now_ns: u64, latency_ns: u64) {
        let is_awaited = self.writes.is_none() || is_awaited(request);
        if is_awaited && self.thinking.begin(request.stream, now_ns, latency_ns) {
            self.give_token(request.stream);
        }
    }
}

/// Returns true if the process that issued a request waits for it.
fn is_awaited(request: &Request) -> bool {
    matches!(request.op, Op::Read | Op::Flush) || request.flags & flag::SYNC != 0
}
