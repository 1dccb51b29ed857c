//! Garbage collection of the page-mapped FTL: starts the collection of a plane, and empties victims.

use serde::{Deserialize, Serialize};
use ssdlab_core::mem::prefetch;
use ssdlab_core::{BlockId, Entry, Lpn, Ppn};
use ssdlab_nand::{Cause, FlashSink, Note, Role, SpareArea, VictimReason};

use super::{PageFtl, Trigger};
use crate::GcOccupancy;
use crate::map::MapModel;

/// Maximum number of victim pages handled together, while the map entries of the next pages are prefetched.
const WINDOW: u32 = u64::BITS;

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Victim {
    pub(super) block: BlockId,
    /// Next page of the victim to examine.
    pub(super) next: u32,
    /// Number of the first page after the victim block.
    pub(super) end: u32,
}

impl Victim {
    pub(super) const fn new(block: BlockId, pages_per_block: u32) -> Self {
        let next = block.0 * pages_per_block;
        Self { block, next, end: next + pages_per_block }
    }
}

impl<M: MapModel> PageFtl<M> {
    /// Collects until the next host page can be written to the plane. Not inlined, because collection is rare.
    #[cold]
    #[inline(never)]
    pub(super) fn make_room<S: FlashSink>(&mut self, plane: usize, number: u8, sink: &mut S) {
        let for_map = self.blocks_for_map(plane);
        match self.options.trigger {
            Trigger::Victim => self.end_shortage(plane, sink),
            Trigger::Batch { low, high } => {
                // A plane may be short of free pages between batches, but not while a victim is being emptied.
                if self.planes[plane].victim.is_some() {
                    self.end_shortage(plane, sink);
                }
                let full = self.planes[plane].open_blocks[usize::from(number)].is_full();
                if full && self.blocks.free(plane) < low + for_map {
                    self.collect_while(plane, sink, |ftl| ftl.blocks.free(plane) < high + ftl.blocks_for_map(plane));
                }
            }
            Trigger::Partial { low, step, every } => {
                let is_due = self.planes[plane].open_blocks[usize::from(number)].left().is_multiple_of(every);
                if is_due && self.blocks.free(plane) < low + for_map && self.may_linger(plane) {
                    self.reclaim(plane, step, sink);
                }
                self.end_shortage(plane, sink);
            }
        }
        if sink.fails() && !self.failing.is_empty() {
            self.rescue(plane, sink);
        }
        self.make_writable(plane, number, self.writer, sink);
    }

    /// Collects until the plane is no longer short of free pages.
    pub(super) fn end_shortage<S: FlashSink>(&mut self, plane: usize, sink: &mut S) {
        self.collect_while(plane, sink, |ftl| ftl.planes[plane].unwritten <= ftl.short(plane));
    }

    pub(super) fn collect_while<S: FlashSink>(&mut self, plane: usize, sink: &mut S, short: impl Fn(&Self) -> bool) {
        // The reserve guarantees that a victim with an invalid page is found in time. Limiting the attempts makes a
        // broken victim policy fail with an error instead of looping forever.
        let mut patience = 1_000 + 64 * u64::from(self.blocks.table().len());
        while short(self) && !(sink.fails() && self.stuck) {
            let nothing_left = self.planes[plane].victim.is_none() && self.blocks.plane(plane).closed() == 0;
            if sink.fails() && (nothing_left || patience == 0) {
                // Too many blocks have failed, so collection can no longer free pages.
                self.stuck = true;
                return;
            }
            assert!(
                patience > 0,
                "victim policy {} keeps choosing blocks without invalid pages",
                self.options.gc.info.name
            );
            self.reclaim(plane, u32::MAX, sink);
            patience -= 1;
        }
    }

    /// Copies up to `pages` pages out of a block in order to free it. Prefers a block that the SLC cache has borrowed,
    /// unless a victim is already being emptied; otherwise uses a victim.
    fn reclaim<S: FlashSink>(&mut self, plane: usize, pages: u32, sink: &mut S) {
        let folded = self.planes[plane].victim.is_none() && self.fold_borrowed(plane, pages, sink);
        if !folded {
            self.collect(plane, pages, sink, Self::choose);
        }
    }

    pub(super) fn choose(&mut self, plane: usize) -> (BlockId, VictimReason) {
        let view = self.blocks.plane(plane).with_map_blocks(&self.planes[plane].map_blocks);
        let name = self.options.gc.info.name;
        let victim = self.policy.choose(view, self.host_pages);
        let victim = victim.unwrap_or_else(|| panic!("victim policy {name} returned no block"));
        let is_closed = view.blocks().contains(&victim.0) && view.is_closed(victim);
        assert!(
            is_closed,
            "victim policy {name} returned block {}, which is not a closed block of the plane",
            victim.0
        );
        self.blocks.forget_changes(plane);
        (victim, VictimReason::Policy)
    }

    /// Collects garbage in a plane in advance, moving about `pages` pages. Does nothing if the plane has `free_blocks`
    /// more free blocks than the threshold below which the host must wait. Returns false if no work remains.
    pub(super) fn collect_ahead<S: FlashSink>(
        &mut self,
        plane: usize,
        free_blocks: u32,
        pages: u32,
        sink: &mut S,
    ) -> bool {
        let start = match self.options.trigger {
            Trigger::Victim => self.limits.spare_blocks,
            Trigger::Batch { low, .. } | Trigger::Partial { low, .. } => low,
        };
        if sink.fails() && self.stuck {
            return false;
        }
        let goal = start.saturating_add(self.blocks_for_map(plane)).saturating_add(free_blocks);
        let worthwhile = self.planes[plane].victim.is_some() || self.gain(plane).is_some();
        if self.blocks.free(plane) >= goal || !worthwhile {
            return false;
        }
        self.collect(plane, pages.max(1), sink, |ftl, plane| {
            let gain = ftl.gain(plane).expect("the plane has a block with invalid pages");
            if !ftl.may_linger(plane) {
                return (gain, VictimReason::Yield);
            }
            // The policy may choose a block without invalid pages, which would free no page.
            let (choice, reason) = ftl.choose(plane);
            if ftl.has_invalid(choice) { (choice, reason) } else { (gain, VictimReason::Yield) }
        });
        true
    }

    /// Returns a closed block of the plane that has invalid pages and may be emptied now.
    fn gain(&self, plane: usize) -> Option<BlockId> {
        let least =
            if self.may_linger(plane) { self.blocks.plane(plane).least_valid() } else { self.least_map_block(plane) };
        least.filter(|&block| self.has_invalid(block))
    }

    pub(super) fn has_invalid(&self, block: BlockId) -> bool {
        self.blocks.valid(block) < self.blocks.pages_per_block()
    }

    /// Copies up to `pages` valid pages of the plane's victim, and erases the victim once it is empty. If the plane has
    /// no victim, chooses one first. A block of map pages is emptied in one step.
    fn collect<S: FlashSink>(
        &mut self,
        plane: usize,
        pages: u32,
        sink: &mut S,
        choose: impl FnOnce(&mut Self, usize) -> (BlockId, VictimReason),
    ) {
        // Closes full open blocks. On the smallest devices, these may be the only candidates for collection.
        (0..=self.map_number()).for_each(|number| self.close_if_full(plane, number));
        let due = self.map_victim(plane);
        if due.is_some() || self.planes[plane].victim.is_none() {
            let (block, reason) = match due {
                Some(block) => (block, VictimReason::MapFull),
                None => choose(self, plane),
            };
            let victim = self.begin_victim(plane, block, reason, sink);
            if self.holds_map(block) {
                return self.empty_map_block(plane, victim, sink);
            }
            self.planes[plane].victim = Some(victim);
        }
        self.copy_from_victim(plane, pages, sink);
    }

    /// Begins to collect a closed block.
    pub(super) fn begin_victim<S: FlashSink>(
        &mut self,
        plane: usize,
        block: BlockId,
        reason: VictimReason,
        sink: &mut S,
    ) -> Victim {
        // A victim policy may also choose a block of map pages.
        if !self.holds_map(block) {
            let occupied = self.occupied_before(plane, block);
            self.occupied += occupied;
        }
        sink.note(Note::Victim { block, valid: self.blocks.valid(block), choice: reason });
        self.complete_block(block);
        self.blocks.withdraw(block);
        Victim::new(block, self.blocks.pages_per_block())
    }

    /// Returns the plane's occupancy before and after the collection of `victim`, a block of data pages. If a host page
    /// waits for the collection, it counts as valid in place of its old version.
    fn occupied_before(&self, plane: usize, victim: BlockId) -> GcOccupancy {
        let (at, blocks) = (&self.planes[plane], self.blocks.plane(plane).blocks());
        let pages = self.blocks.pages_per_block();
        let of_map = at.open_blocks[usize::from(self.map_number())];
        let map_pages = if of_map.end > 0 { pages - of_map.left() } else { 0 } + at.map_blocks.len() as u32 * pages;
        let bad = self.blocks.table().bad().filter(|block| blocks.contains(&block.0)).count() as u32;
        let cache_pages = self.slc.as_ref().map_or(0, |cache| cache.native_pages(plane));
        let written = u64::from((blocks.len() as u32 - bad) * pages - at.unwritten - map_pages - cache_pages);
        let yielded = u64::from(pages - self.blocks.valid(victim));
        GcOccupancy {
            victims: 1,
            before: written,
            after: written - yielded,
            valid: (at.valid - self.cached_pages(plane)).into(),
        }
    }

    fn copy_from_victim<S: FlashSink>(&mut self, plane: usize, pages: u32, sink: &mut S) {
        let at = &self.planes[plane];
        let mut victim = at.victim.expect("the plane has a victim");
        let valid = self.blocks.valid(victim.block);
        let copies = valid.min(pages);
        let number = self.options.placement.info.role.gc();
        self.move_pages(plane, &mut victim, copies, number, Cause::Gc, sink);
        let at = &mut self.planes[plane];
        if copies < valid {
            at.victim = Some(victim);
            return;
        }
        at.victim = Some(Victim { next: victim.end, ..victim });
        self.rewrite_outdated(plane, sink);
        if sink.fails() && self.stuck {
            return;
        }
        self.planes[plane].victim = None;
        self.erase(plane, victim.block, Cause::Gc, sink);
    }

    /// Moves the next `count` valid pages of `victim` to open block `number`, or fewer if no block can be opened.
    pub(super) fn move_pages<S: FlashSink>(
        &mut self,
        plane: usize,
        victim: &mut Victim,
        count: u32,
        number: u8,
        cause: Cause,
        sink: &mut S,
    ) {
        let mut left = count;
        while left > 0 {
            assert!(victim.next < victim.end, "block {} has fewer valid pages than its valid count", victim.block);
            let window = self.window(victim.next, victim.end);
            if self.prefetching {
                self.fetch_entries(victim);
            }
            let later = without_lowest(window.valid, left);
            let wanted = Window { valid: window.valid ^ later, ..window };
            let unplaced = self.place(plane, number, wanted, cause, sink).valid;
            victim.next = victim.end.min(window.first + (later | unplaced).trailing_zeros());
            let moved = self.blocks.move_out(victim.block, window.first..victim.next);
            self.planes[plane].unwritten -= moved;
            left -= moved;
            if sink.fails() && unplaced != 0 {
                break;
            }
        }
    }

    /// Returns the window of victim pages that starts at `first` and contains only pages below `end`.
    #[inline(always)]
    fn window(&self, first: u32, end: u32) -> Window {
        Window { first, valid: self.blocks.valid_among(first, WINDOW.min(end - first)) }
    }

    /// Prefetches the map entries of the next window, and of the first window at the start of a victim.
    fn fetch_entries(&self, victim: &Victim) {
        let &Victim { next, end, .. } = victim;
        let begins = next == end - self.blocks.pages_per_block();
        for first in [begins.then_some(next), Some(end.min(next + WINDOW))].into_iter().flatten() {
            for ppn in self.window(first, end).ppns() {
                prefetch(&self.l2p, self.p2l[ppn as usize].page() as usize);
            }
        }
    }

    /// Copies pages to the open blocks that the placement policy chooses; map pages, and all pages without such a
    /// policy, to open block `number`. Returns the pages that were not copied because failures left no room.
    #[inline]
    fn place<S: FlashSink>(
        &mut self,
        plane: usize,
        number: u8,
        mut pages: Window,
        cause: Cause,
        sink: &mut S,
    ) -> Window {
        if self.placement.is_none() || cause == Cause::MapGc {
            return self.append(plane, number, pages, cause, sink);
        }
        for ppn in pages.ppns() {
            let lpn = Lpn(self.p2l[ppn as usize].page());
            let Some(placement) = &mut self.placement else { break };
            let number = placement.relocated(lpn, self.host_pages);
            if self.append(plane, number, Window { first: ppn, valid: 1 }, cause, sink).valid != 0 {
                break;
            }
            pages.valid &= pages.valid - 1;
        }
        pages
    }

    /// Copies pages to an open block. Returns the pages that were not copied because failures left no room.
    #[inline]
    fn append<S: FlashSink>(
        &mut self,
        plane: usize,
        number: u8,
        mut pages: Window,
        cause: Cause,
        sink: &mut S,
    ) -> Window {
        while pages.valid != 0 {
            let open = self.make_writable(plane, number, self.blocks.owner_of_page(pages.first), sink);
            if sink.fails() && self.stuck {
                break;
            }
            let now = Window { valid: pages.valid ^ without_lowest(pages.valid, open.left()), ..pages };
            let copied = self.copy_pages(now, open.next, cause, sink);
            if M::CHARGED && cause == Cause::Gc {
                for ppn in copied.ppns() {
                    self.planes[plane].outdated.extend(self.map.moved(self.p2l[ppn as usize].page()));
                }
            }
            self.planes[plane].open_blocks[usize::from(number)].next += copied.valid.count_ones();
            pages.valid ^= copied.valid;
            if sink.fails() && copied.valid != now.valid {
                let failed = self.planes[plane].next_page(number);
                let lpn = pages.ppns().next().map(|ppn| self.p2l[ppn as usize].page());
                self.close_failing(plane, number, failed, lpn.expect("the program failed for at least one page"));
            }
        }
        pages
    }

    /// Copies pages to flash page `to` and the next pages. Returns the pages copied before a program failed, or all.
    #[inline]
    fn copy_pages<S: FlashSink>(&mut self, pages: Window, to: u32, cause: Cause, sink: &mut S) -> Window {
        let mut sequence = self.sequence;
        let role = if cause == Cause::MapGc { Role::Map } else { Role::Data };
        let mut copied = pages;
        // A separate loop without bounds checks: on flash that only counts, the compiler reduces the loop to a sum.
        for (to, from) in (to..).zip(pages.ppns()) {
            let lpn = Lpn(self.p2l.get(from as usize).map_or(u32::MAX, |held| held.page()));
            sink.copy(Ppn(from), Ppn(to), SpareArea { lpn, sequence, role }, cause);
            sequence += 1;
            if sink.fails() && sink.failure().is_some() {
                copied.valid = pages.valid & ((1 << (from - pages.first)) - 1);
                break;
            }
        }
        self.sequence = sequence;
        // The loop ends after the last valid page of the window and needs no counter.
        let (mut left, mut to) = (copied.valid, to);
        while left != 0 {
            let held = self.p2l[(copied.first + left.trailing_zeros()) as usize];
            self.p2l[to as usize] = held;
            self.l2p[held.page() as usize] = Entry::of(to);
            if held.page() < self.shape.logical_pages {
                self.map.placed(held.page(), to);
            }
            to += 1;
            left &= left - 1;
        }
        copied
    }

    /// Erases a victim without valid pages.
    pub(super) fn erase<S: FlashSink>(&mut self, plane: usize, block: BlockId, cause: Cause, sink: &mut S) {
        self.complete_units_before_erase(plane, cause, sink);
        sink.barrier();
        sink.erase(block, cause);
        if sink.fails() && sink.failure().is_some() {
            return self.retire(plane, block, sink);
        }
        self.blocks.release(block);
        self.planes[plane].unwritten += self.blocks.pages_per_block();
    }
}

/// A window of up to [`WINDOW`] successive pages.
#[derive(Clone, Copy)]
struct Window {
    first: u32,
    /// Validity bits of the window's pages; the first page has the lowest bit.
    valid: u64,
}

impl Window {
    /// Returns the window's valid pages. Their number is known, so a loop that ignores the pages compiles to a sum.
    #[inline(always)]
    fn ppns(self) -> impl Iterator<Item = u32> {
        let mut valid = self.valid;
        (0..valid.count_ones()).map(move |_| {
            let ppn = self.first + valid.trailing_zeros();
            valid &= valid.wrapping_sub(1);
            ppn
        })
    }
}

/// Returns `bits` without its `count` lowest set bits.
#[inline(always)]
fn without_lowest(mut bits: u64, count: u32) -> u64 {
    if count >= WINDOW || count >= bits.count_ones() {
        return 0;
    }
    for _ in 0..count {
        bits &= bits - 1;
    }
    bits
}
