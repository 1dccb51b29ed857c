//! Place of each page in the array.
//!
//! Successive pages of a block are in program order. First come the pages of a flash page, then planes, then the flash
//! pages of a word line: together a program unit. Then come dies, then word lines. A block in SLC mode has one flash
//! page per word line, and its program units are smaller accordingly; the rest of its page numbers is unused.

use ssdlab_core::{BlockId, Ppn, Reciprocal};

use crate::{Collected, Geometry, Place, Role, Units};

/// Place of a page in the array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct At {
    /// Number of the die among all dies of the array.
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

/// Division of an array into areas, blocks, die blocks and pages, with the mode of each block.
#[derive(Clone, Debug)]
pub struct Layout {
    block_of: Reciprocal,
    area_of: Reciprocal,
    units: Units,
    /// Number of planes over which a die block extends.
    planes: u32,
    dies_per_block: u32,
    program_unit: u32,
    /// True for each block in SLC mode. Empty if word lines have one flash page: then the mode changes nothing.
    slc: Vec<bool>,
    /// First plane of each die of each area, in the order of areas.
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
            program_unit: geometry.program_unit(),
            slc: vec![false; if units.word_line > 1 { geometry.blocks as usize } else { 0 }],
            places,
        }
    }

    /// Returns the place of a page.
    #[inline(always)]
    pub fn at(&self, ppn: Ppn) -> At {
        let block = self.block_of.divide(ppn.0);
        let in_block = ppn.0 - block * self.block_of.divisor();
        if self.program_unit == 1 && self.dies_per_block == 1 {
            let Place { die, plane, .. } = self.places[self.area(ppn) as usize];
            return At { die, plane, die_block: block, number: in_block, flash_page: in_block, slc: false };
        }
        self.at_in_unit(ppn, block, in_block)
    }

    /// Returns the place of a page in an array whose dies program several pages with one command.
    #[inline(never)]
    fn at_in_unit(&self, ppn: Ppn, block: u32, in_block: u32) -> At {
        let slc = self.is_slc(BlockId(block));
        let (program_unit, pages_of_word_line) = (self.unit(slc), if slc { 1 } else { self.units.word_line });
        let (unit, in_unit) = (in_block / program_unit, in_block % program_unit);
        let (word_line, die) = (unit / self.dies_per_block, unit % self.dies_per_block);
        let flash_page = in_unit / self.units.per_flash_page;
        let place = self.places[(self.area(ppn) * self.dies_per_block + die) as usize];
        At {
            die: place.die,
            plane: place.plane + flash_page % self.planes,
            die_block: block * self.dies_per_block + die,
            number: word_line * program_unit + in_unit,
            flash_page: word_line * pages_of_word_line + flash_page / self.planes,
            slc,
        }
    }

    /// Returns the block of a page.
    #[inline(always)]
    pub fn block(&self, ppn: Ppn) -> BlockId {
        BlockId(self.block_of.divide(ppn.0))
    }

    /// Returns the area of a page.
    #[inline(always)]
    pub fn area(&self, ppn: Ppn) -> u32 {
        self.area_of.divide(ppn.0)
    }

    /// Returns the number of planes over which a die block extends.
    #[inline]
    pub fn planes(&self) -> u32 {
        self.planes
    }

    /// Returns the number of pages of a flash page.
    #[inline]
    pub fn pages_per_flash_page(&self) -> u32 {
        self.units.per_flash_page
    }

    /// Returns the number of pages of a program unit of `block`.
    #[inline]
    pub fn program_unit(&self, block: BlockId) -> u32 {
        self.unit(self.is_slc(block))
    }

    /// Returns the number of pages of a program unit of a block, which may be in SLC mode.
    #[inline]
    pub fn unit(&self, slc: bool) -> u32 {
        if slc { self.program_unit / self.units.word_line } else { self.program_unit }
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

    /// Returns the first page of each die block of a block.
    pub fn die_blocks(&self, block: BlockId) -> impl Iterator<Item = Ppn> + use<> {
        let (first, unit) = (block.0 * self.block_of.divisor(), self.program_unit(block));
        (0..self.dies_per_block).map(move |die| Ppn(first + die * unit))
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
                    [Collected::Plane, Collected::Die, Collected::Superblock].map(|collected| {
                        let parallelism = Parallelism { channels, ways, dies, planes, order };
                        let units = Units { per_flash_page, word_line, collected };
                        let mut geometry =
                            Geometry { parallelism, units, ..Geometry::single_plane(512, 1, parallelism.planes() * 3) };
                        // Three word lines per die, and three blocks per area.
                        geometry.pages_per_block = 3 * geometry.program_unit() * geometry.dies_per_block();
                        geometry.blocks = 3 * geometry.areas();
                        geometry
                    })
                })
            })
        })
    }

    /// Goal: each page has its own place, the places fill the array, and a block's pages ascend on each die.
    #[test]
    fn pages_and_places_correspond_one_to_one_in_program_order() {
        for geometry in geometries() {
            let layout = Layout::new(&geometry);
            let Geometry { units, parallelism, .. } = geometry;
            let mut places = std::collections::BTreeSet::new();
            let mut latest = std::collections::BTreeMap::new();
            for ppn in (0..geometry.pages() as u32).map(Ppn) {
                let At { die, plane, die_block, number, flash_page, slc: _ } = layout.at(ppn);
                assert!(die < parallelism.dies() && plane < parallelism.planes && flash_page < 3 * units.word_line);
                assert!(places.insert((die_block, number)), "{geometry:?}: {ppn} has the place of another page");
                // A die block lies on one die. Its pages ascend, and a program unit has one word line of all its
                // planes.
                let before = latest.insert(die_block, (die, number));
                assert_eq!(before.map_or((die, 0), |(die, number)| (die, number + 1)), (die, number));
                assert_eq!(flash_page / units.word_line, number / geometry.program_unit());
            }
            assert_eq!(geometry.order, ProgramOrder::Ascending);
            let die_blocks = geometry.blocks * geometry.dies_per_block();
            assert_eq!(places.last(), Some(&(die_blocks - 1, 3 * geometry.program_unit() - 1)));
            for block in (0..geometry.blocks).map(BlockId) {
                let numbers: Vec<_> = layout.die_blocks(block).map(|ppn| layout.at(ppn)).collect();
                assert!(numbers.iter().all(|at| at.number == 0));
                assert!(numbers.windows(2).all(|pair| pair[0].die_block + 1 == pair[1].die_block));
            }
        }
    }

    /// Each flash page of each plane holds as many pages as the geometry says.
    #[test]
    fn every_flash_page_is_full() {
        for geometry in geometries() {
            let layout = Layout::new(&geometry);
            let mut pages = std::collections::BTreeMap::new();
            for at in (0..geometry.pages() as u32).map(|ppn| layout.at(Ppn(ppn))) {
                *pages.entry((at.die_block, at.plane, at.flash_page)).or_insert(0) += 1;
            }
            assert!(pages.values().all(|&pages| pages == geometry.units.per_flash_page));
        }
    }

    /// Two dies of two planes, two pages per flash page, and three flash pages per word line: 12 pages per program
    /// unit. Page 13 is the second page of the second die.
    #[test]
    fn a_superblock_fills_one_die_after_the_other() {
        let parallelism = Parallelism { dies: 2, planes: 2, ..Parallelism::SINGLE };
        let units = Units { per_flash_page: 2, word_line: 3, collected: Collected::Superblock };
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
        assert_eq!(layout.die_blocks(BlockId(1)).collect::<Vec<_>>(), [Ppn(48), Ppn(52)]);
        layout.erase(BlockId(1));
        assert_eq!(layout.at(Ppn(48 + 24)), at(0, 0, 2, 12, 3));
    }
}
