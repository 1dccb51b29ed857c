//! Division of a flash array into blocks and pages.

use crate::{Collected, Parallelism};

/// Order in which the pages of a block must be programmed after an erase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProgramOrder {
    /// Any page that is erased may be programmed (small-block SLC).
    Any,
    /// Only pages after the last programmed page may be programmed, with gaps (large-block SLC, MLC, TLC, QLC).
    Ascending,
}

/// Units in which the chips read, program and erase, relative to the page (the unit that an FTL maps).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Units {
    /// Number of pages in a flash page, which is read from the cells in one operation.
    pub per_flash_page: u32,
    /// Number of flash pages of a word line that are programmed together.
    pub word_line: u32,
    /// Blocks that are erased together.
    pub collected: Collected,
    /// Number of data program units per parity program unit (RAIN); 0 without parity. Only for superblocks.
    pub parity: u32,
    /// Number of following word lines whose coarse pass precedes a word line's fine pass; 0 if one pass programs it.
    pub pass_distance: u32,
}

impl Units {
    /// Units of a chip that reads and programs single pages.
    pub const PAGE: Self =
        Self { per_flash_page: 1, word_line: 1, collected: Collected::Plane, parity: 0, pass_distance: 0 };
}

/// Geometry of a flash array: pages, erase blocks and levels of parallelism.
///
/// A *page* is the unit that an FTL maps, reads and writes. A *block* is the unit that the FTL erases;
/// [`Units::collected`] may join blocks of several planes or dies. An *area* (a plane, a die or the whole array) has
/// its own free blocks; all areas have the same number of blocks. Parity is stored in pages without page numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Geometry {
    /// Number of bytes per page.
    pub page_bytes: u32,
    /// Number of pages per block, at least 2. A block of a plane has at most 32,767 flash pages.
    pub pages_per_block: u32,
    /// Number of blocks in the array, a multiple of the number of areas ([`Self::areas`]).
    pub blocks: u32,
    /// Order in which the pages of a block must be programmed.
    pub order: ProgramOrder,
    /// Numbers of channels, chips, dies and planes.
    pub parallelism: Parallelism,
    /// Units in which the chips read, program and erase.
    pub units: Units,
}

impl Geometry {
    /// Returns the geometry of an array with one plane, whose pages are programmed in ascending order.
    pub const fn single_plane(page_bytes: u32, pages_per_block: u32, blocks: u32) -> Self {
        let (order, parallelism) = (ProgramOrder::Ascending, Parallelism::SINGLE);
        Self { page_bytes, pages_per_block, blocks, order, parallelism, units: Units::PAGE }
    }

    /// Returns the number of data pages in the array.
    pub const fn pages(&self) -> u64 {
        self.pages_per_block as u64 * self.blocks as u64
    }

    /// Returns the number of areas: parts of the array that have separate free blocks.
    pub const fn areas(&self) -> u32 {
        self.parallelism.areas(self.units.collected)
    }

    /// Returns the number of pages per program unit, which a die programs with one command. A program unit consists of
    /// successive pages of a block, and pages are programmed in the order of their numbers.
    pub const fn program_unit(&self) -> u32 {
        let planes = match self.units.collected {
            Collected::Plane => 1,
            Collected::Die | Collected::Superblock => self.parallelism.planes,
        };
        self.units.per_flash_page * self.units.word_line * planes
    }

    /// True if pages wait in memory for other pages of their program unit or stripe, or for their second pass.
    pub const fn gathers(&self) -> bool {
        self.program_unit() > 1 || self.units.parity > 0 || self.units.pass_distance > 0
    }

    /// Returns the number of pages that may wait in memory before the first page is programmed: a program unit or, with
    /// two passes, the pages in all word lines that get their coarse pass before the first fine pass.
    pub const fn gathered_pages(&self) -> u32 {
        match self.units.pass_distance {
            0 => self.program_unit(),
            distance => {
                let word_line = self.program_unit() * self.units_per_word_line() * self.areas();
                word_line.saturating_mul(distance + 1)
            }
        }
    }

    /// Returns the number of data program units on one word line of a block, over all dies of the block.
    pub const fn units_per_word_line(&self) -> u32 {
        let dies = self.dies_per_block();
        match self.units.parity {
            0 => dies,
            data => dies / (data + 1) * data,
        }
    }

    /// Returns the number of pages in the array, including parity pages.
    pub const fn flash_pages(&self) -> u64 {
        self.pages() / self.units_per_word_line() as u64 * self.dies_per_block() as u64
    }

    /// Returns the number of dies over which a block extends.
    pub const fn dies_per_block(&self) -> u32 {
        match self.units.collected {
            Collected::Plane | Collected::Die => 1,
            Collected::Superblock => self.parallelism.dies(),
        }
    }
}
