//! Assembles the layers of the storage stack, replays requests through them and measures the run.
//!
//! Results depend only on set-up and requests, not on wall time or unseeded random numbers. A run has one thread. Other
//! threads work only where they cannot change results: on files of saved drives, and on caches simulated without a
//! drive.
//!
//! [`setup`] describes the simulation; [`mod@run`] replays requests, and [`live`] serves requests when they arrive. `host`
//! contains everything above the drive: replay, cache and block layer. `drive` is the drive, [`observe`] contains the
//! measurements, and [`check`] the oracles.
//!
//! - **One drive type per combination of parts.** `assembly` chooses FTL, flash, checker and meter at run time. Each
//!   combination is compiled as a whole. An absent component is `()`, which costs nothing.
//! - **Flash operations do not depend on time.** The FTL acts when a request is submitted, and the clock is below the
//!   FTL. Identical request streams cause identical operations under every clock.
//! - **Asynchronous writes stay in trace order**, even in a replay by processes. Write-back must not overtake the
//!   writes that dirtied the pages.
//! - **Link and controller are servers** called in chronological order, so their next free time is exact.
//! - **The write buffer belongs to the drive.** The FTL does not see buffered pages until they are programmed.
//! - **The warm-up ends before measuring begins**, when all requests of the warm-up are complete. So counts add up, and
//!   Little's law holds exactly.
//! - **A live drive stops at a given time**, and its caller advances the clock. A simulated drive can thus serve a real
//!   cache.
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
mod prepared;
pub mod run;
pub mod setup;
mod state;

pub use caches::{
    CacheChoice, CurvePoint, Watch, exact_point, one_pass_points, sampled_point, simulate_cache, simulate_write_back,
};
pub use drive::buffer::BufferCounters;
pub use following::{Follower, Followers};
pub use host::block::BlockSummary;
pub use host::cache::{BelowSummary, CacheSummary, PoolsSummary, WaitSummary};
pub use host::fit::{AddressMapper, Fitted, runs};
pub use live::{LiveDrive, live, live_from};
pub use observe::activity::{Activity, DriveSummary, Interference, Spread, StreamSummary};
pub use observe::breakdown::{BreakdownByPercentile, LatencyBreakdown, PART_NAMES, PARTS, Part, ResponseSummary};
pub use observe::controller::ControllerCounters;
pub use observe::finding::{Finding, Subject};
pub use observe::intervals::{InInterval, Slow, Timeline};
pub use observe::latency::{LatencyByOp, LatencySummary, TimeSummary};
pub use observe::lifetime::{LifetimeSummary, WriteRate};
pub use observe::meter::{
    CaptureCounters, CaptureSummary, LogFigures, LogSummary, LookupTally, MapSummary, MergeTally, Merges,
};
pub use observe::replayed::{ReplayMode, ReplaySummary};
pub use observe::requests::HostCounters;
pub use observe::series::Series;
pub use observe::summary::{CheckSummary, DeviceSummary, FlashSummary, SlcSummary, Summary, WearSummary};
pub use precondition::PreconditionSummary;
pub use prepared::{PreparedFtl, prepare_ftl};
pub use run::error::SimError;
pub use run::monitor::{Control, Monitor, Phase, SoFar, Status};
pub use run::steady::RepeatSummary;
pub use run::{Outcome, run, run_with_states};
pub use setup::drive::{
    Arbitration, Collect, CollectGoal, CommandTimes, Controller, DriveOptions, FlushPolicy, Front, HostMemory, Pace,
    Packets, Protocol, ReadAhead, StageTime, Thermal, TransferUnit, WriteBuffer,
};
pub use setup::host::{
    BlockOptions, CacheOptions, CompressedOptions, Fit, Repeat, Replay, StreamDepths, block_options,
};
pub use setup::size::{ScaleModel, Size};
pub use setup::what_if::WhatIf;
pub use setup::{Clock, Method, Overwrite, Precondition, Setup};
pub use state::{States, cache_key, is_kept};
