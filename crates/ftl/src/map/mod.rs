//! Maps that are kept in flash, of which the controller's RAM holds a part: what using them costs.
//!
//! Where a page is, the flat map of [`crate::page::PageFtl`] says, whatever is cached: a [`MapModel`] only decides
//! which *map pages* are read and programmed for it, and cannot corrupt data. A map page is a flash page full of
//! entries; it moves like any other page and is collected with the others, from blocks of its own.
//!
//! To add a map: write its file with an `INFO` and a `new`, and a line in the table of [`crate::choice`]. Settings,
//! help, documents and the oracle tests take it from there.

pub mod cache;
pub mod dftl;
pub mod ram;
pub mod segments;

pub use dftl::Dftl;
pub use ram::WholeMap;
pub use segments::SegmentCache;

use ssdlab_core::{Archive, Archived, Choice, Info, Lpn, Settings};

use crate::Problem;

/// What is known of a map before it is built.
#[derive(Debug)]
pub struct MapRules {
    /// Map pages in flash for so many logical pages of so many bytes.
    pub pages: fn(&Settings, u32, u32) -> u32,
    /// What does not fit together, with pages of so many bytes.
    pub problems: fn(&Settings, u32) -> Vec<Problem>,
}

/// A registered map.
pub type MapInfo = Info<MapRules>;

/// A map with its parameters.
pub type MapChoice = Choice<MapRules>;

impl MapRules {
    /// The first problem of a map that is to be built.
    fn refuse(&self, settings: &Settings, page_bytes: u32) -> Result<(), String> {
        if !page_bytes.is_power_of_two() {
            return Err(format!("pages of {page_bytes} bytes are not a power of two"));
        }
        (self.problems)(settings, page_bytes).into_iter().next().map_or(Ok(()), |problem| Err(problem.into()))
    }
}

/// Decides which map pages are read and written.
pub trait MapModel: Send {
    /// Whether anything is charged at all.
    const CHARGED: bool;

    /// Map pages in flash.
    fn pages(&self) -> u32;

    /// The entry of `lpn` is needed: it is in RAM until another is looked up.
    fn look_up(&mut self, lpn: u32) -> Lookup;

    /// The entry of `lpn`, the last one looked up, has changed. Map pages may have been programmed since its look-up,
    /// with the entry as it was.
    fn changed(&mut self, lpn: u32);

    /// Hints that `lpn` will be looked up soon; never changes a result.
    #[inline(always)]
    fn prefetch(&mut self, _lpn: u32) {}

    /// A valid page has been moved by garbage collection: the map page to be rewritten now, if its entry is not cached.
    fn moved(&mut self, lpn: u32) -> Option<u32>;

    /// Map page `page` has been programmed, with what is cached of it.
    fn written(&mut self, page: u32);

    /// Bytes read from flash to load an entry.
    fn load_bytes(&self) -> u32;

    /// Whether everything of a map page is in RAM whenever it is written back, so that it need not be read first.
    fn knows_whole_pages(&self) -> bool;

    /// The first pages whose entries are to be looked up before the first request, as many as RAM holds; none unless
    /// the cache is preloaded.
    fn preload(&self) -> u32;

    /// Bytes of RAM that the controller spends on the map.
    fn ram_bytes(&self) -> u64;

    /// Bytes of memory held here.
    fn memory_bytes(&self) -> u64;

    /// The map of a part of the planes with so many logical pages; none where its map pages go to all planes in turn.
    fn part(&self, logical_pages: u32) -> Option<Self>
    where
        Self: Sized;

    /// What is in RAM, next to give way first where that is known.
    fn cached(&self) -> Vec<CachedEntries>;

    /// Saves or loads what is cached.
    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived;

    /// Verifies what the cache promises of itself.
    fn check(&self) -> Result<(), String>;
}

/// Entries of successive pages that came into RAM together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CachedEntries {
    /// The first page.
    pub first: Lpn,
    /// Pages.
    pub count: u32,
    /// Whether they have changed since flash last had them.
    pub dirty: bool,
    /// Whether they have been used since they came in, and are kept longer for it.
    pub protected: bool,
}

/// What using one entry takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lookup {
    /// Whether the entry was in RAM.
    pub hit: bool,
    /// Map page to be written back first.
    pub write_back: Option<u32>,
    /// Map page to be read.
    pub load: Option<u32>,
}

impl Lookup {
    /// The entry is in RAM.
    pub const HIT: Self = Self { hit: true, write_back: None, load: None };
}
