//! A part of the planes as a smaller device, and what the whole takes over from it.
//!
//! Host pages go to the planes in turn, and collection stays within a plane. Under uniformly random overwrites the planes
//! are thus alike and independent: two of them are a fair sample of sixty-four. With a map in flash they are not, as map
//! pages of one victim go to all.

use ssdlab_core::BlockId;
use ssdlab_core::mem::prefetch;

use super::collect::GATHER;
use super::{Frontier, PageFtl, Plane, Victim};
use crate::Shape;
use crate::map::MapModel;

impl<M: MapModel> PageFtl<M> {
    /// See [`crate::Ftl::part`].
    pub(super) fn part_of(&self, planes: u32, seed: u64) -> Option<Self> {
        let all = self.planes.len() as u32;
        // One plane alone does not count what is valid in it, and a placement policy knows pages by their numbers.
        let keeps_more = self.spare_blocks > self.options.placement.frontiers();
        if planes < 2 || !all.is_multiple_of(planes) || self.placement.is_some() || keeps_more {
            return None;
        }
        let logical_pages = self.logical_pages / (all / planes);
        let shape = Shape { logical_pages, blocks: self.blocks.table().len() / all * planes, planes, ..self.shape };
        Self::with_map(shape, self.options, self.map.part(logical_pages)?, seed).ok()
    }

    /// See [`crate::Ftl::take_over`].
    pub(super) fn take_over_planes(
        &mut self,
        part: &Self,
        first: u32,
        shares: u32,
        lpns: &mut impl Iterator<Item = u32>,
    ) {
        let shift = first * self.blocks.table().blocks_per_list();
        let page_shift = shift * self.blocks.pages_per_block();
        self.host_pages = self.host_pages.max(part.host_pages * u64::from(shares));
        self.sequence = self.sequence.max(part.sequence * u64::from(shares));
        for (number, plane) in part.planes.iter().enumerate() {
            let own = first as usize + number;
            let age = |sealed_at: u64| (part.host_pages - sealed_at) * u64::from(shares);
            self.blocks.take_over(own, &part.blocks, number, |at| self.host_pages.saturating_sub(age(at)));
            self.planes[own] = plane.shifted(shift, page_shift);
            self.take_over_pages(part, number, page_shift, lpns);
        }
    }

    fn take_over_pages(&mut self, part: &Self, plane: usize, page_shift: u32, lpns: &mut impl Iterator<Item = u32>) {
        let pages = (part.p2l.len() / part.planes.len()) as u32;
        let first = plane as u32 * pages;
        let mut anchor = None;
        let mut valid = [0; GATHER as usize];
        // Entries of the map are fetched a step before they are written, as they lie anywhere.
        let mut fetched = Vec::with_capacity(GATHER as usize);
        for from in (first..first + pages).step_by(GATHER as usize) {
            let found = part.valid_of(from, (from + GATHER).min(first + pages), &mut valid);
            self.place(&fetched);
            fetched.clear();
            for &ppn in &valid[..found] {
                let lpn = lpns.next().expect("a part has no more than its share of the pages");
                prefetch(&self.l2p, lpn as usize);
                fetched.push((ppn + page_shift, lpn));
            }
            anchor = anchor.or(fetched.first().map(|&(_, lpn)| lpn));
        }
        self.place(&fetched);
        // A page that is not valid must name one that is elsewhere.
        let Some(anchor) = anchor else { return };
        let own = (first + page_shift) as usize..(first + page_shift + pages) as usize;
        self.p2l[own].iter_mut().filter(|lpn| **lpn == u32::MAX).for_each(|lpn| *lpn = anchor);
    }

    /// Maps logical pages to where they are, given as (physical, logical).
    fn place(&mut self, pages: &[(u32, u32)]) {
        for &(ppn, lpn) in pages {
            self.l2p[lpn as usize] = ppn;
            self.p2l[ppn as usize] = lpn;
        }
    }

    /// Collects the valid pages of `from..end`, some of which may never have been written, and says how many. As for a
    /// victim, without a branch on validity.
    fn valid_of(&self, from: u32, end: u32, valid: &mut [u32; GATHER as usize]) -> usize {
        let next = end as usize..self.p2l.len().min((end + GATHER) as usize);
        self.p2l[next].iter().for_each(|&lpn| prefetch(&self.l2p, lpn as usize));
        let mut count = 0;
        for (ppn, &lpn) in (from..).zip(&self.p2l[from as usize..end as usize]) {
            valid[count] = ppn;
            count += usize::from(self.l2p.get(lpn as usize) == Some(&ppn));
        }
        count
    }
}

impl Plane {
    /// The same plane where its blocks and pages have higher numbers.
    fn shifted(&self, blocks: u32, pages: u32) -> Self {
        let Self { frontiers, victim, unwritten, tight, valid, limit, valid_map, outdated, map_blocks } = self;
        debug_assert!(outdated.is_empty() && map_blocks.is_empty(), "the map is in RAM");
        let frontier = |at: &Frontier| match at.end {
            0 => Frontier::CLOSED,
            _ => Frontier { next: at.next + pages, end: at.end + pages },
        };
        Self {
            frontiers: frontiers.each_ref().map(frontier),
            victim: victim.map(|victim| Victim {
                block: BlockId(victim.block.0 + blocks),
                next: victim.next + pages,
                end: victim.end + pages,
            }),
            unwritten: *unwritten,
            tight: *tight,
            valid: *valid,
            limit: *limit,
            valid_map: *valid_map,
            outdated: outdated.clone(),
            map_blocks: map_blocks.clone(),
        }
    }
}
