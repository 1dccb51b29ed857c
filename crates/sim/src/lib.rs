//! Assembles layers into a stack, replays requests through it and measures.
//!
//! One call, [`run`]: precondition the device, replay the warm-up, replay and measure the rest. The result
//! depends on the set-up and the requests alone: no wall time, no threads, no unseeded randomness. Only simulations of
//! caches without a drive run several at a time.

mod assembly;
mod cached;
mod caches;
mod drive;
mod engine;
mod fit;
mod flash;
mod live;
mod log_meter;
mod map_advice;
mod map_meter;
mod measure;
pub mod parallel;
mod precondition;
mod series;
pub mod setup;
pub mod shadow;
mod sinks;
mod slab;
mod stack;
mod summary;

pub use cached::{CacheOptions, CacheSummary, CompressedOptions, MOST_PARAMETERS, PoolsSummary};
pub use caches::{
    CacheChoice, CurvePoint, Watch, exact_points, one_pass_points, sampled_points, simulate_caches, simulate_stages,
};
pub use drive::options::{
    Arbitration, BlockOptions, Collect, CollectGoal, DieSchedulerChoice, Drive, FlushPolicy, Front, Protocol,
    WriteBuffer,
};
pub use drive::{Activity, BlockSummary, BufferCounters, DriveSummary, GanttBar, Interference, Spread, StreamSummary};
pub use live::{LiveDrive, live};
pub use log_meter::{CaptureCounters, CaptureSummary, LogFigures, LogSummary, MergeTally, Merges};
pub use map_advice::{MapAdvice, MapAdvisor, MapSizes, SegmentAdvice};
pub use map_meter::{LookupTally, MapSummary};
pub use series::Series;
pub use setup::{Clock, Fit, FtlChoice, Overwrite, Precondition, Replay, Setup, Window};
pub use ssdlab_ftl::MergeCost;
pub use summary::{
    CheckSummary, DeviceSummary, FlashSummary, HostCounters, LatencyByOp, LatencySummary, LifetimeSummary,
    PreconditionSummary, Summary, TimeSummary, WearSummary,
};

use std::cell::RefCell;

use ssdlab_core::{Bytes, LatencyHistogram};
use ssdlab_ftl::{FlashSink, Ftl};
use ssdlab_nand::Timing;
use ssdlab_trace::{Source, TraceError};

use assembly::{Prepared, Purpose, assemble, prepare_drive};
use cached::{Cached, Shared};
use engine::Engine;
use flash::OneByOne;
use log_meter::Meter;
use parallel::{UntimedFlash, Witness};
use shadow::Checker;
use stack::Stack;

/// Why a simulation cannot start or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// The set-up is impossible.
    #[error("{0}")]
    Setup(String),
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A request lies beyond the device.
    #[error(
        "request {number} ends at byte {end} ({}), but the device holds {capacity_bytes} ({}): raise device.capacity, \
         or choose --fit grow, scale or wrap",
        Bytes(*end), Bytes(*capacity_bytes)
    )]
    BeyondDevice {
        /// Number of the request, from 1.
        number: u64,
        /// First byte after the request.
        end: u64,
        /// Bytes the host sees.
        capacity_bytes: u64,
    },
    /// A request comes later than time is counted.
    #[error(
        "request {number} comes at {time_ns} ns, {time_scale} times which is more than the 292 years that simulated \
         time lasts: lower host.replay.open.time_scale, or check the times of the trace"
    )]
    BeyondTime {
        /// Number of the request, from 1.
        number: u64,
        /// Its time in the trace.
        time_ns: u64,
        /// What it is multiplied with.
        time_scale: f64,
    },
    /// Requests wait and nothing is under way.
    #[error("the simulation cannot go on: {0}; this is a defect of the simulator, please report it")]
    Stuck(String),
    /// The data check found the FTL wrong.
    #[error("data check failed at request {number}: {violation}; this is a defect of the FTL, please report it")]
    Check {
        /// Number of the request, from 1; 0 during preconditioning.
        number: u64,
        /// What was found.
        violation: String,
    },
}

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

/// What a run yields.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Figures of the measured phase.
    pub summary: Summary,
    /// The measured phase in epochs.
    pub series: Series,
    /// Erases of each block during the measured phase.
    pub erase_counts: Vec<u32>,
    /// Response times by [`ssdlab_trace::Op`]; empty when time is not modelled.
    pub latency: [LatencyHistogram; 4],
    /// Merges and captures; none for an FTL without log blocks.
    pub log: Option<LogFigures>,
    /// Who was busy when; none unless channels and dies are modelled.
    pub activity: Option<Activity>,
}

/// Runs `source` against the device described by `setup`, through the cache above it if there is one.
pub fn run(setup: &Setup, source: &mut dyn Source, monitor: &mut dyn Monitor) -> Result<Outcome, SimError> {
    let Some(options) = setup.cache else {
        return run_device(setup, source, monitor);
    };
    let monitor = RefCell::new(monitor);
    let mut cached = Cached::new(setup, options, source, Shared(&monitor))?;
    let mut outcome = run_device(setup, &mut cached, &mut Shared(&monitor))?;
    outcome.summary.cache = Some(cached.summary(&outcome.latency));
    outcome.summary.partial |= cached.stopped;
    Ok(outcome)
}

/// Runs `source` against the device described by `setup`.
fn run_device(setup: &Setup, source: &mut dyn Source, monitor: &mut dyn Monitor) -> Result<Outcome, SimError> {
    assemble(setup, Replaying { source, monitor })
}

/// Runs a source to its end.
struct Replaying<'a, 'm> {
    source: &'a mut dyn Source,
    monitor: &'a mut (dyn Monitor + 'm),
}

impl Purpose for Replaying<'_, '_> {
    type Output = Outcome;

    fn one_by_one<F, D, C, M>(self, engine: Engine<F, D, C, M>) -> Result<Outcome, SimError>
    where
        F: Ftl,
        D: OneByOne,
        C: Checker + FlashSink,
        M: Meter,
    {
        engine.run(self.source, self.monitor)
    }

    fn in_time<F, W, C, M>(
        self,
        stack: Stack<F, UntimedFlash<W>, C, M>,
        timing: &Timing,
        drive: Drive,
    ) -> Result<Outcome, SimError>
    where
        F: Ftl,
        W: Witness,
        C: Checker + FlashSink,
        M: Meter,
    {
        let Prepared { drive, summary, control } = prepare_drive(stack, timing, drive, self.monitor)?;
        drive.run(self.source, self.monitor, summary, control)
    }
}
