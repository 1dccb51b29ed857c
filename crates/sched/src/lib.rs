//! The block layer of an operating system and its I/O schedulers: what happens to a bio between the file system and
//! the drive.
//!
//! [`BlockLayer`] is everything that is not policy: merging, plugging, limits, slots of the device, flushes. It comes
//! in the two frames Linux has had: [`Frame::Legacy`], the single queue of 2.6.32, and [`Frame::Modern`], blk-mq.
//! A policy is an [`Elevator`]; [`SCHEDULERS`] lists them with their tunables.
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
pub use elevator::{Device, Elevator, MergeIndex, SCHEDULERS, SchedulerInfo, scheduler};
pub use layer::{BlockCounters, BlockLayer, Dispatched, Frame, Left, NoMerges, Operation, Options, Submitted};
pub use request::{Request, RequestId, Requests};
pub use tunable::TunableError;

/// Nanoseconds in a millisecond.
pub(crate) const MS: u64 = 1_000_000;
