//! A cache of pages between whoever sends requests and whatever serves them: requests come in, those the cache cannot
//! answer go on below.
//!
//! ```text
//! read:   each page missed is read below
//! write:  each page becomes dirty; one that is missed and written only in part is read below first (a fill)
//!         above the hard limit of dirty pages, those dirty longest are written below until it holds
//! page gives way:  written below if it is dirty, whether it stays compressed or not
//! flush:  all dirty pages are written below, then the flush goes on
//! trim:   pages covered whole are dropped, dirty or not; the trim goes on
//! through, as a mode or for a write with FUA:  goes on as it is; pages it covers whole are clean afterwards
//! ```
//! Requests below are whole pages, but for what goes through; neighbouring pages of one request, or of one round of
//! writing back, are joined. Of what one request causes, writes come first, except that a page filled and given up
//! within one request is read before it is written. There is no data here: a page written below always has the newest.
//!
//! The stage knows no time. A drive loop calls [`Stage::background`] when there is room to write back above the
//! background limit, as the flusher threads of an operating system do; [`Why::is_waited_for`] tells what the request
//! that caused it has to wait for, and a request that makes pages dirty may have to wait until no more than
//! [`Stage::hard_pages`] are dirty or being written. Limits are shares of the capacity, as `dirty_background_ratio` and
//! `dirty_ratio` of Linux are shares of memory (Documentation/admin-guide/sysctl/vm.rst).

use ssdlab_core::{PageSize, counters};
use ssdlab_trace::{Op, Request, flag};

use crate::lists::Lists;
use crate::pools::{Pools, Touch};
use crate::{CacheError, CompressedPool, Granularity, PolicyInfo, Transitions, Universe, build_policy};

/// What happens to writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteMode {
    /// They stay in the cache until they have to go below.
    Back,
    /// They go below at once, and stay in the cache clean.
    Through,
}

/// How a stage caches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StageOptions {
    /// Bytes of a page, a power of two from 512.
    pub page_bytes: u32,
    /// Raw pages of the cache, at least 1.
    pub capacity_pages: u64,
    /// What happens to writes.
    pub writes: WriteMode,
    /// Share of the raw pages that may be dirty before [`Stage::background`] writes back, percent.
    pub background_percent: u32,
    /// Share of the raw pages that may be dirty at all, percent.
    pub hard_percent: u32,
}

/// Where a page is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// In the raw pool.
    Raw,
    /// In the compressed pool.
    Compressed,
    /// Not in the cache.
    Below,
}

/// Why a request goes below.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Why {
    /// A read, of pages not cached.
    Miss,
    /// A read of what a partial write leaves of a page not cached.
    Fill,
    /// A write of dirty pages that give way.
    Evicted,
    /// A write of dirty pages above the hard limit.
    Limit,
    /// A write of dirty pages above the background limit.
    Background,
    /// A write of dirty pages because of a flush, and the flush.
    Flush,
    /// A write that does not stay in the cache alone.
    Through,
    /// A trim.
    Trim,
}

impl Why {
    /// Whether the request that caused it needs it to be over. Write-back it does not need: a writer waits, if at all,
    /// until few enough pages are dirty.
    pub const fn is_waited_for(self) -> bool {
        !matches!(self, Self::Evicted | Self::Limit | Self::Background)
    }
}

counters! {
    /// What a stage has done.
    pub struct StageCounters {
        read_pages: "pages", "Pages touched by reads.";
        read_hits: "pages", "Pages touched by reads that were cached.";
        written_pages: "pages", "Pages touched by writes.";
        write_hits: "pages", "Pages touched by writes that were cached.";
        filled: "pages", "Pages read below because they were written in part.";
        dirtied: "pages", "Times that a page became dirty.";
        evicted: "pages", "Dirty pages written below because they were evicted.";
        limited: "pages", "Dirty pages written below to keep the hard limit.";
        background: "pages", "Dirty pages written below ahead of need.";
        flushed: "pages", "Dirty pages written below by flushes.";
        written_through: "pages", "Pages touched by writes that went through, as all do in that mode, else those with FUA.";
        overwritten: "pages", "Dirty pages made clean by a write that went through.";
        discarded: "pages", "Dirty pages dropped by trims.";
        reads_below: "requests", "Reads sent below.";
        writes_below: "requests", "Writes sent below.";
    }
}

impl StageCounters {
    /// Dirty pages written below, for whatever reason.
    pub fn written_back(&self) -> u64 {
        self.evicted + self.limited + self.background + self.flushed
    }
}

/// Largest joined request, bytes: lengths of requests are 32 bits.
const JOINED_BYTES_MAX: u32 = 1 << 30;

const DIRTY: u8 = 0;

/// A cache as a stage.
#[derive(Debug)]
pub struct Stage {
    universe: Universe,
    pools: Pools,
    /// Dirty pages, by when they became dirty.
    dirty: Lists<1>,
    options: StageOptions,
    page: PageSize,
    background_pages: u64,
    hard_pages: u64,
    counters: StageCounters,
    /// Pages to be written below for the request at hand.
    writes: Vec<(Why, u64)>,
    /// Pages to be read below for it: misses of a read, or at most two fills of a write.
    reads: Vec<(Why, u64)>,
    evicted: Vec<u32>,
}

/// The request at hand and where what it causes goes.
struct Cause<'a, F> {
    request: Request,
    below: &'a mut F,
}

impl Stage {
    /// An empty cache of raw pages, with `changes` to the defaults of the policy's parameters.
    pub fn new(info: &PolicyInfo, changes: &[(String, u64)], options: StageOptions) -> Result<Self, CacheError> {
        let StageOptions { page_bytes, capacity_pages, background_percent, hard_percent, .. } = options;
        Granularity::Pages { page_bytes }.check()?;
        if background_percent > hard_percent || hard_percent > 100 {
            return Err(CacheError::DirtyLimits { background: background_percent, hard: hard_percent });
        }
        if info.role.needs_future {
            return Err(CacheError::NeedsFuture { policy: info.name });
        }
        let share = |percent: u32| (u128::from(capacity_pages) * u128::from(percent) / 100) as u64;
        Ok(Self {
            universe: Universe::default(),
            pools: Pools::new(build_policy(info, changes, capacity_pages, 0, true)?, page_bytes),
            dirty: Lists::new(0),
            options,
            page: PageSize::new(page_bytes),
            background_pages: share(background_percent),
            hard_pages: share(hard_percent),
            counters: StageCounters::default(),
            writes: Vec::new(),
            reads: Vec::new(),
            evicted: Vec::new(),
        })
    }

    /// The cache with a pool of compressed pages beside its raw ones.
    ///
    /// # Errors
    /// If there can be no such pool.
    pub fn compressing(mut self, pool: CompressedPool) -> Result<Self, CacheError> {
        self.pools.compress(pool)?;
        Ok(self)
    }

    /// What was done so far.
    pub fn counters(&self) -> StageCounters {
        self.counters
    }

    /// What became of pages so far.
    pub fn transitions(&self) -> Transitions {
        self.pools.counts()
    }

    /// Pages that are dirty.
    pub fn dirty_pages(&self) -> u64 {
        self.dirty.units(DIRTY)
    }

    /// Pages that may be dirty at all.
    pub fn hard_pages(&self) -> u64 {
        self.hard_pages
    }

    /// Pages that were touched so far.
    pub fn pages_touched(&self) -> u64 {
        self.universe.len().into()
    }

    /// Pages that are cached raw.
    pub fn raw_pages(&self) -> u64 {
        self.pools.raw_pages()
    }

    /// Pages that are cached compressed, and the bytes that they take.
    pub fn compressed_pages(&self) -> (u64, u64) {
        self.pools.compressed()
    }

    /// Where a page is, and whether it is dirty.
    pub fn state(&self, page: u64) -> (Place, bool) {
        let Some(item) = self.universe.find(page) else { return (Place::Below, false) };
        let place = match (self.pools.is_raw(item), self.pools.is_compressed(item)) {
            (true, _) => Place::Raw,
            (false, true) => Place::Compressed,
            (false, false) => Place::Below,
        };
        (place, self.dirty.has(item))
    }

    /// Takes a request; what it causes goes to `below`, in an order that keeps data right.
    pub fn submit<F: FnMut(Request, Why)>(&mut self, request: &Request, below: &mut F) -> Result<(), CacheError> {
        let mut cause = Cause { request: *request, below };
        match request.op {
            Op::Read => self.read(&mut cause),
            Op::Write => self.write(&mut cause),
            Op::Flush => {
                self.flush(&mut cause);
                Ok(())
            }
            Op::Trim => {
                self.trim(&mut cause);
                Ok(())
            }
        }
    }

    /// Writes back at most `most` of the pages dirty longest, as long as more are dirty than the background limit
    /// allows; says how many. The requests bear the time `now_ns`.
    pub fn background<F: FnMut(Request, Why)>(&mut self, most: u64, now_ns: u64, below: &mut F) -> u64 {
        let pages = self.dirty_pages().saturating_sub(self.background_pages).min(most);
        let request = Request { time_ns: now_ns, offset: 0, bytes: 0, op: Op::Write, flags: 0, stream: 0 };
        let mut cause = Cause { request, below };
        for _ in 0..pages {
            self.clean_oldest(Why::Background, &mut cause);
        }
        self.send(&mut cause);
        pages
    }

    fn read<F: FnMut(Request, Why)>(&mut self, cause: &mut Cause<'_, F>) -> Result<(), CacheError> {
        for page in self.page.touched(cause.request.offset, cause.request.end()) {
            let (_, hit) = self.access(page, Touch::Read)?;
            self.counters.read_pages += 1;
            self.counters.read_hits += u64::from(hit);
            self.give_way(cause);
        }
        self.send(cause);
        Ok(())
    }

    fn write<F: FnMut(Request, Why)>(&mut self, cause: &mut Cause<'_, F>) -> Result<(), CacheError> {
        let request = cause.request;
        if request.flags & flag::PREFLUSH != 0 {
            self.flush(cause);
        }
        let whole = self.page.covered(request.offset, request.end());
        let through = self.options.writes == WriteMode::Through || request.flags & flag::FUA != 0;
        for page in self.page.touched(cause.request.offset, cause.request.end()) {
            let in_part = !whole.contains(&page);
            let (item, hit) = self.access(page, if in_part { Touch::WrittenInPart } else { Touch::WrittenWhole })?;
            self.counters.written_pages += 1;
            self.counters.write_hits += u64::from(hit);
            self.counters.filled += u64::from(!hit && in_part);
            self.counters.written_through += u64::from(through);
            if !through && !self.dirty.has(item) {
                self.dirty.push(DIRTY, item, 1);
                self.counters.dirtied += 1;
            }
            if through && !in_part && self.dirty.has(item) {
                self.dirty.remove(item);
                self.counters.overwritten += 1;
            }
            self.give_way(cause);
            while self.dirty_pages() > self.hard_pages {
                self.clean_oldest(Why::Limit, cause);
            }
        }
        self.send(cause);
        if through {
            self.counters.writes_below += 1;
            (cause.below)(Request { flags: request.flags & !flag::PREFLUSH, ..request }, Why::Through);
        }
        Ok(())
    }

    fn flush<F: FnMut(Request, Why)>(&mut self, cause: &mut Cause<'_, F>) {
        while self.dirty_pages() > 0 {
            self.clean_oldest(Why::Flush, cause);
        }
        self.send(cause);
        (cause.below)(Request { offset: 0, bytes: 0, op: Op::Flush, flags: 0, ..cause.request }, Why::Flush);
    }

    fn trim<F: FnMut(Request, Why)>(&mut self, cause: &mut Cause<'_, F>) {
        for item in self.universe.within(self.page.covered(cause.request.offset, cause.request.end())) {
            self.pools.trim(item);
            if self.dirty.has(item) {
                self.dirty.remove(item);
                self.counters.discarded += 1;
            }
        }
        (cause.below)(cause.request, Why::Trim);
    }

    /// Accesses a page: its number and whether it was cached. What is missing is read.
    fn access(&mut self, page: u64, touch: Touch) -> Result<(u32, bool), CacheError> {
        let item = self.universe.number(page)?;
        self.pools.grow(self.universe.len());
        self.dirty.grow(self.universe.len());
        let hit = self.pools.access(item, touch, |item| self.universe.id(item), &mut self.evicted);
        match touch {
            Touch::Read if !hit => self.reads.push((Why::Miss, page)),
            Touch::WrittenInPart if !hit => self.reads.push((Why::Fill, page)),
            _ => {}
        }
        Ok((item, hit))
    }

    /// Has those who gave way written, if they are dirty.
    fn give_way<F: FnMut(Request, Why)>(&mut self, cause: &mut Cause<'_, F>) {
        for position in 0..self.evicted.len() {
            let item = self.evicted[position];
            if self.dirty.has(item) {
                self.clean(item, Why::Evicted, cause);
            }
        }
        self.evicted.clear();
    }

    fn clean_oldest<F: FnMut(Request, Why)>(&mut self, why: Why, cause: &mut Cause<'_, F>) {
        if let Some(item) = self.dirty.oldest(DIRTY) {
            self.clean(item, why, cause);
        }
    }

    /// Makes a dirty page clean and has it written.
    fn clean<F: FnMut(Request, Why)>(&mut self, item: u32, why: Why, cause: &mut Cause<'_, F>) {
        self.dirty.remove(item);
        let pages = match why {
            Why::Evicted => &mut self.counters.evicted,
            Why::Limit => &mut self.counters.limited,
            Why::Background => &mut self.counters.background,
            _ => &mut self.counters.flushed,
        };
        *pages += 1;
        let page = self.universe.id(item);
        // Filled and given up for one request: writes go first, but not before this read.
        let fills = if self.reads.len() <= 2 { &self.reads[..] } else { &[] };
        if fills.contains(&(Why::Fill, page)) {
            self.send(cause);
        }
        self.writes.push((why, page));
    }

    /// Sends what has gathered below, writes first.
    fn send<F: FnMut(Request, Why)>(&mut self, cause: &mut Cause<'_, F>) {
        self.writes.sort_unstable();
        let longest = u64::from(JOINED_BYTES_MAX / self.options.page_bytes);
        for (op, pages, sent) in [
            (Op::Write, &mut self.writes, &mut self.counters.writes_below),
            (Op::Read, &mut self.reads, &mut self.counters.reads_below),
        ] {
            // Who writes back does not write what it was asked to write.
            let flags = if op == Op::Read { cause.request.flags & !(flag::FUA | flag::PREFLUSH) } else { 0 };
            let mut rest = &pages[..];
            while let Some(&(why, first)) = rest.first() {
                let follows = |&(at, &page): &(usize, &(Why, u64))| page == (why, first + at as u64);
                let joined = rest.iter().enumerate().take_while(follows).count().min(longest as usize);
                let (offset, bytes) =
                    (first * u64::from(self.options.page_bytes), joined as u32 * self.options.page_bytes);
                (cause.below)(Request { offset, bytes, op, flags, ..cause.request }, why);
                *sent += 1;
                rest = &rest[joined..];
            }
            pages.clear();
        }
    }
}
