//! Simulated caches: replacement policies, miss-ratio curves, and a write-back cache in front of a drive.
//!
//! A [`Splitter`] turns requests into accesses to items, which are objects or pages. Its [`Universe`] gives each item a
//! dense number, so that policies index arrays instead of hashing, and all simulations share one look-up. A [`Policy`]
//! decides what is cached; [`POLICIES`] lists the policies with their parameters.
//!
//! [`AccessTrace`] holds the accesses of a whole trace, so that any policy and cache size can be simulated. A [`Bank`]
//! feeds each batch of accesses to many simulations as it arrives. Miss-ratio curves are exact in one pass for some
//! policies ([`PolicyRules::one_pass`]), or estimated from a [`Sample`].
//!
//! A [`WriteBackCache`] serves requests, and accesses the drive only for misses and write-back. Its pages are
//! uncompressed, but some may be in a [`CompressedPool`]. [`plan`] computes the benefit of compressing part of a cache.
//!
//! - **A policy stores one 16-byte node per item** (`lists.rs`): links, size, list and mark. A hit touches one cache
//!   line, which [`Policy::simulate`] prefetches, because it knows the coming accesses.
//! - **[`Policy`] is boxed, and [`Policy::simulate`] is a provided method.** The compiler generates one loop per policy
//!   with `access` inlined, so a virtual call is paid once per batch.
//! - **Evicted items are returned in a list**, which may include the newcomer itself. Counting, write-back and tests
//!   share this interface.
//! - **Papers first.** If a paper leaves a case open, such as a cache of one item or trimmed items, the policy's file
//!   states the choice made here. One policy differs between its paper and its authors' simulator; a parameter selects
//!   the variant.
//! - **An admission policy wraps a replacement policy** ([`ADMISSIONS`]) and is selected by parameters. Expiry has a
//!   separate loop ([`Expiry`]). Simulations that use neither pay nothing for them.
//! - **A sample is a trace.** SHARDS keeps the accesses of items with small hashes, and any policy runs on them at a
//!   scaled size. Lowering the hash threshold drops all accesses of the items above it. A sample with a fixed number of
//!   items is therefore the same as if its final sampling rate had applied from the start. Replicas with different
//!   items give the standard error.
//! - **The write-back cache has no clock.** It emits requests to the backing store in an order that keeps data correct,
//!   and marks the requests that the host's request must await. The event loop decides when to write back in the
//!   background.
//! - **Compression does not change write-back** (`pools.rs`). Dirty pages are written back when they leave the
//!   uncompressed pool, even if they stay compressed. Both pools use the same policies. Simulated pages have no
//!   content, so the compressed size of a page is derived from its number (`page_sizes.rs`).
//!
//! Nothing here reads a clock or starts a thread. Simulations are independent and `Send`, and only read [`AccessTrace`]
//! and [`Sample`], so the caller may run any number in parallel.

mod access;
mod access_trace;
mod admission;
mod bag;
mod bank;
mod build;
mod counts;
mod curve;
mod error;
mod expiry;
mod heap;
mod lists;
mod page_sizes;
mod per_item;
pub mod plan;
pub mod policy;
mod pools;
mod sketch;
mod splitter;
mod universe;
mod write_back;

pub use access::{Access, NEVER};
pub use access_trace::{AccessTrace, Life, Object};
pub use admission::{ADMISSIONS, Admission, AdmissionInfo, AdmissionRules, guarded};
pub use bank::{Bank, Simulation};
pub use build::build_policy;
pub use counts::Counts;
pub use curve::exact::ExactCurve;
pub use curve::sampled::{Estimate, Sample, SampleOptions, SampleSize, Sampler};
pub use error::CacheError;
pub use expiry::Expiry;
pub use lists::Lists;
pub use page_sizes::PageSizes;
pub use policy::{POLICIES, Policy, PolicyInfo, PolicyRules, simulate};
pub use pools::{CompressedPool, Transitions};
pub use sketch::{Sketch, SketchOptions};
pub use splitter::{Granularity, Splitter, Trims};
pub use universe::Universe;
pub use write_back::{Place, Why, WriteBackCache, WriteBackCounters, WriteBackOptions, WriteMode};
