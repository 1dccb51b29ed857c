//! A write-back page cache between a source of requests and a backing store.
//!
//! ```text
//! read:     missed pages are read from the backing store
//! write:    pages become dirty; a missed page that is written only in part is read first (a fill)
//!           above the hard limit, the pages dirty longest are written back until the limit holds
//! eviction: a dirty page is written back, even if it stays in the compressed pool
//! flush:    all dirty pages are written back, then the flush is forwarded
//! trim:     fully covered pages are dropped, dirty or not; the trim is forwarded
//! write-through (mode, or FUA):  the write is forwarded unchanged; pages it fully covers become clean
//! ```
//! Backing requests cover whole pages, except for write-through. Adjacent pages of one request, or of one write-back
//! round, are merged. Among the backing requests of a request, writes come first. One exception: a page filled and
//! evicted by the same request is read before it is written. No data is modelled: a page written back always has the
//! newest content.
//!
//! The cache has no clock. When the drive has capacity for background writes, the drive loop calls
//! [`WriteBackCache::background`]. This writes back dirty pages above the background limit, like the flusher threads of
//! an operating system. [`Why::is_waited_for`] marks the backing requests that a request must await. A request that
//! makes pages dirty may also have to wait until at most [`WriteBackCache::hard_pages`] are dirty or being written.
//! Both limits are shares of the cache capacity; the corresponding Linux settings, `dirty_background_ratio` and
//! `dirty_ratio`, are shares of memory (Documentation/admin-guide/sysctl/vm.rst).

use ssdlab_core::{PageSize, counters};
use ssdlab_trace::{Op, Request, flag};

use crate::lists::Lists;
use crate::pools::{Pools, Touch};
use crate::{CacheError, CompressedPool, Granularity, PolicyInfo, Transitions, Universe, build_policy};

/// Write policy of a cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteMode {
    /// Writes stay in the cache until they are written back.
    Back,
    /// Writes are forwarded immediately, and their pages stay cached as clean pages.
    Through,
}

/// Options of a write-back cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WriteBackOptions {
    /// Page size in bytes: a power of two, at least 512.
    pub page_bytes: u32,
    /// Capacity of the uncompressed pool in pages, at least 1.
    pub capacity_pages: u64,
    /// Write mode: write-back or write-through.
    pub writes: WriteMode,
    /// Percentage of dirty pages in the uncompressed pool above which [`WriteBackCache::background`] writes pages back.
    pub background_percent: u32,
    /// Percentage of dirty pages in the uncompressed pool above which writers must wait.
    pub hard_percent: u32,
}

/// Location of a page in the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The page is in the uncompressed pool.
    Raw,
    /// The page is in the compressed pool.
    Compressed,
    /// The page is not in the cache.
    Below,
}

/// Reason why the cache sends a request to the backing store.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Why {
    /// Read of requested pages that are not cached.
    Miss,
    /// Read of the part of an uncached page that a write leaves untouched.
    Fill,
    /// Write-back of a dirty page that was evicted.
    Evicted,
    /// Write-back because the number of dirty pages exceeded the hard limit.
    Limit,
    /// Write-back of a dirty page because the number of dirty pages exceeded the background limit.
    Background,
    /// Write-back of a dirty page by a flush, or the forwarded flush itself.
    Flush,
    /// Write forwarded by a write-through cache.
    Through,
    /// Trim forwarded to the backing store.
    Trim,
}

impl Why {
    /// True if the host's request must await this backing request. Write-back is not awaited: a writer only waits while
    /// too many pages are dirty.
    pub const fn is_waited_for(self) -> bool {
        !matches!(self, Self::Evicted | Self::Limit | Self::Background)
    }
}

counters! {
    /// Counters of a write-back cache.
    pub struct WriteBackCounters {
        read_pages: "pages", "Pages touched by reads.";
        read_hits: "pages", "Read accesses to cached pages.";
        written_pages: "pages", "Pages touched by writes.";
        write_hits: "pages", "Write accesses to cached pages.";
        filled: "pages", "Uncached pages read from the layer below because a write covered only part of them.";
        dirtied: "pages", "Transitions of a page from clean to dirty.";
        evicted: "pages", "Dirty pages written back on eviction.";
        limited: "pages", "Dirty pages written back to stay within the hard limit.";
        background: "pages", "Dirty pages written back in the background.";
        flushed: "pages", "Dirty pages written back by flushes.";
        written_through: "pages", "Pages written through: all writes in write-through mode, otherwise writes with FUA.";
        overwritten: "pages", "Dirty pages made clean by a write-through.";
        discarded: "pages", "Dirty pages dropped by trims.";
        reads_below: "requests", "Reads sent to the layer below.";
        writes_below: "requests", "Writes sent to the layer below.";
    }
}

impl WriteBackCounters {
    /// Returns the number of dirty pages written back so far, for any reason.
    pub fn written_back(&self) -> u64 {
        self.evicted + self.limited + self.background + self.flushed
    }
}

/// Maximum size of a merged backing request in bytes; request lengths are 32-bit.
const MERGED_BYTES_MAX: u32 = 1 << 30;

const DIRTY: u8 = 0;

/// A write-back page cache in front of a backing store.
#[derive(Debug)]
pub struct WriteBackCache {
    universe: Universe,
    pools: Pools,
    /// Dirty pages, in the order in which they became dirty.
    dirty: Lists<1>,
    options: WriteBackOptions,
    page: PageSize,
    background_pages: u64,
    hard_pages: u64,
    counters: WriteBackCounters,
    /// Pages to write back for the current request.
    writes: Vec<(Why, u64)>,
    /// Pages to read for the current request: the misses of a read, or the uncached pages of a write that it overwrites
    /// only in part (at most two).
    reads: Vec<(Why, u64)>,
    evicted: Vec<u32>,
}

/// The current host request, and the function that receives its backing requests.
struct RequestContext<'a, F> {
    request: Request,
    below: &'a mut F,
}

impl WriteBackCache {
    /// Creates an empty cache of uncompressed pages; `changes` overrides the default values of the policy's parameters.
    pub fn new(info: &PolicyInfo, changes: &[(String, u64)], options: WriteBackOptions) -> Result<Self, CacheError> {
        let WriteBackOptions { page_bytes, capacity_pages, background_percent, hard_percent, .. } = options;
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
            counters: WriteBackCounters::default(),
            writes: Vec::new(),
            reads: Vec::new(),
            evicted: Vec::new(),
        })
    }

    /// Adds a compressed pool to the cache.
    pub fn compressing(mut self, pool: CompressedPool) -> Result<Self, CacheError> {
        self.pools.compress(pool)?;
        Ok(self)
    }

    /// Returns the counters of requests and pages so far.
    pub fn counters(&self) -> WriteBackCounters {
        self.counters
    }

    /// Returns the number of page transitions of each type so far.
    pub fn transitions(&self) -> Transitions {
        self.pools.counts
    }

    /// Returns the current number of dirty pages.
    pub fn dirty_pages(&self) -> u64 {
        self.dirty.units(DIRTY)
    }

    /// Returns the hard limit on the number of dirty pages.
    pub fn hard_pages(&self) -> u64 {
        self.hard_pages
    }

    /// Returns the number of distinct pages touched so far.
    pub fn pages_touched(&self) -> u64 {
        self.universe.len().into()
    }

    /// Returns the number of pages in the uncompressed pool.
    pub fn raw_pages(&self) -> u64 {
        self.pools.raw.used()
    }

    /// Returns the number of pages in the compressed pool and their total compressed size in bytes.
    pub fn compressed_pages(&self) -> (u64, u64) {
        self.pools.compressed()
    }

    /// Returns the location of a page and whether the page is dirty.
    pub fn state(&self, page: u64) -> (Place, bool) {
        let Some(item) = self.universe.find(page) else { return (Place::Below, false) };
        let place = match (self.pools.raw.contains(item), self.pools.is_compressed(item)) {
            (true, _) => Place::Raw,
            (false, true) => Place::Compressed,
            (false, false) => Place::Below,
        };
        (place, self.dirty.has(item))
    }

    /// Processes a request, and passes the resulting backing requests to `below` in an order that keeps data correct.
    pub fn submit<F: FnMut(Request, Why)>(&mut self, request: &Request, below: &mut F) -> Result<(), CacheError> {
        let mut context = RequestContext { request: *request, below };
        match request.op {
            Op::Read => self.read(&mut context)?,
            Op::Write => self.write(&mut context)?,
            Op::Flush => self.flush(&mut context),
            Op::Trim => self.trim(&mut context),
        }
        Ok(())
    }

    /// If the number of dirty pages exceeds the background limit, writes back the excess, up to `most` pages, starting
    /// with the pages that have been dirty longest. Returns the number of pages written back. The backing requests get
    /// the timestamp `now_ns`.
    pub fn background<F: FnMut(Request, Why)>(&mut self, most: u64, now_ns: u64, below: &mut F) -> u64 {
        let pages = self.dirty_pages().saturating_sub(self.background_pages).min(most);
        let request = Request { time_ns: now_ns, offset: 0, bytes: 0, op: Op::Write, flags: 0, stream: 0 };
        let mut context = RequestContext { request, below };
        for _ in 0..pages {
            self.clean_oldest(Why::Background, &mut context);
        }
        self.send(&mut context);
        pages
    }

    fn read<F: FnMut(Request, Why)>(&mut self, context: &mut RequestContext<'_, F>) -> Result<(), CacheError> {
        for page in self.page.touched(context.request.offset, context.request.end()) {
            let (_, hit) = self.access(page, Touch::Read)?;
            self.counters.read_pages += 1;
            self.counters.read_hits += u64::from(hit);
            self.write_back_evicted(context);
        }
        self.send(context);
        Ok(())
    }

    fn write<F: FnMut(Request, Why)>(&mut self, context: &mut RequestContext<'_, F>) -> Result<(), CacheError> {
        let request = context.request;
        if request.flags & flag::PREFLUSH != 0 {
            self.flush(context);
        }
        let whole = self.page.covered(request.offset, request.end());
        let through = self.options.writes == WriteMode::Through || request.flags & flag::FUA != 0;
        for page in self.page.touched(request.offset, request.end()) {
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
            if through && !in_part && self.dirty.discard(item) {
                self.counters.overwritten += 1;
            }
            self.write_back_evicted(context);
            while self.dirty_pages() > self.hard_pages {
                self.clean_oldest(Why::Limit, context);
            }
        }
        self.send(context);
        if through {
            self.counters.writes_below += 1;
            (context.below)(Request { flags: request.flags & !flag::PREFLUSH, ..request }, Why::Through);
        }
        Ok(())
    }

    fn flush<F: FnMut(Request, Why)>(&mut self, context: &mut RequestContext<'_, F>) {
        while self.dirty_pages() > 0 {
            self.clean_oldest(Why::Flush, context);
        }
        self.send(context);
        (context.below)(Request { offset: 0, bytes: 0, op: Op::Flush, flags: 0, ..context.request }, Why::Flush);
    }

    fn trim<F: FnMut(Request, Why)>(&mut self, context: &mut RequestContext<'_, F>) {
        for item in self.universe.within(self.page.covered(context.request.offset, context.request.end())) {
            self.pools.trim(item);
            if self.dirty.discard(item) {
                self.counters.discarded += 1;
            }
        }
        (context.below)(context.request, Why::Trim);
    }

    /// Accesses a page and queues a read if the page must be fetched. Returns the item number of the page and whether
    /// the page was cached.
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

    fn write_back_evicted<F: FnMut(Request, Why)>(&mut self, context: &mut RequestContext<'_, F>) {
        for position in 0..self.evicted.len() {
            let item = self.evicted[position];
            if self.dirty.has(item) {
                self.clean(item, Why::Evicted, context);
            }
        }
        self.evicted.clear();
    }

    fn clean_oldest<F: FnMut(Request, Why)>(&mut self, why: Why, context: &mut RequestContext<'_, F>) {
        if let Some(item) = self.dirty.oldest(DIRTY) {
            self.clean(item, why, context);
        }
    }

    /// Makes a dirty page clean and queues its write-back.
    fn clean<F: FnMut(Request, Why)>(&mut self, item: u32, why: Why, context: &mut RequestContext<'_, F>) {
        self.dirty.remove(item);
        let pages = match why {
            Why::Evicted => &mut self.counters.evicted,
            Why::Limit => &mut self.counters.limited,
            Why::Background => &mut self.counters.background,
            _ => &mut self.counters.flushed,
        };
        *pages += 1;
        let page = self.universe.id(item);
        // If the current request both fills and evicts a page, the fill must be sent before the write-back.
        let fills = if self.reads.len() <= 2 { &self.reads[..] } else { &[] };
        if fills.contains(&(Why::Fill, page)) {
            self.send(context);
        }
        self.writes.push((why, page));
    }

    /// Sends the queued backing requests, writes first.
    fn send<F: FnMut(Request, Why)>(&mut self, context: &mut RequestContext<'_, F>) {
        self.writes.sort_unstable();
        let longest = u64::from(MERGED_BYTES_MAX / self.options.page_bytes);
        for (op, pages, sent) in [
            (Op::Write, &mut self.writes, &mut self.counters.writes_below),
            (Op::Read, &mut self.reads, &mut self.counters.reads_below),
        ] {
            // Reads from the backing store keep the flags of the current request, except FUA and flush. Write-backs
            // have no flags.
            let flags = if op == Op::Read { context.request.flags & !(flag::FUA | flag::PREFLUSH) } else { 0 };
            let mut rest = &pages[..];
            while let Some(&(why, first)) = rest.first() {
                let follows = |&(at, &page): &(usize, &(Why, u64))| page == (why, first + at as u64);
                let merged = rest.iter().enumerate().take_while(follows).count().min(longest as usize);
                let (offset, bytes) =
                    (first * u64::from(self.options.page_bytes), merged as u32 * self.options.page_bytes);
                (context.below)(Request { offset, bytes, op, flags, ..context.request }, why);
                *sent += 1;
                rest = &rest[merged..];
            }
            pages.clear();
        }
    }
}
