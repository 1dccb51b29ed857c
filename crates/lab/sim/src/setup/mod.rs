//! Complete options of a simulation, as plain values.

pub mod drive;
pub mod host;
pub(crate) mod lines;
pub(crate) mod size;
pub mod what_if;

use ssdlab_ftl::{FtlChoice, Shape};
use ssdlab_nand::backend::parallel::Window;
use ssdlab_nand::{Geometry, Timing};

use drive::DriveOptions;
use host::{BlockOptions, CacheOptions, Fit, Repeat, Replay};
use size::Size;

/// Model of time in a simulation.
#[derive(Clone, Copy, PartialEq, Debug)]
#[allow(clippy::large_enum_variant, reason = "a run has few values of this type, so their size matters little")]
pub enum Clock {
    /// Flash operations are counted and take no time.
    Count,
    /// The chip performs one operation at a time.
    Serial(Timing),
    /// Channels, dies and planes work in parallel, on many requests at once.
    Event(Timing, DriveOptions),
}

impl Clock {
    /// Returns the durations of flash operations; `None` if time is not modelled.
    pub const fn timing(&self) -> Option<&Timing> {
        match self {
            Self::Count => None,
            Self::Serial(timing) | Self::Event(timing, _) => Some(timing),
        }
    }
}

/// Method of overwriting the device after it has been filled.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Overwrite {
    /// The device is not overwritten.
    None,
    /// Random pages are overwritten. The number of page writes is this value times the number of filled pages.
    Passes(f64),
    /// Uniformly random pages of the device are overwritten until write amplification is stable.
    Steady(Method),
    /// The device is overwritten with the writes and trims of the trace, repeatedly. Not allowed with a host cache,
    /// which would absorb some writes.
    Trace(Repeat),
}

/// Method by which a drive reaches its steady state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Method {
    /// Chooses [`Self::Sampled`] for drives of at least 64 GiB (with pages of 4 KiB) where possible, otherwise
    /// [`Self::Exact`].
    #[default]
    Auto,
    /// Preconditioning writes every page of the device.
    Exact,
    /// A few planes, or a section of every superblock, are brought to steady state. Their state is copied to the rest.
    Sampled,
}

impl Method {
    /// Returns the name of the method as used in settings.
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
    /// Share (0 to 1) of the logical pages that is written once, in order.
    pub fill: f64,
    /// Method of overwriting pages after the device has been filled. Random overwrites affect only filled pages.
    pub overwrite: Overwrite,
}

/// Complete, consistent options of a simulation.
#[derive(Clone, PartialEq, Debug)]
pub struct Setup {
    /// Geometry of the flash.
    pub geometry: Geometry,
    /// Number of logical pages visible to the host.
    pub logical_pages: u32,
    /// Size of the drive, relative to the drive whose lifetime the run projects.
    pub size: Size,
    /// Number of program/erase cycles that a block endures.
    pub endurance_cycles: u32,
    /// Number of program/erase cycles that a block endures in SLC mode.
    pub slc_endurance_cycles: u32,
    /// FTL with its options.
    pub ftl: FtlChoice,
    /// Model of time.
    pub clock: Clock,
    /// Replay model: when the host issues requests.
    pub replay: Replay,
    /// Options of the host's cache, if any.
    pub cache: Option<CacheOptions>,
    /// Options of the block layer between host and drive, if any; without a block layer, the drive gets every request
    /// immediately. Needs [`Clock::Event`].
    pub block: Option<BlockOptions>,
    /// True to record the requests that the block layer sends to the drive.
    pub record: bool,
    /// Time window in which every flash operation is recorded; needs [`Clock::Event`].
    pub gantt: Option<Window>,
    /// True to break down each response time into parts (latency attribution). Needs [`Clock::Event`]; ignored with
    /// other clocks.
    pub attribution: bool,
    /// Rule for addresses past the end of the device.
    pub fit: Fit,
    /// Number of replays of the trace; the last replay is measured.
    pub repeat: Repeat,
    /// Number of requests in each replay before measuring starts.
    pub warmup_requests: u64,
    /// State of the device before the first request.
    pub precondition: Precondition,
    /// True to check every flash operation against the NAND rules, and every read against a copy of the data.
    pub check: bool,
    /// Seed of all random number streams of the simulation.
    pub seed: u64,
}

impl Setup {
    /// Creates the set-up of an erased drive without a time model or checks. The host replays the trace once, one
    /// request at a time.
    pub const fn new(geometry: Geometry, logical_pages: u32, ftl: FtlChoice) -> Self {
        Self {
            geometry,
            logical_pages,
            size: Size::Full,
            endurance_cycles: 3_000,
            slc_endurance_cycles: 30_000,
            ftl,
            clock: Clock::Count,
            replay: Replay::ONE_BY_ONE,
            cache: None,
            block: None,
            record: false,
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

    /// Returns the logical capacity in bytes.
    pub const fn capacity_bytes(&self) -> u64 {
        self.logical_pages as u64 * self.geometry.page_bytes as u64
    }

    /// Returns the number of logical pages that preconditioning writes.
    pub fn filled_pages(&self) -> u64 {
        (self.precondition.fill * f64::from(self.logical_pages)).round() as u64
    }

    /// Returns the number of map pages in flash.
    pub fn map_pages(&self) -> u32 {
        self.ftl.map_pages(self.logical_pages, self.geometry.page_bytes)
    }

    /// Returns the FTL's reserve in blocks: blocks that are open, erased, or hold the map.
    pub fn reserve_blocks(&self) -> u32 {
        self.ftl.device_reserve_blocks(&self.shape())
    }

    /// Returns the properties of the device that the FTL needs.
    pub const fn shape(&self) -> Shape {
        Shape {
            logical_pages: self.logical_pages,
            page_bytes: self.geometry.page_bytes,
            blocks: self.geometry.blocks,
            pages_per_block: self.geometry.pages_per_block,
            order: self.geometry.order,
            planes: self.geometry.areas(),
            program_unit: self.geometry.program_unit(),
        }
    }
}
