//! Assembles layers into a stack, replays requests through it and measures.
//!
//! The result depends on the set-up and the requests alone: no wall time, no threads, no unseeded randomness. Only
//! simulations of caches without a drive run several at a time.
//!
//! [`setup`] says what is simulated; [`run`] replays requests ([`live`] takes them as they come). [`host`] is what lies
//! above the drive, [`drive`] the drive, [`observe`] what is measured, [`check`] the oracles.

mod assembly;
mod caches;
pub mod check;
mod drive;
mod host;
mod live;
mod map_advice;
pub mod observe;
mod precondition;
pub mod run;
pub mod setup;

pub use caches::{
    CacheChoice, CurvePoint, Watch, exact_points, one_pass_points, sampled_points, simulate_caches, simulate_stages,
};
pub use drive::buffer::BufferCounters;
pub use host::block::BlockSummary;
pub use host::cache::{CacheSummary, PoolsSummary};
pub use live::{LiveDrive, live};
pub use map_advice::{MapAdvice, MapAdvisor, MapSizes, SegmentAdvice};
pub use observe::activity::{Activity, DriveSummary, GanttBar, Interference, Spread, StreamSummary};
pub use observe::log::{CaptureCounters, CaptureSummary, LogFigures, LogSummary, MergeTally, Merges};
pub use observe::map::{LookupTally, MapSummary};
pub use observe::series::Series;
pub use observe::summary::{
    CheckSummary, DeviceSummary, FlashSummary, HostCounters, LatencyByOp, LatencySummary, LifetimeSummary,
    PreconditionSummary, Summary, TimeSummary, WearSummary,
};
pub use run::error::SimError;
pub use run::monitor::{Control, Monitor, Phase, Status};
pub use run::{Outcome, run};
pub use setup::drive::{Arbitration, Collect, CollectGoal, DriveOptions, FlushPolicy, Front, Protocol, WriteBuffer};
pub use setup::host::{BlockOptions, CacheOptions, CompressedOptions, Fit, MOST_PARAMETERS, Replay};
pub use setup::{Clock, Overwrite, Precondition, Setup};
