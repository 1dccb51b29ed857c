//! The table of FTLs and maps, and the function that builds an FTL.
//!
//! The built-in FTLs and maps are generic types, compiled separately for every sink. Their tables are therefore macros:
//! each line becomes a table entry and an arm of [`FtlChoice::build`]. FTLs and maps of other crates register a
//! constructor instead, and are called through `dyn`.

use ssdlab_core::Registry;

use crate::log::{self, Log, LogChoice, LogFtl, LogRules};
use crate::map::{self, MapChoice, MapRules};
use crate::page::{PageFtl, PageOptions};
use crate::{BoxedFtl, DynFtl, Ftl, Shape};

/// Choice of an FTL with its options.
#[allow(clippy::large_enum_variant, reason = "FtlChoice is rarely copied, because a drive has only one")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FtlChoice {
    /// Page mapping with its options and the chosen map.
    Page(PageOptions, MapChoice),
    /// Block mapping with log blocks: the chosen FTL, and the number of log blocks.
    Log(LogChoice, u32),
}

/// Initial state of the device on which a new FTL is built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// The device is erased.
    Erased,
    /// A saved state will be loaded by [`Ftl::archive`], the next call; it allocates the memory that it fills.
    Loaded,
}

/// An operation that works on an FTL of any type. The notes that the FTL emits determine which method is called; a
/// `Note` describes a decision of the FTL and its reason. A visitor that ignores notes implements only `plain`.
pub trait Visitor: Sized {
    /// Result of the visit; all methods return this type.
    type Output;

    /// Receives an FTL that emits no notes.
    fn plain<F: Ftl + Send + 'static>(self, ftl: F) -> Self::Output;

    /// Receives an FTL with a map in flash, which emits [`ssdlab_nand::Note::LookedUp`].
    fn cached_map<F: Ftl + Send + 'static>(self, ftl: F) -> Self::Output {
        self.plain(ftl)
    }

    /// Receives an FTL with log blocks, which emits [`ssdlab_nand::Note::Merged`], and true if it has a sequential log.
    fn log_blocks<F: Ftl + Send + 'static>(self, ftl: F, _captures: bool) -> Self::Output {
        self.plain(ftl)
    }
}

struct Boxed;

impl Visitor for Boxed {
    type Output = Box<dyn DynFtl>;

    fn plain<F: Ftl + Send + 'static>(self, ftl: F) -> Self::Output {
        Box::new(ftl)
    }
}

macro_rules! maps {
    ($($family:ident $file:ident::$map:ident),+ $(,)?) => {
        /// Registry of the mapping tables for page mapping: in RAM, or in flash with a cache.
        pub static MAPS: Registry<MapRules> = Registry::new("map", &[$(&map::$file::INFO),+]);

        fn build_page<V: Visitor>(
            choice: &MapChoice,
            options: PageOptions,
            shape: Shape,
            seed: u64,
            start: Start,
            visitor: V,
        ) -> Result<V::Output, String> {
            $(if choice.is(&map::$file::INFO) {
                let map = map::$file::$map::new(shape.logical_pages, shape.page_bytes, choice)?;
                let ftl = match start {
                    Start::Erased => PageFtl::with_map(shape, options, map, seed)?,
                    Start::Loaded => PageFtl::to_load(shape, options, map, seed)?,
                };
                return Ok(visitor.$family(ftl));
            })+
            let MapRules { build: Some(build), pages, .. } = choice.info.role else {
                return Err(format!("map {} has no constructor; set `build` in its MapRules", choice.info.name));
            };
            let ftl = BoxedFtl(build(shape, options, seed, choice)?);
            Ok(match pages(choice, shape.logical_pages, shape.page_bytes) {
                0 => visitor.plain(ftl),
                _ => visitor.cached_map(ftl),
            })
        }
    };
}

maps! {
    plain ram::WholeMap,
    cached_map segments::SegmentCache,
    cached_map dftl::Dftl,
}

macro_rules! log_ftls {
    ($($file:ident::$log:ident),+ $(,)?) => {
        /// Every registered FTL with log blocks.
        pub static LOG_FTLS: Registry<LogRules> = Registry::new("FTL", &[$(&log::$file::INFO),+]);

        fn build_log<V: Visitor>(
            choice: &LogChoice,
            log_blocks: u32,
            shape: Shape,
            visitor: V,
        ) -> Result<V::Output, String> {
            $(if choice.is(&log::$file::INFO) {
                let ftl = LogFtl::<log::$file::$log>::new(shape, log_blocks, choice)?;
                let captures = ftl.log.captures();
                return Ok(visitor.log_blocks(ftl, captures));
            })+
            let Some(build) = choice.info.role.build else {
                return Err(format!("FTL {} has no constructor; set `build` in its LogRules", choice.info.name));
            };
            let ftl = BoxedFtl(build(shape, log_blocks, choice)?);
            Ok(if choice.info.role.has_log { visitor.log_blocks(ftl, false) } else { visitor.plain(ftl) })
        }
    };
}

log_ftls! {
    bast::Bast,
    fast::Fast,
    faster::Faster,
    sbfast::Sbfast,
}

impl FtlChoice {
    /// Builds the FTL on an erased device for `visitor`. Fails if the device is too small, or the options conflict.
    pub fn build<V: Visitor>(&self, shape: Shape, seed: u64, visitor: V) -> Result<V::Output, String> {
        self.build_from(Start::Erased, shape, seed, visitor)
    }

    /// Builds the FTL in the given start state; see [`Self::build`].
    pub fn build_from<V: Visitor>(
        &self,
        start: Start,
        shape: Shape,
        seed: u64,
        visitor: V,
    ) -> Result<V::Output, String> {
        match self {
            Self::Page(options, map) => build_page(map, *options, shape, seed, start, visitor),
            Self::Log(choice, log_blocks) => build_log(choice, *log_blocks, shape, visitor),
        }
    }

    /// Builds the FTL on an erased device, as a trait object; see [`Self::build`].
    pub fn build_dyn(&self, shape: Shape, seed: u64) -> Result<Box<dyn DynFtl>, String> {
        self.build(shape, seed, Boxed)
    }

    /// Returns the number of map pages in flash for a drive with the given number and size of logical pages.
    pub fn map_pages(&self, logical_pages: u32, page_bytes: u32) -> u32 {
        match self {
            Self::Page(_, map) => (map.info.role.pages)(map, logical_pages, page_bytes),
            Self::Log(..) => 0,
        }
    }

    /// Returns the number of blocks that the FTL needs in addition to those for data and for a map in flash. The number
    /// is per plane for page mapping, and for the whole device otherwise.
    pub fn reserve_blocks(&self) -> u32 {
        match self {
            Self::Page(options, _) => options.reserve_blocks(),
            Self::Log(choice, _) => choice.info.role.reserve_blocks,
        }
    }

    /// Returns the number of blocks of the device that the FTL reserves for open blocks, erased blocks and map pages.
    pub fn device_reserve_blocks(&self, shape: &Shape) -> u32 {
        match self {
            Self::Page(options, _) => {
                let map_pages = self.map_pages(shape.logical_pages, shape.page_bytes);
                options.device_reserve_blocks(shape.planes, map_pages, shape.pages_per_block)
            }
            Self::Log(..) => self.reserve_blocks(),
        }
    }
}
