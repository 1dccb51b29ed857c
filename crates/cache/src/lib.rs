//! Simulated caches: replacement policies, miss-ratio curves, and a cache as a stage between requests and a drive.
//!
//! A [`Splitter`] turns requests into accesses to numbered items, objects or pages; its [`Universe`] gives each a dense
//! number once, so that a policy is arrays indexed by it and never hashes, and any number of policies and sizes share
//! the look-up. A [`Policy`] decides what is cached; [`POLICIES`] lists them with their parameters. [`AccessTrace`]
//! holds the accesses of a whole trace, to be simulated for any policy and size; a [`Bank`] feeds batches to many
//! simulations as they come. Curves for all sizes are exact in one pass where the policy allows
//! ([`PolicyRules::one_pass`]), or estimated from a [`Sample`]. A [`Stage`] is a cache that takes requests and passes on
//! what it cannot hold, with all its pages raw or some in a [`CompressedPool`]. [`plan`] works out what compressing
//! part of a cache is worth.
//!
//! - **One node of sixteen bytes is all that a policy knows of an item** (`lists.rs`): its neighbours, size, list and
//!   mark. A hit touches one line of memory, which [`Policy::simulate`] loads ahead, as the accesses to come are known.
//! - **[`Policy`] is boxed, [`Policy::simulate`] is a provided method.** The compiler makes one loop for each policy
//!   with its `access` inside, and a virtual call is paid once for each batch.
//! - **Evicted items are reported in a list**, which may hold the newcomer itself. Counting, write-back and checks
//!   share that interface.
//! - **Papers first.** Where a paper leaves a case open, such as a cache of one item or items dropped by a trim, the
//!   file of the policy says what is done. One policy differs between its paper and its authors' simulator; it has a
//!   parameter.
//! - **An admission stands in front of a policy as a policy** ([`ADMISSIONS`]), asked for with its parameters. Expiry
//!   is a loop of its own ([`Expiry`]). So simulations without them run the code that they ran before.
//! - **A sample is a trace.** SHARDS keeps the accesses of items with small hashes, and any policy runs on it at a
//!   scaled size. Lowering the threshold later drops whole items, so a sample of a fixed number of items is exact at
//!   its final rate. Replicas of different items give the standard error.
//! - **A stage knows no time.** It says what goes below, in an order that keeps data right, and whether a request waits
//!   for it. The event loop decides when to write back in the background.
//! - **A stage with a compressed pool writes back what one without does** (`pools.rs`). It writes dirty pages back when
//!   they leave the raw pool and need not know which stay compressed. Both pools use the policies as they are.
//!   Simulated pages have no content, so the compressed size of a page is drawn from its number (`page_sizes.rs`).
//!
//! Layer 2: nothing here reads a clock or starts a thread. Simulations are independent of one another and `Send`;
//! [`AccessTrace`] and [`Sample`] are only read by them, so the layer above may run as many at once as it likes.

mod access;
mod admission;
mod bag;
mod bank;
mod curve;
mod error;
mod expiry;
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

pub use access::{Access, AccessTrace, NEVER, Object};
pub use admission::{ADMISSIONS, AdmissionInfo, AdmissionRules};
pub use bank::{Bank, Counts, Simulation};
pub use curve::exact::ExactCurve;
pub use curve::sampled::{Estimate, Sample, SampleOptions, SampleSize, Sampler};
pub use error::CacheError;
pub use expiry::{Expiry, Life};
pub use page_sizes::PageSizes;
pub use policy::{POLICIES, Policy, PolicyInfo, PolicyRules, build_policy};
pub use pools::{CompressedPool, Transitions};
pub use sketch::{Sketch, SketchOptions};
pub use splitter::{Granularity, Splitter, Trims};
pub use stage::{Place, Stage, StageCounters, StageOptions, Why, WriteMode};
pub use universe::Universe;
