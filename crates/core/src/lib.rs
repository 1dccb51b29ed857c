//! Foundation of all ssdlab crates: units, ids, random numbers, histograms, counters, parameters, registries, lists,
//! saved state.
//!
//! This crate does not depend on flash or wall time, reads no files and starts no threads.

pub mod archive;
pub mod counters;
pub mod difference;
pub mod entry;
pub mod hist;
pub mod id;
pub mod list;
pub mod mem;
pub mod page_bits;
pub mod pages;
pub mod parameter;
pub mod reciprocal;
pub mod registry;
pub mod rng;
pub mod slab;
pub mod suggest;
pub mod units;

pub use archive::{Access, Archive, Archived};
pub use counters::Counters;
pub use entry::Entry;
pub use hist::{InBucket, LatencyHistogram};
pub use id::{BlockId, Lpn, Ppn};
pub use mem::HugeVec;
pub use page_bits::PageBits;
pub use pages::{PageSize, Pages};
pub use parameter::{Parameter, ParameterError, Settings, Unit};
pub use reciprocal::Reciprocal;
pub use registry::{Choice, Info, NameTaken, Registry, UnknownMember, registered};
pub use rng::Rng;
pub use slab::{Slab, numbered};
pub use units::{Bytes, Nanos, UnitError};

/// Re-export of `serde`, so that [`counters!`] expands in other crates.
#[doc(hidden)]
pub use serde;
