//! Progress of a run, and its monitor.

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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Status {
    /// Current phase.
    pub phase: Phase,
    /// Units done: pages when preconditioning, the source's own unit otherwise.
    pub done: u64,
    /// Units in all, where known.
    pub total: Option<u64>,
    /// Requests replayed so far.
    pub requests: u64,
}

/// What a monitor answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Control {
    /// Go on.
    Continue,
    /// End now with what there is.
    Stop,
}

/// Watches a run; called every few thousand requests.
pub trait Monitor {
    /// Told how far the run is; may end it.
    fn report(&mut self, status: &Status) -> Control;
}

/// A monitor that never looks.
impl Monitor for () {
    fn report(&mut self, _status: &Status) -> Control {
        Control::Continue
    }
}
