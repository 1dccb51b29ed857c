//! Assembles layers into a stack, replays requests through it and measures.
//!
//! The result depends on the set-up and the requests alone: no wall time, no unseeded randomness. A run has one thread;
//! several are at work only where they cannot change a result: on kept drives that are read or written, and on caches
//! without a drive, of which many are simulated at a time.
//!
//! [`setup`] says what is simulated; [`run`] replays requests ([`live`] takes them as they come). `host` is what lies
//! above the drive: which request is issued when, a cache, the block layer. `drive` is the drive; [`observe`] is what
//! is measured, [`check`] the oracles.
//!
//! - **One drive type for each combination of parts.** FTL, flash, checker and meter are chosen at run time by
//!   `assembly` and compiled together; what is not asked for is `()` and costs nothing.
//! - **The flash operations do not depend on time.** The FTL decides when a request is submitted and the clock lies
//!   below the seam, so a stream of requests gives the same operations under every clock.
//! - **The host decides which process may go on.** In a replay by processes, a write that nobody waits for keeps its
//!   place in the trace; else write-back would overtake what it writes back.
//! - **Links and the controller are servers** that are asked in order of time, so their next free time is exact.
//! - **The write buffer belongs to the drive.** The FTL has not seen what waits in it; [`check`] knows which write of
//!   the host each copy is.
//! - **The warm-up ends before measuring begins.** All its requests are complete, so counts add up and Little's law
//!   holds exactly.
//! - **A live drive stops at a time** instead of at the end of the requests, and its caller moves the clock on. A
//!   simulated drive can thus stand below a real cache.
//!
//! Requests stream in batches, so memory does not grow with the length of a trace.

mod assembly;
mod caches;
pub mod check;
mod drive;
mod following;
mod host;
mod live;
pub mod observe;
mod precondition;
pub mod run;
pub mod setup;
mod state;

pub use caches::{
    CacheChoice, CurvePoint, Watch, exact_point, one_pass_points, sampled_point, simulate_cache, simulate_stage,
};
pub use drive::buffer::BufferCounters;
pub use following::{Follower, Followers};
pub use host::block::BlockSummary;
pub use host::cache::{BelowSummary, CacheSummary, PoolsSummary, WaitSummary};
pub use host::fit::{AddressMapper, Fitted, Runs, runs};
pub use live::{LiveDrive, live, live_from};
pub use observe::activity::{Activity, DriveSummary, GanttBar, Interference, Spread, StreamSummary};
pub use observe::breakdown::{BreakdownByPercentile, LatencyBreakdown, PART_NAMES, PARTS, Part, ResponseSummary};
pub use observe::diagnosis::{Finding, Subject};
pub use observe::intervals::{InInterval, Slow, Timeline};
pub use observe::lifetime::{LifetimeSummary, WriteRate};
pub use observe::log::{CaptureCounters, CaptureSummary, LogFigures, LogSummary, MergeTally, Merges};
pub use observe::map::{LookupTally, MapSummary};
pub use observe::series::Series;
pub use observe::so_far::SoFar;
pub use observe::summary::{
    CheckSummary, DeviceSummary, FlashSummary, HostCounters, LatencyByOp, LatencySummary, PreconditionSummary,
    RepeatSummary, Summary, TimeSummary, WearSummary,
};
pub use run::error::SimError;
pub use run::monitor::{Control, Monitor, Phase, Status};
pub use run::{Outcome, run, run_with_states};
pub use setup::drive::{Arbitration, Collect, CollectGoal, DriveOptions, FlushPolicy, Front, Protocol, WriteBuffer};
pub use setup::host::{BlockOptions, CacheOptions, CompressedOptions, Fit, Repeat, Replay, block_options};
pub use setup::what_if::WhatIf;
pub use setup::{Clock, Method, Overwrite, Precondition, Setup};
pub use state::{States, cache_key, is_kept};
