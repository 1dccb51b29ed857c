//! Errors of a simulation.

use std::path::PathBuf;

use ssdlab_core::units::write_bytes;
use ssdlab_trace::{Placed, TraceError};

/// Reason why a simulation cannot start or continue.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// The set-up is invalid.
    #[error("{0}")]
    Setup(String),
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A request ends past the end of the device.
    #[error(
        "{}: a {} of {} at byte {} ends {} past the end of the device ({}); raise device.capacity, or choose --fit \
         compact, grow, scale or wrap",
        request.place, request.op.name(), write_bytes(request.bytes), request.offset,
        write_bytes(request.offset.saturating_add(request.bytes) - capacity_bytes), write_bytes(*capacity_bytes)
    )]
    BeyondDevice {
        /// Number of the request in the order of issue, from 1; readers of the trace replace this number with a line
        /// number.
        request: Placed,
        /// Capacity of the device in bytes.
        capacity_bytes: u64,
    },
    /// A request's arrival time exceeds the limit of simulated time.
    #[error(
        "request {number} arrives at {time_ns} ns{}, past the limit of 292 years of simulated time; raise \
         host.replay.open.speed",
        if *speed == 1.0 { String::new() } else { format!(" at speed {speed}") }
    )]
    BeyondTime {
        /// Number of the request in the order of issue, from 1.
        number: u64,
        /// Time of the request in the trace.
        time_ns: u64,
        /// Replay speed relative to the timestamps of the trace.
        speed: f64,
    },
    /// The monitor stopped the run, so there are no results.
    #[error("the run was stopped")]
    Abandoned,
    /// Requests are waiting, but no event is due that could complete them.
    #[error("the simulation cannot continue: {0}; this is a bug in ssdlab, please report it")]
    Stuck(String),
    /// A cached drive cannot be used and must be preconditioned again.
    #[error("{}: {why}", path.display())]
    Cached {
        /// File of the preconditioned drive.
        path: PathBuf,
        /// Reason why the file cannot be used.
        why: String,
    },
    /// The drive cannot be saved; the run itself is complete.
    #[error("{}: {why}", path.display())]
    Unsaved {
        /// File in which the drive was to be saved.
        path: PathBuf,
        /// Reason why the drive cannot be saved, with the remedy if it is known.
        why: String,
    },
    /// The data check found an error in the FTL.
    #[error("data check failed at request {number}: {violation}; this is a bug in the FTL, please report it")]
    Check {
        /// Number of the request, from 1; 0 during preconditioning.
        number: u64,
        /// Description of the violation.
        violation: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_speed_is_named_only_if_it_differs_from_the_trace() {
        let message = |speed| SimError::BeyondTime { number: 2, time_ns: u64::MAX, speed }.to_string();
        assert!(message(1.0).starts_with("request 2 arrives at 18446744073709551615 ns, past the limit of 292 years"));
        assert!(
            message(2.5)
                .starts_with("request 2 arrives at 18446744073709551615 ns at speed 2.5, past the limit of 292 years")
        );
    }
}
