//! A concurrent page cache with an uncompressed and a compressed pool under one memory budget.
//!
//! A requested page is uncompressed (a hit), compressed (restored to the uncompressed pool) or absent (loaded through
//! the [`Loader`]). Victims of a full uncompressed pool are compressed, in bulk by background workers or by the thread
//! that needs a frame. Victims of a full compressed pool are dropped. This is flowchart 2b of Harper 2018, "Viability
//! of Time-Memory Trade-Offs in Large Data Sets"; [`Transitions`] counts each of its arrows.
//!
//! Unlike the models in this repository, the pool holds bytes and uses threads. With one shard, one thread and no
//! workers it is deterministic. Start with `shard/mod.rs` for the states of a page. Then read `pool.rs` and `fetch.rs`
//! for the operations and `room.rs` for eviction.
//!
//! - **A shard is a state machine without locks, loader or codec.** Each method is one step and stays within the
//!   budget. `flight.rs` adds the lock; all slow work happens outside the lock. One thread owns an incoming page (a
//!   `Flight`), and other threads wait for it. An outgoing page is a `Job` with a snapshot. A `Flight` or `Job` cleans
//!   up when dropped, so an error or panic leaves no page in flight.
//! - **A hit takes only the shared lock.** Policies record hits in atomics. LRU is still exact: a hit writes a
//!   timestamp, and the heap of timestamps is updated when a victim is chosen.
//! - **Simulated policies work too, with a lock per hit** (`policy/simulated.rs`). If the pool implements the policy
//!   itself, it uses its own implementation unless parameters are given.
//! - **Frames are reference-counted.** A reader holds a reference; a concurrent write then gives the page another
//!   frame. Therefore a hit copies no page, no `unsafe` is needed, and the reference count shows if a page is
//!   evictable.
//! - **Restoring a page overlaps with compressing its victim**: the page's bytes are prefetched in the meantime. If
//!   another thread restores the page first, the victim's frame serves the next page.
//! - **Compressed pages are clean.** A dirty page is stored before it is compressed. Therefore a damaged page can be
//!   loaded again, and the compressed pool can drop any page.
//! - **The budget covers allocated memory**: frames, chunks, tables and buffers. Tables grow only into memory that raw
//!   pages have freed. Chunks are emptied by moving their pages when more than an eighth of the compressed pool is
//!   unused.
//! - **The adaptive share** compares the time that another sixteenth of the budget would save in each pool
//!   (`balance.rs`).

mod balance;
mod demotion;
mod error;
mod fetch;
mod flight;
mod ghosts;
mod hash;
mod inner;
mod loader;
mod options;
pub mod policy;
mod pool;
mod room;
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
pub use fetch::Source;
pub use loader::{CodecFactory, Loader};
pub use options::{Demotion, Incompressible, Options, Share};
pub use pool::{PageRef, Pool};
pub use stats::{Transitions, Usage};

/// Number of a page in the backing storage.
pub type PageId = u64;
