//! Everything a simulation needs to know, complete and in plain numbers.

use ssdlab_core::Nanos;
use ssdlab_ftl::bast::BastOptions;
use ssdlab_ftl::fast::FastOptions;
use ssdlab_ftl::faster::FasterOptions;
use ssdlab_ftl::log::Shape;
use ssdlab_ftl::map::{DftlOptions, SegmentOptions};
use ssdlab_ftl::page::{PageDevice, PageOptions};
use ssdlab_ftl::sbfast::SbfastOptions;
use ssdlab_nand::{Geometry, Timing};

use crate::{BlockOptions, CacheOptions, Drive};

/// The FTL and its options.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FtlChoice {
    /// Page mapping, the whole map in RAM.
    Page(PageOptions),
    /// Page mapping, the map in flash and segments of it in RAM.
    Segments(PageOptions, SegmentOptions),
    /// Page mapping, the map in flash and single entries of it in RAM.
    Dftl(PageOptions, DftlOptions),
    /// Log blocks that belong to one logical block each.
    Bast(BastOptions),
    /// A sequential log block and a fully-associative log.
    Fast(FastOptions),
    /// FAST with second chance and isolation area.
    Faster(FasterOptions),
    /// FAST with several sequential log blocks entered at sub-block headers.
    Sbfast(SbfastOptions),
}

impl FtlChoice {
    /// Pages of the map that are kept in flash, on a device with so many logical pages of this size.
    pub const fn map_pages(&self, logical_pages: u32, page_bytes: u32) -> u32 {
        match self {
            Self::Segments(_, options) => options.map_pages(logical_pages, page_bytes),
            Self::Dftl(_, options) => options.map_pages(logical_pages, page_bytes),
            _ => 0,
        }
    }

    /// Blocks the FTL needs beyond those that hold data, with page mapping in each plane; what a map in flash needs is
    /// not included.
    pub const fn reserve_blocks(&self) -> u32 {
        match self {
            Self::Page(options) | Self::Segments(options, _) | Self::Dftl(options, _) => options.reserve_blocks(),
            Self::Bast(_) => BastOptions::RESERVE_BLOCKS,
            Self::Fast(_) => FastOptions::RESERVE_BLOCKS,
            Self::Faster(_) => FasterOptions::RESERVE_BLOCKS,
            Self::Sbfast(_) => SbfastOptions::RESERVE_BLOCKS,
        }
    }
}

/// How time passes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Clock {
    /// No time: operations are counted only.
    Count,
    /// One chip, one operation at a time.
    Serial(Timing),
    /// Channels, dies and planes at work on many requests at once.
    Event(Timing, Drive),
}

/// When the next request is issued.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Replay {
    /// As soon as one before it completes; trace times are ignored.
    Closed {
        /// Requests outstanding, at least 1. The serial clock serves one at a time, whatever this says.
        depth: u32,
        /// Whether each stream keeps so many of its own outstanding, or all streams together.
        per_stream: bool,
        /// Time between a completion and the request that takes its place.
        think: Nanos,
    },
    /// Each process (stream) goes on when the read or synchronous write that it waits for completes; what nobody waits
    /// for is issued when everything before it in the trace has been.
    Processes {
        /// Time between a completion and the next request of the process.
        think: Nanos,
    },
    /// At its time in the trace; requests queue when the device is busy.
    Open {
        /// Factor on the times of the trace: 0.5 issues requests twice as fast.
        time_scale: f64,
    },
}

impl Replay {
    /// One request after the other.
    pub const ONE_BY_ONE: Self = Self::Closed { depth: 1, per_stream: false, think: Nanos::ZERO };
    /// At the times of the trace.
    pub const AS_TRACED: Self = Self::Open { time_scale: 1.0 };
}

/// A stretch of simulated time, from the start of measuring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// Its start.
    pub from: Nanos,
    /// Its length.
    pub length: Nanos,
}

/// What to do with addresses beyond the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fit {
    /// Stop with an error naming the request.
    Error,
    /// Address modulo capacity.
    Wrap,
    /// Address times capacity / `extent_bytes`, rounded down to a page; `extent_bytes` is where the trace ends.
    Scale {
        /// First byte after the last one the trace addresses.
        extent_bytes: u64,
    },
}

/// How the device is overwritten after it has been filled.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Overwrite {
    /// Not at all.
    None,
    /// This many times its capacity, uniformly at random.
    Passes(f64),
    /// Uniformly at random until write amplification is stable.
    Steady,
}

/// State of the device before the first request.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Precondition {
    /// Share of the logical pages written once, in order, 0 to 1.
    pub fill: f64,
    /// What follows; only pages filled are overwritten.
    pub overwrite: Overwrite,
}

/// A complete, consistent simulation set-up.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Setup {
    /// Physical flash.
    pub geometry: Geometry,
    /// Pages the host sees.
    pub logical_pages: u32,
    /// Program/erase cycles a block endures.
    pub endurance_cycles: u32,
    /// FTL.
    pub ftl: FtlChoice,
    /// Time model.
    pub clock: Clock,
    /// Host behaviour.
    pub replay: Replay,
    /// Cache between the requests and all else; none passes them on.
    pub cache: Option<CacheOptions>,
    /// Block layer between host and drive; none hands every request to the drive at once. Needs [`Clock::Event`].
    pub block: Option<BlockOptions>,
    /// Stretch of which every flash operation is recorded; needs [`Clock::Event`].
    pub gantt: Option<Window>,
    /// Addresses beyond the device.
    pub fit: Fit,
    /// Requests replayed before measuring starts.
    pub warmup_requests: u64,
    /// State before the first request.
    pub precondition: Precondition,
    /// Whether every flash operation and every read is checked against NAND rules and a shadow of the data.
    pub check: bool,
    /// Seed of every random stream.
    pub seed: u64,
}

impl Setup {
    /// Bytes the host sees.
    pub const fn capacity_bytes(&self) -> u64 {
        self.logical_pages as u64 * self.geometry.page_bytes as u64
    }

    /// Pages of the map that are kept in flash.
    pub const fn map_pages(&self) -> u32 {
        self.ftl.map_pages(self.logical_pages, self.geometry.page_bytes)
    }

    /// Blocks that the FTL holds back: open, erased, or full of its map.
    pub const fn reserve_blocks(&self) -> u32 {
        match &self.ftl {
            FtlChoice::Page(options) | FtlChoice::Segments(options, _) | FtlChoice::Dftl(options, _) => options
                .device_reserve_blocks(
                    self.geometry.parallelism.planes(),
                    self.map_pages(),
                    self.geometry.pages_per_block,
                ),
            _ => self.ftl.reserve_blocks(),
        }
    }

    /// The device as a page-mapped FTL sees it.
    pub const fn page_device(&self) -> PageDevice {
        PageDevice {
            logical_pages: self.logical_pages,
            blocks: self.geometry.blocks,
            pages_per_block: self.geometry.pages_per_block,
            planes: self.geometry.parallelism.planes(),
        }
    }

    /// The device as a log-block FTL sees it.
    pub const fn shape(&self) -> Shape {
        Shape {
            logical_pages: self.logical_pages,
            blocks: self.geometry.blocks,
            pages_per_block: self.geometry.pages_per_block,
            order: self.geometry.order,
            planes: self.geometry.parallelism.planes(),
        }
    }
}
