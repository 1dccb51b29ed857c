//! Recovery of the page-mapped FTL.
//!
//! ```text
//! newest copies -> map                          a block with none of them: erase it
//! a plane without an erased block:              the block opened last holds copies of a victim that is not erased
//!                                               yet: as if they had not been made; erase it
//! a block written in part, last page readable:  a frontier writes on; of survivors if its pages are copies
//! any other block:                              closed, as long ago as its last page was programmed
//! a plane short of pages:                       collect the blocks with the fewest valid pages
//! a map in flash:                               write every map page that has an entry
//! ```
//! **One erased block is enough.** The host writes to a plane only while more than its spare blocks are unwritten, so
//! one of them is erased. A victim takes that block only when its copies do not fit on the frontiers, and then nothing
//! but copies of that victim is in it until the victim is erased.
//!
//! **The map in flash** need not be read, as the spare areas know all that it says, and it need not be right: entries
//! that were changed in RAM alone are lost. It is written anew, so that whatever is read of it afterwards is the truth,
//! and its cache begins empty. Victims and wear begin as the spare areas tell; the age of blocks is counted in programs
//! where it was counted in pages of the host.

use std::collections::BTreeSet;

use ssdlab_core::{BlockId, Entry};
use ssdlab_nand::{Cause, FlashSink, Role, Scan, Trimmed};

use super::collect::Victim;
use super::{Frontier, PageFtl};
use crate::Ftl;
use crate::map::MapModel;
use crate::recovery::{Block, Maps, Survey};

impl<M: MapModel> PageFtl<M> {
    /// See [`crate::Ftl::recover`].
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
        for found in survey.blocks.iter().filter(|found| found.bad) {
            self.lose_block(self.plane_of(found.block.0 * pages));
        }
        let outdated = survey.outdated().filter(|block| !given_up.contains(block));
        for block in given_up.iter().copied().chain(outdated) {
            self.erase(self.plane_of(block.0 * pages), block, Cause::Recovery, sink);
        }
        self.take_up_written(&survey.blocks);
        for plane in 0..self.planes.len() {
            self.compact(plane, sink);
        }
        self.rewrite_map(sink);
        Ok(())
    }

    /// What is found, and blocks to be given up so that there is an erased one in every plane. If one lacks it
    /// nevertheless, so many blocks have failed that the drive is worn out.
    fn survey(&mut self, scan: &dyn Scan, trims: &[Trimmed]) -> Result<(Survey, BTreeSet<BlockId>), String> {
        let Self { l2p, p2l, logical_pages, blocks, stuck, .. } = self;
        let pages_per_block = blocks.pages_per_block();
        let mut maps = Maps { l2p, p2l, logical_pages: *logical_pages, pages_per_block };
        let mut given_up = BTreeSet::new();
        let mut survey = Survey::new(&mut maps, scan, trims, &given_up)?;
        let blocks_per_plane = blocks.table().blocks_per_list();
        for first in (0..blocks.table().len()).step_by(blocks_per_plane as usize) {
            let in_plane = |found: &Block| (first..first + blocks_per_plane).contains(&found.block.0);
            let has_room = |survey: &Survey| survey.blocks.iter().any(|found| in_plane(found) && found.is_empty());
            if !has_room(&survey)
                && let Some(last) = survey.opened_last(in_plane)
            {
                survey = survey.without(last, false, &mut maps, scan, trims, &mut given_up)?;
            }
            *stuck |= !has_room(&survey);
        }
        Ok((survey, given_up))
    }

    /// Takes up the blocks with valid pages, in the order in which they were written last.
    fn take_up_written(&mut self, found: &[Block]) {
        let pages = self.blocks.pages_per_block();
        let mut written: Vec<&Block> = found.iter().filter(|found| !found.bad && found.valid > 0).collect();
        written.sort_by_key(|found| found.written);
        for found in written {
            let (block, first) = (found.block, found.block.0 * pages);
            // It tells whether the block holds map pages, of which none is valid before the map is written anew: not if
            // it cannot be read, nor if it is left over from before an erase that was lost.
            let held = &mut self.p2l[first as usize];
            if held.page() >= self.logical_pages {
                *held = Entry::of(0);
            }
            let plane = self.plane_of(first);
            self.planes[plane].valid += found.valid;
            match self.frontier_for(plane, found) {
                Some(number) => {
                    let frontier = Frontier { next: first + found.next, end: first + pages };
                    self.blocks.write_on(block, frontier.next..frontier.end);
                    self.planes[plane].unwritten += frontier.left();
                    self.planes[plane].frontiers[number] = frontier;
                }
                None => self.blocks.close(block, found.written),
            }
        }
    }

    /// The frontier that writes on in a block, if one can.
    fn frontier_for(&self, plane: usize, found: &Block) -> Option<usize> {
        if found.next == self.blocks.pages_per_block() || !found.sound || found.role != Role::Data {
            return None;
        }
        let (host, all) =
            (usize::from(self.options.placement.role.host), self.options.placement.role.frontiers() as usize);
        let of_survivors = found.copies == found.next;
        let (likely, others) = if of_survivors { (host..all, 0..host) } else { (0..host, host..all) };
        likely.chain(others).find(|&number| self.planes[plane].frontiers[number].end == 0)
    }

    /// Collects a plane until its free pages are not short.
    fn compact<S: FlashSink>(&mut self, plane: usize, sink: &mut S) {
        while self.planes[plane].unwritten <= self.short(plane) && !self.is_worn_out() {
            let Some(block) = self.blocks.plane(plane).least_valid().filter(|&block| self.has_invalid(block)) else {
                return;
            };
            self.blocks.withdraw(block);
            let mut victim = Victim::new(block, self.blocks.pages_per_block());
            let (valid, route) = (self.blocks.valid(block), self.options.placement.role.survivor_route);
            self.move_pages(plane, &mut victim, valid, route, Cause::Recovery, sink);
            if S::FAILS && self.stuck {
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
        let mapped = (0..self.logical_pages).filter(|&lpn| self.l2p[lpn as usize] != Entry::NONE);
        // Nothing is cached, so that every entry that has come about is one to be written.
        let mut pages: Vec<u32> = mapped.filter_map(|lpn| self.map.moved(lpn)).collect();
        pages.dedup();
        for page in pages {
            self.write_map_page(page, Cause::Recovery, sink);
        }
    }
}
