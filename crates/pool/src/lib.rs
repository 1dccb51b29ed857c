//! A concurrent page cache with a raw and a compressed pool under one memory budget.
//!
//! A page that is asked for is raw (a hit), compressed (restored to the raw pool) or absent (loaded through the
//! [`Loader`]). When the raw pool is full, its victims are compressed, in bulk by background workers or by whoever needs
//! the room; when the compressed pool is full, its own victims are dropped. This is flowchart 2b of Harper 2018,
//! "Viability of Time-Memory Trade-Offs in Large Data Sets"; [`Transitions`] counts each of its arrows.
//!
//! Unlike the models of this repository the pool holds bytes and uses threads. Without workers, on one shard and one
//! thread, it is as deterministic as these. Read `shard.rs` for the states of a page and `pool.rs` for who moves it.

mod balance;
mod demotion;
mod error;
mod flight;
mod ghosts;
mod hash;
mod options;
pub mod policy;
mod pool;
mod shard;
mod sketch;
mod slabs;
mod stats;
mod sync;
mod worker;

#[cfg(all(test, feature = "shuttle"))]
mod interleavings;
#[cfg(all(test, not(feature = "shuttle")))]
mod tests;

pub use error::{ConfigError, PoolError};
pub use options::{Demotion, Incompressible, Options, Share};
pub use pool::{CodecFactory, Loader, PageRef, Pool, Source};
pub use stats::{Transitions, Usage};

/// Number of a page in the storage below.
pub type PageId = u64;
