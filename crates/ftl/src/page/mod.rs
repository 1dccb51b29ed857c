//! Page mapping: every logical page may be anywhere.
//!
//! ```text
//! write(lpn):  plane = the next in turn with room
//!              while its free pages are short: collect one victim of the plane
//!              append to the plane's host frontier; map[lpn] = there; the old copy is invalid
//! collect:     victim = policy; append its valid pages to the plane's survivors' frontier; erase it
//! ```
//! Invariant: a page of a closed block is valid iff `l2p[p2l[ppn]] == ppn`. A bit for each page says so too, so that
//! collection reads neither the entries of a victim's outdated pages nor where their data is now. Cost per victim with
//! `v` valid pages: `v` copies and an erase. Memory: 4 bytes per logical page, 4 and a bit per physical page, some 30
//! per block.
//!
//! Free pages are "short" when only the spare block(s) remain unwritten: one with shared survivors (the
//! classic models), two when survivors have a frontier of their own, which may need a block of its own in
//! the middle of a victim.
//!
//! **Planes.** Successive host pages go to successive planes; collection stays within a plane, so that a chip may move
//! pages without the bus. Each plane is collected by the same rules as a device of one: they need
//! [`PageOptions::reserve_blocks`] in each, so a plane whose other blocks' worth of pages is valid is passed over. As
//! the logical pages fit in what all planes may hold, there is one with room, or else all are full and the page that
//! is overwritten leaves room where it was.
//!
//! A victim may be emptied little by little, host pages being written in between: by [`Trigger::Partial`] and by
//! [`Ftl::background`]. Its remaining pages always find room: a step begins only while free pages are not short, and a
//! plane whose free pages are short finishes its victim first.
//!
//! The map may be too large for RAM: a [`MapModel`] then says which map pages are read and written for each use of
//! it. Map pages are numbered behind the logical ones and mapped, moved and collected like these, from blocks of
//! their own; a victim's map pages that must be rewritten are rewritten once each, after its pages are copied. The
//! file `map_pages.rs` has the rest.

mod archive;
mod check;
mod collect;
mod failure;
mod map_pages;
mod options;
mod part;
mod recover;

pub use crate::blocks::Allocation;
pub use map_pages::map_reserve_blocks;
pub use options::{PageOptions, Trigger};

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use ssdlab_core::mem::prefetch;
use ssdlab_core::{Archive, Archived, BlockId, Entry, HugeVec, Lpn, Ppn, Reciprocal};
use ssdlab_nand::{Cause, FlashSink, Note, Role, Scan, Source, SpareArea, Trimmed};

use crate::blocks::ClosedBlocks;
use crate::gc::{self, VictimPolicy};
use crate::map::{CachedEntries, MapModel, WholeMap};
use crate::placement::{MOST_FRONTIERS, Placement, Route};
use crate::{Ftl, GcOccupancy, Shape, Shares, WriteContext};
use collect::Victim;

/// Maps up to this size stay in the caches of a processor: fetching ahead would only cost instructions.
const CACHED_MAP_BYTES: usize = 16 << 20;

/// A block being written from its first page to its last.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
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

    const fn left(self) -> u32 {
        self.end - self.next
    }
}

/// What each plane keeps for itself.
#[derive(Debug, Serialize, Deserialize)]
struct Plane {
    /// Of the host, of survivors, and one for map pages, in the order of their numbers.
    frontiers: [Frontier; MOST_FRONTIERS],
    /// Block of data being emptied.
    victim: Option<Victim>,
    /// Pages not yet written, in free blocks and on frontiers.
    unwritten: u32,
    /// At or below this many unwritten pages the next host page must ask for room.
    tight: u32,
    /// Valid pages of data.
    valid: u32,
    /// Valid pages of data that it may hold.
    limit: u32,
    /// Valid map pages.
    valid_map: u32,
    /// Map pages to be rewritten for the victim under way.
    outdated: Vec<u32>,
    /// Closed blocks of map pages, with their valid pages: the first has the fewest.
    map_blocks: BTreeSet<(u32, BlockId)>,
}

/// The page-mapped FTL, by default with its whole map in RAM.
pub struct PageFtl<M = WholeMap> {
    shape: Shape,
    map: M,
    logical_pages: u32,
    /// Of logical pages, and behind them of map pages.
    l2p: HugeVec<Entry>,
    p2l: HugeVec<Entry>,
    blocks: ClosedBlocks,
    block_of: Reciprocal,
    plane_of: Reciprocal,
    options: PageOptions,
    policy: Box<dyn VictimPolicy>,
    placement: Option<Box<dyn Placement>>,
    planes: Vec<Plane>,
    /// Plane that the next host page goes to if it has room.
    turn: usize,
    /// The same for the next map page.
    map_turn: usize,
    /// Valid map pages that a plane may hold.
    map_limit: u32,
    /// Blocks that stay unwritten for survivors.
    spare_blocks: u32,
    /// Partial collection may be due when no more pages than this are unwritten beyond those that are short.
    ahead: u32,
    /// Whether the map is too large to stay in cache.
    prefetching: bool,
    host_pages: u64,
    /// At each choice of a victim with data since the device was built or loaded.
    occupied: GcOccupancy,
    sequence: u64,
    /// Blocks with a page that could not be programmed, to be emptied and then used no more.
    failing: BTreeSet<BlockId>,
    /// More blocks have failed at once than were kept for it: nothing can be programmed any more.
    stuck: bool,
}

impl PageFtl {
    /// An erased device, the whole map in RAM.
    ///
    /// # Errors
    /// See [`Self::with_map`].
    pub fn new(shape: Shape, options: PageOptions, seed: u64) -> Result<Self, String> {
        Self::with_map(shape, options, WholeMap { logical_pages: shape.logical_pages }, seed)
    }
}

impl<M: MapModel> PageFtl<M> {
    /// An erased device with this map.
    ///
    /// # Errors
    /// If the blocks cannot hold logical and map pages plus what collection needs, cannot be spread evenly over the
    /// planes, or page numbers exceed 32 bits; if the options contradict themselves.
    pub fn with_map(shape: Shape, options: PageOptions, map: M, seed: u64) -> Result<Self, String> {
        let mut ftl = Self::to_load(shape, options, map, seed)?;
        let mapped = shape.logical_pages + ftl.map.pages();
        ftl.l2p = HugeVec::zeros(mapped as usize);
        ftl.p2l = HugeVec::zeros((shape.blocks * shape.pages_per_block) as usize);
        Ok(ftl)
    }

    /// The same, without memory for its map until a state is loaded, which must come next.
    ///
    /// # Errors
    /// As of [`Self::with_map`].
    pub fn to_load(shape: Shape, options: PageOptions, map: M, seed: u64) -> Result<Self, String> {
        let Shape { logical_pages, blocks, pages_per_block, planes, .. } = shape;
        if planes == 0 || !blocks.is_multiple_of(planes) {
            return Err(format!("{blocks} blocks cannot be spread evenly over {planes} planes"));
        }
        let physical = u64::from(blocks) * u64::from(pages_per_block);
        let map_pages = map.pages();
        let reserve_blocks = options.device_reserve_blocks(planes, map_pages, pages_per_block);
        let reserve = u64::from(reserve_blocks) * u64::from(pages_per_block);
        if u64::from(logical_pages) + reserve > physical {
            return Err(format!(
                "{blocks} blocks of {pages_per_block} pages cannot hold {logical_pages} logical pages and the \
                 {reserve_blocks} blocks that garbage collection and the map need"
            ));
        }
        if physical >= u64::from(u32::MAX) {
            return Err(format!("{physical} physical pages exceed the {} that page numbers allow", u32::MAX - 1));
        }
        options.check()?;
        let spare_blocks = options.placement.role.frontiers();
        if spare_blocks as usize >= MOST_FRONTIERS {
            return Err(format!("placement {} has more than {MOST_FRONTIERS} frontiers", options.placement.name));
        }
        let limit = (blocks - reserve_blocks) / planes * pages_per_block;
        let plane = |_| Plane {
            frontiers: [Frontier::CLOSED; MOST_FRONTIERS],
            victim: None,
            unwritten: (physical / u64::from(planes)) as u32,
            tight: 0,
            valid: 0,
            limit,
            valid_map: 0,
            outdated: Vec::new(),
            map_blocks: BTreeSet::new(),
        };
        let mut ftl = Self {
            shape,
            logical_pages,
            l2p: HugeVec::zeros(0),
            p2l: HugeVec::zeros(0),
            blocks: ClosedBlocks::new(blocks, planes, pages_per_block, options.allocation),
            block_of: Reciprocal::new(pages_per_block),
            plane_of: Reciprocal::new((physical / u64::from(planes)) as u32),
            options,
            policy: gc::policy(&options.gc, seed),
            placement: options.placement.role.build.map(|build| build()),
            planes: (0..planes).map(plane).collect(),
            turn: 0,
            map_turn: 0,
            map_limit: map.pages().div_ceil(planes),
            map,
            spare_blocks,
            ahead: match options.trigger {
                // With fewer than `low` free blocks, no more than these and what is left of the frontiers is unwritten.
                Trigger::Partial { low, .. } => (low + u32::from(M::CHARGED) - 1) * pages_per_block,
                Trigger::Victim | Trigger::Batch { .. } => 0,
            },
            prefetching: logical_pages as usize * size_of::<u32>() > CACHED_MAP_BYTES,
            host_pages: 0,
            occupied: GcOccupancy::default(),
            sequence: 0,
            failing: BTreeSet::new(),
            stuck: false,
        };
        for plane in 0..ftl.planes.len() {
            ftl.planes[plane].tight = ftl.tight(plane);
        }
        Ok(ftl)
    }

    /// Logical pages served.
    pub fn logical_pages(&self) -> u32 {
        self.logical_pages
    }

    #[inline(always)]
    fn block_of(&self, ppn: u32) -> BlockId {
        BlockId(self.block_of.divide(ppn))
    }

    #[inline(always)]
    fn plane_of(&self, ppn: u32) -> usize {
        self.plane_of.divide(ppn) as usize
    }

    #[inline(always)]
    fn is_striped(&self) -> bool {
        self.planes.len() > 1
    }

    /// The plane that the host page `lpn` is written to. Of several planes, its valid page is counted there from now
    /// on.
    #[inline(always)]
    fn next_plane(&mut self, lpn: u32) -> usize {
        if self.is_striped() { self.rotate(lpn) } else { 0 }
    }

    /// Apart, so that the write path stays short.
    #[inline(never)]
    fn rotate(&mut self, lpn: u32) -> usize {
        self.uncount(self.l2p[lpn as usize].page());
        loop {
            let plane = self.turn;
            self.turn = if plane + 1 == self.planes.len() { 0 } else { plane + 1 };
            if self.planes[plane].valid < self.planes[plane].limit {
                self.planes[plane].valid += 1;
                return plane;
            }
        }
    }

    /// Takes the page of data at `ppn`, if there is one, out of the valid count of its plane.
    fn uncount(&mut self, ppn: u32) {
        if ppn != u32::MAX {
            let plane = self.plane_of(ppn);
            self.planes[plane].valid -= 1;
        }
    }

    /// Number of the frontier for map pages.
    fn map_frontier(&self) -> u8 {
        self.options.placement.role.frontiers() as u8
    }

    /// The frontier for a page of the host.
    #[inline(always)]
    fn host_frontier(&mut self, lpn: u32, context: WriteContext) -> u8 {
        match self.options.placement.role.host_route {
            Route::Fixed(frontier) => frontier,
            Route::Each => self.placement.as_mut().expect("a policy that is asked").of_host(lpn, context),
        }
    }

    /// Opens an erased block; a closed frontier if so many have failed that there is none.
    fn open_block<S: FlashSink>(&mut self, plane: usize, frontier: u8, sink: &mut S) -> Frontier {
        let pages = self.blocks.pages_per_block();
        if S::FAILS && self.blocks.free(plane) == 0 {
            self.stuck = true;
            return Frontier::CLOSED;
        }
        let block = self.blocks.open(plane);
        let role = if frontier == self.map_frontier() { Role::Map } else { Role::Data };
        sink.note(Note::Opened { block, role, frontier });
        let next = block.0 * pages;
        Frontier { next, end: next + pages }
    }

    /// Seals the block of `frontier` if it is full; returns the frontier that remains.
    fn sealed_if_full(&mut self, frontier: Frontier) -> Frontier {
        if !frontier.is_full() {
            return frontier;
        }
        if frontier.end > 0 {
            let block = self.block_of(frontier.end - 1);
            self.blocks.close(block, self.host_pages);
            if self.holds_map(block) {
                let plane = self.plane_of(frontier.end - 1);
                self.planes[plane].map_blocks.insert((self.blocks.valid(block), block));
            }
        }
        Frontier::CLOSED
    }

    /// Makes a full or closed frontier one with a page to write.
    #[inline]
    fn make_writable<S: FlashSink>(&mut self, plane: usize, number: u8, sink: &mut S) -> Frontier {
        let frontier = self.planes[plane].frontiers[usize::from(number)];
        if !frontier.is_full() {
            return frontier;
        }
        self.sealed_if_full(frontier);
        let opened = self.open_block(plane, number, sink);
        self.planes[plane].frontiers[usize::from(number)] = opened;
        opened
    }
}

impl<M: MapModel> Ftl for PageFtl<M> {
    #[inline(always)]
    fn write<S: FlashSink>(&mut self, lpn: Lpn, count: u32, context: WriteContext, sink: &mut S) {
        for page in 0..count {
            self.charge(lpn.0 + page, true, sink);
            // What failed for the page before, or for the map, may leave no room for this one.
            if S::FAILS && self.is_worn_out() {
                return;
            }
            let lpn = lpn.0 + page;
            let plane = self.next_plane(lpn);
            let number = self.host_frontier(lpn, context);
            let mut at = &mut self.planes[plane];
            if at.frontiers[usize::from(number)].is_full() || at.unwritten <= at.tight {
                self.make_room(plane, number, sink);
                if S::FAILS && self.stuck {
                    return self.give_up_write(plane, lpn);
                }
                at = &mut self.planes[plane];
            }
            let frontier = &mut at.frontiers[usize::from(number)];
            let mut ppn = frontier.next;
            frontier.next += 1;
            at.unwritten -= 1;
            self.host_pages += 1;
            let oob = SpareArea { lpn: Lpn(lpn), sequence: self.sequence, role: Role::Data };
            self.sequence += 1;
            sink.program(Ppn(ppn), oob, Source::Host(page), Cause::Host);
            if S::FAILS && sink.failure().is_some() {
                let written = (oob, Source::Host(page), Cause::Host);
                let Some(elsewhere) = self.program_elsewhere(plane, number, ppn, written, sink) else {
                    return self.give_up_write(plane, lpn);
                };
                ppn = elsewhere;
            }
            let old = std::mem::replace(&mut self.l2p[lpn as usize], Entry::of(ppn)).page();
            self.p2l[ppn as usize] = Entry::of(lpn);
            if M::CHARGED {
                self.map.changed(lpn);
            }
            if old != u32::MAX {
                self.blocks.invalidate(old, self.block_of(old));
            } else if !self.is_striped() {
                self.planes[plane].valid += 1;
            }
        }
    }

    #[inline(always)]
    fn read<S: FlashSink>(&mut self, lpn: Lpn, count: u32, cause: Cause, sink: &mut S) -> u32 {
        let mut unmapped = 0;
        for lpn in lpn.0..lpn.0 + count {
            self.charge(lpn, false, sink);
            let ppn = self.l2p[lpn as usize].page();
            if ppn == u32::MAX {
                unmapped += 1;
            } else {
                sink.read(Ppn(ppn), cause);
            }
        }
        unmapped
    }

    fn trim<S: FlashSink>(&mut self, lpn: Lpn, count: u32, sink: &mut S) {
        sink.trimmed(lpn, count, self.sequence);
        self.sequence += 1;
        for page in lpn.index()..lpn.index() + count as usize {
            self.charge(page as u32, true, sink);
            let old = self.l2p[page].page();
            // An entry that was never set takes no memory: a trim of a large, empty drive must not set it either.
            if old == u32::MAX {
                continue;
            }
            self.l2p[page] = Entry::NONE;
            if M::CHARGED {
                self.map.changed(page as u32);
            }
            self.blocks.invalidate(old, self.block_of(old));
            self.uncount(old);
        }
    }

    fn is_worn_out(&self) -> bool {
        let room: u64 = self.planes.iter().map(|plane| u64::from(plane.limit)).sum();
        let overfull = self.is_striped() && self.planes.iter().any(|plane| plane.valid > plane.limit);
        self.stuck || overfull || room < u64::from(self.logical_pages)
    }

    fn keep_for_failures(&mut self, blocks: u32) -> Result<(), String> {
        self.keep_more_unwritten(blocks)
    }

    fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        let ppn = Ppn(self.l2p[lpn.index()].page());
        ppn.is_some().then_some(ppn)
    }

    #[inline(always)]
    fn prefetch(&mut self, lpn: Lpn) {
        prefetch(&self.l2p, lpn.index());
        self.map.prefetch(lpn.0);
    }

    fn free_blocks(&self) -> u32 {
        self.blocks.table().free_in_all()
    }

    fn erase_counts(&self) -> &[u32] {
        self.blocks.table().erase_counts()
    }

    fn occupied(&self) -> Option<GcOccupancy> {
        Some(self.occupied)
    }

    fn memory_bytes(&self) -> u64 {
        (self.l2p.len() + self.p2l.len()) as u64 * 4 + self.blocks.memory_bytes() + self.map.memory_bytes()
    }

    fn mapping_table_bytes(&self) -> u64 {
        self.map.ram_bytes()
    }

    fn cached_entries(&self) -> Vec<CachedEntries> {
        self.map.cached()
    }

    fn preload<S: FlashSink>(&mut self, sink: &mut S) {
        for lpn in 0..self.map.preload().min(self.logical_pages) {
            self.charge(lpn, false, sink);
        }
    }

    fn background<S: FlashSink>(&mut self, plane: u32, free_blocks: u32, pages: u32, sink: &mut S) -> bool {
        self.collect_ahead(plane as usize, free_blocks, pages, sink)
    }

    fn check(&self) -> Result<(), String> {
        self.check_all()
    }

    fn part(&self, planes: u32, seed: u64) -> Option<Self> {
        self.part_of(planes, seed)
    }

    fn take_over(&mut self, part: &Self, share: u32, shares: &Shares) {
        self.take_over_planes(part, share, shares);
    }

    fn taken_over(&mut self, shares: &Shares) {
        shares.mix(&mut self.l2p);
    }

    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        self.archive_all(archive)
    }

    fn recover<S: FlashSink>(&mut self, scan: &dyn Scan, trims: &[Trimmed], sink: &mut S) -> Result<(), String> {
        self.recover_all(scan, trims, sink)
    }
}
