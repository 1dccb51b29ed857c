//! Physical location of each page in the array.
//!
//! Successive pages of a block are in program order. Page numbers increase first within a flash page, then over the
//! planes, then over the flash pages of a word line; these pages form a program unit. Then they increase over dies,
//! then over word lines. A block in SLC mode has one flash page per word line, and unused page numbers at its end.
//!
//! **Parity.** With parity (RAIN, redundant array of independent NAND), the dies of a superblock form groups of N + 1.
//! The program units of a group on one word line are a stripe: N units of data and a unit of parity. Parity pages have
//! no page numbers. As in RAID 5, the parity moves to another die with each word line, so that all dies hold data:
//!
//! ```text
//! N = 3, units of two pages    die 0     die 1     die 2     die 3
//! word line 0                  0, 1      2, 3      4, 5      parity
//! word line 1                  6, 7      8, 9      parity    10, 11
//! word line 2                  12, 13    parity    14, 15    16, 17
//! ```

use ssdlab_core::{BlockId, Ppn, Reciprocal};

use crate::{Collected, Geometry, Place, Role, Units};

/// Physical location of a page in the array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct At {
    /// Die number, counted over all dies of the array.
    pub die: u32,
    /// Number of the plane within its die.
    pub plane: u32,
    /// Number of the die block: the part of the page's block that lies on one die.
    pub die_block: u32,
    /// Number of the page within its die block, in program order.
    pub number: u32,
    /// Number of the flash page within a block of its plane.
    pub flash_page: u32,
    /// True if the block is in SLC mode.
    pub slc: bool,
}

/// A stripe: the data and parity program units on the same word line in a group of dies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stripe {
    /// Block that contains the pages of the stripe.
    pub block: BlockId,
    word_line: u32,
    /// Die that holds the parity, numbered within the dies of the block.
    die: u32,
}

/// Returns the die that holds the parity of a word line, in a group of `data + 1` dies.
fn parity_die(data: u32, word_line: u32) -> u32 {
    data - word_line % (data + 1)
}

/// Division of an array into areas, blocks, die blocks and pages, with the mode of each block.
#[derive(Clone, Debug)]
pub struct Layout {
    block_of: Reciprocal,
    area_of: Reciprocal,
    pub(crate) units: Units,
    /// Number of planes over which a die block extends.
    pub(crate) planes: u32,
    pub(crate) dies_per_block: u32,
    /// Number of data program units on one word line of a block.
    units_per_word_line: u32,
    program_unit: u32,
    /// Number of pages in a die block that is not in SLC mode.
    pub(crate) pages_per_die_block: u32,
    /// For each block, true if it is in SLC mode. Empty if word lines have one flash page: SLC mode changes nothing.
    slc: Vec<bool>,
    /// Location of the first plane of each die in each area, area by area.
    places: Vec<Place>,
}

impl Layout {
    /// Returns the layout of an array.
    pub fn new(geometry: &Geometry) -> Self {
        let Geometry { parallelism, units, pages_per_block, .. } = *geometry;
        let planes = (0..parallelism.planes()).map(|plane| parallelism.place(plane));
        let (planes, places) = match units.collected {
            Collected::Plane => (1, planes.collect()),
            Collected::Die | Collected::Superblock => {
                (parallelism.planes, planes.filter(|place| place.plane == 0).collect())
            }
        };
        Self {
            block_of: Reciprocal::new(pages_per_block),
            area_of: Reciprocal::new(geometry.blocks / geometry.areas() * pages_per_block),
            units,
            planes,
            dies_per_block: geometry.dies_per_block(),
            units_per_word_line: geometry.units_per_word_line(),
            program_unit: geometry.program_unit(),
            pages_per_die_block: pages_per_block / geometry.units_per_word_line(),
            slc: vec![false; if units.word_line > 1 { geometry.blocks as usize } else { 0 }],
            places,
        }
    }

    /// Returns the location of a page.
    #[inline(always)]
    pub fn at(&self, ppn: Ppn) -> At {
        let block = self.block_of.divide(ppn.0);
        let in_block = ppn.0 - block * self.block_of.divisor();
        if self.program_unit == 1 && self.dies_per_block == 1 {
            let Place { die, plane, .. } = self.places[self.area(ppn) as usize];
            return At { die, plane, die_block: block, number: in_block, flash_page: in_block, slc: false };
        }
        self.at_in_unit(block, in_block)
    }

    /// Returns the location of a page in an array whose dies program several pages with one command.
    #[inline(never)]
    fn at_in_unit(&self, block: u32, in_block: u32) -> At {
        let program_unit = self.program_unit(BlockId(block));
        let (unit, in_unit) = (in_block / program_unit, in_block % program_unit);
        let (word_line, unit) = (unit / self.units_per_word_line, unit % self.units_per_word_line);
        let die = match self.units.parity {
            0 => unit,
            data => {
                let (group, unit) = (unit / data, unit % data);
                group * (data + 1) + unit + u32::from(unit >= parity_die(data, word_line))
            }
        };
        self.place(BlockId(block), word_line, die, in_unit)
    }

    /// Returns the location of a page from its word line, its die within the block, and its number in its program unit.
    #[inline]
    fn place(&self, block: BlockId, word_line: u32, die: u32, in_unit: u32) -> At {
        let slc = self.is_slc(block);
        let (program_unit, pages_of_word_line) = (self.unit(slc), if slc { 1 } else { self.units.word_line });
        let flash_page = in_unit / self.units.per_flash_page;
        let area = self.area(Ppn(block.0 * self.block_of.divisor()));
        let place = self.places[(area * self.dies_per_block + die) as usize];
        At {
            die: place.die,
            plane: place.plane + flash_page % self.planes,
            die_block: block.0 * self.dies_per_block + die,
            number: word_line * program_unit + in_unit,
            flash_page: word_line * pages_of_word_line + flash_page / self.planes,
            slc,
        }
    }

    /// Returns the stripe of a page, and true if the page is the last of its stripe. The array must have parity.
    pub fn stripe(&self, ppn: Ppn) -> (Stripe, bool) {
        let (block, data) = (self.block(ppn), self.units.parity);
        let (program_unit, in_block) = (self.program_unit(block), self.in_block(ppn));
        let unit = in_block / program_unit;
        let (word_line, group) = (unit / self.units_per_word_line, unit % self.units_per_word_line / data);
        let die = group * (data + 1) + parity_die(data, word_line);
        (Stripe { block, word_line, die }, (in_block + 1).is_multiple_of(program_unit * data))
    }

    /// Returns the stripe whose last page is `ppn`; `None` for other pages, and without parity.
    #[inline]
    pub fn completed_stripe(&self, ppn: Ppn) -> Option<Stripe> {
        if self.units.parity == 0 {
            return None;
        }
        let (stripe, is_last) = self.stripe(ppn);
        is_last.then_some(stripe)
    }

    /// Returns the location of parity page `page` of a stripe. The parity of a stripe is one program unit.
    pub fn parity(&self, stripe: Stripe, page: u32) -> At {
        self.place(stripe.block, stripe.word_line, stripe.die, page)
    }

    /// Returns the block of a page.
    #[inline(always)]
    pub fn block(&self, ppn: Ppn) -> BlockId {
        BlockId(self.block_of.divide(ppn.0))
    }

    /// Returns the number of a page within its block.
    #[inline]
    pub fn in_block(&self, ppn: Ppn) -> u32 {
        ppn.0 - self.block(ppn).0 * self.block_of.divisor()
    }

    /// Returns the area of a page.
    #[inline(always)]
    pub fn area(&self, ppn: Ppn) -> u32 {
        self.area_of.divide(ppn.0)
    }

    /// Returns the number of pages per program unit of `block`.
    #[inline]
    pub fn program_unit(&self, block: BlockId) -> u32 {
        self.unit(self.is_slc(block))
    }

    /// Returns the number of pages per program unit of a block; `slc` is true if the block is in SLC mode.
    #[inline]
    pub fn unit(&self, slc: bool) -> u32 {
        if slc { self.program_unit / self.units.word_line } else { self.program_unit }
    }

    /// Returns the number of word lines between coarse and fine pass; 0 if one pass programs a word line.
    #[inline]
    pub fn pass_distance(&self, slc: bool) -> u32 {
        if slc { 0 } else { self.units.pass_distance }
    }

    /// Returns the number of programmed pages after `pages` pages were written to a block; the others are in memory.
    pub fn programmed_pages(&self, block: BlockId, pages: u32) -> u32 {
        let (unit, slc) = (self.program_unit(block), self.is_slc(block));
        let waiting = self.pass_distance(slc) * self.units_per_word_line * unit;
        if pages == self.block_of.divisor() { pages } else { pages.saturating_sub(waiting) / unit * unit }
    }

    /// True if `block` is in SLC mode.
    #[inline]
    pub fn is_slc(&self, block: BlockId) -> bool {
        self.slc.get(block.index()).is_some_and(|&slc| slc)
    }

    /// Records a program; the first program of a block sets the block's mode.
    #[inline]
    pub fn program(&mut self, ppn: Ppn, role: Role) {
        if role == Role::Slc {
            self.set_slc(self.block(ppn));
        }
    }

    /// Sets an erased block to SLC mode.
    pub fn set_slc(&mut self, block: BlockId) {
        if let Some(slc) = self.slc.get_mut(block.index()) {
            *slc = true;
        }
    }

    /// Records an erase, after which the next program sets the block's mode.
    #[inline]
    pub fn erase(&mut self, block: BlockId) {
        if let Some(slc) = self.slc.get_mut(block.index()) {
            *slc = false;
        }
    }

    /// Returns the location of the first page of a die block: the part of `block` that lies on die `die` of the block.
    #[inline]
    pub fn die_block(&self, block: BlockId, die: u32) -> At {
        self.place(block, 0, die, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Parallelism, ProgramOrder, StripeOrder};

    fn geometries() -> impl Iterator<Item = Geometry> {
        let orders = ["CWDP", "PDWC", "DPCW", "WCPD"].map(|name| StripeOrder::named(name).expect("a permutation"));
        let levels = [(1, 1, 1, 1), (2, 1, 1, 2), (1, 2, 3, 1), (2, 2, 1, 4)];
        let units = [(1, 1), (2, 3), (4, 1), (1, 2)];
        orders.into_iter().flat_map(move |order| {
            levels.into_iter().flat_map(move |(channels, ways, dies, planes)| {
                units.into_iter().flat_map(move |(per_flash_page, word_line)| {
                    let parallelism = Parallelism { channels, ways, dies, planes, order };
                    let collected = [Collected::Plane, Collected::Die, Collected::Superblock].map(|way| (way, 0));
                    let possible =
                        (1..parallelism.dies()).filter(|parity| parallelism.dies().is_multiple_of(parity + 1));
                    let with_parity: Vec<_> = possible.map(|parity| (Collected::Superblock, parity)).collect();
                    collected.into_iter().chain(with_parity).map(move |(collected, parity)| {
                        let units = Units { per_flash_page, word_line, collected, parity, pass_distance: 0 };
                        let mut geometry =
                            Geometry { parallelism, units, ..Geometry::single_plane(512, 1, parallelism.planes() * 3) };
                        // Each block has three word lines per die, and each area has three blocks.
                        geometry.pages_per_block = 3 * geometry.program_unit() * geometry.units_per_word_line();
                        geometry.blocks = 3 * geometry.areas();
                        geometry
                    })
                })
            })
        })
    }

    /// Returns the location of each page in the order of programs; parity follows the last page of its stripe.
    fn places(layout: &Layout, geometry: &Geometry) -> Vec<At> {
        let mut places = Vec::new();
        for ppn in (0..geometry.pages() as u32).map(Ppn) {
            places.push(layout.at(ppn));
            if let Some(stripe) = layout.completed_stripe(ppn) {
                let pages = layout.program_unit(stripe.block);
                places.extend((0..pages).map(|page| layout.parity(stripe, page)));
            }
        }
        places
    }

    /// Goal: no two pages have the same location, the locations fill the array, and the pages of a block ascend on each
    /// die. Method: checks the location of every page in arrays of several shapes and stripe orders.
    #[test]
    fn pages_and_locations_correspond_one_to_one() {
        for geometry in geometries() {
            let layout = Layout::new(&geometry);
            let Geometry { units, parallelism, .. } = geometry;
            let mut all = std::collections::BTreeSet::new();
            let mut latest = std::collections::BTreeMap::new();
            for at in places(&layout, &geometry) {
                let At { die, plane, die_block, number, flash_page, slc: _ } = at;
                assert!(die < parallelism.dies() && plane < parallelism.planes && flash_page < 3 * units.word_line);
                assert!(all.insert((die_block, number)), "{geometry:?}: two pages have the location {at:?}");
                // A die block lies on one die. Its pages ascend, and a program unit has one word line of all its
                // planes.
                let before = latest.insert(die_block, (die, number));
                assert_eq!(before.map_or((die, 0), |(die, number)| (die, number + 1)), (die, number));
                assert_eq!(flash_page / units.word_line, number / geometry.program_unit());
            }
            assert_eq!(geometry.order, ProgramOrder::Ascending);
            assert_eq!(all.len() as u64, geometry.flash_pages());
            let die_blocks = geometry.blocks * geometry.dies_per_block();
            assert_eq!(all.last(), Some(&(die_blocks - 1, 3 * geometry.program_unit() - 1)));
            for block in (0..geometry.blocks).map(BlockId) {
                let firsts = (0..layout.dies_per_block).map(|die| layout.die_block(block, die));
                let numbers: Vec<_> = firsts.map(|at| (at.number, at.die_block)).collect();
                let expected = (0..).map(|die| (0, block.0 * layout.dies_per_block + die));
                assert_eq!(numbers, expected.take(numbers.len()).collect::<Vec<_>>());
            }
        }
    }

    /// A stripe consists of one program unit of each die in a group, at the same position on every die. One of these
    /// units holds the parity. The die that holds it changes with the word line, so each die has an equal share.
    #[test]
    fn a_stripe_is_on_as_many_dies_as_it_has_program_units() {
        for geometry in geometries().filter(|geometry| geometry.units.parity > 0) {
            let (layout, units) = (Layout::new(&geometry), geometry.units);
            let stripe_pages = ((units.parity + 1) * geometry.program_unit()) as usize;
            for stripe in places(&layout, &geometry).chunks(stripe_pages) {
                let units: Vec<_> = stripe.chunks(geometry.program_unit() as usize).collect();
                let dies: std::collections::BTreeSet<u32> = units.iter().map(|unit| unit[0].die_block).collect();
                assert_eq!(dies.len(), units.len(), "{geometry:?}");
                assert_eq!(dies.last().unwrap() - dies.first().unwrap(), geometry.units.parity);
                assert!(units.iter().all(|unit| unit[0].number == units[0][0].number));
                let word_line = units[0][0].number / geometry.program_unit();
                let parity_die = geometry.units.parity - word_line % (geometry.units.parity + 1);
                assert_eq!(units.last().unwrap()[0].die_block, dies.first().unwrap() + parity_die);
            }
        }
    }

    /// Goal: each flash page of each plane holds the number of pages that the geometry specifies. Method: counts the
    /// pages in each flash page.
    #[test]
    fn every_flash_page_is_full() {
        for geometry in geometries() {
            let layout = Layout::new(&geometry);
            let mut pages = std::collections::BTreeMap::new();
            for at in places(&layout, &geometry) {
                *pages.entry((at.die_block, at.plane, at.flash_page)).or_insert(0) += 1;
            }
            assert!(pages.values().all(|&pages| pages == geometry.units.per_flash_page));
        }
    }

    /// The array has two dies of two planes, two pages per flash page, and three flash pages per word line. So a
    /// program unit has 12 pages. Page 13 is the second page of the second die.
    #[test]
    fn a_superblock_fills_one_die_after_the_other() {
        let parallelism = Parallelism { dies: 2, planes: 2, ..Parallelism::SINGLE };
        let units = Units { per_flash_page: 2, word_line: 3, collected: Collected::Superblock, ..Units::PAGE };
        let geometry = Geometry { parallelism, units, ..Geometry::single_plane(4096, 48, 2) };
        assert_eq!((geometry.program_unit(), geometry.areas()), (12, 1));
        let mut layout = Layout::new(&geometry);
        let at =
            |die, plane, die_block, number, flash_page| At { die, plane, die_block, number, flash_page, slc: false };
        assert_eq!(layout.at(Ppn(13)), at(1, 0, 1, 1, 0));
        assert_eq!(layout.at(Ppn(14)), at(1, 1, 1, 2, 0));
        assert_eq!(layout.at(Ppn(16)), at(1, 0, 1, 4, 1));
        assert_eq!(layout.at(Ppn(48 + 24)), at(0, 0, 2, 12, 3));
        // In SLC mode there is one flash page per word line: 4 pages per program unit, and 16 pages in the block.
        layout.program(Ppn(48), Role::Slc);
        assert_eq!(layout.at(Ppn(48 + 5)), At { slc: true, ..at(1, 0, 3, 1, 0) });
        assert_eq!(layout.at(Ppn(48 + 15)), At { slc: true, ..at(1, 1, 3, 7, 1) });
        assert_eq!(layout.die_block(BlockId(1), 1), At { slc: true, ..at(1, 0, 3, 0, 0) });
        layout.erase(BlockId(1));
        assert_eq!(layout.at(Ppn(48 + 24)), at(0, 0, 2, 12, 3));
    }

    /// The example at the top of this file: four dies, N = 3, program units of two pages.
    #[test]
    fn each_word_line_has_its_parity_on_another_die() {
        let parallelism = Parallelism { dies: 4, ..Parallelism::SINGLE };
        let units = Units { per_flash_page: 2, collected: Collected::Superblock, parity: 3, ..Units::PAGE };
        let geometry = Geometry { parallelism, units, ..Geometry::single_plane(4096, 18, 2) };
        assert_eq!((geometry.units_per_word_line(), geometry.flash_pages()), (3, 48));
        let layout = Layout::new(&geometry);
        let dies: Vec<u32> = (0..18).step_by(2).map(|ppn| layout.at(Ppn(ppn)).die).collect();
        assert_eq!(dies, [0, 1, 2, 0, 1, 3, 0, 2, 3]);
        let parity = [5, 11, 17].map(|ppn| layout.parity(layout.completed_stripe(Ppn(ppn)).unwrap(), 1));
        assert_eq!(parity.map(|at| (at.die, at.number, at.flash_page)), [(3, 1, 0), (2, 3, 1), (1, 5, 2)]);
        assert_eq!(layout.completed_stripe(Ppn(4)), None);
    }
}
