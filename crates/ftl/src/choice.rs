//! Which FTLs there are, and how one is built.

use crate::log::bast::{BastFtl, BastOptions};
use crate::log::fast::{FastFtl, FastOptions};
use crate::log::faster::{FasterFtl, FasterOptions};
use crate::log::sbfast::{SbfastFtl, SbfastOptions};
use crate::map::{Dftl, DftlOptions, SegmentCache, SegmentOptions, WholeMap};
use crate::page::{PageFtl, PageOptions};
use crate::{Ftl, Shape};

/// An FTL and its options.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FtlChoice {
    /// Page mapping.
    Page(PageOptions, MapChoice),
    /// Log blocks that belong to one logical block each.
    Bast(BastOptions),
    /// A sequential log block and a fully-associative log.
    Fast(FastOptions),
    /// FAST with second chance and isolation area.
    Faster(FasterOptions),
    /// FAST with several sequential log blocks entered at sub-block headers.
    Sbfast(SbfastOptions),
}

/// Where page mapping keeps its map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MapChoice {
    /// The whole map in RAM.
    Ram,
    /// In flash, segments of it in RAM.
    Segments(SegmentOptions),
    /// In flash, single entries of it in RAM.
    Dftl(DftlOptions),
}

/// What is done with an FTL of any type. The families differ in the notes that they emit.
pub trait Visitor: Sized {
    /// What it yields.
    type Output;

    /// An FTL that emits no notes.
    fn plain<F: Ftl + Send + 'static>(self, ftl: F) -> Self::Output;

    /// An FTL that looks entries up in a map in flash ([`ssdlab_nand::Note::LookedUp`]).
    fn cached_map<F: Ftl + Send + 'static>(self, ftl: F) -> Self::Output;

    /// An FTL that merges log blocks ([`ssdlab_nand::Note::Merged`]); `captures` where it has a sequential log.
    fn log_blocks<F: Ftl + Send + 'static>(self, ftl: F, captures: bool) -> Self::Output;
}

impl FtlChoice {
    /// Builds the FTL on an erased device and hands it to `visitor`.
    ///
    /// # Errors
    /// If the device is too small for the FTL, or the options contradict themselves.
    pub fn build<V: Visitor>(&self, shape: Shape, seed: u64, visitor: V) -> Result<V::Output, String> {
        Ok(match *self {
            Self::Page(options, MapChoice::Ram) => {
                let map = WholeMap { logical_pages: shape.logical_pages };
                visitor.plain(PageFtl::with_map(shape, options, map, seed)?)
            }
            Self::Page(options, MapChoice::Segments(map)) => {
                let map = SegmentCache::new(shape.logical_pages, shape.page_bytes, map)?;
                visitor.cached_map(PageFtl::with_map(shape, options, map, seed)?)
            }
            Self::Page(options, MapChoice::Dftl(map)) => {
                let map = Dftl::new(shape.logical_pages, shape.page_bytes, map)?;
                visitor.cached_map(PageFtl::with_map(shape, options, map, seed)?)
            }
            Self::Bast(options) => visitor.log_blocks(BastFtl::new(shape, options)?, false),
            Self::Fast(options) => visitor.log_blocks(FastFtl::new(shape, options)?, options.sequential_blocks > 0),
            Self::Faster(options) => visitor.log_blocks(FasterFtl::new(shape, options)?, options.sequential_blocks > 0),
            Self::Sbfast(options) => visitor.log_blocks(SbfastFtl::new(shape, options)?, true),
        })
    }

    /// Map pages kept in flash for so many logical pages of this size.
    pub const fn map_pages(&self, logical_pages: u32, page_bytes: u32) -> u32 {
        match self {
            Self::Page(_, MapChoice::Segments(options)) => options.map_pages(logical_pages, page_bytes),
            Self::Page(_, MapChoice::Dftl(options)) => options.map_pages(logical_pages, page_bytes),
            _ => 0,
        }
    }

    /// Blocks the FTL needs beyond those that hold data, with page mapping in each plane; what a map in flash needs is
    /// not included.
    pub const fn reserve_blocks(&self) -> u32 {
        match self {
            Self::Page(options, _) => options.reserve_blocks(),
            Self::Bast(_) => BastOptions::RESERVE_BLOCKS,
            Self::Fast(_) => FastOptions::RESERVE_BLOCKS,
            Self::Faster(_) => FasterOptions::RESERVE_BLOCKS,
            Self::Sbfast(_) => SbfastOptions::RESERVE_BLOCKS,
        }
    }

    /// Blocks that the FTL holds back on a device: open, erased, or full of its map.
    pub const fn device_reserve_blocks(&self, shape: &Shape) -> u32 {
        match self {
            Self::Page(options, _) => {
                let map_pages = self.map_pages(shape.logical_pages, shape.page_bytes);
                options.device_reserve_blocks(shape.planes, map_pages, shape.pages_per_block)
            }
            _ => self.reserve_blocks(),
        }
    }
}
