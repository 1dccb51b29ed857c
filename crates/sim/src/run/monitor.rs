//! Progress of a run, and its monitor.

use ssdlab_trace::Progress;

use crate::observe::so_far::SoFar;

/// Part of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Preconditioning: writing every page to be filled once.
    Fill,
    /// Preconditioning: overwriting at random.
    Overwrite,
    /// Replaying requests without measuring.
    Warmup,
    /// Replaying and measuring.
    Measure,
}

impl Phase {
    /// Lower-case name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fill => "fill",
            Self::Overwrite => "overwrite",
            Self::Warmup => "warm-up",
            Self::Measure => "measure",
        }
    }
}

/// How far a run is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Status {
    /// Current phase.
    pub phase: Phase,
    /// Units done: pages when preconditioning, the source's own unit otherwise.
    pub done: u64,
    /// Units in all, where known; an estimate while the drive is overwritten until it is steady.
    pub total: Option<u64>,
    /// Write amplification of the latest window of overwriting, where one has been overwritten.
    pub write_amplification: Option<f64>,
    /// Requests replayed so far.
    pub requests: u64,
}

impl Status {
    /// How far the replay of a source is.
    pub(crate) fn replaying(phase: Phase, progress: Progress, requests: u64) -> Self {
        Self { phase, done: progress.done, total: progress.total, write_amplification: None, requests }
    }
}

/// What a monitor answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Control {
    /// Go on.
    Continue,
    /// End now with what there is.
    Stop,
}

/// Watches a run; called every few thousand requests, and while the flash of a drive in time works for long on some.
pub trait Monitor {
    /// Told how far the run is; may end it.
    fn report(&mut self, status: &Status) -> Control;

    /// Asked where requests that are on their way when a run ends would take long to complete: whether nobody wants
    /// its results any more.
    fn abandons(&self) -> bool {
        false
    }

    /// Whether it is to be shown the figures before it is asked next.
    fn watches(&self) -> bool {
        false
    }

    /// Shown what the drive has done up to now.
    fn watch(&mut self, _so_far: &SoFar) {}

    /// Told what a person should know of the run that is none of its results.
    fn note(&mut self, _text: &str) {}
}

/// A monitor that never looks.
impl Monitor for () {
    fn report(&mut self, _status: &Status) -> Control {
        Control::Continue
    }
}
