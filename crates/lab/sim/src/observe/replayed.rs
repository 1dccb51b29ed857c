//! The load that the host issued, and the lag of the drive behind it.

use serde::Serialize;

use crate::observe::latency::{TimeSummary, per_second};
use crate::setup::host::Replay;

/// Name of a replay mode, as in the setting `host.replay`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplayMode {
    /// Requests are issued when earlier requests complete.
    Closed,
    /// Each process waits for its requests.
    Processes,
    /// Requests are issued at their timestamps, scaled by the replay speed.
    Open,
}

/// Replay of the measured phase.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ReplaySummary {
    /// Replay mode.
    pub mode: ReplayMode,
    /// Speed of an open replay, relative to the timestamps of the trace.
    pub speed: Option<f64>,
    /// Number of outstanding requests of a closed replay; a drive without parallelism serves one at a time.
    pub queue_depth: Option<u32>,
    /// Time between the first and the last request, by the timestamps of the trace before scaling.
    pub recorded_ns: u64,
    /// Arrival rate of an open replay, in requests per second; `None` if time is not modelled or no time passed.
    pub arrivals_per_s: Option<f64>,
    /// Number of incomplete requests when the last request of an open replay arrived, including this request; `None` if
    /// the drive serves one request at a time.
    pub backlog_requests: Option<u64>,
    /// Speed at which the drive served an open replay, relative to the trace; `None` if the drive kept up.
    pub sustained_speed: Option<f64>,
}

/// Number of incomplete requests at a point in time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backlog {
    pub at_ns: u64,
    pub requests: u64,
}

impl ReplaySummary {
    /// Describes the replay of `requests` requests that arrived within `arriving_ns`; `behind` is `None` if the drive
    /// kept up.
    pub(crate) fn of(
        replay: Replay,
        recorded_ns: u64,
        (requests, arriving_ns): (u64, u64),
        backlog_requests: Option<u64>,
        behind: Option<&TimeSummary>,
    ) -> Self {
        let (mode, speed, queue_depth) = match replay {
            Replay::Closed { depth, .. } => (ReplayMode::Closed, None, Some(depth)),
            Replay::Processes { .. } => (ReplayMode::Processes, None, None),
            Replay::Open { speed, .. } => (ReplayMode::Open, Some(speed), None),
        };
        let is_open = mode == ReplayMode::Open;
        Self {
            mode,
            speed,
            queue_depth,
            recorded_ns,
            // The counted time starts at the first arrival, so the first request does not count.
            arrivals_per_s: per_second(requests.saturating_sub(1), arriving_ns).filter(|_| is_open && requests > 0),
            backlog_requests,
            sustained_speed: behind.map(|time| recorded_ns as f64 / time.elapsed_ns as f64),
        }
    }
}
