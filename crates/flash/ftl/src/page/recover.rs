//! Recovery of the page-mapped FTL.
//!
//! ```text
//! newest copies -> map                   a block without newest copies: erase it
//! a plane without an erased block:       the block opened last holds copies of a victim that is not erased yet:
//!                                        ignore the copies; erase the block
//! a partially written block,
//! last page readable, no unit begun:     stays open; for GC if its pages are copies
//! any other block:                       closed, ordered by its last program
//! a plane short of pages:                collect the blocks with the fewest valid pages
//! a map in flash:                        write every map page that has an entry
//! ```
//! **One erased block is enough.** The host writes to a plane only while it has more unwritten pages than its spare
//! blocks hold. Therefore at least one block is erased. Collection opens that block only when the copies of a victim do
//! not fit into the open blocks. Until the victim is erased, the block holds only copies from the victim.
//!
//! **The map in flash** is not read, because the spare areas contain the same information. It may also be outdated,
//! because entries changed only in RAM are lost. Recovery rewrites the whole map, and the map cache starts empty. After
//! recovery, the age of blocks is counted in programs instead of host pages.

use std::collections::BTreeSet;

use ssdlab_core::{BlockId, Entry};
use ssdlab_nand::{Cause, FlashSink, Role, Scan, Trimmed};

use super::collect::Victim;
use super::{OpenBlock, PageFtl};
use crate::Ftl;
use crate::map::MapModel;
use crate::placement::PlacementRules;
use crate::recovery::{BlockSurvey, Maps, Survey};

impl<M: MapModel> PageFtl<M> {
    pub(super) fn recover_all<S: FlashSink>(
        &mut self,
        scan: &dyn Scan,
        trims: &[Trimmed],
        sink: &mut S,
    ) -> Result<(), String> {
        let (survey, given_up) = self.survey(scan, trims)?;
        self.blocks.take_up(&survey);
        self.sequence = survey.sequence;
        self.host_pages = survey.sequence;
        let pages = self.blocks.pages_per_block();
        for plane in 0..self.planes.len() {
            self.planes[plane].unwritten = self.blocks.free(plane) * pages;
        }
        for state in survey.blocks.iter().filter(|state| state.bad) {
            self.lose_block(self.plane_of(state.block.0 * pages));
        }
        for block in survey.to_erase(&given_up) {
            self.erase(self.plane_of(block.0 * pages), block, Cause::Recovery, sink);
        }
        self.take_up_written(&survey.blocks);
        for plane in 0..self.planes.len() {
            self.compact(plane, sink);
        }
        self.rewrite_map(sink);
        Ok(())
    }

    /// Scans the flash. Returns the survey, and the blocks to discard to give every plane an erased block. If a plane
    /// still has no erased block, too many of its blocks have failed and the drive is worn out.
    fn survey(&mut self, scan: &dyn Scan, trims: &[Trimmed]) -> Result<(Survey, BTreeSet<BlockId>), String> {
        let Self { l2p, p2l, shape, blocks, stuck, .. } = self;
        let pages_per_block = blocks.pages_per_block();
        let mut maps = Maps { l2p, p2l, logical_pages: shape.logical_pages, pages_per_block };
        let mut given_up = BTreeSet::new();
        let mut survey = Survey::new(&mut maps, scan, trims, &given_up)?;
        let blocks_per_plane = blocks.table().blocks_per_list();
        for first in (0..blocks.table().len()).step_by(blocks_per_plane as usize) {
            let in_plane = |state: &BlockSurvey| (first..first + blocks_per_plane).contains(&state.block.0);
            let has_room = |survey: &Survey| survey.blocks.iter().any(|state| in_plane(state) && state.is_empty());
            if !has_room(&survey)
                && let Some(last) = survey.opened_last(in_plane)
            {
                survey = survey.without(last, false, &mut maps, scan, trims, &mut given_up)?;
            }
            *stuck |= !has_room(&survey);
        }
        Ok((survey, given_up))
    }

    /// Takes over the blocks with valid pages after a power loss, ordered by their last program.
    fn take_up_written(&mut self, blocks: &[BlockSurvey]) {
        let pages = self.blocks.pages_per_block();
        let mut written: Vec<&BlockSurvey> = blocks.iter().filter(|block| !block.bad && block.valid > 0).collect();
        written.sort_by_key(|block| block.written);
        for state in written {
            let (block, first) = (state.block, state.block.0 * pages);
            // The `p2l` entry of a block's first page shows whether the block holds map pages. No map page is valid
            // before the map is rewritten, so an unreadable or old first page counts as data.
            let held = &mut self.p2l[first as usize];
            if held.page() >= self.shape.logical_pages {
                *held = Entry::of(0);
            }
            let plane = self.plane_of(first);
            self.planes[plane].valid += state.valid;
            match self.open_block_for(plane, state) {
                Some(number) => {
                    let open = OpenBlock { next: first + state.next, end: first + pages };
                    self.blocks.write_on(block, open.next..open.end);
                    self.planes[plane].unwritten += open.left();
                    self.planes[plane].open_blocks[number] = open;
                }
                None => self.blocks.close(block, state.written),
            }
        }
    }

    /// Returns the number of the open block that a partly written block becomes; None if it cannot become one.
    fn open_block_for(&self, plane: usize, block: &BlockSurvey) -> Option<usize> {
        // A power loss may have interrupted the program of an incomplete program unit.
        let is_begun = self.unit_of.is_some_and(|unit_of| !block.next.is_multiple_of(unit_of.divisor()));
        if block.next == self.blocks.pages_per_block() || !block.sound || block.role != Role::Data || is_begun {
            return None;
        }
        let gc = usize::from(self.options.placement.info.role.gc());
        let host = usize::from(PlacementRules::HOST);
        let rest = 0..self.options.open_blocks() as usize;
        let candidates = if block.copies == block.next { [gc, host] } else { [host, gc] };
        candidates.into_iter().chain(rest).find(|&number| self.planes[plane].open_blocks[number].end == 0)
    }

    /// Collects garbage in a plane until it is not short of free pages.
    fn compact<S: FlashSink>(&mut self, plane: usize, sink: &mut S) {
        while self.planes[plane].unwritten <= self.short(plane) && !self.is_worn_out() {
            let least = self.blocks.plane(plane).least_valid().filter(|&block| self.has_invalid(block));
            // There may be a partly emptied victim, if an earlier erase used its pages to complete program units.
            let mut victim = match (self.planes[plane].victim.take(), least) {
                (Some(victim), _) => victim,
                (None, Some(block)) => {
                    self.blocks.withdraw(block);
                    Victim::new(block, self.blocks.pages_per_block())
                }
                (None, None) => return,
            };
            let block = victim.block;
            let (valid, number) = (self.blocks.valid(block), self.options.placement.info.role.gc());
            self.move_pages(plane, &mut victim, valid, number, Cause::Recovery, sink);
            if sink.fails() && self.stuck {
                return;
            }
            self.erase(plane, block, Cause::Recovery, sink);
        }
    }

    /// Writes every map page that has an entry.
    fn rewrite_map<S: FlashSink>(&mut self, sink: &mut S) {
        if self.is_worn_out() {
            return;
        }
        let mapped = (0..self.shape.logical_pages).filter(|&lpn| self.l2p[lpn as usize] != Entry::NONE);
        // The map cache is empty after a power loss, so `moved` returns the map page of each entry.
        let mut pages: Vec<u32> = mapped.filter_map(|lpn| self.map.moved(lpn)).collect();
        pages.dedup();
        for page in pages {
            self.write_map_page(page, Cause::Recovery, sink);
        }
    }
}
