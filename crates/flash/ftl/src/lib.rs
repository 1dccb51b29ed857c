//! Flash translation layers: deterministic state machines that turn host page operations into flash operations.
//!
//! An FTL emits operations into a [`FlashSink`], and sees neither a clock nor page contents. The same code counts
//! operations, drives a timing model, or moves real bytes.
//!
//! Rules for every FTL in this crate:
//!
//! - **A flat map is authoritative.** One array holds the location of each page's newest copy, under block mapping too.
//!   Block tables, log tables and cached parts of a map only affect costs and reported sizes. They cannot make a read
//!   return the wrong page.
//! - **A page is valid if the flat map leads to it.** Page mapping also keeps a validity bit per page. With these bits,
//!   garbage collection finds the next valid page of a victim without an unpredictable branch, and without reading the
//!   map entries of invalid pages.
//! - **Of the channels, chips, dies and planes, an FTL sees only the planes.** They are numbered in stripe order. Page
//!   mapping collects each plane separately; log blocks are taken from the planes in turn.
//! - **Policies that decide once per block are trait objects**, because one decision serves dozens of page copies.
//!   Policies called for every page are generic.
//! - **FTLs buffer no pages**, and need no flush. Flash may gather several pages into a program unit;
//!   [`Ftl::complete_units`] pads incomplete program units.
//! - **Power may fail at any operation.** [`Ftl::recover`] needs only the spare areas. `recovery.rs` explains why
//!   recovery is always possible; each family of FTLs has a file for its part of recovery.
//!
//! [`choice`] lists the FTLs and builds them. [`page`] implements page mapping. [`gc`] chooses its victims,
//! [`placement`] its open blocks, and [`map`] models a map in flash. [`log`] contains the log-block FTLs. [`blocks`] is
//! the block table that all FTLs share.
//!
//! Memory: 4 bytes per logical and physical page, and about 30 per block. Page mapping adds a bit per physical page.

pub mod blocks;
mod boxed;
pub mod choice;
pub mod gc;
mod gc_occupancy;
pub mod log;
pub mod map;
pub mod page;
pub mod placement;
mod recovery;
mod shares;

pub use boxed::BoxedFtl;
pub use choice::FtlChoice;
pub use gc_occupancy::GcOccupancy;
pub use map::CachedEntries;
pub use page::SlcCounts;
pub use shares::Shares;

use std::any::Any;
use std::io;

use ssdlab_core::{Archive, Archived, BlockId, Lpn, Ppn};
use ssdlab_nand::{Cause, FlashSink, ProgramOrder, Role, Scan, Trimmed};

/// Shape of the flash and number of logical pages, as passed to an FTL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Number of logical pages.
    pub logical_pages: u32,
    /// Number of bytes per page.
    pub page_bytes: u32,
    /// Number of erase blocks.
    pub blocks: u32,
    /// Number of pages per erase block, at least 2.
    pub pages_per_block: u32,
    /// Order in which the pages of a block must be programmed.
    pub order: ProgramOrder,
    /// Number of planes. All planes have the same number of blocks; the first block of plane `p` is `p * blocks /
    /// planes`. If a block extends over several planes of the flash, these planes count as one plane here (see
    /// [`ssdlab_nand::Collected`]).
    pub planes: u32,
    /// Number of successive pages of a block that the flash programs together, a divisor of `pages_per_block`.
    pub program_unit: u32,
}

/// Hints that the host gives with a write request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WriteContext {
    /// Number of the stream (process) that writes the data, as numbered in the trace.
    pub stream: u16,
    /// Placement identifier chosen by the host (NVMe Flexible Data Placement, multi-stream); 0 if there is none.
    pub placement: u16,
    /// True if the write is synchronous: the host waits for it.
    pub sync: bool,
    /// Number of pages in the host request, if the FTL is called for each of its pages; 0 if one call covers it.
    pub request_pages: u32,
}

/// A parameter value that does not fit the device or conflicts with another value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// Name of the parameter.
    pub parameter: &'static str,
    /// Description of the problem, with a remedy.
    pub message: String,
}

impl Problem {
    pub(crate) const fn new(parameter: &'static str, message: String) -> Self {
        Self { parameter, message }
    }
}

impl From<Problem> for String {
    fn from(Problem { parameter, message }: Problem) -> Self {
        format!("{parameter}: {message}")
    }
}

/// Error that [`Ftl::recover`] returns if the FTL does not implement it.
pub const NO_RECOVERY: &str = "this FTL cannot recover from a power loss";

/// A flash translation layer.
///
/// Contract: logical pages are below the size given at construction (the caller checks); operations are emitted in
/// dependency order; after each call the map and the emitted operations agree.
///
/// `write`, `read`, `trim` and `lookup` are required. The other methods are optional; their defaults do nothing or
/// return an error. The trait is object-safe: [`DynFtl`] has the operations for an FTL behind `dyn`.
pub trait Ftl {
    /// Writes `count` pages, starting at `lpn`; host page `i` of the request is the payload of `lpn + i`.
    fn write<S: FlashSink>(&mut self, lpn: Lpn, count: u32, context: WriteContext, sink: &mut S)
    where
        Self: Sized;

    /// Reads `count` pages, starting at `lpn`; `cause` is the cause of the page reads. Returns the number of pages that
    /// were never written or have been trimmed; such pages read as zeros and cost no page read. With a map in flash,
    /// the look-up of any page may cost flash operations.
    fn read<S: FlashSink>(&mut self, lpn: Lpn, count: u32, cause: Cause, sink: &mut S) -> u32
    where
        Self: Sized;

    /// Trims `count` pages, starting at `lpn`; the pages read as zeros afterwards.
    fn trim<S: FlashSink>(&mut self, lpn: Lpn, count: u32, sink: &mut S)
    where
        Self: Sized;

    /// Returns the flash page that holds the newest copy of `lpn`.
    fn lookup(&self, lpn: Lpn) -> Option<Ppn>;

    /// Visits the newest copy of each of the first `logical_pages` logical pages.
    fn copies(&self, logical_pages: u32, visit: &mut dyn FnMut(Lpn, Ppn)) {
        for lpn in (0..logical_pages).map(Lpn) {
            if let Some(ppn) = self.lookup(lpn) {
                visit(lpn, ppn);
            }
        }
    }

    /// True if so many blocks have failed that the next write might not fit; the drive must then become read-only.
    /// Never true on flash that does not fail.
    fn is_worn_out(&self) -> bool {
        false
    }

    /// Reserves free blocks (per plane, if planes are collected separately) to replace the blocks in which a program
    /// fails during one collection or merge. Must be called before the first write. Without this reserve, one failed
    /// program may leave the drive without free blocks, which ends its life. Fails if the FTL does not handle failures,
    /// or the logical pages no longer fit.
    fn keep_for_failures(&mut self, _blocks: u32) -> Result<(), String> {
        Err("this FTL cannot handle failing flash blocks".into())
    }

    /// Hints that the host will soon read, write or trim `lpn`; never changes a result.
    fn prefetch(&mut self, _lpn: Lpn) {}

    /// Second hint, some time after [`Self::prefetch`], that the host will soon write `lpn`. Never changes a result.
    fn prefetch_copy(&self, _lpn: Lpn) {}

    /// Returns the number of erased blocks that are not open for writing.
    fn free_blocks(&self) -> u32 {
        0
    }

    /// Returns the erases of each block since construction, without erases in SLC mode; empty if they are not counted.
    fn erase_counts(&self) -> &[u32] {
        &[]
    }

    /// Returns the blocks in SLC mode.
    fn slc_blocks(&self) -> Vec<BlockId> {
        Vec::new()
    }

    /// Returns the counts of the SLC cache; None without a cache.
    fn slc_counts(&self) -> Option<&SlcCounts> {
        None
    }

    /// Returns the page occupancy of planes before and after garbage collection, summed over all collections so far;
    /// None for FTLs that merge instead of collecting.
    fn occupied(&self) -> Option<GcOccupancy> {
        None
    }

    /// Returns the memory that the simulation uses for maps and block state, in bytes.
    fn memory_bytes(&self) -> u64 {
        0
    }

    /// Returns the size in bytes of the tables that a controller keeps in RAM for this FTL, as the paper counts them.
    fn mapping_table_bytes(&self) -> u64 {
        0
    }

    /// Performs background work in a plane, moving about `pages` pages. Folds an SLC cache that is to be folded in idle
    /// time. Otherwise collects garbage, unless the plane has `free_blocks` more erased blocks than the threshold for
    /// regular collection. Returns true if any operation was emitted. Without host writes, calls eventually return
    /// false.
    fn background<S: FlashSink>(&mut self, _plane: u32, _free_blocks: u32, _pages: u32, _sink: &mut S) -> bool
    where
        Self: Sized,
    {
        false
    }

    /// Pads incomplete program units that contain host pages, so that no host page waits for its unit to fill. If
    /// `everything` is true, pads all incomplete program units.
    fn complete_units<S: FlashSink>(&mut self, _everything: bool, _sink: &mut S)
    where
        Self: Sized,
    {
    }

    /// Makes the FTL complete program units before each erase, because a power loss clears incomplete program units.
    /// The flash then always holds a version of each page that is at least as new as the latest version in a complete
    /// program unit. Must be called before the first write.
    fn complete_units_before_erases(&mut self) {}

    /// Fills the map cache if it must be full before the first request.
    fn preload<S: FlashSink>(&mut self, _sink: &mut S)
    where
        Self: Sized,
    {
    }

    /// Returns the map entries that are cached in RAM; empty if the whole map is in RAM. If the eviction order is
    /// known, the next victims come first.
    fn cached_entries(&self) -> Vec<CachedEntries> {
        Vec::new()
    }

    /// Saves or loads the whole state of the FTL. The loading FTL must have the shape and options of the saved FTL.
    /// Fails if the FTL cannot save its state; for other errors see [`Archive`].
    fn archive(&mut self, _archive: &mut Archive<'_>) -> Archived {
        Err(io::Error::new(io::ErrorKind::Unsupported, "this FTL cannot save its state"))
    }

    /// Visits the programmed pages of an idle device, in a possible order of their programs. The visitor receives the
    /// flash page, the logical page and the role of each page. Returns the sequence number of the next program, which
    /// is at least the number of visited pages. Fails if the FTL does not know the contents of its flash.
    fn programmed(&self, _visit: &mut dyn FnMut(Ppn, Lpn, Role)) -> Result<u64, String> {
        Err("this FTL cannot list its programmed pages, so the drive must start empty".into())
    }

    /// Recovers a device in use from its spare areas and the recorded trims, as after a power loss. The FTL must be
    /// new, with the shape and options of the FTL that wrote the flash.
    ///
    /// Afterwards each logical page is mapped to its newest copy. Each page that the host was writing at the power loss
    /// may or may not have been written; all earlier writes are preserved. Blocks without valid pages are erased.
    /// Interrupted work is undone or completed, by operations with [`Cause::Recovery`]. Power may be lost during
    /// recovery too. Fails if the FTL cannot recover, or the flash contains data that this FTL cannot have written; the
    /// error names the block. A failed recovery loses no data.
    fn recover<S: FlashSink>(&mut self, _scan: &dyn Scan, _trims: &[Trimmed], _sink: &mut S) -> Result<(), String>
    where
        Self: Sized,
    {
        Err(NO_RECOVERY.into())
    }

    /// Returns a smaller erased device of `planes` planes, with a proportional number of logical pages. Returns None if
    /// the planes depend on each other. `seed` seeds the random streams of the smaller device.
    fn part(&self, _planes: u32, _seed: u64) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// Copies the current state of the smaller device `part` (see [`Self::part`]) to the planes of this device that
    /// belong to share number `share` (see [`Shares`]). These planes must be erased.
    fn take_over(&mut self, _part: &Self, _share: u32, _shares: &Shares)
    where
        Self: Sized,
    {
        unreachable!("this FTL cannot be assembled from smaller devices");
    }

    /// Completes the device after the last [`Self::take_over`]; it must not be read or written before.
    fn taken_over(&mut self, _shares: &Shares) {
        unreachable!("this FTL cannot be assembled from smaller devices");
    }

    /// Returns a smaller erased device with the same number of blocks. Its blocks and its logical address space have
    /// 1/`count` as many pages. None if the device cannot be divided so. `seed` seeds its random streams.
    fn section(&self, _count: u32, _seed: u64) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// Copies the state of the smaller device `part` (see [`Self::section`]) to this erased device, once for each share
    /// of the logical pages. Each copy is placed in a different section of the blocks.
    fn take_over_sections(&mut self, _part: Self, _shares: Shares)
    where
        Self: Sized,
    {
        unreachable!("this FTL cannot be assembled from devices with smaller blocks");
    }

    /// Checks every internal invariant in O(pages); the error names the violated invariant.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// Returns the FTL as one type, which is called through `dyn`.
    fn boxed(self) -> BoxedFtl
    where
        Self: Sized + Send + 'static,
    {
        BoxedFtl(Box::new(self))
    }
}

/// An [`Ftl`] as a trait object, for any flash.
pub trait DynFtl: Ftl + Any + Send {
    /// See [`Ftl::write`].
    fn write_dyn(&mut self, lpn: Lpn, count: u32, context: WriteContext, flash: &mut dyn FlashSink);

    /// See [`Ftl::read`].
    fn read_dyn(&mut self, lpn: Lpn, count: u32, cause: Cause, flash: &mut dyn FlashSink) -> u32;

    /// See [`Ftl::trim`].
    fn trim_dyn(&mut self, lpn: Lpn, count: u32, flash: &mut dyn FlashSink);

    /// See [`Ftl::background`].
    fn background_dyn(&mut self, plane: u32, free_blocks: u32, pages: u32, flash: &mut dyn FlashSink) -> bool;

    /// See [`Ftl::complete_units`].
    fn complete_units_dyn(&mut self, everything: bool, flash: &mut dyn FlashSink);

    /// See [`Ftl::preload`].
    fn preload_dyn(&mut self, flash: &mut dyn FlashSink);

    /// See [`Ftl::recover`].
    fn recover_dyn(&mut self, scan: &dyn Scan, trims: &[Trimmed], flash: &mut dyn FlashSink) -> Result<(), String>;

    /// See [`Ftl::part`].
    fn part_dyn(&self, planes: u32, seed: u64) -> Option<Box<dyn DynFtl>>;

    /// See [`Ftl::take_over`]; `part` comes from [`Self::part_dyn`] of this FTL.
    fn take_over_dyn(&mut self, part: &dyn Any, share: u32, shares: &Shares);

    /// See [`Ftl::section`].
    fn section_dyn(&self, count: u32, seed: u64) -> Option<Box<dyn DynFtl>>;

    /// See [`Ftl::take_over_sections`]; `part` comes from [`Self::section_dyn`] of this FTL.
    fn take_over_sections_dyn(&mut self, part: Box<dyn Any>, shares: Shares);
}

/// What a downcast expects. It cannot fail, because a part has the same type as its FTL.
const OTHER_PART: &str = "a part of this FTL";

impl<F: Ftl + Send + 'static> DynFtl for F {
    fn write_dyn(&mut self, lpn: Lpn, count: u32, context: WriteContext, mut flash: &mut dyn FlashSink) {
        self.write(lpn, count, context, &mut flash);
    }

    fn read_dyn(&mut self, lpn: Lpn, count: u32, cause: Cause, mut flash: &mut dyn FlashSink) -> u32 {
        self.read(lpn, count, cause, &mut flash)
    }

    fn trim_dyn(&mut self, lpn: Lpn, count: u32, mut flash: &mut dyn FlashSink) {
        self.trim(lpn, count, &mut flash);
    }

    fn background_dyn(&mut self, plane: u32, free_blocks: u32, pages: u32, mut flash: &mut dyn FlashSink) -> bool {
        self.background(plane, free_blocks, pages, &mut flash)
    }

    fn complete_units_dyn(&mut self, everything: bool, mut flash: &mut dyn FlashSink) {
        self.complete_units(everything, &mut flash);
    }

    fn preload_dyn(&mut self, mut flash: &mut dyn FlashSink) {
        self.preload(&mut flash);
    }

    fn recover_dyn(&mut self, scan: &dyn Scan, trims: &[Trimmed], mut flash: &mut dyn FlashSink) -> Result<(), String> {
        self.recover(scan, trims, &mut flash)
    }

    fn part_dyn(&self, planes: u32, seed: u64) -> Option<Box<dyn DynFtl>> {
        self.part(planes, seed).map(|part| Box::new(part) as _)
    }

    fn take_over_dyn(&mut self, part: &dyn Any, share: u32, shares: &Shares) {
        self.take_over(part.downcast_ref().expect(OTHER_PART), share, shares);
    }

    fn section_dyn(&self, count: u32, seed: u64) -> Option<Box<dyn DynFtl>> {
        self.section(count, seed).map(|part| Box::new(part) as _)
    }

    fn take_over_sections_dyn(&mut self, part: Box<dyn Any>, shares: Shares) {
        self.take_over_sections(*part.downcast().expect(OTHER_PART), shares);
    }
}
