//! Map pages of the page-mapped FTL: the blocks to which map pages are written, and their limits.
//!
//! Moving the pages of a victim changes their map entries. If all these entries are in different map pages, collection
//! may program more map pages than it frees pages. Old versions of map pages then accumulate. The plane may reach its
//! limit of map-page blocks, or have too few free blocks to collect a victim with data. In these cases, the block of
//! map pages with the fewest valid pages is collected first, which changes no map entries. Without the limit,
//! collection might not end on small devices or with FIFO victims.
//!
//! With several planes, map pages are written to each plane in turn, regardless of the victim's plane. Each plane
//! accepts at most an equal share of all valid map pages; further map pages go to the next plane. A plane keeps enough
//! pages unwritten for the part of its share that it has not received yet. Therefore data pages never use the space of
//! map pages, and a plane without a spare free block has old map pages to collect.

use ssdlab_core::{BlockId, Entry, Lpn, Ppn};
use ssdlab_nand::{Cause, FlashSink, Note, Role, Source, SpareArea, VictimReason};

use super::PageFtl;
use super::collect::Victim;
use super::options::{closed_map_blocks, short_blocks};
use crate::map::{Lookup, MapModel};

/// Number of free blocks that the collection of a victim may need: one for relocated pages, one for map pages.
const VICTIM_BLOCKS: u32 = 2;

impl<M: MapModel> PageFtl<M> {
    /// True if a written block holds map pages, and therefore no other pages: the first page shows it.
    pub(super) fn holds_map(&self, block: BlockId) -> bool {
        M::CHARGED
            && self.p2l[block.index() * self.blocks.pages_per_block() as usize].page() >= self.shape.logical_pages
    }

    /// Returns the number of blocks of the plane that must stay unwritten to guarantee room for map pages.
    pub(super) fn blocks_for_map(&self, plane: usize) -> u32 {
        if !M::CHARGED {
            return 0;
        }
        let missing = if self.is_striped() { self.limits.map_pages - self.planes[plane].valid_map } else { 0 };
        short_blocks(self.planes.len() as u32) + missing.div_ceil(self.blocks.pages_per_block())
    }

    /// Returns the largest number of unwritten pages with which the host must wait for collection in the plane.
    pub(super) fn short(&self, plane: usize) -> u32 {
        (self.limits.spare_blocks + self.blocks_for_map(plane)) * self.blocks.pages_per_block()
    }

    /// Returns the largest number of unwritten pages with which each host write checks if the plane needs collection.
    pub(super) fn tight(&self, plane: usize) -> u32 {
        self.short(plane) + self.limits.ahead
    }

    /// True if a victim with data pages may be emptied in several steps. This always holds for a victim that is already
    /// being emptied. A new victim needs an extra free block, because map pages may be written between the steps.
    pub(super) fn may_linger(&self, plane: usize) -> bool {
        !M::CHARGED || self.planes[plane].victim.is_some() || self.blocks.free(plane) > VICTIM_BLOCKS
    }

    /// Accounts for a use of a page's map entry, and loads the entry if it is not cached. `changes` is true if the
    /// caller is about to change the entry, and to report this. Compiles to nothing if the whole map is in RAM.
    #[inline(always)]
    pub(super) fn charge<S: FlashSink>(&mut self, lpn: u32, changes: bool, sink: &mut S) {
        if M::CHARGED {
            let lookup = self.map.look_up(lpn);
            let written = self.l2p[lpn as usize] != Entry::NONE;
            sink.note(Note::LookedUp { lpn: Lpn(lpn), hit: lookup.hit, changes, written });
            if !lookup.hit {
                self.load_entry(lookup, sink);
            }
        }
    }

    #[inline(always)]
    fn load_entry<S: FlashSink>(&mut self, lookup: Lookup, sink: &mut S) {
        if let Some(page) = lookup.write_back {
            self.end_shortage(self.map_turn, sink);
            self.write_map_page(page, Cause::MapWriteBack, sink);
        }
        let Some(page) = lookup.load else { return };
        let ppn = self.l2p[(self.shape.logical_pages + page) as usize].page();
        // A map page that was never written has no entry to read.
        if ppn != u32::MAX {
            sink.read_part(Ppn(ppn), self.map.load_bytes(), Cause::MapLoad);
        }
    }

    /// Rewrites each map page that became outdated when valid pages of the plane's victim were moved.
    pub(super) fn rewrite_outdated<S: FlashSink>(&mut self, plane: usize, sink: &mut S) {
        if M::CHARGED {
            let mut outdated = std::mem::take(&mut self.planes[plane].outdated);
            outdated.sort_unstable();
            outdated.dedup();
            for page in outdated.drain(..) {
                self.write_map_page(page, Cause::MapUpdate, sink);
            }
            self.planes[plane].outdated = outdated;
        }
    }

    /// Writes a new version of a map page.
    pub(super) fn write_map_page<S: FlashSink>(&mut self, page: u32, cause: Cause, sink: &mut S) {
        let lpn = self.shape.logical_pages + page;
        let plane = self.next_map_plane(lpn);
        self.make_room_for_map(plane, sink);
        if sink.fails() && self.stuck {
            return;
        }
        let read = self.l2p[lpn as usize].page();
        if read != u32::MAX && !self.map.knows_whole_pages() {
            sink.read(Ppn(read), cause);
        }
        let number = self.map_number();
        let mut ppn = self.planes[plane].next_page(number);
        self.planes[plane].valid_map += 1;
        let oob = SpareArea { lpn: Lpn(lpn), sequence: self.next_sequence(), role: Role::Map };
        sink.program(Ppn(ppn), oob, Source::Map, cause);
        if sink.fails() && sink.failure().is_some() {
            let Some(elsewhere) = self.program_elsewhere(plane, number, ppn, (oob, Source::Map, cause), sink) else {
                self.planes[plane].valid_map -= 1;
                return;
            };
            ppn = elsewhere;
        }
        // The old version must not be looked up earlier, because a failed program may have moved it.
        let old = std::mem::replace(&mut self.l2p[lpn as usize], Entry::of(ppn)).page();
        self.p2l[ppn as usize] = Entry::of(lpn);
        if old != u32::MAX {
            let (block, home) = (self.block_of(old), self.plane_of(old));
            let valid = self.blocks.valid(block);
            self.blocks.invalidate(old, block, self.host_pages);
            if self.planes[home].map_blocks.remove(&(valid, block)) {
                self.planes[home].map_blocks.insert((valid - 1, block));
            }
            self.planes[home].valid_map -= 1;
            self.planes[home].tight = self.tight(home);
        }
        self.planes[plane].tight = self.tight(plane);
        self.map.written(page);
    }

    /// Chooses the plane to which the new version of map page `lpn` is written.
    fn next_map_plane(&mut self, lpn: u32) -> usize {
        let old = self.l2p[lpn as usize].page();
        loop {
            let plane = self.map_turn;
            self.map_turn = (plane + 1) % self.planes.len();
            let leaves = old != u32::MAX && self.plane_of(old) == plane;
            if self.planes[plane].valid_map - u32::from(leaves) < self.limits.map_pages {
                return plane;
            }
        }
    }

    /// Opens a block for map pages if none is open. First collects other blocks of map pages if all free blocks are
    /// reserved for pages relocated from victims.
    pub(super) fn make_room_for_map<S: FlashSink>(&mut self, plane: usize, sink: &mut S) {
        let number = self.map_number();
        loop {
            self.close_if_full(plane, number);
            let is_open = !self.planes[plane].open_blocks[usize::from(number)].is_full();
            if is_open || sink.fails() && self.stuck {
                return;
            }
            let garbage = self.least_map_block(plane).filter(|&block| self.has_invalid(block));
            // One free block is kept for relocated map pages, and one more for the relocated pages of the current
            // victim. None is kept if the victim is already empty, because erasing it frees a block.
            let kept = match self.planes[plane].victim {
                None => 1,
                Some(victim) if victim.next == victim.end => 0,
                Some(_) => 2,
            };
            match garbage {
                Some(block) if self.blocks.free(plane) <= kept => {
                    let victim = self.begin_victim(plane, block, VictimReason::MapFull, sink);
                    self.empty_map_block(plane, victim, sink);
                }
                _ => self.open_block(plane, number, 0, sink),
            }
        }
    }

    pub(super) fn least_map_block(&self, plane: usize) -> Option<BlockId> {
        self.planes[plane].map_blocks.first().map(|&(_, block)| block)
    }

    /// Returns the block of map pages that must be collected now, if any; it replaces the victim policy's choice.
    pub(super) fn map_victim(&self, plane: usize) -> Option<BlockId> {
        let most = closed_map_blocks(self.limits.map_pages, self.blocks.pages_per_block());
        let due = self.blocks.free(plane) < VICTIM_BLOCKS || self.planes[plane].map_blocks.len() as u32 >= most;
        if !M::CHARGED || !due {
            return None;
        }
        self.least_map_block(plane).filter(|&block| self.has_invalid(block))
    }

    /// Moves the valid map pages out of a block, and erases the block.
    pub(super) fn empty_map_block<S: FlashSink>(&mut self, plane: usize, mut victim: Victim, sink: &mut S) {
        let block = victim.block;
        self.planes[plane].map_blocks.remove(&(self.blocks.valid(block), block));
        let number = self.map_number();
        self.move_pages(plane, &mut victim, self.blocks.valid(block), number, Cause::MapGc, sink);
        if sink.fails() && self.stuck {
            return;
        }
        self.erase(plane, block, Cause::MapGc, sink);
    }
}
