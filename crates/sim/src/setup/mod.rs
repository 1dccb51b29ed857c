//! Everything a simulation needs to know, complete and in plain numbers.

pub mod drive;
pub mod host;
pub mod what_if;

use ssdlab_ftl::{FtlChoice, Shape};
use ssdlab_nand::backend::parallel::Window;
use ssdlab_nand::{Geometry, Timing};

use drive::DriveOptions;
use host::{BlockOptions, CacheOptions, Fit, Repeat, Replay};

/// How time passes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Clock {
    /// No time: operations are counted only.
    Count,
    /// One chip, one operation at a time.
    Serial(Timing),
    /// Channels, dies and planes at work on many requests at once.
    Event(Timing, DriveOptions),
}

impl Clock {
    /// How long operations of the flash take; none without time.
    pub const fn timing(&self) -> Option<&Timing> {
        match self {
            Self::Count => None,
            Self::Serial(timing) | Self::Event(timing, _) => Some(timing),
        }
    }
}

/// How the device is overwritten after it has been filled.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Overwrite {
    /// Not at all.
    None,
    /// This many times its capacity, uniformly at random.
    Passes(f64),
    /// Uniformly at random until write amplification is stable.
    Steady(Method),
    /// By the writes and trims of the trace, over and over. Not below a cache, which would keep some of them.
    Trace(Repeat),
}

/// How a drive is brought to its steady state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Method {
    /// [`Self::Sampled`] for a drive of 64 GiB and more (in pages of 4 KiB) where that can be, else [`Self::Exact`].
    #[default]
    Auto,
    /// Every page of every plane is written.
    Exact,
    /// A few planes are brought to their steady state, and the others take it over.
    Sampled,
}

impl Method {
    /// Lower-case name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Exact => "exact",
            Self::Sampled => "sampled",
        }
    }
}

/// State of the device before the first request.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Precondition {
    /// Share of the logical pages written once, in order, 0 to 1.
    pub fill: f64,
    /// What follows; at random only pages filled are overwritten.
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
    /// Latency attribution: where the response time of each request goes. Needs [`Clock::Event`]; other clocks ignore it.
    pub attribution: bool,
    /// Addresses beyond the device.
    pub fit: Fit,
    /// How often the trace is replayed; the last replay is measured.
    pub repeat: Repeat,
    /// Requests of a replay before measuring starts.
    pub warmup_requests: u64,
    /// State before the first request.
    pub precondition: Precondition,
    /// Whether every flash operation and every read is checked against NAND rules and a shadow of the data.
    pub check: bool,
    /// Seed of every random stream.
    pub seed: u64,
}

impl Setup {
    /// An erased drive without time: requests come one by one and straight to the drive, once, and nothing is checked.
    pub const fn new(geometry: Geometry, logical_pages: u32, ftl: FtlChoice) -> Self {
        Self {
            geometry,
            logical_pages,
            endurance_cycles: 3_000,
            ftl,
            clock: Clock::Count,
            replay: Replay::ONE_BY_ONE,
            cache: None,
            block: None,
            gantt: None,
            attribution: false,
            fit: Fit::Error,
            repeat: Repeat::ONCE,
            warmup_requests: 0,
            precondition: Precondition { fill: 0.0, overwrite: Overwrite::None },
            check: false,
            seed: 1,
        }
    }

    /// Bytes the host sees.
    pub const fn capacity_bytes(&self) -> u64 {
        self.logical_pages as u64 * self.geometry.page_bytes as u64
    }

    /// Logical pages that preconditioning writes.
    pub fn filled_pages(&self) -> u64 {
        (self.precondition.fill * f64::from(self.logical_pages)).round() as u64
    }

    /// Pages of the map that are kept in flash.
    pub fn map_pages(&self) -> u32 {
        self.ftl.map_pages(self.logical_pages, self.geometry.page_bytes)
    }

    /// Blocks that the FTL holds back: open, erased, or full of its map.
    pub fn reserve_blocks(&self) -> u32 {
        self.ftl.device_reserve_blocks(&self.shape())
    }

    /// The device as the FTL sees it.
    pub const fn shape(&self) -> Shape {
        Shape {
            logical_pages: self.logical_pages,
            page_bytes: self.geometry.page_bytes,
            blocks: self.geometry.blocks,
            pages_per_block: self.geometry.pages_per_block,
            order: self.geometry.order,
            planes: self.geometry.parallelism.planes(),
        }
    }
}
