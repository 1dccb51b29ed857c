//! The states of the pages of one shard, and every step from one to another. No locks, no loader, no codec: each method is
//! one step under the lock of the shard, and leaves it within its budget.
//!
//! A page is absent, in flight (some thread brings it), raw, or compressed. A raw page may be busy: some thread has
//! a snapshot of it, to store or to compress it. It is read and written all the while; a write gets it a new frame, and
//! its version tells who holds a snapshot that this is outdated.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::balance::{Balance, Verdict};
use crate::hash::hash;
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
/// Steps in which the adaptive share moves by a margin.
const MOVES: usize = 4;
/// Part of the compressed pool that may be free places before chunks are emptied for pages of other classes.
const FREE_PLACES: usize = 8;

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

    // Budget.

    /// All memory of this shard.
    pub fn total_bytes(&self) -> usize {
        self.frames * self.frame_bytes + self.slabs.bytes() + self.meta_bytes
    }

    /// What the shard may take.
    pub fn budget_bytes(&self) -> usize {
        self.budget_bytes
    }

    /// Raw pages that the shard may have, until compressed pages or tables take more or less.
    pub fn raw_limit(&self) -> usize {
        let others = self.meta_bytes + self.reserved_bytes + self.compressed_limit.max(self.slabs.bytes());
        (self.budget_bytes.saturating_sub(others) / self.frame_bytes).max(LEAST_FRAMES)
    }

    /// Frames that can be had without a victim.
    fn room(&self) -> usize {
        self.free_frames.len() + self.raw_limit().saturating_sub(self.frames)
    }

    /// Whether workers should begin.
    pub fn short_of_frames(&self) -> bool {
        self.room() < self.low_water
    }

    /// How many victims workers should take.
    pub fn frames_wanted(&self) -> usize {
        self.high_water.saturating_sub(self.room())
    }

    /// Whether some frame or job is in hand, so that room may come up.
    pub fn working(&self) -> bool {
        self.working > 0
    }

    /// A frame that can be had without a victim. It must come back by [`Shard::land`], [`Shard::renew`] or
    /// [`Shard::return_frame`].
    pub fn take_frame(&mut self) -> Option<Frame> {
        if !self.orphans.is_empty() {
            for frame in std::mem::take(&mut self.orphans) {
                self.recycle(frame);
            }
        }
        let frame = self.free_frames.pop().or_else(|| {
            (self.frames < self.raw_limit() && self.total_bytes() + self.frame_bytes <= self.budget_bytes).then(|| {
                self.frames += 1;
                std::iter::repeat_n(0, self.page_bytes).collect()
            })
        })?;
        self.working += 1;
        Some(frame)
    }

    /// Gives a frame back that was not used.
    pub fn return_frame(&mut self, frame: Frame) {
        self.recycle(frame);
        self.working -= 1;
        self.progress = true;
    }

    fn recycle(&mut self, frame: Frame) {
        if Arc::strong_count(&frame) > 1 {
            self.orphans.push(frame);
        } else if self.frames > self.raw_limit() && !self.released {
            // Every other frame only, so that nobody pays alone for a share that moved.
            self.frames -= 1;
            self.released = true;
        } else {
            self.released = false;
            self.free_frames.push(frame);
        }
    }

    // Looking up.

    fn bucket(&self, id: PageId) -> usize {
        hash(id) as usize & (self.heads.len() - 1)
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

    // Coming in.

    /// Makes an absent page one in flight, if the page table has room or can get it.
    pub fn begin(&mut self, id: PageId) -> Option<u32> {
        let at = self.free_slot()?;
        let bucket = self.bucket(id);
        let slot = &mut self.slots[at as usize];
        (slot.id, slot.state, slot.next) = (id, State::Flight, self.heads[bucket]);
        *slot.touched.get_mut() = false;
        self.heads[bucket] = at;
        Some(at)
    }

    fn free_slot(&mut self) -> Option<u32> {
        if self.free_slots.is_empty() {
            let more = self.slots.len() / 8 + 64;
            // While a table moves, both its old and its new place exist.
            let policies = self.raw.growth_bytes(more) + self.compressed.growth_bytes(more);
            let needed = more * SLOT_BYTES + policies + self.slots.len() * size_of::<Slot>();
            if self.total_bytes() + needed <= self.budget_bytes {
                self.reserved_bytes = 0;
                self.grow(self.slots.len() + more);
            } else {
                // Raw pages make room little by little; until then the table stays as it is.
                self.reserved_bytes = needed;
                self.drop_compressed();
            }
        }
        self.free_slots.pop()
    }

    /// A reader did not find the page.
    pub fn missed(&mut self, id: PageId) {
        self.counts.misses += 1;
        if let Some(sketch) = &mut self.sketch {
            sketch.count(id);
        }
        let mean_bytes = self.slabs.content_bytes().checked_div(self.slabs.pages()).unwrap_or(self.page_bytes / 2);
        if let Some(balance) = &mut self.balance {
            balance.missed(id, mean_bytes);
        }
        self.rebalance();
    }

    /// Takes a compressed page out of its pool, copies it to `buffer` and makes it one in flight.
    pub fn begin_restore(&mut self, at: u32, buffer: &mut [u8]) -> Compressed {
        let compressed = self.take_out(at);
        let len = compressed.len as usize;
        buffer[..len].copy_from_slice(self.slabs.get(compressed.place, len));
        self.slabs.free(compressed.place, len);
        self.counts.compressed_hits += 1;
        if let Some(balance) = &mut self.balance {
            balance.restored(compressed.demoted);
        }
        self.rebalance();
        compressed
    }

    /// Takes a compressed page, which is to be written whole, out of its pool and makes it one in flight.
    pub fn begin_overwrite(&mut self, at: u32) {
        let compressed = self.take_out(at);
        self.slabs.free(compressed.place, compressed.len as usize);
        self.counts.compressed_overwritten += 1;
    }

    fn take_out(&mut self, at: u32) -> Compressed {
        let State::Compressed(compressed) = self.slots[at as usize].state else {
            unreachable!("the caller found the page compressed under this lock")
        };
        self.compressed.remove(at);
        self.slots[at as usize].state = State::Flight;
        compressed
    }

    /// A page in flight is there, in `frame`.
    pub fn land(&mut self, at: u32, frame: Frame, dirty: bool) {
        let slot = &mut self.slots[at as usize];
        slot.dirty = dirty;
        slot.busy = false;
        slot.version = slot.version.wrapping_add(1);
        slot.state = State::Raw(frame);
        self.raw.insert(at, slot.id);
        self.raw_pages += 1;
        self.dirty_pages += usize::from(dirty);
        self.working -= 1;
        self.progress = true;
    }

    /// A page in flight will not come.
    pub fn abort(&mut self, at: u32) {
        self.unlink(at);
        self.progress = true;
    }

    /// Writes a raw page where it is, unless somebody reads it there.
    pub fn overwrite(&mut self, at: u32, bytes: &[u8]) -> bool {
        let State::Raw(page) = &mut self.slots[at as usize].state else { return false };
        let Some(page) = Arc::get_mut(page) else { return false };
        page.copy_from_slice(bytes);
        self.wrote(at);
        true
    }

    /// Gives a raw page `frame` with what was written, instead of the one it has.
    pub fn renew(&mut self, at: u32, frame: Frame) {
        if let State::Raw(page) = &mut self.slots[at as usize].state {
            let old = std::mem::replace(page, frame);
            self.working -= 1;
            self.progress = true;
            self.recycle(old);
            self.wrote(at);
        }
    }

    fn wrote(&mut self, at: u32) {
        self.raw.hit(at);
        let slot = &mut self.slots[at as usize];
        slot.version = slot.version.wrapping_add(1);
        *slot.touched.get_mut() = true;
        self.dirty_pages += usize::from(!slot.dirty);
        slot.dirty = true;
        self.counts.raw_overwritten += 1;
    }

    // Leaving.

    fn unlink(&mut self, at: u32) {
        let bucket = self.bucket(self.slots[at as usize].id);
        let next = self.slots[at as usize].next;
        if self.heads[bucket] == at {
            self.heads[bucket] = next;
        } else {
            let mut before = self.heads[bucket];
            while self.slots[before as usize].next != at {
                before = self.slots[before as usize].next;
            }
            self.slots[before as usize].next = next;
        }
        self.slots[at as usize].state = State::Free;
        self.free_slots.push(at);
    }

    /// Chooses a raw page to give way, only among clean ones if asked. The job must come back by [`Shard::finish`].
    pub fn begin_demotion(&mut self, clean_only: bool) -> Option<Job> {
        let slots = &mut self.slots;
        let at = self.raw.victim(&mut |at| {
            let slot = &slots[at as usize];
            let free = matches!(&slot.state, State::Raw(page) if Arc::strong_count(page) == 1);
            free && !slot.busy && !(clean_only && slot.dirty)
        })?;
        let slot = &mut self.slots[at as usize];
        let seen_once = !std::mem::take(slot.touched.get_mut());
        let cold = seen_once && self.sketch.as_ref().is_some_and(|sketch| sketch.estimate(slot.id) <= 1);
        let wish = if self.compressed_limit < self.slabs.chunk_cost() {
            Wish::Drop
        } else if cold {
            Wish::DropCold
        } else {
            Wish::Compress
        };
        self.job(at, wish)
    }

    fn job(&mut self, at: u32, wish: Wish) -> Option<Job> {
        let slot = &mut self.slots[at as usize];
        let State::Raw(page) = &slot.state else { return None };
        slot.busy = true;
        self.working += 1;
        Some(Job { slot: at, version: slot.version, id: slot.id, page: Arc::clone(page), dirty: slot.dirty, wish })
    }

    /// The end of a job of [`Shard::begin_demotion`]. The page stays raw if it was used or written in between, or could
    /// not be stored.
    pub fn finish(&mut self, job: Job, done: Done<'_>) {
        let at = job.slot;
        let wish = job.wish;
        self.finish_store(job, !matches!(done, Done::Refused));
        let slot = &mut self.slots[at as usize];
        let State::Raw(page) = &slot.state else { return };
        let used = *slot.touched.get_mut() || Arc::strong_count(page) > 1;
        if slot.dirty || used {
            self.counts.kept_raw += u64::from(!matches!(done, Done::Refused));
            self.raw.insert(at, slot.id);
            self.raw.hit(at);
            return;
        }
        if let State::Raw(frame) = std::mem::replace(&mut slot.state, State::Flight) {
            self.raw_pages -= 1;
            self.recycle(frame);
        }
        match done {
            Done::Keep(bytes, crc) => {
                if let Some(place) = self.place(bytes, at) {
                    let len = bytes.len() as u32;
                    let counter = if bytes.len() == self.page_bytes {
                        &mut self.counts.stored_raw
                    } else {
                        &mut self.counts.compressed
                    };
                    *counter += 1;
                    let demoted = self.balance.as_mut().map_or(0, Balance::demoted);
                    let slot = &mut self.slots[at as usize];
                    slot.state = State::Compressed(Compressed { place, len, crc, demoted });
                    self.compressed.insert(at, slot.id);
                    return;
                }
                self.counts.raw_dropped += 1;
            }
            Done::Incompressible => self.counts.incompressible_dropped += 1,
            Done::Drop if wish == Wish::DropCold => self.counts.cold_dropped += 1,
            Done::Drop | Done::Refused => self.counts.raw_dropped += 1,
        }
        self.gone(at);
    }

    /// The end of a job that only stored a page, or of the storing part of another one.
    pub fn finish_store(&mut self, job: Job, stored: bool) {
        self.working -= 1;
        self.progress = true;
        let slot = &mut self.slots[job.slot as usize];
        slot.busy = false;
        if !job.dirty {
            return;
        }
        if !stored {
            self.counts.store_errors += 1;
            return;
        }
        self.counts.written_back += 1;
        if slot.version == job.version {
            slot.dirty = false;
            self.dirty_pages -= 1;
        }
    }

    /// A job that somebody could not do: the page stays as it is.
    pub fn cancel(&mut self, job: Job, victim: bool) {
        let at = job.slot;
        self.working -= 1;
        self.progress = true;
        self.slots[at as usize].busy = false;
        if victim {
            self.raw.insert(at, job.id);
        }
    }

    /// The next dirty page from slot `from` on: a job to store it, or `None` in its place if somebody is at it.
    pub fn next_dirty(&mut self, from: u32) -> Option<(u32, Option<Job>)> {
        let at = (from..self.slots.len() as u32).find(|&at| {
            let slot = &self.slots[at as usize];
            slot.dirty && matches!(slot.state, State::Raw(_))
        })?;
        let job = if self.slots[at as usize].busy { None } else { self.job(at, Wish::Drop) };
        Some((at, job))
    }

    /// The page at `at` leaves the cache.
    fn gone(&mut self, at: u32) {
        if let Some(balance) = &mut self.balance {
            balance.gone(self.slots[at as usize].id);
        }
        self.unlink(at);
    }

    // The compressed pool.

    /// A place for `bytes`, for which compressed pages may have to leave.
    fn place(&mut self, bytes: &[u8], owner: u32) -> Option<Place> {
        loop {
            if self.slabs.bytes() > self.compressed_limit {
                self.shrink();
            }
            let room_bytes = self.budget_bytes.saturating_sub(self.total_bytes());
            if let Some(place) = self.slabs.store(bytes, owner, room_bytes) {
                return Some(place);
            }
            let cost = self.slabs.chunk_cost();
            let fits =
                self.slabs.bytes() + cost <= self.compressed_limit && self.total_bytes() + cost <= self.budget_bytes;
            if fits {
                self.slabs.add_chunk();
            } else if self.slabs.free_bytes() > 2 * cost + self.slabs.bytes() / FREE_PLACES {
                self.empty_chunk();
            } else if !self.drop_compressed() {
                return None;
            }
        }
    }

    /// Drops the page that the policy of the compressed pool chooses.
    fn drop_compressed(&mut self) -> bool {
        let Some(at) = self.compressed.victim(&mut |_| true) else { return false };
        if let State::Compressed(compressed) = self.slots[at as usize].state {
            self.slabs.free(compressed.place, compressed.len as usize);
        }
        self.counts.compressed_dropped += 1;
        self.gone(at);
        true
    }

    fn empty_chunk(&mut self) {
        let slots = &mut self.slots;
        let emptied = self.slabs.empty_one(|at| match &slots[at as usize].state {
            State::Compressed(compressed) => compressed.len as usize,
            _ => 0,
        });
        self.counts.moved += emptied.moved.len() as u64;
        for (at, place) in emptied.moved {
            if let State::Compressed(compressed) = &mut self.slots[at as usize].state {
                compressed.place = place;
            }
        }
        for at in emptied.lost {
            self.compressed.remove(at);
            self.counts.fragmented_dropped += 1;
            self.gone(at);
        }
    }

    /// Gives one chunk back.
    fn shrink(&mut self) {
        if !self.slabs.give_chunk_back() {
            self.empty_chunk();
            self.slabs.give_chunk_back();
        }
    }

    /// Moves the share of the compressed pool if that pays.
    fn rebalance(&mut self) {
        let Some(verdict) = self.balance.as_mut().and_then(Balance::verdict) else { return };
        let step = (self.budget_bytes / MARGINS / MOVES).max(self.slabs.chunk_cost());
        // A part of the raw pool stays, or nothing would tell what it is worth.
        let least_raw = (LEAST_FRAMES * self.frame_bytes).max(self.budget_bytes / MARGINS);
        let most = self.budget_bytes - self.meta_bytes - least_raw;
        let limit = match verdict {
            Verdict::MoreCompressed => (self.compressed_limit + step).min(most),
            Verdict::MoreRaw => self.compressed_limit.saturating_sub(step),
        };
        self.counts.share_moves += u64::from(limit != self.compressed_limit);
        self.compressed_limit = limit;
        while self.slabs.bytes() > limit && self.slabs.chunks() > 0 {
            self.shrink();
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

    /// Flips a bit of a compressed page, as failing memory would.
    #[cfg(all(test, not(feature = "shuttle")))]
    pub fn corrupt(&mut self, id: PageId) -> bool {
        let Found::Compressed(at) = self.look_up(id) else { return false };
        let State::Compressed(compressed) = &mut self.slots[at as usize].state else { return false };
        self.slabs.flip_bit(compressed.place);
        true
    }

    /// Counts everything anew and compares; nobody may hold a frame or a job.
    #[cfg(test)]
    pub fn audit(&self) {
        let count = |what: fn(&Slot) -> bool| self.slots.iter().filter(|slot| what(slot)).count();
        assert_eq!(self.working, 0);
        assert_eq!(count(|slot| matches!(slot.state, State::Flight)), 0);
        assert_eq!(count(|slot| slot.busy && matches!(slot.state, State::Raw(_))), 0);
        assert_eq!(count(|slot| matches!(slot.state, State::Free)), self.free_slots.len());
        assert_eq!(count(|slot| matches!(slot.state, State::Raw(_))), self.raw_pages);
        assert_eq!(count(|slot| matches!(slot.state, State::Raw(_)) && slot.dirty), self.dirty_pages);
        assert_eq!(count(|slot| matches!(slot.state, State::Compressed(_))), self.slabs.pages());
        assert_eq!(self.frames, self.raw_pages + self.free_frames.len() + self.orphans.len());
        assert!(self.total_bytes() <= self.budget_bytes);
        assert!(self.counted_bytes() <= self.meta_bytes);
        for (at, slot) in self.slots.iter().enumerate().filter(|(_, slot)| !matches!(slot.state, State::Free)) {
            assert_eq!(self.find(slot.id), Some(at as u32));
        }
    }
}
