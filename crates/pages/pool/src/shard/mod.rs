//! Page states of one shard and all transitions between them, without locks, loader or codec. Each method is one step
//! under the shard's lock and keeps the shard within its budget.
//!
//! A page is absent, in flight (a thread is bringing it in), uncompressed or compressed. An uncompressed page may be
//! busy: a thread holds a snapshot to store or compress. Busy pages can still be read and written. A write gives the
//! page a new frame and a new version, which shows that the snapshot is outdated.

#[cfg(test)]
mod audit;
mod compressed;
mod eviction;
mod frames;
mod insertion;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::balance::Balance;
use crate::hash::bucket;
use crate::options::{MIN_FRAMES, Options, Share};
use crate::policy::Policy;
use crate::sketch::Sketch;
use crate::slabs::{Place, Slabs};
use crate::{ConfigError, PageId, Transitions, Usage};

/// Memory of one uncompressed page. A thread that reads or stores the page without the shard's lock holds a reference
/// to this memory.
pub type Frame = Arc<[u8]>;

const NONE: u32 = u32::MAX;
/// Number of equal parts, called margins, in the memory budget. To adapt the compressed pool's share, a shard compares
/// how much time each pool would save with one more margin of memory.
const MARGINS: usize = 16;

/// A compressed page: its position in the pool, its length and its checksum.
#[derive(Clone, Copy, Debug)]
pub struct Compressed {
    place: Place,
    /// Compressed length in bytes; the page size if the page is stored uncompressed.
    pub len: u32,
    /// Checksum of the page's compressed bytes.
    pub crc: u32,
    /// Sequence number returned by [`Balance::demoted`].
    demoted: u32,
}

enum State {
    Free,
    InFlight,
    Raw(Frame),
    Compressed(Compressed),
}

struct Slot {
    id: PageId,
    state: State,
    /// Slot of the next page in the same hash bucket.
    next: u32,
    /// Version of the page's contents, incremented by each write.
    version: u32,
    /// True if the page was used since it became uncompressed, or since it was last chosen as a victim.
    touched: AtomicBool,
    dirty: bool,
    busy: bool,
}

/// Size in bytes of a slot and its entry in the free list.
const SLOT_BYTES: usize = size_of::<Slot>() + size_of::<u32>();

/// Result of looking up a page: its state and, if it is cached, its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    Absent,
    InFlight,
    Raw(u32),
    Compressed(u32),
}

/// A task on a snapshot of an uncompressed page: stores the page if it is dirty and, if the page is a victim,
/// compresses or drops it.
pub struct Job {
    slot: u32,
    version: u32,
    /// Number of the page to store.
    pub id: PageId,
    /// Contents of the page at the start of the job.
    pub page: Frame,
    /// True if the page is dirty and must be stored.
    pub dirty: bool,
    /// Action to take on a victim after it has been stored.
    pub action: VictimAction,
}

/// Action to take on a victim, that is, a page that the uncompressed pool evicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VictimAction {
    Compress,
    Drop,
    DropCold,
}

/// Outcome of a [`Job`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum JobResult {
    /// The page could not be stored.
    StoreFailed,
    /// The page must be dropped, as [`Job::action`] requires.
    Drop,
    /// The page must be dropped, because it did not shrink enough when it was compressed.
    Incompressible,
    /// The page must be kept compressed.
    Keep {
        /// Number of compressed bytes.
        len: usize,
        /// Checksum of the compressed bytes.
        crc: u32,
    },
}

/// Returns the compressed pool's initial share of the budget, in percent.
fn initial_percent(share: Share) -> f64 {
    match share {
        Share::Fixed { percent } => percent,
        Share::Adaptive { .. } => 50.0,
    }
}

/// Expected numbers of pages in a shard, which determine the initial size of its tables.
pub struct Expected {
    /// Expected number of pages in both pools.
    pub slots: usize,
    /// Upper bound on the number of uncompressed pages.
    pub raw_pages: usize,
    /// Expected number of compressed pages, if each page shrinks to half its size.
    pub compressed_pages: usize,
}

impl Expected {
    pub fn new(options: &Options, budget_bytes: usize) -> Self {
        let frames = budget_bytes / options.frame_bytes();
        let compressed_frames = (frames as f64 * initial_percent(options.share) / 100.0) as usize;
        let raw_pages = frames - compressed_frames + MIN_FRAMES;
        let compressed_pages = 2 * compressed_frames;
        Self { slots: raw_pages + compressed_pages, raw_pages, compressed_pages }
    }
}

/// Shard of the page cache, with its own pools, tables and memory budget.
pub struct Shard {
    page_bytes: usize,
    frame_bytes: usize,
    budget_bytes: usize,
    heads: Box<[u32]>,
    slots: Vec<Slot>,
    free_slots: Vec<u32>,
    raw: Box<dyn Policy>,
    compressed: Box<dyn Policy>,
    free_frames: Vec<Frame>,
    /// Frames that were replaced while readers held references to them.
    orphans: Vec<Frame>,
    /// Number of frames of the shard, used or free.
    frames: usize,
    /// True if the last frame that became unused was freed rather than kept.
    released: bool,
    slabs: Slabs,
    compressed_limit: usize,
    balance: Option<Balance>,
    sketch: Option<Sketch>,
    meta_bytes: usize,
    /// Memory in bytes that evictions of uncompressed pages must free before the page table can grow.
    reserved_bytes: usize,
    raw_pages: usize,
    dirty_pages: usize,
    /// Number of frames and jobs held by threads. While this number is above 0, a thread without a frame may wait for
    /// one.
    working: usize,
    /// Number of available frames below which background workers start.
    low_water: usize,
    /// Number of available frames at which background workers stop.
    high_water: usize,
    /// True if an event that other threads may be waiting for has occurred, such as the release of a frame.
    pub progress: bool,
    /// True if a thread is waiting for `progress`.
    pub waiting: bool,
    /// True if the shard is in the workers' queue, or a worker is compressing its victims.
    pub queued: bool,
    /// Counts of page transitions. Hits in the uncompressed pool are counted separately, in `raw_hits` of the shared
    /// shard.
    pub counts: Transitions,
}

impl Shard {
    pub fn new(options: &Options, budget_bytes: usize) -> Result<Self, ConfigError> {
        let frame_bytes = options.frame_bytes();
        let page_bytes = options.page_bytes as usize;
        let percent = initial_percent(options.share);
        let Expected { slots, raw_pages, compressed_pages } = Expected::new(options, budget_bytes);
        let balance = match options.share {
            Share::Fixed { .. } => None,
            Share::Adaptive { miss_us, restore_us } => {
                Some(Balance::new(miss_us, restore_us, budget_bytes / MARGINS, frame_bytes))
            }
        };
        let mut shard = Self {
            page_bytes,
            frame_bytes,
            budget_bytes,
            heads: vec![NONE; slots.next_power_of_two()].into(),
            slots: Vec::new(),
            free_slots: Vec::new(),
            raw: options.raw_policy.build(raw_pages)?,
            compressed: options.compressed_policy.build(compressed_pages)?,
            free_frames: Vec::new(),
            orphans: Vec::new(),
            frames: 0,
            released: false,
            slabs: Slabs::new(options.chunk_bytes as usize, page_bytes),
            compressed_limit: 0,
            balance,
            sketch: options.drop_cold.then(|| Sketch::new(slots)),
            meta_bytes: 0,
            reserved_bytes: 0,
            raw_pages: 0,
            dirty_pages: 0,
            working: 0,
            low_water: 0,
            high_water: 0,
            progress: false,
            waiting: false,
            queued: false,
            counts: Transitions::default(),
        };
        shard.grow(slots);
        let min_bytes = shard.meta_bytes + MIN_FRAMES * frame_bytes;
        if budget_bytes < min_bytes {
            let remedy = format!(
                "each of {} shards needs {min_bytes} bytes but gets {budget_bytes}; raise the budget or use fewer shards",
                options.shards
            );
            return Err(ConfigError::new("budget", options.budget, remedy));
        }
        let pages_bytes = budget_bytes - shard.meta_bytes;
        shard.compressed_limit = ((pages_bytes as f64 * percent / 100.0) as usize).min(budget_bytes - min_bytes);
        if percent > 0.0 && shard.compressed_limit < shard.slabs.chunk_cost() {
            let remedy = format!(
                "each of {} shards gets {} bytes for compressed pages, but a chunk takes {} bytes; raise the {}",
                options.shards,
                shard.compressed_limit,
                shard.slabs.chunk_cost(),
                if percent < 50.0 { "share" } else { "budget" }
            );
            return Err(ConfigError::new("share of compressed pages", format!("{percent} %"), remedy));
        }
        if options.workers() > 0 {
            shard.low_water = (shard.raw_limit() / 16).min(options.batch());
            shard.high_water = (shard.raw_limit() / 8).min(2 * options.batch());
        }
        // Rebuilds the policy for the final number of uncompressed pages, which depends on the size of the tables. The
        // tables do not grow again.
        shard.raw = options.raw_policy.build(shard.raw_limit() - shard.high_water)?;
        shard.raw.grow(slots);
        Ok(shard)
    }

    fn grow(&mut self, slots: usize) {
        let old = self.slots.len();
        self.slots.reserve_exact(slots - old);
        self.slots.resize_with(slots, || Slot {
            id: 0,
            state: State::Free,
            next: NONE,
            version: 0,
            touched: AtomicBool::new(false),
            dirty: false,
            busy: false,
        });
        self.free_slots.reserve_exact(slots - self.free_slots.len());
        self.free_slots.extend((old as u32..slots as u32).rev());
        self.raw.grow(slots);
        self.compressed.grow(slots);
        self.meta_bytes = self.counted_bytes();
    }

    /// Recounts the memory of tables, policies and ghosts, in bytes.
    fn counted_bytes(&self) -> usize {
        size_of_val(&*self.heads)
            + self.slots.capacity() * size_of::<Slot>()
            + self.free_slots.capacity() * size_of::<u32>()
            + self.raw.bytes()
            + self.compressed.bytes()
            + self.balance.as_ref().map_or(0, Balance::bytes)
            + self.sketch.as_ref().map_or(0, Sketch::bytes)
    }

    fn bucket(&self, id: PageId) -> usize {
        bucket(id, self.heads.len())
    }

    #[inline]
    fn find(&self, id: PageId) -> Option<u32> {
        let mut at = self.heads[self.bucket(id)];
        while at != NONE {
            let slot = &self.slots[at as usize];
            if slot.id == id {
                return Some(at);
            }
            at = slot.next;
        }
        None
    }

    /// Returns the page if it is uncompressed, and records a hit.
    #[inline]
    pub fn raw_hit(&self, id: PageId) -> Option<&Frame> {
        let at = self.find(id)?;
        let slot = &self.slots[at as usize];
        let page = match &slot.state {
            State::Raw(page) => page,
            State::Compressed(compressed) => {
                // Only starts to load the page into the processor's cache; the caller copies it later, under the
                // exclusive lock.
                self.slabs.prefetch(compressed.place, compressed.len as usize);
                return None;
            }
            _ => return None,
        };
        self.raw.hit(at);
        if !slot.touched.load(Relaxed) {
            slot.touched.store(true, Relaxed);
        }
        Some(page)
    }

    pub fn look_up(&self, id: PageId) -> Lookup {
        match self.find(id) {
            None => Lookup::Absent,
            Some(at) => match self.slots[at as usize].state {
                State::Raw(_) => Lookup::Raw(at),
                State::Compressed(_) => Lookup::Compressed(at),
                State::InFlight | State::Free => Lookup::InFlight,
            },
        }
    }

    pub fn usage(&self) -> Usage {
        Usage {
            budget_bytes: self.budget_bytes as u64,
            raw_bytes: (self.frames * self.frame_bytes) as u64,
            compressed_bytes: self.slabs.bytes() as u64,
            metadata_bytes: self.meta_bytes as u64,
            scratch_bytes: 0,
            compressed_limit_bytes: self.compressed_limit as u64,
            compressed_content_bytes: self.slabs.content_bytes() as u64,
            internal_fragmentation_bytes: self.slabs.internal_bytes() as u64,
            external_fragmentation_bytes: self.slabs.external_bytes() as u64,
            raw_pages: self.raw_pages as u64,
            compressed_pages: self.slabs.pages() as u64,
            dirty_pages: self.dirty_pages as u64,
        }
    }
}
