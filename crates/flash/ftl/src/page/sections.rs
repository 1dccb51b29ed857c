//! Simulates a section of every block as a smaller device (the part), and copies its state to the whole device.
//!
//! ```text
//! block of the part:    [ written | rest ]
//! block of the device:  [ written of section 0 | written of section 1 | ... | rest of section 0 | ... ]
//! ```
//! A superblock extends over all planes, so the sampled part of the device cannot be some of its planes. But the number
//! of pages per superblock is so large that it hardly affects garbage collection: blocks with fewer pages have the same
//! ages and shares of valid pages.
//!
//! The maps are not copied: an entry that the run has not set yet is computed from the maps of the part. Preparing a
//! device of any size is therefore as fast as preparing its part, and takes memory only for entries that a run sets.

use ssdlab_core::{BlockId, Entry, HugeVec, PageBits, Reciprocal};

use super::collect::Victim;
use super::{OpenBlock, PageFtl, Plane};
use crate::map::MapModel;
use crate::{Shape, Shares};

/// Size above which maps are kept in small memory pages, because a run usually sets few entries, at random.
const SPARSE_BYTES: usize = 2 << 30;

/// The maps of the part, from which entries of the device are computed.
pub(super) struct Sections {
    shares: Shares,
    l2p: HugeVec<Entry>,
    p2l: HugeVec<Entry>,
    /// Number of pages per block of the part, as a divisor.
    block_of: Reciprocal,
    /// For each block of the part, the page that divides it into front and rear: the next page of an open block or a
    /// victim, otherwise the end. In a block of the device, the copies of all front pages come first.
    divisions: Vec<u32>,
    /// Logical pages that were trimmed, if any. They have no entry, and must not get one from the part.
    trimmed: Option<PageBits>,
    /// For each block, true if pages of the block may lack an entry in `p2l` of the device.
    is_pending: Vec<bool>,
}

impl Sections {
    /// Returns the flash page of a logical page whose map entry was not set yet; `u32::MAX` if it is unmapped.
    fn ppn(&self, lpn: u32) -> u32 {
        match self.shares.origin(lpn) {
            Some((section, page)) if !self.trimmed.as_ref().is_some_and(|trimmed| trimmed.is_set(lpn)) => {
                let (start, end) = self.range(self.l2p[page as usize].page());
                let at = self.l2p[page as usize].page() - start;
                start * self.shares.count() + section * (end - start) + at
            }
            _ => u32::MAX,
        }
    }

    /// Returns the logical page that flash page `ppn` held when the device took over the part; `u32::MAX` if none.
    fn lpn(&self, ppn: u32) -> u32 {
        let sections = self.shares.count();
        // Pages `start * sections..end * sections` of the device hold the copies of the part's pages `start..end`.
        let (start, end) = self.range(ppn / sections);
        let at = ppn - start * sections;
        self.copied(at / (end - start), start + at % (end - start))
    }

    /// Returns the logical page in the copy of the part's page `page` in section `section`; `u32::MAX` if none.
    #[inline]
    fn copied(&self, section: u32, page: u32) -> u32 {
        let held = self.p2l[page as usize];
        if held == Entry::NONE { u32::MAX } else { self.shares.lpn(section, held.page()) }
    }

    /// Sets the missing entries of a block. `entries` is the block's part of the device's `p2l`.
    fn complete(&self, block: BlockId, entries: &mut [Entry]) {
        let pages = self.block_of.divisor();
        let (start, division) = (block.0 * pages, self.divisions[block.index()]);
        let mut entries = entries.iter_mut();
        for range in [start..division, division..start + pages] {
            for section in 0..self.shares.count() {
                for (page, entry) in range.clone().zip(&mut entries) {
                    if *entry == Entry::NONE {
                        *entry = Entry::of(self.copied(section, page));
                    }
                }
            }
        }
    }

    /// Returns the range of the front or the rear of a block (see `divisions`) that contains page `page` of the part.
    fn range(&self, page: u32) -> (u32, u32) {
        let (block, pages) = (self.block_of.divide(page), self.block_of.divisor());
        let division = self.divisions[block as usize];
        if page < division { (block * pages, division) } else { (division, (block + 1) * pages) }
    }
}

impl<M: MapModel> PageFtl<M> {
    /// Implements [`crate::Ftl::section`].
    pub(super) fn section_of(&self, count: u32, seed: u64) -> Option<Self> {
        let keeps_more = self.limits.spare_blocks > self.options.open_blocks();
        let divides = self.shape.pages_per_block.is_multiple_of(count);
        if self.slc.is_some() || self.is_striped() || count > Shares::MOST || !divides || keeps_more {
            return None;
        }
        let (logical_pages, pages_per_block) = (self.shape.logical_pages / count, self.shape.pages_per_block / count);
        let shape = Shape { logical_pages, pages_per_block, ..self.shape };
        Self::with_map(shape, self.options, self.map.part(logical_pages)?, seed).ok()
    }

    /// Implements [`crate::Ftl::take_over_sections`].
    pub(super) fn take_over_all(&mut self, part: Self, shares: Shares) {
        let count = shares.count();
        let pages = part.blocks.pages_per_block();
        self.host_pages = part.host_pages * u64::from(count);
        self.sequence = part.sequence * u64::from(count);
        self.blocks.take_over(0, &part.blocks, 0, count, |closed_at| closed_at * u64::from(count));
        let Plane { open_blocks, victim, .. } = &part.planes[0];
        let mut divisions: Vec<u32> = (1..=part.blocks.table().len()).map(|block| block * pages).collect();
        for open in open_blocks.iter().filter(|open| open.end > 0) {
            divisions[part.block_of(open.end - 1).index()] = open.next;
        }
        if let Some(victim) = victim {
            divisions[victim.block.index()] = victim.next;
        }
        for (first, &division) in (0..).step_by(pages as usize).zip(&divisions) {
            for range in [first..division, division..first + pages] {
                for section in 0..count {
                    let to = range.start * count + section * range.len() as u32;
                    self.blocks.take_over_valid(to, &part.blocks, range.clone());
                }
            }
        }
        self.planes[0].take_over(&part.planes[0], count);
        self.planes[0].tight = self.tight(0);
        // No entry is set yet.
        if size_of_val(&*self.l2p) > SPARSE_BYTES {
            self.l2p.use_small_pages();
        }
        self.sections = Some(Box::new(Sections {
            shares,
            l2p: part.l2p,
            p2l: part.p2l,
            block_of: part.block_of,
            divisions,
            trimmed: None,
            is_pending: vec![true; self.shape.blocks as usize],
        }));
        if let Some(victim) = self.planes[0].victim {
            self.complete_block(victim.block);
        }
    }

    /// Calls [`Sections::ppn`]; `u32::MAX` if the device took over no part.
    #[cold]
    #[inline(never)]
    pub(super) fn taken_over_ppn(&self, lpn: u32) -> u32 {
        self.sections.as_ref().map_or(u32::MAX, |sections| sections.ppn(lpn))
    }

    /// Returns the logical page that flash page `ppn` holds; `u32::MAX` if none.
    pub(super) fn held(&self, ppn: u32) -> u32 {
        let held = self.p2l[ppn as usize];
        match &self.sections {
            Some(sections) if held == Entry::NONE && sections.is_pending[self.block_of(ppn).index()] => {
                sections.lpn(ppn)
            }
            _ => held.page(),
        }
    }

    /// Sets the entries of all pages of a block, before the block is collected.
    pub(super) fn complete_block(&mut self, block: BlockId) {
        let pages = self.blocks.pages_per_block() as usize;
        if let Some(sections) = &mut self.sections
            && std::mem::replace(&mut sections.is_pending[block.index()], false)
        {
            sections.complete(block, &mut self.p2l[block.index() * pages..][..pages]);
        }
    }

    /// Sets all entries of both maps, so that the part is no longer needed.
    pub(super) fn complete_maps(&mut self) {
        (0..self.blocks.table().len()).for_each(|block| self.complete_block(BlockId(block)));
        if let Some(sections) = self.sections.take() {
            for (lpn, entry) in (0..).zip(&mut *self.l2p).filter(|(_, entry)| **entry == Entry::NONE) {
                *entry = Entry::of(sections.ppn(lpn));
            }
        }
    }

    /// Records a trim of a logical page.
    pub(super) fn forget_taken_over(&mut self, lpn: u32) {
        if let Some(sections) = &mut self.sections {
            sections.trimmed.get_or_insert_with(|| PageBits::new(self.shape.logical_pages)).set(lpn);
        }
    }
}

impl Plane {
    /// Copies the state of the part's plane, whose blocks have 1/`count` as many pages, except its limits.
    fn take_over(&mut self, part: &Self, count: u32) {
        let Self { open_blocks, victim, unwritten, tight: _, valid, limit: _, valid_map: _, outdated, map_blocks } =
            part;
        debug_assert!(outdated.is_empty() && map_blocks.is_empty(), "the map is in RAM");
        self.open_blocks = open_blocks.map(|at| OpenBlock { next: at.next * count, end: at.end * count });
        self.victim = victim.map(|at| Victim { block: at.block, next: at.next * count, end: at.end * count });
        self.unwritten = unwritten * count;
        self.valid = valid * count;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ssdlab_core::{Lpn, Ppn, Rng};
    use ssdlab_nand::{Counts, ProgramOrder};

    use super::*;
    use crate::page::{PageOptions, Trigger};
    use crate::{Ftl, WriteContext, gc, placement};

    const COUNT: u32 = 4;
    const SHAPE: Shape = Shape {
        logical_pages: 12 * 32 + 3,
        page_bytes: 4096,
        blocks: 20,
        pages_per_block: 32,
        order: ProgramOrder::Ascending,
        planes: 1,
        program_unit: 4,
    };

    fn options(own_gc_block: bool, partial: bool) -> PageOptions {
        let placement = if own_gc_block { &placement::own::INFO } else { &placement::shared::INFO };
        let trigger = if partial { Trigger::Partial { low: 3, step: 2, every: 1 } } else { Trigger::Victim };
        PageOptions { trigger, ..PageOptions::new(gc::greedy::INFO.defaults(), placement) }
    }

    fn write(ftl: &mut PageFtl, lpn: u32, sink: &mut Counts) {
        ftl.write(Lpn(lpn), 1, WriteContext::default(), sink);
    }

    /// Returns a device that took over a part after `writes` random overwrites.
    fn device(options: PageOptions, writes: u32) -> PageFtl {
        let mut ftl = PageFtl::new(SHAPE, options, 1).expect("large enough");
        let mut part = ftl.section(COUNT, 1).expect("it has sections");
        let mut rng = Rng::named(u64::from(writes), "part");
        let mut sink = Counts::default();
        let pages = SHAPE.logical_pages / COUNT;
        (0..pages).for_each(|lpn| write(&mut part, lpn, &mut sink));
        (0..writes).for_each(|_| write(&mut part, rng.below(pages.into()) as u32, &mut sink));
        ftl.take_over_sections(part, Shares::new(COUNT, pages, &mut rng));
        ftl
    }

    fn mapped(ftl: &PageFtl) -> Vec<Option<Ppn>> {
        (0..SHAPE.logical_pages).map(|lpn| ftl.lookup(Lpn(lpn))).collect()
    }

    proptest! {
        #![proptest_config(ssdlab_tiers::cases(64))]

        /// Goal: an entry that is computed at its first use equals the entry of a complete map. Method: compares two
        /// equal devices after random writes and trims; one of the devices completes its maps at the start.
        #[test]
        fn computed_entries_equal_complete_maps(
            own_gc_block: bool,
            partial: bool,
            writes in 0_u32..400,
            steps in prop::collection::vec((0_u8..8, 0..SHAPE.logical_pages), 0..300),
        ) {
            let options = options(own_gc_block, partial);
            let (mut ftl, mut complete) = (device(options, writes), device(options, writes));
            complete.complete_maps();
            prop_assert_eq!(ftl.check(), Ok(()));
            let (mut counts, mut expected) = (Counts::default(), Counts::default());
            for (what, lpn) in steps {
                if what == 0 {
                    ftl.trim(Lpn(lpn), 1, &mut counts);
                    complete.trim(Lpn(lpn), 1, &mut expected);
                } else {
                    write(&mut ftl, lpn, &mut counts);
                    write(&mut complete, lpn, &mut expected);
                }
                prop_assert_eq!(ftl.lookup(Lpn(lpn)), complete.lookup(Lpn(lpn)));
            }
            prop_assert_eq!(ftl.check(), Ok(()));
            prop_assert_eq!((counts, mapped(&ftl)), (expected, mapped(&complete)));
        }
    }

    /// Checks that each section holds its share of the logical pages, in the order of the part's pages, and that all
    /// other pages are unmapped. In a completely written block, section `s` begins at page `8 s`.
    #[test]
    fn each_section_is_a_copy_of_the_part() {
        let ftl = device(options(false, false), 0);
        let mapped = mapped(&ftl);
        // The part wrote its 96 pages in order to 12 blocks of 8 pages.
        let sections = ftl.sections.as_ref().expect("it took over a part");
        for (section, page) in (0..COUNT).flat_map(|section| (0..96).map(move |page| (section, page))) {
            let lpn = sections.shares.lpn(section, page);
            assert_eq!(mapped[lpn as usize], Some(Ppn(page / 8 * 32 + 8 * section + page % 8)));
        }
        assert_eq!(mapped[384..], [None; 3]);
        // One more page is the first page of a block; its four copies precede all other pages.
        let mut part = PageFtl::new(SHAPE, options(false, false), 1).expect("large enough").section(COUNT, 1).unwrap();
        let mut sink = Counts::default();
        (0..96).chain([0]).for_each(|lpn| write(&mut part, lpn, &mut sink));
        let mut ftl = PageFtl::new(SHAPE, options(false, false), 1).expect("large enough");
        ftl.take_over_sections(part, Shares::new(COUNT, 96, &mut Rng::named(1, "shares")));
        let sections = ftl.sections.as_ref().expect("it took over a part");
        let copies = (0..COUNT).map(|section| ftl.lookup(Lpn(sections.shares.lpn(section, 0))));
        assert!(copies.eq((0..COUNT).map(|section| Some(Ppn(12 * 32 + section)))));
    }
}
