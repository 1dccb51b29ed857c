//! Page mapping: every logical page may be anywhere.
//!
//! ```text
//! write(lpn):  while free pages are short: collect one victim
//!              append to the host frontier; map[lpn] = there; the old copy is invalid
//! collect:     victim = policy; append its valid pages to the survivors' frontier; erase it
//! ```
//! Invariant: a physical page is valid iff `l2p[p2l[ppn]] == ppn` (validity is never stored, so an
//! overwrite touches only the map and one counter). Cost per victim with `v` valid pages: `v` copies and
//! an erase. Memory: 4 bytes per logical and 4 per physical page, plus some 30 per block.
//!
//! Free pages are "short" when only the spare block(s) remain unwritten: one with shared survivors (the
//! classic models), two when survivors have a frontier of their own, which may need a block of its own in
//! the middle of a victim.
//!
//! The map may be too large for RAM: a [`MapModel`] then says which map pages are read and written for each use of
//! it. Map pages are numbered behind the logical ones and mapped, moved and collected like these, from blocks of
//! their own; a victim's map pages that must be rewritten are rewritten once each, after its pages are copied.

mod options;

pub use options::{Allocation, PageOptions, Survivors, Trigger, VictimChoice};

use ssdlab_core::mem::prefetch;
use ssdlab_core::{BlockId, HugeVec, Lpn, Ppn, Reciprocal};

use crate::Ftl;
use crate::gc::{self, VictimPolicy};
use crate::map::{Lookup, MapModel, WholeMap};
use crate::pool::BlockPool;
use crate::sink::{Cause, FlashSink, Note, Oob, Source};

/// Victim pages looked at together; their map entries are fetched one such step ahead.
const GATHER: usize = 64;
/// Maps up to this size stay in a core's own caches: fetching ahead would only cost instructions.
const CACHED_MAP_BYTES: usize = 2 << 20;

/// A block being written from its first page to its last.
#[derive(Clone, Copy, Debug)]
struct Frontier {
    next: u32,
    end: u32,
}

impl Frontier {
    /// No block open yet.
    const CLOSED: Self = Self { next: 0, end: 0 };

    const fn is_full(self) -> bool {
        self.next == self.end
    }
}

/// The page-mapped FTL, by default with its whole map in RAM.
pub struct PageFtl<M = WholeMap> {
    map: M,
    logical_pages: u32,
    /// Of logical pages, and behind them of map pages.
    l2p: HugeVec<u32>,
    p2l: HugeVec<u32>,
    pool: BlockPool,
    block_of: Reciprocal,
    options: PageOptions,
    policy: Box<dyn VictimPolicy>,
    host: Frontier,
    /// Unused with shared survivors.
    survivors: Frontier,
    /// For map pages; unused without any.
    map_pages: Frontier,
    /// Map pages to be rewritten for the victim under way.
    outdated: Vec<u32>,
    /// Sealed blocks of map pages.
    map_blocks: Vec<BlockId>,
    /// Pages not yet written, in free blocks and on frontiers.
    unwritten: u64,
    /// Whether the map is too large to stay in cache.
    prefetching: bool,
    /// At or below this many unwritten pages the next host page must wait for a collection.
    short: u64,
    host_pages: u64,
    sequence: u64,
}

/// Blocks that a device with a map in flash holds back beside [`PageOptions::reserve_blocks`]: those of the map, and
/// [`MAP_SHORT_BLOCKS`] that stay unwritten.
///
/// The map gets twice the blocks that it fills, so that collecting them is cheap, two more, and one for its frontier.
pub const fn map_reserve_blocks(map_pages: u32, pages_per_block: u32) -> u32 {
    sealed_map_blocks(map_pages, pages_per_block) + 1 + MAP_SHORT_BLOCKS
}

/// Most sealed blocks of map pages.
const fn sealed_map_blocks(map_pages: u32, pages_per_block: u32) -> u32 {
    2 * map_pages.div_ceil(pages_per_block) + 2
}

/// One block for the frontier of map pages and three for what is written before a victim is erased: a victim may cost
/// more pages than it yields, when each of its pages has its entry in another map page.
const MAP_SHORT_BLOCKS: u32 = 4;

/// Free blocks that a victim may need before it is erased: one for its pages, one for map pages.
const VICTIM_BLOCKS: u32 = 2;

impl PageFtl {
    /// An erased device of `blocks` blocks serving `logical_pages` pages, its whole map in RAM.
    ///
    /// # Errors
    /// If the blocks cannot hold the logical pages plus [`PageOptions::reserve_blocks`], or page numbers
    /// exceed 32 bits.
    pub fn new(
        logical_pages: u32,
        blocks: u32,
        pages_per_block: u32,
        options: PageOptions,
        seed: u64,
    ) -> Result<Self, String> {
        let device = PageDevice { logical_pages, blocks, pages_per_block, planes: 1 };
        Self::with_map(device, options, WholeMap { logical_pages }, seed)
    }
}

/// The device that a page-mapped FTL runs on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageDevice {
    /// Pages the host sees.
    pub logical_pages: u32,
    /// Erase blocks.
    pub blocks: u32,
    /// Pages of an erase block.
    pub pages_per_block: u32,
    /// Planes that the blocks are spread over evenly: plane `p` owns those from `p * blocks / planes`.
    pub planes: u32,
}

impl<M: MapModel> PageFtl<M> {
    /// Blocks kept unwritten for map pages, if there are any.
    const MAP_SHORT: u32 = if M::CHARGED { MAP_SHORT_BLOCKS } else { 0 };

    /// An erased device with this map.
    ///
    /// # Errors
    /// If the blocks cannot hold logical and map pages plus what collection needs, or page numbers exceed 32 bits.
    pub fn with_map(device: PageDevice, options: PageOptions, map: M, seed: u64) -> Result<Self, String> {
        let PageDevice { logical_pages, blocks, pages_per_block, .. } = device;
        let physical = u64::from(blocks) * u64::from(pages_per_block);
        let map_pages = map.pages();
        let map_reserve = if M::CHARGED { map_reserve_blocks(map_pages, pages_per_block) } else { 0 };
        let reserve_blocks = options.reserve_blocks().saturating_add(map_reserve);
        let reserve = u64::from(reserve_blocks) * u64::from(pages_per_block);
        if u64::from(logical_pages) + reserve > physical {
            return Err(format!(
                "{blocks} blocks of {pages_per_block} pages cannot hold {logical_pages} logical pages and the \
                 {reserve_blocks} blocks that garbage collection and the map need"
            ));
        }
        let mapped = u64::from(logical_pages) + u64::from(map_pages);
        if physical >= u64::from(u32::MAX) {
            return Err(format!("{physical} physical pages exceed the {} that page numbers allow", u32::MAX - 1));
        }
        if let Trigger::Batch { low, high } = options.trigger
            && (low < 2 || low > high)
        {
            return Err(format!(
                "a batch must start below 2 or more free blocks and end at no fewer, not {low}..{high}"
            ));
        }
        let spare_blocks = match options.survivors {
            Survivors::Shared => 1,
            Survivors::Own => 2,
        };
        Ok(Self {
            map,
            logical_pages,
            l2p: HugeVec::filled(u32::MAX, mapped as usize),
            p2l: HugeVec::filled(u32::MAX, physical as usize),
            pool: BlockPool::new(blocks, pages_per_block, options.allocation),
            block_of: Reciprocal::new(pages_per_block),
            options,
            policy: gc::policy(options.gc, seed),
            host: Frontier::CLOSED,
            survivors: Frontier::CLOSED,
            map_pages: Frontier::CLOSED,
            outdated: Vec::new(),
            map_blocks: Vec::new(),
            unwritten: physical,
            prefetching: logical_pages as usize * size_of::<u32>() > CACHED_MAP_BYTES,
            short: (spare_blocks + u64::from(Self::MAP_SHORT)) * u64::from(pages_per_block),
            host_pages: 0,
            sequence: 0,
        })
    }

    /// Logical pages served.
    pub fn logical_pages(&self) -> u32 {
        self.logical_pages
    }

    #[inline(always)]
    fn block_of(&self, ppn: u32) -> BlockId {
        BlockId(self.block_of.divide(ppn))
    }

    fn open_block(&mut self) -> Frontier {
        let pages = self.pool.pages_per_block();
        let next = self.pool.open().0 * pages;
        Frontier { next, end: next + pages }
    }

    /// Seals the block of `frontier` if that is full, and says what remains open.
    fn sealed_if_full(&mut self, frontier: Frontier) -> Frontier {
        if !frontier.is_full() {
            return frontier;
        }
        if frontier.end > 0 {
            let block = self.block_of(frontier.end - 1);
            self.pool.seal(block, self.host_pages);
            if self.holds_map(block) {
                self.map_blocks.push(block);
            }
        }
        Frontier::CLOSED
    }

    /// Collects until the next host page may be written. Rare, so kept out of the write path.
    #[cold]
    #[inline(never)]
    fn make_room<S: FlashSink>(&mut self, sink: &mut S) {
        match self.options.trigger {
            Trigger::Victim => self.collect_while(sink, |ftl| ftl.unwritten <= ftl.short),
            Trigger::Batch { low, high } => {
                if self.host.is_full() && self.pool.free() < low + Self::MAP_SHORT {
                    self.collect_while(sink, |ftl| ftl.pool.free() < high + Self::MAP_SHORT);
                }
            }
        }
        if self.sealed_if_full(self.host).is_full() {
            self.host = self.open_block();
        }
    }

    /// Charges the use of a page's entry. Compiles to nothing while the whole map is in RAM.
    #[inline(always)]
    fn charge<S: FlashSink>(&mut self, lpn: u32, changes: bool, sink: &mut S) {
        if M::CHARGED {
            let lookup = self.map.look_up(lpn, changes);
            sink.note(Note::LookedUp { hit: lookup.hit, changes });
            if !lookup.hit {
                self.load_entry(lookup, sink);
            }
        }
    }

    #[inline(never)]
    fn load_entry<S: FlashSink>(&mut self, lookup: Lookup, sink: &mut S) {
        if let Some(page) = lookup.write_back {
            if self.unwritten <= self.short {
                self.collect_while(sink, |ftl| ftl.unwritten <= ftl.short);
            }
            self.write_map_page(page, Cause::MapWriteBack, sink);
        }
        let Some(page) = lookup.load else { return };
        let ppn = self.l2p[(self.logical_pages + page) as usize];
        // A map page that was never written holds no entry: nothing to read.
        if ppn != u32::MAX {
            sink.read_part(Ppn(ppn), self.map.load_bytes(), Cause::MapLoad);
        }
    }

    /// Writes a new version of a map page; there is room for it.
    fn write_map_page<S: FlashSink>(&mut self, page: u32, cause: Cause, sink: &mut S) {
        let lpn = self.logical_pages + page;
        let old = self.l2p[lpn as usize];
        if old != u32::MAX && !self.map.knows_whole_pages() {
            sink.read(Ppn(old), cause);
        }
        if self.sealed_if_full(self.map_pages).is_full() {
            self.map_pages = self.open_block();
        }
        let ppn = self.map_pages.next;
        self.map_pages.next += 1;
        self.unwritten -= 1;
        self.l2p[lpn as usize] = ppn;
        self.p2l[ppn as usize] = lpn;
        sink.program(Ppn(ppn), Oob { lpn: Lpn(lpn), sequence: self.sequence }, Source::Map, cause);
        self.sequence += 1;
        if old != u32::MAX {
            self.pool.invalidate(self.block_of(old));
        }
        self.map.written(page);
    }

    fn collect_while<S: FlashSink>(&mut self, sink: &mut S, short: impl Fn(&Self) -> bool) {
        // With the reserve held, some invalid page always comes within reach; the bound only turns a
        // broken policy into an error instead of a hang.
        let mut patience = 1_000 + 64 * u64::from(self.pool.len());
        while short(self) {
            self.collect_one(sink);
            patience -= 1;
            assert!(patience > 0, "garbage collection makes no progress: every victim was fully valid");
        }
    }

    /// Whether a block written to holds map pages. They have blocks of their own, so its first page tells.
    fn holds_map(&self, block: BlockId) -> bool {
        M::CHARGED && self.p2l[block.index() * self.pool.pages_per_block() as usize] >= self.logical_pages
    }

    /// The block of map pages to be collected now, whatever the policy: the one with the fewest valid pages, if there
    /// are as many of them as there may be, or too few free blocks for a victim that holds data. What such victims cost
    /// beyond what they yield lies in these blocks, as old versions of map pages.
    fn map_victim(&self) -> Option<BlockId> {
        let most = sealed_map_blocks(self.map.pages(), self.pool.pages_per_block());
        if !M::CHARGED || (self.pool.free() >= VICTIM_BLOCKS && (self.map_blocks.len() as u32) < most) {
            return None;
        }
        let least = self.map_blocks.iter().copied().min_by_key(|&block| (self.pool.valid(block), block))?;
        (self.pool.valid(least) < self.pool.pages_per_block()).then_some(least)
    }

    /// Empties and erases one victim.
    fn collect_one<S: FlashSink>(&mut self, sink: &mut S) {
        let shared = self.options.survivors == Survivors::Shared;
        // Blocks just filled are candidates too; on the smallest devices there may be no others.
        self.host = self.sealed_if_full(self.host);
        self.survivors = self.sealed_if_full(self.survivors);
        self.map_pages = self.sealed_if_full(self.map_pages);
        let victim = self.map_victim().or_else(|| self.policy.choose(&self.pool, self.host_pages));
        let victim = victim.expect("a device short of pages has sealed blocks");
        self.pool.withdraw(victim);
        let valid = self.pool.valid(victim);
        let first = victim.0 * self.pool.pages_per_block();
        let of_map = self.holds_map(victim);
        if of_map {
            self.map_blocks.retain(|&block| block != victim);
        }
        let cause = if of_map { Cause::MapGc } else { Cause::Gc };
        let mut frontier = match (of_map, shared) {
            (true, _) => self.map_pages,
            (false, true) => self.host,
            (false, false) => self.survivors,
        };
        let mut from = first;
        let mut left = valid;
        let mut live = [(0, 0); GATHER];
        while left > 0 {
            let count =
                self.gather_valid(from, (from + GATHER as u32).min(first + self.pool.pages_per_block()), &mut live);
            let mut live = &live[..count];
            while !live.is_empty() {
                if self.sealed_if_full(frontier).is_full() {
                    frontier = self.open_block();
                }
                let (now, later) = live.split_at(live.len().min((frontier.end - frontier.next) as usize));
                self.copy_pages(now, frontier.next, cause, sink);
                if M::CHARGED && !of_map {
                    self.outdated.extend(now.iter().filter_map(|&(_, lpn)| self.map.moved(lpn)));
                }
                frontier.next += now.len() as u32;
                live = later;
            }
            from += GATHER as u32;
            left -= count as u32;
        }
        match (of_map, shared) {
            (true, _) => self.map_pages = frontier,
            (false, true) => self.host = frontier,
            (false, false) => self.survivors = frontier,
        }
        self.unwritten -= u64::from(valid);
        if M::CHARGED {
            let mut outdated = std::mem::take(&mut self.outdated);
            outdated.sort_unstable();
            outdated.dedup();
            for page in outdated.drain(..) {
                self.write_map_page(page, Cause::MapUpdate, sink);
            }
            self.outdated = outdated;
        }
        sink.barrier();
        sink.erase(victim, cause);
        self.pool.release(victim);
        self.unwritten += u64::from(self.pool.pages_per_block());
    }

    /// Collects (ppn, lpn) of the valid pages of `from..end`, at most [`GATHER`], and says how many.
    ///
    /// Without a branch on validity, which is as good as random: the loads overlap and nothing mispredicts.
    #[inline]
    fn gather_valid(&self, from: u32, end: u32, live: &mut [(u32, u32); GATHER]) -> usize {
        if self.prefetching {
            let next = end as usize..self.p2l.len().min(end as usize + GATHER);
            self.p2l[next].iter().for_each(|&lpn| prefetch(&self.l2p, lpn as usize));
        }
        let mut count = 0;
        for (ppn, &lpn) in (from..).zip(&self.p2l[from as usize..end as usize]) {
            live[count] = (ppn, lpn);
            count += usize::from(self.l2p[lpn as usize] == ppn);
        }
        count
    }

    /// Copies `live` pages to `to` and on.
    #[inline]
    fn copy_pages<S: FlashSink>(&mut self, live: &[(u32, u32)], to: u32, cause: Cause, sink: &mut S) {
        let mut sequence = self.sequence;
        for (to, &(from, lpn)) in (to..).zip(live) {
            self.l2p[lpn as usize] = to;
            self.p2l[to as usize] = lpn;
            sink.copy(Ppn(from), Ppn(to), Oob { lpn: Lpn(lpn), sequence }, cause);
            sequence += 1;
        }
        self.sequence = sequence;
    }
}

impl<M: MapModel> Ftl for PageFtl<M> {
    #[inline]
    fn write<S: FlashSink>(&mut self, lpn: Lpn, count: u32, sink: &mut S) {
        for page in 0..count {
            self.charge(lpn.0 + page, true, sink);
            if self.host.is_full() || self.unwritten <= self.short {
                self.make_room(sink);
            }
            let lpn = lpn.0 + page;
            let ppn = self.host.next;
            self.host.next += 1;
            self.unwritten -= 1;
            self.host_pages += 1;
            let old = std::mem::replace(&mut self.l2p[lpn as usize], ppn);
            self.p2l[ppn as usize] = lpn;
            sink.program(Ppn(ppn), Oob { lpn: Lpn(lpn), sequence: self.sequence }, Source::Host(page), Cause::Host);
            self.sequence += 1;
            if old != u32::MAX {
                self.pool.invalidate(self.block_of(old));
            }
        }
    }

    fn read<S: FlashSink>(&mut self, lpn: Lpn, count: u32, cause: Cause, sink: &mut S) -> u32 {
        let mut unmapped = 0;
        for lpn in lpn.0..lpn.0 + count {
            self.charge(lpn, false, sink);
            let ppn = self.l2p[lpn as usize];
            if ppn == u32::MAX {
                unmapped += 1;
            } else {
                sink.read(Ppn(ppn), cause);
            }
        }
        unmapped
    }

    fn trim<S: FlashSink>(&mut self, lpn: Lpn, count: u32, sink: &mut S) {
        for page in lpn.index()..lpn.index() + count as usize {
            self.charge(page as u32, true, sink);
            let old = std::mem::replace(&mut self.l2p[page], u32::MAX);
            if old != u32::MAX {
                self.pool.invalidate(self.block_of(old));
            }
        }
    }

    fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        let ppn = Ppn(self.l2p[lpn.index()]);
        ppn.is_some().then_some(ppn)
    }

    #[inline(always)]
    fn prefetch(&self, lpn: Lpn) {
        prefetch(&self.l2p, lpn.index());
        self.map.prefetch(lpn.0);
    }

    fn erase_counts(&self) -> &[u32] {
        self.pool.erase_counts()
    }

    fn memory_bytes(&self) -> u64 {
        (self.l2p.len() + self.p2l.len()) as u64 * 4 + self.pool.memory_bytes() + self.map.memory_bytes()
    }

    fn mapping_table_bytes(&self) -> u64 {
        self.map.ram_bytes()
    }

    fn preload<S: FlashSink>(&mut self, sink: &mut S) {
        for lpn in 0..self.map.preload().min(self.logical_pages) {
            self.charge(lpn, false, sink);
        }
    }

    fn check(&self) -> Result<(), String> {
        self.pool.check()?;
        self.map.check()?;
        let mut valid = vec![0_u32; self.pool.len() as usize];
        for (lpn, &ppn) in self.l2p.iter().enumerate().filter(|&(_, &ppn)| ppn != u32::MAX) {
            if self.p2l[ppn as usize] as usize != lpn {
                return Err(format!("page {lpn} is mapped to {ppn}, which holds {}", self.p2l[ppn as usize]));
            }
            valid[self.block_of(ppn).index()] += 1;
        }
        let mut unwritten = u64::from(self.pool.free()) * u64::from(self.pool.pages_per_block());
        for frontier in [self.host, self.survivors, self.map_pages] {
            unwritten += u64::from(frontier.end - frontier.next);
        }
        if unwritten != self.unwritten {
            return Err(format!("{unwritten} pages are unwritten, {} are counted", self.unwritten));
        }
        for (block, &truth) in valid.iter().enumerate() {
            let block = BlockId(block as u32);
            if self.pool.is_sealed(block) && self.pool.valid(block) != truth {
                return Err(format!("block {block} holds {truth} valid pages, {} are counted", self.pool.valid(block)));
            }
        }
        Ok(())
    }
}
