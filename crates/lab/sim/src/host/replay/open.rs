//! The open loop: each request arrives at the time recorded in the trace.

use super::reader::{Issued, Next, TraceReader};
use crate::run::error::SimError;

/// Latest possible arrival time: half of the 64-bit range in nanoseconds, or 292 years.
const LATEST_NS: u64 = u64::MAX / 2;

/// Converts timestamps of the trace into times of the run.
///
/// A phase of the run begins when the previous phase is over. So all arrivals of a phase are delayed by `shift_ns`,
/// which is computed at the first request of the phase.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArrivalClock {
    speed: f64,
    /// Delay of all requests of this phase; `None` before the first request.
    pub shift_ns: Option<u64>,
}

impl ArrivalClock {
    pub fn new(speed: f64) -> Self {
        Self { speed, shift_ns: None }
    }

    /// Converts the time of a request in the trace into its arrival time on the clock of the run.
    #[inline(always)]
    pub fn arrival_ns(&mut self, trace_ns: u64, now_ns: u64) -> u64 {
        let scaled_ns = scaled(trace_ns, self.speed);
        scaled_ns.saturating_add(*self.shift_ns.get_or_insert(now_ns.saturating_sub(scaled_ns)))
    }

    pub(super) fn next(&mut self, reader: &mut TraceReader<'_>, now_ns: u64) -> Result<Next, SimError> {
        let next = self.arrive(reader, now_ns)?;
        reader.issued += u64::from(matches!(next, Next::Issue(_)));
        Ok(next)
    }

    /// Takes the next request from the trace if it has arrived by `now_ns`; otherwise returns its arrival time. The
    /// caller must count a taken request as issued.
    pub(super) fn arrive(&mut self, reader: &mut TraceReader<'_>, now_ns: u64) -> Result<Next, SimError> {
        let Some(request) = reader.peek()?.copied() else { return Ok(Next::End) };
        let time_ns = self.arrival_ns(request.time_ns, now_ns);
        if time_ns > LATEST_NS {
            let (number, speed) = (reader.issued + 1, self.speed);
            return Err(SimError::BeyondTime { number, time_ns: request.time_ns, speed });
        }
        if time_ns > now_ns {
            return Ok(Next::Wait(time_ns));
        }
        reader.take();
        Ok(Next::Issue(Issued { request, time_ns }))
    }
}

/// Divides a trace time by the speed of the replay, rounded to the nearest nanosecond.
pub(crate) fn scaled(time_ns: u64, speed: f64) -> u64 {
    if speed == 1.0 { time_ns } else { (time_ns as f64 / speed).round() as u64 }
}
