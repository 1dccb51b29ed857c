//! Simulates a sample of the planes as a smaller device, and copies the state of the sample to the whole device.
//!
//! Host pages go to the planes in turn, and collection stays within a plane. Under uniformly random overwrites, the
//! planes are therefore statistically equal and independent, so that two planes can represent sixty-four. With a map in
//! flash, planes are not independent, because the map pages of one victim go to all planes.

use ssdlab_core::{BlockId, Entry};

use super::{OpenBlock, PageFtl, Plane, Victim};
use crate::map::MapModel;
use crate::{Shape, Shares};

impl<M: MapModel> PageFtl<M> {
    pub(super) fn part_of(&self, planes: u32, seed: u64) -> Option<Self> {
        let all = self.planes.len() as u32;
        // A sample needs at least two planes, because host pages skip a full plane.
        let keeps_more = self.limits.spare_blocks > self.options.open_blocks();
        let too_many = all / planes > Shares::MOST;
        if self.slc.is_some()
            || self.placement.is_some()
            || planes < 2
            || too_many
            || !all.is_multiple_of(planes)
            || keeps_more
        {
            return None;
        }
        let logical_pages = self.shape.logical_pages / (all / planes);
        let shape = Shape { logical_pages, blocks: self.blocks.table().len() / all * planes, planes, ..self.shape };
        Self::with_map(shape, self.options, self.map.part(logical_pages)?, seed).ok()
    }

    /// Implements [`crate::Ftl::take_over`]. Until the states of all shares have been copied, the map entries of a tile
    /// (see [`Shares`]) are ordered by share, not by logical page.
    pub(super) fn take_over_planes(&mut self, part: &Self, share: u32, shares: &Shares) {
        let first = share * part.planes.len() as u32;
        let shift = first * self.blocks.table().blocks_per_list();
        let page_shift = shift * self.blocks.pages_per_block();
        let count = u64::from(shares.count());
        self.host_pages = self.host_pages.max(part.host_pages * count);
        self.sequence = self.sequence.max(part.sequence * count);
        for (number, plane) in part.planes.iter().enumerate() {
            let own = first as usize + number;
            let age = |closed_at: u64| (part.host_pages - closed_at) * count;
            self.blocks.take_over(own, &part.blocks, number, 1, |at| self.host_pages.saturating_sub(age(at)));
            self.planes[own] = plane.shifted(shift, page_shift);
        }
        self.blocks.take_over_valid(page_shift, &part.blocks, 0..part.p2l.len() as u32);
        for (run, slot) in shares.runs(share) {
            let from = &part.l2p[run.start as usize..run.end as usize];
            self.l2p[slot as usize..][..from.len()].iter_mut().zip(from).for_each(|(to, from)| {
                *to = Entry::of(from.page() + page_shift);
            });
        }
        for (to, &held) in self.p2l[page_shift as usize..][..part.p2l.len()].iter_mut().zip(&*part.p2l) {
            *to = if held == Entry::NONE { held } else { Entry::of(shares.lpn(share, held.page())) };
        }
    }
}

impl Plane {
    /// Returns a copy of the plane's state, with block numbers shifted by `blocks` and page numbers by `pages`.
    fn shifted(&self, blocks: u32, pages: u32) -> Self {
        debug_assert!(self.outdated.is_empty() && self.map_blocks.is_empty(), "the map is in RAM");
        let open = |at: &OpenBlock| match at.end {
            0 => OpenBlock::CLOSED,
            _ => OpenBlock { next: at.next + pages, end: at.end + pages },
        };
        Self {
            open_blocks: self.open_blocks.each_ref().map(open),
            victim: self.victim.map(|victim| Victim {
                block: BlockId(victim.block.0 + blocks),
                next: victim.next + pages,
                end: victim.end + pages,
            }),
            ..self.clone()
        }
    }
}
