//! Flash translation layers: deterministic state machines that turn host page operations into flash operations.
//!
//! An FTL emits into a [`FlashSink`] and knows neither clock nor payload. The same code, compiled once per sink, counts
//! operations, drives a timing model, or moves real bytes.
//!
//! Rules that hold for every FTL here:
//!
//! - **A flat map is the truth.** One array says where the newest copy of each page is, under block mapping too. Block
//!   tables, log tables and cached parts of a map decide costs and are reported in bytes, but cannot lead a read
//!   astray.
//! - **A page is valid if the flat map leads to it.** Page mapping keeps that as a bit for each page as well, so that
//!   collection goes from one valid page of a victim to the next without a branch on validity, which is as
//!   unpredictable as a coin, and without touching what the outdated ones held.
//! - **Planes are all that an FTL knows of geometry.** They are numbered in the order in which successive pages go to
//!   them. Page mapping collects each plane as a device of its own; log blocks are taken from the planes in turn.
//! - **Policies that decide for each block are boxed**, as one decision serves dozens of copies. Whatever is called for
//!   each page is generic.
//! - **Nothing is buffered**, so there is no flush.
//! - **Power may fail at any operation.** [`Ftl::recover`] takes up what is left from spare areas alone; the file
//!   `recovery.rs` says why that is always possible, and each family has a file for what it does about it.
//!
//! [`choice`] lists the FTLs and builds them; [`page`] is page mapping, with [`gc`] for victims, [`placement`] for
//! frontiers and [`map`] for a map in flash; [`log`] holds the log-block FTLs; [`blocks`] is the block table of all.
//!
//! Memory: 4 bytes for each logical and each physical page, some 30 for each block; page mapping a bit for each
//! physical page as well.

pub mod blocks;
pub mod choice;
mod context;
pub mod gc;
mod gc_occupancy;
mod lines;
pub mod log;
pub mod map;
pub mod page;
pub mod placement;
mod problem;
mod recovery;
mod shape;
mod shares;

pub use choice::FtlChoice;
pub use context::WriteContext;
pub use gc_occupancy::GcOccupancy;
pub use lines::{Difference, Line, difference, lines, restored};
pub use map::CachedEntries;
pub use problem::Problem;
pub use shape::Shape;
pub use shares::Shares;

use ssdlab_core::{Archive, Archived, Lpn, Ppn};
use ssdlab_nand::{Cause, FlashSink, Scan, Trimmed};

/// A flash translation layer.
///
/// Contract: logical pages are below the size given at construction (the caller checks); operations are
/// emitted in dependency order; after each call the map and the emitted operations agree.
pub trait Ftl {
    /// Writes `count` pages from `lpn`; host page `i` of the request is the payload of `lpn + i`.
    fn write<S: FlashSink>(&mut self, lpn: Lpn, count: u32, context: WriteContext, sink: &mut S);

    /// Reads `count` pages from `lpn` for `cause`; returns how many were never written (they read as zeros
    /// and cost no flash operation).
    fn read<S: FlashSink>(&mut self, lpn: Lpn, count: u32, cause: Cause, sink: &mut S) -> u32;

    /// Forgets `count` pages from `lpn`: they read as zeros afterwards.
    fn trim<S: FlashSink>(&mut self, lpn: Lpn, count: u32, sink: &mut S);

    /// Whether so many blocks have failed that the next write might find no room: the drive must only be read from now
    /// on. Never true on flash that does not fail.
    fn is_worn_out(&self) -> bool;

    /// Keeps so many blocks unwritten for programs that fail in the course of one collection or merge: of each plane,
    /// where each is collected as a device of its own. To be called before anything is written; without it the drive is
    /// worn out by what it could otherwise go on from.
    ///
    /// # Errors
    /// If the logical pages do not fit beside them.
    fn keep_for_failures(&mut self, blocks: u32) -> Result<(), String>;

    /// Where the newest copy of `lpn` is.
    fn lookup(&self, lpn: Lpn) -> Option<Ppn>;

    /// Hints that `lpn` will be addressed soon; never changes a result.
    fn prefetch(&mut self, lpn: Lpn);

    /// Blocks that are erased and that nothing is written to yet.
    fn free_blocks(&self) -> u32;

    /// Erases of every block since construction.
    fn erase_counts(&self) -> &[u32];

    /// How full planes were whenever a victim was collected so far; none where there are merges instead.
    fn occupied(&self) -> Option<GcOccupancy> {
        None
    }

    /// Bytes of memory held for maps and block state.
    fn memory_bytes(&self) -> u64;

    /// Bytes of the mapping tables that a controller running this scheme keeps in RAM, as its paper counts them.
    fn mapping_table_bytes(&self) -> u64;

    /// Does about `pages` page copies of collection in a plane before the host has to wait for them, unless the plane
    /// has `free_blocks` more erased blocks than those at which collection begins by itself. Returns whether anything
    /// was emitted: false when it has them or nothing that yields a page, which comes after finitely many calls.
    fn background<S: FlashSink>(&mut self, _plane: u32, _free_blocks: u32, _pages: u32, _sink: &mut S) -> bool {
        false
    }

    /// Fills a cache that is to be filled before the first request.
    fn preload<S: FlashSink>(&mut self, _sink: &mut S) {}

    /// What its RAM holds of a map in flash, next to give way first where that is known; nothing where the whole map is
    /// in RAM.
    fn cached_entries(&self) -> Vec<CachedEntries> {
        Vec::new()
    }

    /// Saves or loads its whole state. What loads was built with the same shape and options as what was saved.
    ///
    /// # Errors
    /// See [`Archive`].
    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived;

    /// Takes up a device in use from nothing but its spare areas and the trims written down, as after a power loss. The
    /// FTL is one that has just been built, with the shape and options of the one that wrote the flash.
    ///
    /// Afterwards each logical page is its newest copy. What the host wrote while the power was lost is there or not,
    /// page by page; all that was written before is there. Blocks with nothing valid are erased, and what was
    /// interrupted is undone or completed, by operations with [`Cause::Recovery`]. Power may be lost in the course of
    /// that too.
    ///
    /// # Errors
    /// If the flash holds what this FTL cannot have written; the error names the block. Nothing is lost by it.
    fn recover<S: FlashSink>(&mut self, scan: &dyn Scan, trims: &[Trimmed], sink: &mut S) -> Result<(), String>;

    /// An erased device of `planes` planes like those of this one, and their share of the logical pages; none where
    /// what happens in a plane depends on the others. `seed` is that of its random streams.
    fn part(&self, _planes: u32, _seed: u64) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// Makes the planes of a share, which are erased, those of a [`Self::part`] as it is now.
    fn take_over(&mut self, _part: &Self, _share: u32, _shares: &Shares)
    where
        Self: Sized,
    {
        unreachable!("there is no part of this FTL");
    }

    /// Ends taking over, when all shares have been; before, nothing may be read or written.
    fn taken_over(&mut self, _shares: &Shares) {
        unreachable!("there is no part of this FTL");
    }

    /// Verifies every internal invariant in O(pages); the error says which is broken.
    fn check(&self) -> Result<(), String>;
}
