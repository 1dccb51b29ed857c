//! I/O schedulers decide which request the block layer sends to the drive next.
//!
//! An [`IoScheduler`] holds the waiting requests. The block layer inserts requests, merges adjacent requests, and calls
//! `dispatch` for the next request. Only `insert`, `dispatch` and `completed` are required.
//!
//! # Example
//!
//! ```
#![cfg_attr(any(doc, doctest), doc = include_str!("../../../python/ssdlab/model/extension/templates/io_scheduler.rs"))]
//! ```

use ssdlab_sched::SCHEDULERS;
pub use ssdlab_sched::{
    Bio, BlockLayerKind, Device, Direction, Flags, IoScheduler, MergeIndex, Priority, PriorityClass, Request,
    RequestId, Requests, SchedulerInfo, SchedulerRules, TunableError,
};

use crate::NameTaken;

/// Adds an I/O scheduler to ssdlab; fails if another I/O scheduler has the same name.
pub fn register(info: &'static SchedulerInfo) -> Result<(), NameTaken> {
    SCHEDULERS.register(info)
}
