//! Cost models of maps that are kept in flash and partly cached in the controller's RAM.
//!
//! The flat map of [`crate::page::PageFtl`] always gives the location of a page. A [`MapModel`] only decides which *map
//! pages* are read and programmed for a page, and cannot corrupt data. A map page is a flash page full of entries. It
//! is relocated and collected like any other page, but is stored in separate blocks.
//!
//! Each map has a file with an `INFO` and a `new`, and a line in the table of [`crate::choice`].

pub mod cache;
pub mod dftl;
pub mod ram;
pub mod segments;

pub use dftl::Dftl;
pub use ram::WholeMap;
pub use segments::SegmentCache;

use ssdlab_core::{Archive, Archived, Choice, Info, Lpn, Settings};

use crate::page::PageOptions;
use crate::{DynFtl, Problem, Shape};

/// Properties of a map that are known before the map is built.
#[derive(Debug)]
pub struct MapRules {
    /// Returns the number of map pages in flash, given the number of logical pages and the page size in bytes.
    pub pages: fn(&Settings, u32, u32) -> u32,
    /// Finds settings that conflict with each other or with the page size (in bytes).
    pub problems: fn(&Settings, u32) -> Vec<Problem>,
    /// Constructor of a page-mapped FTL with a map that another crate defines; None for the maps that
    /// [`crate::choice`] lists.
    pub build: Option<BuildPageFtl>,
}

/// Builds a page-mapped FTL with a map on an erased device. The `u64` is the seed of the random streams.
pub type BuildPageFtl = fn(Shape, PageOptions, u64, &Settings) -> Result<Box<dyn DynFtl>, String>;

/// A registered map.
pub type MapInfo = Info<MapRules>;

/// A selected map with its parameters.
pub type MapChoice = Choice<MapRules>;

impl MapRules {
    /// Returns the first of [`Self::problems`] as an error.
    fn refuse(&self, settings: &Settings, page_bytes: u32) -> Result<(), String> {
        if !page_bytes.is_power_of_two() {
            return Err(format!("the page size must be a power of two, not {page_bytes} bytes"));
        }
        (self.problems)(settings, page_bytes).into_iter().next().map_or(Ok(()), |problem| Err(problem.into()))
    }
}

/// A model of a map in flash: decides which map pages are read and written.
pub trait MapModel: Send {
    /// False if looking up and changing entries never costs a flash operation, as with a map in RAM.
    const CHARGED: bool;

    /// Returns the number of map pages that are kept in flash.
    fn pages(&self) -> u32;

    /// Looks up the entry of `lpn`. The entry stays in RAM until the next look-up.
    fn look_up(&mut self, lpn: u32) -> Lookup;

    /// Reports that the map entry of `lpn` has changed; `lpn` must be the page looked up last. Since that look-up, its
    /// map page may have been programmed with the old entry.
    fn changed(&mut self, lpn: u32);

    /// Reports that the newest copy of page `lpn` is now in flash page `ppn`, for maps that compute locations.
    #[inline(always)]
    fn placed(&mut self, _lpn: u32, _ppn: u32) {}

    /// True if the map computes the correct location, flash page `ppn`, for page `lpn`. Otherwise a read of the page
    /// costs an additional read of a nearby page, whose spare area points to `ppn`.
    #[inline(always)]
    fn finds(&mut self, _lpn: u32, _ppn: u32) -> bool {
        true
    }

    /// Hints that `lpn` will be looked up soon; never changes a result.
    #[inline]
    fn prefetch(&mut self, _lpn: u32) {}

    /// Reports that page `lpn` was moved. Returns the map page that must be rewritten; None if its entry is cached.
    fn moved(&mut self, lpn: u32) -> Option<u32>;

    /// Reports that map page `page` was programmed, including all changes to its cached entries.
    fn written(&mut self, page: u32);

    /// Returns the number of bytes read from flash to load an entry.
    fn load_bytes(&self) -> u32;

    /// True if map pages are completely in RAM when they are written back, and need not be read from flash first.
    fn knows_whole_pages(&self) -> bool;

    /// Returns the number of map entries to look up, from page 0 on, before the first request; 0 without a preload.
    fn preload(&self) -> u32 {
        0
    }

    /// Returns the number of bytes of controller RAM that the map takes.
    fn ram_bytes(&self) -> u64;

    /// Returns the memory that the simulation uses for the model, in bytes.
    fn memory_bytes(&self) -> u64;

    /// Returns a map for a smaller device with fewer planes; None if map pages are written to all planes in turn.
    fn part(&self, _logical_pages: u32) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// Returns the map entries that are cached in RAM. If the eviction order is known, the next victims come first.
    fn cached(&self) -> Vec<CachedEntries> {
        Vec::new()
    }

    /// Saves or loads the entries cached in RAM.
    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived;

    /// Checks the invariants of the map cache.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// Map entries of successive logical pages that were loaded into RAM together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CachedEntries {
    /// First logical page with an entry.
    pub first: Lpn,
    /// Number of successive logical pages with an entry.
    pub count: u32,
    /// True if the entries differ from the copy in flash.
    pub dirty: bool,
    /// True if the entries were used again after they were loaded, and are therefore kept longer.
    pub protected: bool,
}

/// Map pages read and written to look up a map entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lookup {
    /// True if the map entry was in RAM.
    pub hit: bool,
    /// Map page to write back first, if any.
    pub write_back: Option<u32>,
    /// Map page to read from flash, if any.
    pub load: Option<u32>,
}

impl Lookup {
    /// Result of a hit: the map entry was in RAM, so no map page is read or written.
    pub const HIT: Self = Self { hit: true, write_back: None, load: None };
}
