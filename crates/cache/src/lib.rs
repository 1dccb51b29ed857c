//! Simulated caches: replacement policies, miss-ratio curves, and a cache as a stage between requests and a drive.
//!
//! A [`Splitter`] turns requests into accesses to numbered items, objects or pages; its [`Universe`] gives each a dense
//! number once, so that a policy is arrays indexed by it and never hashes. A [`Policy`] decides what is cached;
//! [`POLICIES`] lists them with their parameters. [`AccessTrace`] holds the accesses of a whole trace, to be simulated
//! for any policy and size; a [`Bank`] feeds batches to many simulations as they come. Curves for all sizes are exact in
//! one pass where the policy allows ([`PolicyInfo::one_pass`]), or estimated from a [`Sample`]. A [`Stage`] is a cache
//! that takes requests and passes on what it cannot hold, with all its pages raw or some in a [`CompressedPool`].
//! [`plan`] works out what compressing part of a cache is worth.
//!
//! Layer 2: nothing here reads a clock or starts a thread. Simulations are independent of one another and `Send`;
//! [`AccessTrace`] and [`Sample`] are only read by them, so the layer above may run as many at once as it likes.

mod access;
mod bank;
mod curve;
mod error;
mod heap;
mod lists;
mod page_sizes;
pub mod plan;
pub mod policy;
mod pools;
mod sketch;
mod splitter;
mod stage;
mod universe;

pub use access::{Access, AccessTrace, NEVER};
pub use bank::{Bank, Counts, Simulation};
pub use curve::exact::ExactCurve;
pub use curve::sampled::{Estimate, Sample, SampleOptions, SampleSize, Sampler};
pub use error::CacheError;
pub use page_sizes::PageSizes;
pub use policy::{POLICIES, Policy, PolicyInfo, policy};
pub use pools::{CompressedPool, Transitions};
pub use sketch::{Sketch, SketchOptions};
pub use splitter::{Granularity, Splitter, Trims};
pub use stage::{Place, Stage, StageCounters, StageOptions, Why, WriteMode};
pub use universe::Universe;
