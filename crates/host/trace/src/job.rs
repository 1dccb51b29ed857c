//! Jobs: concurrent closed loops, each with its own requests, queue depth, pauses and stop condition, like the jobs of
//! fio.

use ssdlab_core::LatencyHistogram;

use crate::Op;

/// A closed loop with its own requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Group number of the job. A group starts when all jobs in lower-numbered groups have ended.
    pub group: u32,
    /// Maximum number of outstanding requests, at least 1.
    pub depth: u32,
    /// Length of a pause. The job pauses after every `think_requests` requests, once all of them have completed.
    pub think_ns: u64,
    /// Number of requests between two pauses, at least 1.
    pub think_requests: u64,
    /// Time from the start of the group to the start of the job.
    pub delay_ns: u64,
    /// Maximum time from the start of the job until it stops issuing requests.
    pub runtime_ns: u64,
}

/// Measurements of one job.
#[derive(Clone, Debug, Default)]
pub struct JobOutcome {
    /// Simulated time at which the job started.
    pub start_ns: u64,
    /// Simulated time at which the last request completed; `start_ns` if there were no requests.
    pub end_ns: u64,
    /// Total bytes of the completed requests, by operation ([`Op`]).
    pub bytes: [u64; Op::ALL.len()],
    /// Response times of the completed requests, by operation ([`Op`]).
    pub latency: [LatencyHistogram; Op::ALL.len()],
}
