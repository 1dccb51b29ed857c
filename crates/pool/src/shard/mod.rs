//! The states of the pages of one shard, and every step from one to another. No locks, no loader, no codec: each method
//! is one step under the lock of the shard, and leaves it within its budget.
//!
//! A page is absent, in flight (some thread brings it), raw, or compressed. A raw page may be busy: some thread has
//! a snapshot of it, to store or to compress it. It is read and written all the while; a write gets it a new frame, and
//! its version tells who holds a snapshot that this is outdated.

#[cfg(test)]
mod audit;
mod coming;
mod compressed;
mod frames;
mod leaving;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::balance::Balance;
use crate::hash::bucket;
use crate::options::{LEAST_FRAMES, Options, Share};
use crate::policy::Policy;
use crate::sketch::Sketch;
use crate::slabs::{Place, Slabs};
use crate::{ConfigError, PageId, Transitions, Usage};

/// Memory of one raw page. Whoever reads or stores the page outside of the lock holds a reference.
pub type Frame = Arc<[u8]>;

const NONE: u32 = u32::MAX;
/// Parts of the budget that the adaptive share looks beyond either pool.
const MARGINS: usize = 16;

/// What is known of a compressed page.
#[derive(Clone, Copy, Debug)]
pub struct Compressed {
    place: Place,
    /// Length in bytes; that of a page if the page did not shrink.
    pub len: u32,
    /// Checksum of the compressed bytes.
    pub crc: u32,
    demoted: u32,
}

enum State {
    Free,
    Flight,
    Raw(Frame),
    Compressed(Compressed),
}

struct Slot {
    id: PageId,
    state: State,
    /// The next slot of the same bucket.
    next: u32,
    /// Number of writes.
    version: u32,
    /// Used since it came, or since it became a victim.
    touched: AtomicBool,
    dirty: bool,
    busy: bool,
}

/// Memory of a slot with its place in the list of free ones.
const SLOT_BYTES: usize = size_of::<Slot>() + size_of::<u32>();

/// What a look at a page found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    Absent,
    Flight,
    Raw(u32),
    Compressed(u32),
}

/// A snapshot of a raw page for someone to store, and to compress if it is a victim.
pub struct Job {
    slot: u32,
    version: u32,
    /// The page.
    pub id: PageId,
    /// Its bytes.
    pub page: Frame,
    /// Whether it must be stored first.
    pub dirty: bool,
    /// What to do with it then.
    pub wish: Wish,
}

/// What shall become of a victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    Compress,
    Drop,
    DropCold,
}

/// What was done with a [`Job`].
pub enum Done<'a> {
    /// The storage below refused it.
    Refused,
    /// It shall leave the cache as the wish was.
    Drop,
    /// It did not shrink enough and shall leave the cache.
    Incompressible,
    /// These bytes, with their checksum, shall be kept.
    Keep(&'a [u8], u32),
}

/// The share of the compressed pool in the beginning, percent.
fn first_percent(share: Share) -> f64 {
    match share {
        Share::Fixed { percent } => percent,
        Share::Adaptive { .. } => 50.0,
    }
}

/// Pages that a shard has tables for before they grow.
pub struct Expected {
    /// All that may be there.
    pub slots: usize,
    /// Raw pages, no fewer than there will be.
    pub raw_pages: usize,
    /// Compressed pages, if they are half as long.
    pub compressed_pages: usize,
}

impl Expected {
    pub fn new(options: &Options, budget_bytes: usize) -> Self {
        let frames = budget_bytes / options.frame_bytes();
        let given_up = (frames as f64 * first_percent(options.share) / 100.0) as usize;
        let (raw_pages, compressed_pages) = (frames - given_up + LEAST_FRAMES, 2 * given_up);
        Self { slots: raw_pages + compressed_pages, raw_pages, compressed_pages }
    }
}

/// One part of the cache.
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
    /// Frames whose pages were written anew while somebody read them.
    orphans: Vec<Frame>,
    /// Frames that exist.
    frames: usize,
    released: bool,
    slabs: Slabs,
    compressed_limit: usize,
    balance: Option<Balance>,
    sketch: Option<Sketch>,
    meta_bytes: usize,
    /// Memory that raw pages shall leave so that the page table can grow.
    reserved_bytes: usize,
    raw_pages: usize,
    dirty_pages: usize,
    /// Frames and jobs in hand; while there are any, room may come up.
    working: usize,
    /// Frames that workers keep free or may still take, and below which they begin.
    low_water: usize,
    high_water: usize,
    /// Something ended that a waiting thread may wait for.
    pub progress: bool,
    /// Some thread waits.
    pub waiting: bool,
    /// Workers have been told.
    pub called: bool,
    /// What happened, but for raw hits under the shared lock.
    pub counts: Transitions,
}

impl Shard {
    /// A shard with its part of the budget.
    pub fn new(options: &Options, budget_bytes: usize) -> Result<Self, ConfigError> {
        let frame_bytes = options.frame_bytes();
        let page_bytes = options.page_bytes as usize;
        let percent = first_percent(options.share);
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
            called: false,
            counts: Transitions::default(),
        };
        shard.grow(slots);
        let least = shard.meta_bytes + LEAST_FRAMES * frame_bytes;
        if budget_bytes < least {
            let remedy = format!(
                "each of {} shards needs {least} bytes and has {budget_bytes}; raise the budget or take fewer shards",
                options.shards
            );
            return Err(ConfigError::new("budget", options.budget, remedy));
        }
        let pages_bytes = budget_bytes - shard.meta_bytes;
        shard.compressed_limit = ((pages_bytes as f64 * percent / 100.0) as usize).min(budget_bytes - least);
        if percent > 0.0 && shard.compressed_limit < shard.slabs.chunk_cost() {
            let remedy = format!(
                "compressed pages of each of {} shards get {} bytes, but a chunk takes {}; raise the budget or the share, or take fewer shards or smaller chunks",
                options.shards,
                shard.compressed_limit,
                shard.slabs.chunk_cost()
            );
            return Err(ConfigError::new("share of compressed pages", format!("{percent} %"), remedy));
        }
        if options.workers() > 0 {
            shard.low_water = (shard.raw_limit() / 16).min(options.batch());
            shard.high_water = (shard.raw_limit() / 8).min(2 * options.batch());
        }
        // Once more for the pages that there will be, now that tables are counted; these are no larger for it.
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

    /// Tables, policies and ghosts, counted anew.
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

    /// The page, if it is raw; a hit.
    #[inline]
    pub fn raw_hit(&self, id: PageId) -> Option<&Frame> {
        let at = self.find(id)?;
        let slot = &self.slots[at as usize];
        let page = match &slot.state {
            State::Raw(page) => page,
            State::Compressed(compressed) => {
                // Whoever asked will copy it once he has the lock.
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

    /// Where the page is.
    pub fn look_up(&self, id: PageId) -> Found {
        match self.find(id) {
            None => Found::Absent,
            Some(at) => match self.slots[at as usize].state {
                State::Raw(_) => Found::Raw(at),
                State::Compressed(_) => Found::Compressed(at),
                State::Flight | State::Free => Found::Flight,
            },
        }
    }

    /// Where the memory is.
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
