//! The Linux block layer and its I/O schedulers: the path of a bio from the file system to the drive.
//!
//! [`BlockLayer`] is the mechanism: merging, plugging, limits, device slots and flushes. It has two variants, selected
//! by an option: [`BlockLayerKind::SingleQueue`] is the single queue of Linux 2.6.32, and
//! [`BlockLayerKind::MultiQueue`] is blk-mq. A policy is an [`IoScheduler`]; [`SCHEDULERS`] lists all policies with
//! their tunables.
//!
//! - **A scheduler only proposes merges.** The layer checks directions and sizes, so no scheduler can break a limit.
//! - **A waiting bio keeps its place in the queue.** The layer wakes waiting bios in order, so no wake-up is lost
//!   between the release of a request and the caller's retry.
//! - **A request number contains its slot.** Numbers ascend, so they order requests at the same sector; the slot
//!   indexes arrays of request state. Sorted queues are arrays in chunks instead of trees, because usually few requests
//!   wait.
//! - **Open questions are tunables.** If a paper or kernel leaves a choice open, the scheduler has a tunable, or its
//!   file documents the choice. The file also states which facts could not be checked against a source.
//! - **Process state is never dropped**, so that the statistics of a process survive its pauses. A trace has at most
//!   65,536 processes, and the state of each takes a few hundred bytes.
//!
//! This crate reads no clock, draws no random numbers and starts no threads. Each call passes the time in nanoseconds;
//! times that the kernel rounds to jiffies are exact here. The caller's event loop calls [`BlockLayer::next`] after
//! every other call, and [`BlockLayer::on_timer`] at [`BlockLayer::timer_ns`].

mod bio;
mod layer;
mod request;
pub mod scheduler;
mod tunable;

pub use bio::{Bio, Direction, Flags, Priority, PriorityClass};
pub use layer::{
    BlockCounters, BlockLayer, BlockLayerKind, Dispatched, Left, NoMerges, Operation, Options, Submitted,
    ThrottleCounters,
};
pub use request::{Request, RequestId, Requests};
pub use scheduler::{
    Device, IoScheduler, MergeIndex, SCHEDULERS, SchedulerInfo, SchedulerRules, build_scheduler, check_tunables,
};
pub use tunable::TunableError;

/// Nanoseconds in a millisecond.
pub(crate) const MS: u64 = 1_000_000;
