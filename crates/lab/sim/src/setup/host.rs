//! Options of the host above a drive.

use ssdlab_cache::{PageSizes, PolicyInfo, WriteMode};
use ssdlab_core::Nanos;
pub use ssdlab_sched::Options as BlockOptions;
use ssdlab_sched::{BlockLayerKind, SCHEDULERS};

/// Rule that decides when the next request is issued.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Replay {
    /// Requests are issued when an earlier request completes; timestamps of the trace are ignored.
    Closed {
        /// Number of outstanding requests, at least 1. The serial clock always serves one request at a time.
        depth: u32,
        /// True if `depth` applies to each stream, not to all streams together.
        per_stream: bool,
        /// Think time between the completion of a request and the issue of the request that replaces it.
        think: Nanos,
    },
    /// Each process (stream) continues when the read or synchronous write that it waits for completes. An asynchronous
    /// write is issued after all earlier requests of the trace.
    Processes {
        /// Think time between the completion of a request and the next request of the same process.
        think: Nanos,
    },
    /// Each request is issued at its timestamp in the trace; requests wait in queues while the device is busy.
    Open {
        /// Replay speed relative to the timestamps of the trace; at 2, requests are issued twice as fast.
        speed: f64,
        /// Limits on the number of outstanding requests of each stream; needs [`Clock::Event`]. A stream at its limit
        /// issues its next request when an earlier one completes.
        ///
        /// [`Clock::Event`]: crate::Clock::Event
        depths: Option<StreamDepths>,
    },
}

/// Maximum number of outstanding requests for each stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamDepths([u32; Self::COUNT]);

impl StreamDepths {
    /// Number of streams whose queue depths can be set separately.
    pub const COUNT: usize = 16;

    /// Assigns `depths` to streams 1, 2 and so on. The last depth applies to all later streams. Stream 0 (requests
    /// without a stream) gets the first depth. Returns `None` if `depths` is empty.
    pub fn new(depths: &[u32]) -> Option<Self> {
        let last = depths.last()?;
        Some(Self(std::array::from_fn(|index| *depths.get(index).unwrap_or(last))))
    }

    /// Returns the queue depth of a stream: the number of requests that it keeps outstanding.
    pub fn of(&self, stream: u16) -> u32 {
        self.0[usize::from(stream.saturating_sub(1)).min(Self::COUNT - 1)]
    }
}

impl Replay {
    /// The host issues one request at a time.
    pub const ONE_BY_ONE: Self = Self::Closed { depth: 1, per_stream: false, think: Nanos::ZERO };
    /// The host issues requests at the times recorded in the trace.
    pub const AS_TRACED: Self = Self::at_speed(1.0);

    /// Creates a replay that divides the timestamps of the trace by `speed` and does not limit outstanding requests.
    pub const fn at_speed(speed: f64) -> Self {
        Self::Open { speed, depths: None }
    }

    /// Returns the time between a completion and the next request; zero for an open replay.
    pub const fn think(self) -> Nanos {
        match self {
            Self::Closed { think, .. } | Self::Processes { think } => think,
            Self::Open { .. } => Nanos::ZERO,
        }
    }
}

/// Number of replays of a trace. Each replay starts when the previous replay is over, and the times of its requests
/// continue from there.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Repeat {
    /// The trace is replayed this many times, at least once.
    Times(u64),
    /// The trace is replayed until write amplification is steady.
    UntilSteady {
        /// Maximum relative difference in write amplification between two successive windows. A window is the smallest
        /// number of replays that together write at least as many pages as the flash has, so that every block is
        /// collected.
        within: f64,
        /// Maximum number of replays.
        most: u64,
    },
}

impl Repeat {
    /// The trace is replayed once.
    pub const ONCE: Self = Self::Times(1);
}

/// Rule for addresses past the end of the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fit {
    /// The run stops with an error that names the request.
    Error,
    /// The address is taken modulo the capacity.
    Wrap,
    /// The address is multiplied by capacity / `extent_bytes`, and rounded down to a page.
    Scale {
        /// Byte address just past the highest address that the trace uses.
        extent_bytes: u64,
    },
}

/// Returns the default options of the block layer (single-queue or multi-queue) that has this scheduler. The defaults
/// suit a drive without a volatile cache. The simulation later sets the size of the device.
///
/// # Panics
/// Panics if no scheduler has this name.
pub fn block_options(scheduler: &str) -> BlockOptions {
    let info = SCHEDULERS.get(scheduler).expect("a registered scheduler");
    let options = match info.role.kind {
        BlockLayerKind::SingleQueue => BlockOptions::legacy(info.name, 0),
        BlockLayerKind::MultiQueue => BlockOptions::modern(info.name, 0),
    };
    BlockOptions { volatile_cache: false, ..options }
}

/// Options of the compressed pool in a cache.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CompressedOptions {
    /// Replacement policy of the compressed pool.
    pub policy: &'static PolicyInfo,
    /// Size of the compressed pool, measured in uncompressed pages; less than the capacity of the cache.
    pub room_pages: u64,
    /// Distribution of the sizes of compressed pages.
    pub sizes: PageSizes,
    /// Time to compress a page, even if the result is discarded.
    pub compress: Nanos,
    /// Time to restore a compressed page.
    pub restore: Nanos,
}

/// Options of the cache above a drive.
#[derive(Clone, PartialEq, Debug)]
pub struct CacheOptions {
    /// Replacement policy of the cache or, with a compressed pool, of the uncompressed pool.
    pub policy: &'static PolicyInfo,
    /// Parameters of the policy that differ from their defaults.
    pub parameters: Vec<(String, u64)>,
    /// Page size of the cache in bytes.
    pub page_bytes: u32,
    /// Capacity in pages, including the compressed pool.
    pub capacity_pages: u64,
    /// Options of the compressed pool, if any.
    pub compressed: Option<CompressedOptions>,
    /// Write mode: write-back or write-through.
    pub writes: WriteMode,
    /// Maximum percentage of the uncompressed pages that may be dirty.
    pub dirty_percent: u32,
    /// Percentage of the uncompressed pages. While more pages than this are dirty, dirty pages are written back in the
    /// background. A value above `dirty_percent` has no effect. Without [`Clock::Event`] this percentage has no effect
    /// either, and must be [`Self::USUAL_BACKGROUND_PERCENT`].
    ///
    /// [`Clock::Event`]: crate::Clock::Event
    pub background_percent: u32,
    /// Time to copy a page to or from the cache.
    pub copy: Nanos,
}

impl CacheOptions {
    /// Default of `background_percent`, which is also the default in Linux (`vm.dirty_background_ratio`).
    pub const USUAL_BACKGROUND_PERCENT: u32 = 10;

    /// Returns the capacity of the uncompressed pool in pages.
    pub fn raw_pages(&self) -> u64 {
        self.capacity_pages.saturating_sub(self.compressed.map_or(0, |pool| pool.room_pages))
    }
}
