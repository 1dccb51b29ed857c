//! Page mapping: a logical page may be stored in any physical page.
//!
//! ```text
//! write(lpn):  plane = the next in turn with room
//!              while the plane is short of free pages: collect one victim of the plane
//!              append to the plane's open block for the host; map[lpn] = the new ppn; the old copy is invalid
//! collect:     victim = policy; append its valid pages to the plane's open block for GC; erase it
//! ```
//! Invariant: a page of a closed block is valid if and only if `l2p[p2l[ppn]] == ppn`. A validity bit per page repeats
//! this, so that collection need not read the map entries of invalid pages. Cost per victim with `v` valid pages: `v`
//! copies and an erase. Memory: 4 bytes per logical page; 4 bytes and a bit per physical page; 30 bytes per block.
//!
//! A plane is short of free pages when only its spare blocks remain unwritten. It has one spare block if GC shares the
//! host's open block (the classic models). It has two if GC has its own open block, which may have to be replaced while
//! a victim is being emptied.
//!
//! **Planes.** Successive host pages go to successive planes; collection stays within a plane, so that a chip can move
//! pages without the bus. Each plane follows the rules of a device with one plane and needs
//! [`PageOptions::reserve_blocks`]. Host pages skip a plane that has reached its limit of valid pages. The logical
//! pages fit in all planes together, so some plane has room, or the overwritten page leaves room in its plane.
//!
//! **Program units.** Flash may gather several pages in memory and program them with one command. Host pages then go to
//! one plane until they complete a program unit, so that a buffer of one program unit suffices for host pages.
//!
//! With [`Trigger::Partial`] and [`Ftl::background`], a victim is emptied in several steps, with host writes between
//! the steps. There is always room for the remaining pages of the victim: a step begins only while the plane is not
//! short of free pages, and a plane short of free pages finishes its victim first.
//!
//! The map may be too large for RAM. A [`MapModel`] then determines the map pages read and written for each use of a
//! map entry. Map pages are numbered after the logical pages, and mapped, moved and collected like them, in separate
//! blocks. After a victim's pages are copied, each map page with a changed entry is rewritten once (`map_pages.rs`).

mod check;
mod collect;
mod failure;
mod map_pages;
mod options;
mod pad;
mod part;
mod recover;
mod sections;
mod slc;

pub use crate::blocks::Allocation;
pub use options::{Fold, PageOptions, SlcOptions, Trigger, map_reserve_blocks};
pub use slc::SlcCounts;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use ssdlab_core::mem::prefetch;
use ssdlab_core::{Access, Archive, Archived, BlockId, Entry, HugeVec, Lpn, Ppn, Reciprocal};
use ssdlab_nand::{Cause, FlashSink, Note, Role, Scan, Source, SpareArea, Trimmed};

use crate::blocks::ClosedBlocks;
use crate::gc::VictimPolicy;
use crate::map::{CachedEntries, MapModel, WholeMap};
use crate::placement::{Placement, PlacementRules};
use crate::recovery::is_readable;
use crate::{Ftl, GcOccupancy, Shape, Shares, WriteContext};
use collect::Victim;
use sections::Sections;
use slc::SlcCache;

/// Maximum size of a map that stays in the processor's caches. Prefetching such a map would only cost time.
const CACHED_MAP_BYTES: usize = 16 << 20;

/// Maximum number of open blocks per plane in a saved state.
const MOST_OPEN_BLOCKS: usize = 16;

/// Pages of an open block that are still unwritten: from `next` to before `end`, the first page after the block.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct OpenBlock {
    next: u32,
    end: u32,
}

impl OpenBlock {
    /// Value for "no open block".
    const CLOSED: Self = Self { next: 0, end: 0 };

    const fn is_full(self) -> bool {
        self.next == self.end
    }

    const fn left(self) -> u32 {
        self.end - self.next
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Plane {
    /// Open blocks by number: first the open blocks for host and GC, then the open block for map pages.
    open_blocks: [OpenBlock; MOST_OPEN_BLOCKS],
    /// Current victim: a block of data pages (not map pages) that is being emptied.
    victim: Option<Victim>,
    /// Number of unwritten pages in free and open blocks of the plane.
    unwritten: u32,
    /// Threshold: with this many unwritten pages or fewer, the next host write first makes room.
    tight: u32,
    valid: u32,
    /// Maximum number of valid data pages (without map pages) in the plane.
    limit: u32,
    valid_map: u32,
    /// Map pages to be rewritten for the current victim.
    outdated: Vec<u32>,
    /// Closed blocks of map pages, ordered by number of valid pages.
    map_blocks: BTreeSet<(u32, BlockId)>,
}

impl Plane {
    /// Allocates the next page of an open block.
    #[inline(always)]
    fn next_page(&mut self, number: u8) -> u32 {
        let open = &mut self.open_blocks[usize::from(number)];
        open.next += 1;
        self.unwritten -= 1;
        open.next - 1
    }
}

struct Limits {
    /// Maximum number of valid map pages in a plane.
    map_pages: u32,
    /// Number of blocks that stay unwritten for relocated pages.
    spare_blocks: u32,
    /// Partial collection may be due if the plane has at most [`PageFtl::short`] plus this many unwritten pages.
    ahead: u32,
}

/// The page-mapped FTL, by default with its whole map in RAM.
pub struct PageFtl<M = WholeMap> {
    shape: Shape,
    map: M,
    /// Flash page of each logical page, then of each map page.
    l2p: HugeVec<Entry>,
    p2l: HugeVec<Entry>,
    blocks: ClosedBlocks,
    block_of: Reciprocal,
    plane_of: Reciprocal,
    /// Number of pages per program unit, as a divisor. None if a program unit has one page.
    unit_of: Option<Reciprocal>,
    /// True if a power loss clears incomplete program units (see [`Ftl::complete_units_before_erases`]).
    is_volatile: bool,
    options: PageOptions,
    policy: Box<dyn VictimPolicy>,
    /// Chooses the open block of each page; None if all host pages share one open block.
    placement: Option<Box<dyn Placement>>,
    planes: Vec<Plane>,
    /// Plane to which the next host page goes, unless that plane is full. With program units of several pages, the
    /// plane to which the previous host page went.
    turn: usize,
    map_turn: usize,
    limits: Limits,
    slc: Option<Box<SlcCache>>,
    /// Maps of the smaller device that was preconditioned instead of this device (see `sections.rs`); None without such
    /// a device. Map entries that have not been set since then are computed from these maps.
    sections: Option<Box<Sections>>,
    /// True if map entries are prefetched, because the map is too large for the processor's caches.
    prefetching: bool,
    host_pages: u64,
    /// Stream of the host page that is being written. Set only in code that may open a block.
    writer: u16,
    /// Occupancy at the collections of all victims with data, summed since the device was built or loaded.
    occupied: GcOccupancy,
    sequence: u64,
    /// Blocks in which a program has failed; they are emptied and then retired.
    failing: BTreeSet<BlockId>,
    /// True if more blocks have failed at once than were reserved for failures; no more programs are then possible.
    stuck: bool,
}

impl PageFtl {
    /// Returns an erased device with the whole map in RAM.
    pub fn new(shape: Shape, options: PageOptions, seed: u64) -> Result<Self, String> {
        Self::with_map(shape, options, WholeMap { logical_pages: shape.logical_pages }, seed)
    }
}

impl<M: MapModel> PageFtl<M> {
    /// Returns an erased device with the given map. Fails if the blocks cannot hold the logical and map pages plus the
    /// reserve of collection, or do not divide among the planes; if page numbers exceed 32 bits; or if the options
    /// conflict.
    pub fn with_map(shape: Shape, options: PageOptions, map: M, seed: u64) -> Result<Self, String> {
        let mut ftl = Self::to_load(shape, options, map, seed)?;
        let mapped = shape.logical_pages + ftl.map.pages();
        ftl.l2p = HugeVec::zeros(mapped as usize);
        ftl.p2l = HugeVec::zeros((shape.blocks * shape.pages_per_block) as usize);
        Ok(ftl)
    }

    /// Creates the device without memory for its map. The caller must load a saved state next.
    pub fn to_load(shape: Shape, options: PageOptions, map: M, seed: u64) -> Result<Self, String> {
        let Shape { logical_pages, blocks, pages_per_block, planes, program_unit, .. } = shape;
        if planes == 0 || !blocks.is_multiple_of(planes) {
            return Err(format!("{blocks} blocks cannot be spread evenly over {planes} planes"));
        }
        if program_unit == 0 || !pages_per_block.is_multiple_of(program_unit) {
            return Err(format!(
                "a block of {pages_per_block} pages cannot be divided into program units of {program_unit} pages"
            ));
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
            return Err(format!("{physical} physical pages exceed the maximum of {}", u32::MAX - 1));
        }
        options.check(&shape)?;
        if let Some(cache) = &options.slc {
            cache.check(&shape)?;
            if M::CHARGED {
                return Err("an SLC cache needs the whole map in RAM".into());
            }
        }
        let limit = (blocks - reserve_blocks) / planes * pages_per_block;
        let plane = |_| Plane {
            open_blocks: [OpenBlock::CLOSED; MOST_OPEN_BLOCKS],
            victim: None,
            unwritten: (physical / u64::from(planes)) as u32,
            tight: 0,
            valid: 0,
            limit,
            valid_map: 0,
            outdated: Vec::new(),
            map_blocks: BTreeSet::new(),
        };
        let by_page = options.placement.info.role.by_page.as_ref();
        let mut ftl = Self {
            shape,
            l2p: HugeVec::zeros(0),
            p2l: HugeVec::zeros(0),
            blocks: ClosedBlocks::new(blocks, planes, pages_per_block, options.allocation),
            block_of: Reciprocal::new(pages_per_block),
            plane_of: Reciprocal::new((physical / u64::from(planes)) as u32),
            unit_of: (program_unit > 1).then(|| Reciprocal::new(program_unit)),
            is_volatile: false,
            options,
            policy: (options.gc.info.role)(&options.gc, seed),
            placement: by_page.map(|by_page| (by_page.build)(&options.placement.settings, logical_pages)),
            planes: (0..planes).map(plane).collect(),
            turn: 0,
            map_turn: 0,
            limits: Limits {
                map_pages: map.pages().div_ceil(planes),
                spare_blocks: options.open_blocks(),
                ahead: match options.trigger {
                    // A plane with fewer than `low` free blocks has unwritten pages only in these free blocks and in
                    // partly written open blocks.
                    Trigger::Partial { low, .. } => (low + u32::from(M::CHARGED) - 1) * pages_per_block,
                    Trigger::Victim | Trigger::Batch { .. } => 0,
                },
            },
            slc: None,
            sections: None,
            map,
            prefetching: logical_pages as usize * size_of::<u32>() > CACHED_MAP_BYTES,
            host_pages: 0,
            writer: 0,
            occupied: GcOccupancy::default(),
            sequence: 0,
            failing: BTreeSet::new(),
            stuck: false,
        };
        ftl.blocks.watch(ftl.policy.uses());
        if let Some(options) = ftl.options.slc {
            let cache = SlcCache::new(options, &shape, |plane| ftl.blocks.take(plane));
            ftl.slc = Some(Box::new(cache));
            ftl.planes.iter_mut().for_each(|plane| plane.unwritten -= options.own_blocks * pages_per_block);
        }
        for plane in 0..ftl.planes.len() {
            ftl.planes[plane].tight = ftl.tight(plane);
        }
        Ok(ftl)
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

    /// Chooses the plane for host page `lpn` and, with several planes, counts the page as valid in that plane.
    #[inline(always)]
    fn next_plane<S: FlashSink>(&mut self, lpn: u32, stream: u16, sink: &mut S) -> usize {
        match self.unit_of {
            _ if !self.is_striped() => 0,
            None => self.rotate(lpn),
            Some(unit_of) => {
                self.writer = stream;
                self.rotate_by_units(lpn, unit_of, sink)
            }
        }
    }

    /// Not inlined, to keep the write path short.
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

    /// Decrements the valid count of the plane that holds the data page `ppn`; does nothing if there is no such page.
    fn uncount(&mut self, ppn: u32) {
        if ppn != u32::MAX {
            let plane = self.plane_of(ppn);
            self.planes[plane].valid -= 1;
        }
    }

    /// Returns the number of the open block that receives map pages.
    fn map_number(&self) -> u8 {
        self.options.open_blocks() as u8
    }

    /// Opens an erased block for pages of the stream `owner`, unless failures have left no erased block.
    fn open_block<S: FlashSink>(&mut self, plane: usize, number: u8, owner: u16, sink: &mut S) {
        if sink.fails() && self.blocks.free(plane) == 0 {
            self.stuck = true;
            return;
        }
        let block = self.blocks.open(plane);
        self.blocks.set_owner(block, owner);
        let role = if number == self.map_number() { Role::Map } else { Role::Data };
        sink.note(Note::Opened { block, role, number });
        let next = block.0 * self.blocks.pages_per_block();
        let end = next + self.blocks.pages_per_block();
        self.planes[plane].open_blocks[usize::from(number)] = OpenBlock { next, end };
    }

    fn close_if_full(&mut self, plane: usize, number: u8) {
        let open = self.planes[plane].open_blocks[usize::from(number)];
        if open.end > 0 && open.is_full() {
            let block = self.block_of(open.end - 1);
            self.blocks.close(block, self.host_pages);
            if self.holds_map(block) {
                self.planes[plane].map_blocks.insert((self.blocks.valid(block), block));
            }
            self.planes[plane].open_blocks[usize::from(number)] = OpenBlock::CLOSED;
        }
    }

    /// Returns the flash page of a logical page; `u32::MAX` if the page is unmapped.
    #[inline(always)]
    fn ppn(&self, lpn: u32) -> u32 {
        let ppn = self.l2p[lpn as usize].page();
        if ppn == u32::MAX && self.sections.is_some() { self.taken_over_ppn(lpn) } else { ppn }
    }

    /// Maps host page `lpn`, which was written to `ppn` in this plane.
    #[inline(always)]
    fn map_host_page(&mut self, plane: usize, lpn: u32, ppn: u32) {
        let old = self.ppn(lpn);
        self.l2p[lpn as usize] = Entry::of(ppn);
        self.p2l[ppn as usize] = Entry::of(lpn);
        self.map.placed(lpn, ppn);
        if M::CHARGED {
            self.map.changed(lpn);
        }
        if old != u32::MAX {
            self.blocks.invalidate(old, self.block_of(old), self.host_pages);
        } else if !self.is_striped() {
            self.planes[plane].valid += 1;
        }
    }

    /// Returns the open block with the given number, or a new block of stream `owner` if that block is full.
    #[inline]
    fn make_writable<S: FlashSink>(&mut self, plane: usize, number: u8, owner: u16, sink: &mut S) -> OpenBlock {
        if self.planes[plane].open_blocks[usize::from(number)].is_full() {
            self.close_if_full(plane, number);
            self.open_block(plane, number, owner, sink);
        }
        self.planes[plane].open_blocks[usize::from(number)]
    }

    #[inline(always)]
    fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence - 1
    }
}

impl<M: MapModel> Ftl for PageFtl<M> {
    #[inline(always)]
    fn write<S: FlashSink>(&mut self, lpn: Lpn, count: u32, context: WriteContext, sink: &mut S) {
        for page in 0..count {
            self.charge(lpn.0 + page, true, sink);
            // If programs of the previous page or of a map page failed, there may be no room left for this page.
            if sink.fails() && self.is_worn_out() {
                return;
            }
            let lpn = lpn.0 + page;
            let plane = self.next_plane(lpn, context.stream, sink);
            if self.slc.is_some() && self.write_cached(plane, lpn, page, context.stream, sink) {
                continue;
            }
            let number = match &mut self.placement {
                None => PlacementRules::HOST,
                Some(placement) => placement.written(Lpn(lpn), context, self.host_pages),
            };
            let mut at = &mut self.planes[plane];
            if at.open_blocks[usize::from(number)].is_full() || at.unwritten <= at.tight {
                self.writer = context.stream;
                self.make_room(plane, number, sink);
                if sink.fails() && self.stuck {
                    return self.give_up_write(plane, lpn);
                }
                at = &mut self.planes[plane];
            }
            let mut ppn = at.next_page(number);
            self.host_pages += 1;
            let oob = SpareArea { lpn: Lpn(lpn), sequence: self.next_sequence(), role: Role::Data };
            sink.program(Ppn(ppn), oob, Source::Host(page), Cause::Host);
            if sink.fails() && sink.failure().is_some() {
                let written = (oob, Source::Host(page), Cause::Host);
                let Some(elsewhere) = self.program_elsewhere(plane, number, ppn, written, sink) else {
                    return self.give_up_write(plane, lpn);
                };
                ppn = elsewhere;
            }
            self.map_host_page(plane, lpn, ppn);
        }
    }

    #[inline(always)]
    fn read<S: FlashSink>(&mut self, lpn: Lpn, count: u32, cause: Cause, sink: &mut S) -> u32 {
        let mut unmapped = 0;
        for lpn in lpn.0..lpn.0 + count {
            self.charge(lpn, false, sink);
            let ppn = self.ppn(lpn);
            if ppn == u32::MAX {
                unmapped += 1;
            } else {
                if !self.map.finds(lpn, ppn) {
                    sink.read(Ppn(ppn), Cause::MapLoad);
                }
                sink.read(Ppn(ppn), cause);
            }
        }
        unmapped
    }

    fn trim<S: FlashSink>(&mut self, lpn: Lpn, count: u32, sink: &mut S) {
        sink.trimmed(lpn, count, self.next_sequence());
        for page in lpn.index()..lpn.index() + count as usize {
            self.charge(page as u32, true, sink);
            let old = self.ppn(page as u32);
            // Entries that were never set take no memory, so a trim of a large, empty drive must not set entries.
            if old == u32::MAX {
                continue;
            }
            self.l2p[page] = Entry::NONE;
            self.forget_taken_over(page as u32);
            if M::CHARGED {
                self.map.changed(page as u32);
            }
            self.blocks.invalidate(old, self.block_of(old), self.host_pages);
            self.uncount(old);
        }
    }

    fn is_worn_out(&self) -> bool {
        let room: u64 = self.planes.iter().map(|plane| u64::from(plane.limit)).sum();
        let overfull = self.is_striped() && self.planes.iter().any(|plane| plane.valid > plane.limit);
        self.stuck || overfull || room < u64::from(self.shape.logical_pages)
    }

    fn keep_for_failures(&mut self, blocks: u32) -> Result<(), String> {
        if self.slc.is_some() {
            return Err("an SLC cache cannot handle failing flash blocks".into());
        }
        self.keep_more_unwritten(blocks)
    }

    fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        let ppn = Ppn(self.ppn(lpn.0));
        ppn.is_some().then_some(ppn)
    }

    #[inline(always)]
    fn prefetch(&mut self, lpn: Lpn) {
        prefetch(&self.l2p, lpn.index());
        self.map.prefetch(lpn.0);
    }

    #[inline]
    fn prefetch_copy(&self, lpn: Lpn) {
        if self.prefetching {
            self.blocks.prefetch(self.ppn(lpn.0));
        }
    }

    fn free_blocks(&self) -> u32 {
        self.blocks.table().free_in_all()
    }

    fn erase_counts(&self) -> &[u32] {
        self.blocks.table().erase_counts()
    }

    fn slc_blocks(&self) -> Vec<BlockId> {
        let written = |cache: &'_ SlcCache| (0..self.planes.len()).flat_map(|plane| cache.written(plane)).collect();
        self.slc.as_deref().map_or_else(Vec::new, written)
    }

    fn slc_counts(&self) -> Option<&SlcCounts> {
        self.slc.as_ref().map(|cache| &cache.counts)
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
        for lpn in 0..self.map.preload().min(self.shape.logical_pages) {
            self.charge(lpn, false, sink);
        }
    }

    fn background<S: FlashSink>(&mut self, plane: u32, free_blocks: u32, pages: u32, sink: &mut S) -> bool {
        let plane = plane as usize;
        self.fold_when_idle(plane, pages, sink) || self.collect_ahead(plane, free_blocks, pages, sink)
    }

    fn complete_units<S: FlashSink>(&mut self, everything: bool, sink: &mut S) {
        if let Some(unit_of) = self.unit_of {
            let last = if everything { self.map_number() } else { PlacementRules::HOST };
            for plane in 0..self.planes.len() {
                (PlacementRules::HOST..=last).for_each(|number| self.pad(plane, number, unit_of, sink));
                self.pad_cache(plane, sink);
            }
        }
    }

    fn complete_units_before_erases(&mut self) {
        self.is_volatile = self.unit_of.is_some();
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

    fn section(&self, count: u32, seed: u64) -> Option<Self> {
        self.section_of(count, seed)
    }

    fn take_over_sections(&mut self, part: Self, shares: Shares) {
        self.take_over_all(part, shares);
    }

    /// Saves or loads the fields that the configuration does not determine and that affect later operations.
    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        self.complete_maps();
        let Self {
            shape,
            map,
            l2p,
            p2l,
            blocks,
            block_of: _,
            plane_of: _,
            unit_of: _,
            is_volatile: _,
            options: _,
            policy,
            placement,
            planes,
            turn,
            map_turn,
            limits: Limits { map_pages: _, spare_blocks, ahead: _ },
            slc,
            sections: _,
            prefetching: _,
            host_pages,
            writer: _,
            occupied: _,
            sequence,
            failing,
            stuck,
        } = self;
        map.archive(archive)?;
        let mapped = shape.logical_pages + map.pages();
        archive.huge(l2p, mapped as usize, Access::AtRandom)?;
        archive.huge(p2l, (shape.blocks * shape.pages_per_block) as usize, Access::InRuns)?;
        blocks.archive(archive)?;
        policy.archive(archive)?;
        placement.iter_mut().try_for_each(|placement| placement.archive(archive))?;
        archive.value(planes)?;
        archive.value(turn)?;
        archive.value(map_turn)?;
        archive.value(spare_blocks)?;
        archive.value(host_pages)?;
        archive.value(sequence)?;
        archive.value(failing)?;
        archive.value(stuck)?;
        slc.iter_mut().try_for_each(|cache| cache.archive(archive))
    }

    /// Visits closed blocks in the order in which they were closed, then open blocks.
    fn programmed(&self, visit: &mut dyn FnMut(Ppn, Lpn, Role)) -> Result<u64, String> {
        let (pages, table) = (self.blocks.pages_per_block(), self.blocks.table());
        let mut programmed = vec![pages; table.len() as usize];
        table.free_blocks().into_iter().for_each(|block| programmed[block as usize] = 0);
        let mut open: Vec<u32> = Vec::new();
        for at in self.planes.iter().flat_map(|plane| plane.open_blocks).filter(|open| open.end > 0) {
            let block = self.block_of(at.end - 1).0;
            programmed[block as usize] -= at.left();
            open.push(block);
        }
        let mut order: Vec<u32> = (0..table.len()).filter(|block| !open.contains(block)).collect();
        order.sort_by_key(|&block| self.blocks.plane(self.plane_of(block * pages)).closed_at(BlockId(block)));
        for block in order.into_iter().chain(open) {
            for ppn in block * pages..block * pages + programmed[block as usize] {
                let lpn = self.p2l[ppn as usize].page();
                let role = if !is_readable(lpn) {
                    Role::Padding
                } else if lpn < self.shape.logical_pages {
                    Role::Data
                } else {
                    Role::Map
                };
                visit(Ppn(ppn), Lpn(lpn), role);
            }
        }
        Ok(self.sequence)
    }

    fn recover<S: FlashSink>(&mut self, scan: &dyn Scan, trims: &[Trimmed], sink: &mut S) -> Result<(), String> {
        if self.slc.is_some() {
            return Err("a drive with an SLC cache cannot recover from a power loss".into());
        }
        self.recover_all(scan, trims, sink)
    }
}
