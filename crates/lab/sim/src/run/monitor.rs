//! Progress of a run, and its monitor.

use serde::Serialize;
use ssdlab_trace::{Progress, Source, TraceError};

use crate::observe::latency::LatencyByOp;

/// Phase of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Preconditioning fills the device: it writes all logical pages once, or only the first part of them.
    Fill,
    /// Preconditioning overwrites pages at random.
    Overwrite,
    /// The source of requests prepares its first request.
    Prepare,
    /// Requests are replayed but not measured.
    Warmup,
    /// Requests are replayed and measured.
    Measure,
}

impl Phase {
    /// Returns the name of the phase in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fill => "fill",
            Self::Overwrite => "overwrite",
            Self::Prepare => "prepare",
            Self::Warmup => "warm-up",
            Self::Measure => "measure",
        }
    }
}

/// Metrics so far: since measuring began or, before that, since the replay began. The number of free blocks is the
/// current value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SoFar {
    /// Number of requests replayed, including earlier phases.
    pub requests: u64,
    /// Simulated time that has passed, if modelled.
    pub elapsed_ns: Option<u64>,
    /// Mean busy time per die, if time is modelled.
    pub busy_ns: Option<u64>,
    /// Pages programmed per page that the host wrote; `None` if the host wrote nothing.
    pub write_amplification: Option<f64>,
    /// Response times by operation, if time is modelled.
    pub latency: Option<LatencyByOp>,
    /// Current number of free blocks.
    pub free_blocks: u32,
    /// Total number of blocks.
    pub blocks: u32,
}

/// Progress of a run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Status {
    /// Current phase of the run.
    pub phase: Phase,
    /// Progress in this phase: pages written during preconditioning, otherwise bytes or requests, depending on the
    /// source.
    pub done: u64,
    /// Total number of pages, bytes or requests in this phase, if known; an estimate while the drive is overwritten
    /// until steady.
    pub total: Option<u64>,
    /// Write amplification of the latest complete window of overwriting, if any.
    pub write_amplification: Option<f64>,
    /// Number of requests replayed so far.
    pub requests: u64,
}

impl Status {
    /// Returns the status of a replay for the monitor.
    pub(crate) fn replaying(phase: Phase, progress: Progress, requests: u64) -> Self {
        Self { phase, done: progress.done, total: progress.total, write_amplification: None, requests }
    }
}

/// Decision of a monitor after a progress report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Control {
    /// The run continues.
    Continue,
    /// The run stops now and reports partial results.
    Stop,
}

/// Watches a run. It is called every few thousand requests, and during long periods without a new request.
pub trait Monitor {
    /// Receives a progress report; decides if the run continues.
    fn report(&mut self, status: &Status) -> Control;

    /// Returns true if the results are no longer needed, so that the run can end without completing the requests in
    /// flight.
    fn abandons(&self) -> bool {
        false
    }

    /// Returns true to request a call of [`Self::watch`] before the next report.
    fn watches(&self) -> bool {
        false
    }

    /// Receives the results of the run so far.
    fn watch(&mut self, _so_far: &SoFar) {}

    /// Receives a message for the user that is not part of the results.
    fn note(&mut self, _text: &str) {}
}

/// Prepares the first request of a source, unless the monitor stops the preparation.
///
/// # Errors
/// Fails if the source cannot be prepared.
pub(crate) fn prepare_source(
    source: &mut dyn Source,
    monitor: &mut dyn Monitor,
    requests: u64,
) -> Result<Control, TraceError> {
    while source.prepare()? {
        if monitor.report(&Status::replaying(Phase::Prepare, source.progress(), requests)) == Control::Stop {
            return Ok(Control::Stop);
        }
    }
    Ok(Control::Continue)
}

/// A monitor that does nothing.
impl Monitor for () {
    fn report(&mut self, _status: &Status) -> Control {
        Control::Continue
    }
}
