//! What can be chosen about the host above a drive.

use ssdlab_cache::{PageSizes, WriteMode};
use ssdlab_core::Nanos;
use ssdlab_sched::{BlockLayerKind, NoMerges, Options, SCHEDULERS, SchedulerInfo};

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
    /// Each process (stream) continues when the read or synchronous write that it waits for completes; an asynchronous
    /// write is issued when everything before it in the trace has been.
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

    /// Time between a completion and the request that waits for it; zero where none does.
    pub const fn think(self) -> Nanos {
        match self {
            Self::Closed { think, .. } | Self::Processes { think } => think,
            Self::Open { .. } => Nanos::ZERO,
        }
    }
}

/// How often a trace is replayed. A replay begins when the one before it is over, and its times follow those of that.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Repeat {
    /// So often, at least once.
    Times(u64),
    /// Until write amplification is steady.
    UntilSteady {
        /// Share by which it may differ between one window and the next. A window is the fewest replays that write as
        /// many pages as the flash has: in each of them all blocks are collected.
        within: f64,
        /// Replays at most.
        most: u64,
    },
}

impl Repeat {
    /// Not repeated.
    pub const ONCE: Self = Self::Times(1);
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

/// Most tunables that a scheduler has.
pub const MOST_TUNABLES: usize = 16;

/// The block layer of the host above the drive.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BlockOptions {
    /// Name of the scheduler, one of [`ssdlab_sched::SCHEDULERS`].
    pub scheduler: &'static str,
    /// Values of its tunables in the order of its table; none for the default.
    pub tunables: [Option<u64>; MOST_TUNABLES],
    /// Which block layer.
    pub kind: BlockLayerKind,
    /// Hardware queues (multi-queue layer); the drive has as many, or no queues.
    pub queues: u16,
    /// Requests that the drive is given at a time by each of them.
    pub slots: u32,
    /// Requests there may be in each of them; in the single-queue layer, of each kind.
    pub nr_requests: u32,
    /// Largest request that merging makes, in sectors; larger ones of the host are cut.
    pub max_sectors: u32,
    /// Which merges are looked for.
    pub no_merges: NoMerges,
    /// Whether an idle queue (single-queue layer) or a process (multi-queue layer) is plugged.
    pub plug: bool,
    /// Whether the drive is known to have a cache that loses data with power.
    pub volatile_cache: bool,
    /// How long reads may be at the drive before write-back is throttled; zero never throttles (multi-queue layer).
    pub wbt_lat: Nanos,
    /// Whether the requests given to the drive are kept: a trace from below the scheduler.
    pub record: bool,
}

impl BlockOptions {
    /// The block layer that a scheduler comes with, its tunables at their defaults.
    ///
    /// # Panics
    /// If there is no scheduler of this name.
    pub fn of(name: &str) -> Self {
        let info: &'static SchedulerInfo = SCHEDULERS.get(name).expect("a scheduler that is registered");
        let Options { kind, queues, slots, nr_requests, max_sectors, no_merges, plug, .. } =
            kernel(info.role.kind, name, 0);
        let tunables = [None; MOST_TUNABLES];
        Self {
            scheduler: info.name,
            tunables,
            kind,
            queues,
            slots,
            nr_requests,
            max_sectors,
            no_merges,
            plug,
            volatile_cache: false,
            wbt_lat: Nanos::ZERO,
            record: false,
        }
    }

    /// The tunables of its scheduler that are set.
    pub fn changes(&self, info: &SchedulerInfo) -> impl Iterator<Item = (String, u64)> {
        info.parameters.iter().zip(self.tunables).filter_map(|(tunable, value)| Some((tunable.name.to_owned(), value?)))
    }

    /// What the block layer is built from, on a device of so many sectors.
    pub(crate) fn for_device(&self, sectors: u64) -> Options {
        let tunables = SCHEDULERS.get(self.scheduler).map_or(Vec::new(), |info| self.changes(info).collect());
        Options {
            queues: self.queues,
            slots: self.slots,
            nr_requests: self.nr_requests,
            max_sectors: self.max_sectors,
            no_merges: self.no_merges,
            plug: self.plug,
            volatile_cache: self.volatile_cache,
            wbt_lat_ns: self.wbt_lat.0,
            tunables,
            ..kernel(self.kind, self.scheduler, sectors)
        }
    }
}

/// The block layer of a kernel with this kind.
fn kernel(kind: BlockLayerKind, scheduler: &str, sectors: u64) -> Options {
    match kind {
        BlockLayerKind::SingleQueue => Options::legacy(scheduler, sectors),
        BlockLayerKind::MultiQueue => Options::modern(scheduler, sectors),
    }
}

/// Parameters that a policy may have.
pub const MOST_PARAMETERS: usize = 4;

/// The compressed pool of a cache.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CompressedOptions {
    /// Its replacement policy.
    pub policy: &'static str,
    /// Raw pages for which it takes the room; fewer than the cache holds.
    pub room_pages: u64,
    /// How pages shrink.
    pub sizes: PageSizes,
    /// Time to compress a page, also in vain.
    pub compress: Nanos,
    /// Time to restore a page.
    pub restore: Nanos,
}

/// The cache above a drive.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CacheOptions {
    /// Its replacement policy.
    pub policy: &'static str,
    /// Values of the policy's parameters, in the order of its table; none for the default.
    pub parameters: [Option<u64>; MOST_PARAMETERS],
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Pages it has room for, with that of the compressed pool.
    pub capacity_pages: u64,
    /// Where some of its pages are compressed; none if all are raw.
    pub compressed: Option<CompressedOptions>,
    /// What happens to writes.
    pub writes: WriteMode,
    /// Share of the raw pages that may be dirty, percent.
    pub dirty_percent: u32,
    /// Share of them above which dirty pages are written below ahead of need, percent. One above `dirty_percent` never
    /// acts, nor does any without [`Clock::Event`], where only the usual one is accepted.
    ///
    /// [`Clock::Event`]: crate::Clock::Event
    pub background_percent: u32,
    /// Time to copy a page from or to it.
    pub copy: Nanos,
}

impl CacheOptions {
    /// The `background_percent` of Linux (`vm.dirty_background_ratio`), which caches have unless another is chosen.
    pub const USUAL_BACKGROUND_PERCENT: u32 = 10;

    /// Pages of the raw pool.
    pub fn raw_pages(&self) -> u64 {
        self.capacity_pages.saturating_sub(self.compressed.map_or(0, |pool| pool.room_pages))
    }
}
