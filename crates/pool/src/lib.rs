//! A concurrent page cache with a raw and a compressed pool under one memory budget.
//!
//! A page that is asked for is raw (a hit), compressed (restored to the raw pool) or absent (loaded through the
//! [`Loader`]). When the raw pool is full, its victims are compressed, in bulk by background workers or by the thread
//! that needs the room; when the compressed pool is full, its own victims are dropped. This is flowchart 2b of Harper
//! 2018, "Viability of Time-Memory Trade-Offs in Large Data Sets"; [`Transitions`] counts each of its arrows.
//!
//! Unlike the models of this repository the pool holds bytes and uses threads. Without workers, on one shard and one
//! thread, it is as deterministic as these. Read `shard/mod.rs` for the states of a page, `pool.rs` for who moves it
//! and `room.rs` for how others make room.
//!
//! - **A shard is a state machine without locks, loader or codec.** Each of its methods is one step that keeps the
//!   budget. `pool.rs` puts a lock around it, and everything slow happens outside of the lock: one thread owns a page
//!   on its way in (a `Flight`) and others wait for it; a page on its way out is a `Job` with a snapshot. Both clean up
//!   when dropped, so errors and panics leave no page behind.
//! - **A hit takes the shared lock only.** Policies learn of hits through atomics. LRU stays exact: hits write the
//!   time, and a heap with outdated times is put right when a victim is sought.
//! - **Any simulated policy serves too, with a lock for each hit** (`policy/simulated.rs`). A policy without parameters
//!   is the pool's own where it has one.
//! - **Frames are reference-counted.** A reader in place holds a reference, and a write then gets the page another
//!   frame. So a hit copies no page, there is no `unsafe`, and the count tells whether a page may be evicted.
//! - **A page is restored when its victim is compressed.** Its bytes come from memory meanwhile. Should another thread
//!   restore it first, the victim's frame serves the next page.
//! - **Compressed pages are clean.** A dirty page is stored before it is compressed, so a damaged one can be loaded
//!   anew and the compressed pool can drop any page.
//! - **Memory is what was allocated**: frames, chunks, tables, buffers. Tables grow only into room that raw pages have
//!   made. Chunks are emptied by moving their pages when free places add up to more than an eighth.
//! - **The adaptive share** compares what a sixteenth of the budget more would save in either pool (`balance.rs`).

mod balance;
mod demotion;
mod error;
mod flight;
mod ghosts;
mod hash;
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
pub use options::{Demotion, Incompressible, Options, Share};
pub use pool::{CodecFactory, Loader, PageRef, Pool, Source};
pub use stats::{Transitions, Usage};

/// Number of a page in the storage below.
pub type PageId = u64;
