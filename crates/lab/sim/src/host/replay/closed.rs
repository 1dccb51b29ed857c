//! The closed loop: keeps a fixed number of requests outstanding and issues requests in trace order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ssdlab_nand::backend::parallel::NEVER;

use super::reader::{Issued, Next, TraceReader};
use crate::run::error::SimError;

/// Closed loop: for each completed request, the host issues the next request of the trace after the think time.
pub(super) struct ClosedLoop {
    /// Number of requests that the host may issue now.
    tokens: u32,
    pub thinking: ThinkTimes,
}

impl ClosedLoop {
    pub fn new(depth: u32, think_ns: u64) -> Self {
        Self { tokens: depth, thinking: ThinkTimes::new(think_ns) }
    }

    #[inline]
    pub fn next(&mut self, reader: &mut TraceReader<'_>, now_ns: u64) -> Result<Next, SimError> {
        while self.thinking.end_one(now_ns).is_some() {
            self.tokens += 1;
        }
        if reader.peek()?.is_none() {
            return Ok(Next::End);
        }
        if self.tokens == 0 {
            return Ok(Next::Wait(self.thinking.next_ns()));
        }
        self.tokens -= 1;
        reader.issued += 1;
        Ok(Next::Issue(Issued { request: reader.take(), time_ns: now_ns }))
    }

    #[inline]
    pub fn completed(&mut self, stream: u16, now_ns: u64, latency_ns: u64) {
        if self.thinking.begin(stream, now_ns, latency_ns) {
            self.tokens += 1;
        }
    }
}

/// Total think time and total waiting time of all streams, for a host with think time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cycles {
    thinking_ns: u128,
    waiting_ns: u128,
}

impl Cycles {
    /// Returns think time as a share of the time between requests; `None` without think time.
    pub fn thinking_share(self) -> Option<f64> {
        let all_ns = self.thinking_ns + self.waiting_ns;
        (self.thinking_ns > 0).then(|| self.thinking_ns as f64 / all_ns as f64)
    }
}

/// Think times of streams, each from a completion to the stream's next request.
pub(super) struct ThinkTimes {
    think_ns: u64,
    /// End time of each think time in progress, with the number of its stream.
    ends: BinaryHeap<Reverse<(u64, u16)>>,
    pub cycles: Cycles,
}

impl ThinkTimes {
    pub fn new(think_ns: u64) -> Self {
        Self { think_ns, ends: BinaryHeap::new(), cycles: Cycles::default() }
    }

    /// Starts a stream's think time after a completion. Returns true if the think time is 0 and therefore already over.
    #[inline]
    pub fn begin(&mut self, stream: u16, now_ns: u64, latency_ns: u64) -> bool {
        if self.think_ns > 0 {
            self.cycles.thinking_ns += u128::from(self.think_ns);
            self.cycles.waiting_ns += u128::from(latency_ns);
            self.ends.push(Reverse((now_ns + self.think_ns, stream)));
        }
        self.think_ns == 0
    }

    /// Removes a think time that has ended by `now_ns`, and returns its stream. Returns `None` if no think time has
    /// ended.
    #[inline]
    pub fn end_one(&mut self, now_ns: u64) -> Option<u16> {
        let &Reverse((_, stream)) = self.ends.peek().filter(|Reverse((time_ns, _))| *time_ns <= now_ns)?;
        self.ends.pop();
        Some(stream)
    }

    /// Returns the earliest time at which a stream's think time ends; [`NEVER`] if no stream is thinking.
    #[inline]
    pub fn next_ns(&self) -> u64 {
        self.ends.peek().map_or(NEVER, |&Reverse((time_ns, _))| time_ns)
    }
}
