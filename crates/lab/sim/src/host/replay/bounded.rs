//! The open loop with bounded streams: a stream at its maximum number of outstanding requests holds back further
//! requests.

use std::collections::VecDeque;

use ssdlab_nand::backend::parallel::NEVER;
use ssdlab_trace::Request;

use super::open::ArrivalClock;
use super::reader::{Issued, Next, TraceReader};
use crate::run::error::SimError;
use crate::run::monitor::Control;
use crate::setup::host::StreamDepths;

/// Maximum number of requests that have arrived but are held back. At this limit, later requests of other streams wait
/// too.
const LOOK_AHEAD: usize = 1 << 22;

/// State of one stream of the trace.
#[derive(Debug)]
struct Stream {
    /// Free slots: number of requests that the stream may issue now.
    slots: u32,
    /// Requests that have arrived and wait for a slot.
    waiting: VecDeque<Request>,
}

/// Issues the requests of each stream at the times recorded in the trace, up to the stream's maximum number of
/// outstanding requests.
pub(super) struct BoundedStreams {
    pub clock: ArrivalClock,
    depths: StreamDepths,
    streams: Vec<Stream>,
    /// Requests that have a slot and can be issued.
    ready: VecDeque<Request>,
    /// Number of requests that were taken from the trace but are not issued yet.
    held_back: usize,
}

impl BoundedStreams {
    pub fn new(clock: ArrivalClock, depths: StreamDepths) -> Self {
        Self { clock, depths, streams: Vec::new(), ready: VecDeque::new(), held_back: 0 }
    }

    pub fn next(&mut self, reader: &mut TraceReader<'_>, now_ns: u64) -> Result<Next, SimError> {
        loop {
            if let Some(request) = self.ready.pop_front() {
                self.held_back -= 1;
                reader.issued += 1;
                return Ok(Next::Issue(Issued { request, time_ns: now_ns }));
            }
            if self.held_back == LOOK_AHEAD {
                return Ok(Next::Wait(NEVER));
            }
            match self.clock.arrive(reader, now_ns)? {
                Next::Issue(Issued { request, .. }) => self.hold(request),
                Next::End if self.held_back > 0 && reader.control == Control::Continue => return Ok(Next::Wait(NEVER)),
                next => return Ok(next),
            }
        }
    }

    /// Holds an arrived request back until its stream has a slot.
    fn hold(&mut self, request: Request) {
        self.held_back += 1;
        let stream = usize::from(request.stream);
        while self.streams.len() <= stream {
            let slots = self.depths.of(self.streams.len() as u16);
            self.streams.push(Stream { slots, waiting: VecDeque::new() });
        }
        let Stream { slots, waiting } = &mut self.streams[stream];
        if *slots > 0 {
            *slots -= 1;
            self.ready.push_back(request);
        } else {
            waiting.push_back(request);
        }
    }

    /// Passes the slot of a completed request to the next request of its stream.
    pub fn completed(&mut self, stream: u16) {
        let Stream { slots, waiting } = &mut self.streams[usize::from(stream)];
        match waiting.pop_front() {
            Some(request) => self.ready.push_back(request),
            None => *slots += 1,
        }
    }
}
