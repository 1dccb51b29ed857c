//! Progress of a run, and its monitor.

use ssdlab_trace::Progress;

use crate::observe::summary::SoFar;

/// Part of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Preconditioning writes each page that is to be filled once.
    Fill,
    /// Preconditioning overwrites pages at random.
    Overwrite,
    /// Requests are replayed but not measured.
    Warmup,
    /// Requests are replayed and measured.
    Measure,
}

impl Phase {
    /// Name in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fill => "fill",
            Self::Overwrite => "overwrite",
            Self::Warmup => "warm-up",
            Self::Measure => "measure",
        }
    }
}

/// Progress of a run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Status {
    /// Current phase.
    pub phase: Phase,
    /// Units done: pages during preconditioning, otherwise units of the source.
    pub done: u64,
    /// Total number of units, if known; an estimate while the drive is overwritten until steady.
    pub total: Option<u64>,
    /// Write amplification of the latest complete window of overwriting, if any.
    pub write_amplification: Option<f64>,
    /// Number of requests replayed so far.
    pub requests: u64,
}

impl Status {
    /// Returns the status of a replay.
    pub(crate) fn replaying(phase: Phase, progress: Progress, requests: u64) -> Self {
        Self { phase, done: progress.done, total: progress.total, write_amplification: None, requests }
    }
}

/// Answer of a monitor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Control {
    /// Continue.
    Continue,
    /// The run stops now and reports partial results.
    Stop,
}

/// Watches a run. It is called every few thousand requests, and during long periods without a new request.
pub trait Monitor {
    /// Receives the progress of the run; may end the run.
    fn report(&mut self, status: &Status) -> Control;

    /// Returns true if the results are no longer needed, so that requests in flight need not complete.
    fn abandons(&self) -> bool {
        false
    }

    /// Returns true to call [`Self::watch`] before the next report.
    fn watches(&self) -> bool {
        false
    }

    /// Receives the results so far.
    fn watch(&mut self, _so_far: &SoFar) {}

    /// Receives a note for the user that is not a result.
    fn note(&mut self, _text: &str) {}
}

/// A monitor that does nothing.
impl Monitor for () {
    fn report(&mut self, _status: &Status) -> Control {
        Control::Continue
    }
}
