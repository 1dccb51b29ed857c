//! Host replay: decides which request is issued next, and when. Each replay model is a type.
//!
//! ```text
//! open:      each request arrives at the time recorded in the trace
//! bounded:   like open, but a stream at its depth holds its requests back until earlier requests complete
//! closed:    a completion, and after the think time the next request of the trace
//! streams:   like closed, but separately for each stream
//! processes: a read or synchronous write completes, and after the think time its process continues;
//!            an asynchronous write is issued after all earlier requests of the trace
//! jobs:      closed loops with their own requests, depths, pauses and end conditions, if the source consists of jobs
//! ```

mod bounded;
mod closed;
mod jobs;
mod open;
mod reader;
mod streams;

use ssdlab_nand::backend::parallel::NEVER;
use ssdlab_trace::{Request, Source};

use crate::observe::replayed::Backlog;
use crate::run::error::SimError;
use crate::run::monitor::{Control, Monitor, Phase};
use crate::setup::host::Replay;
use bounded::BoundedStreams;
use closed::ClosedLoop;
pub(crate) use closed::Cycles;
use jobs::JobReplay;
pub(crate) use open::{ArrivalClock, scaled};
pub(crate) use reader::{BATCH, Issued, Next, TraceReader};
use streams::StreamReplay;

/// Number of outstanding requests at which an open replay stops reading requests from the trace, to bound its memory.
/// Requests keep their arrival times.
pub(crate) const MOST_OUTSTANDING: u32 = 1 << 16;

/// Replay model, which decides which request is issued next.
enum Model {
    Open(ArrivalClock),
    Bounded(BoundedStreams),
    Closed(ClosedLoop),
    Streams(StreamReplay),
    Jobs(JobReplay),
}

impl Model {
    fn new(replay: Replay) -> Self {
        match replay {
            Replay::Open { speed, depths: None } => Self::Open(ArrivalClock::new(speed)),
            Replay::Open { speed, depths: Some(depths) } => {
                Self::Bounded(BoundedStreams::new(ArrivalClock::new(speed), depths))
            }
            Replay::Closed { depth, per_stream: false, think } => Self::Closed(ClosedLoop::new(depth, think.0)),
            Replay::Closed { depth, think, .. } => Self::Streams(StreamReplay::of_closed_loops(depth, think.0)),
            Replay::Processes { think } => Self::Streams(StreamReplay::of_processes(think.0)),
        }
    }
}

/// Replay of a request source by the host.
pub(crate) struct HostReplay<'s> {
    pub reader: TraceReader<'s>,
    model: Model,
    /// True while asynchronous writes are held back, because too many are in flight.
    pub held_up: bool,
    /// True while an open replay issues no requests, because [`MOST_OUTSTANDING`] requests are outstanding.
    pub is_full: bool,
    /// Number of outstanding requests when the last request was issued.
    pub backlog: Option<Backlog>,
}

impl<'s> HostReplay<'s> {
    /// Creates a replay of up to `limit` requests; `issued` is the number of requests issued before this replay.
    pub fn new(
        source: &'s mut dyn Source,
        monitor: &'s mut dyn Monitor,
        phase: Phase,
        replay: Replay,
        limit: u64,
        issued: u64,
    ) -> Self {
        let jobs = source.jobs();
        let model = if jobs.is_empty() { Model::new(replay) } else { Model::Jobs(JobReplay::new(jobs)) };
        Self {
            reader: TraceReader::new(source, monitor, phase, limit, issued),
            model,
            held_up: false,
            is_full: false,
            backlog: None,
        }
    }

    /// Returns the next action of the host at `now_ns`.
    #[inline(always)]
    pub fn next(&mut self, now_ns: u64) -> Result<Next, SimError> {
        match &mut self.model {
            Model::Open(_) if self.is_full => Ok(Next::Wait(NEVER)),
            Model::Open(clock) => clock.next(&mut self.reader, now_ns),
            Model::Bounded(model) => model.next(&mut self.reader, now_ns),
            Model::Closed(model) => model.next(&mut self.reader, now_ns),
            Model::Streams(model) => model.next(&mut self.reader, now_ns, self.held_up),
            Model::Jobs(model) => model.next(&mut self.reader, now_ns),
        }
    }

    /// Records that a request has completed.
    #[inline(always)]
    pub fn completed(&mut self, request: &Request, now_ns: u64, latency_ns: u64) {
        match &mut self.model {
            Model::Open(_) => {}
            Model::Bounded(model) => model.completed(request.stream),
            Model::Closed(model) => model.completed(request.stream, now_ns, latency_ns),
            Model::Streams(model) => model.completed(request, now_ns, latency_ns),
            Model::Jobs(model) => model.completed(request, now_ns, latency_ns),
        }
    }

    /// Returns how far an open loop lags behind the timestamps of the trace; 0 for other models.
    pub fn shift_ns(&self) -> u64 {
        match &self.model {
            Model::Open(clock) | Model::Bounded(BoundedStreams { clock, .. }) => clock.shift_ns.unwrap_or(0),
            Model::Closed(_) | Model::Streams(_) | Model::Jobs(_) => 0,
        }
    }

    /// Returns the time that the host spent thinking and waiting between requests.
    pub fn cycles(&self) -> Cycles {
        match &self.model {
            Model::Open(_) | Model::Bounded(_) | Model::Jobs(_) => Cycles::default(),
            Model::Closed(model) => model.thinking.cycles,
            Model::Streams(model) => model.thinking.cycles,
        }
    }

    /// Reports the measurements of the jobs to the source. Returns the monitor's last decision: to continue or to stop.
    pub fn finish(self) -> Control {
        let Self { mut reader, model, .. } = self;
        if let Model::Jobs(model) = model {
            reader.jobs_done(model.outcomes());
        }
        reader.control
    }
}
