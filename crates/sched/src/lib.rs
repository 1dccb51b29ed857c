//! The block layer of an operating system and its I/O schedulers: what happens to a bio between the file system and the
//! drive.
//!
//! [`BlockLayer`] is everything that is not policy: merging, plugging, limits, slots of the device, flushes. It comes
//! in the two frames Linux has had: [`Frame::Legacy`], the single queue of 2.6.32, and [`Frame::Modern`], blk-mq. The
//! frame is one of its options, which a few methods ask for. A policy is an [`Elevator`]; [`SCHEDULERS`] lists them
//! with their tunables.
//!
//! - **A scheduler only proposes merges.** Directions, sizes and marks are the layer's, so no scheduler can break a
//!   limit.
//! - **A waiting bio keeps its place in the queue.** The layer wakes waiting bios in order, so no wake-up is lost
//!   between a request that becomes free and a caller that tries again.
//! - **The number of a request holds its slot.** Numbers ascend, so they order requests that begin at one sector; the
//!   slot finds a request in an array. Sorted queues are chunks instead of trees: a decision searches among few
//!   requests.
//! - **Open questions are tunables.** Where a paper or a kernel leaves room for another decision, the scheduler's file
//!   has a tunable or says what was chosen, and what is from memory.
//! - **State of processes is never dropped.** A trace tells 65,536 processes apart at most, so it is bounded.
//!
//! Layer 1: nothing here reads a clock, draws a random number or starts a thread. Time comes in with each call, in
//! nanoseconds; where the kernel counts jiffies, times here are exact. An event loop elsewhere asks for the next
//! request ([`BlockLayer::next`]) after every call, and comes back when [`BlockLayer::timer_ns`] says.

mod bio;
pub mod elevator;
mod layer;
mod request;
mod tunable;

pub use bio::{Bio, Direction, Flags, Priority, PriorityClass};
pub use elevator::{
    Device, Elevator, MergeIndex, SCHEDULERS, SchedulerInfo, SchedulerRules, build_scheduler, check_tunables,
};
pub use layer::{
    BlockCounters, BlockLayer, Dispatched, Frame, Left, NoMerges, Operation, Options, Submitted, ThrottleCounters,
};
pub use request::{Request, RequestId, Requests};
pub use tunable::TunableError;

/// Nanoseconds in a millisecond.
pub(crate) const MS: u64 = 1_000_000;
