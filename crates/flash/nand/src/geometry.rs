//! Division of a flash array into blocks and pages.

use crate::Parallelism;

/// Order in which the pages of a block must be programmed, between two erases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProgramOrder {
    /// Any page that is erased may be programmed (small-block SLC).
    Any,
    /// Only pages after the last programmed page may be programmed; pages may be skipped (large-block SLC, MLC, TLC,
    /// QLC).
    Ascending,
}

/// Geometry of a flash array: pages, erase blocks and levels of parallelism.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Geometry {
    /// Number of bytes per page, which is the unit of programming and of the map.
    pub page_bytes: u32,
    /// Number of pages per erase block, 2 to 32,767.
    pub pages_per_block: u32,
    /// Erase blocks of the array, a multiple of the number of planes.
    pub blocks: u32,
    /// Order in which the pages of a block must be programmed.
    pub order: ProgramOrder,
    /// Numbers of channels, chips, dies and planes.
    pub parallelism: Parallelism,
}

impl Geometry {
    /// Returns the geometry of an array with one plane, programmed in ascending order.
    pub const fn single_plane(page_bytes: u32, pages_per_block: u32, blocks: u32) -> Self {
        let (order, parallelism) = (ProgramOrder::Ascending, Parallelism::SINGLE);
        Self { page_bytes, pages_per_block, blocks, order, parallelism }
    }

    /// Returns the number of pages of the array.
    pub const fn pages(&self) -> u64 {
        self.pages_per_block as u64 * self.blocks as u64
    }
}
