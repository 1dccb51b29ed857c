//! How a flash array is divided, and in which order it may be programmed.

use crate::{Parallelism, ProgramOrder};

/// Pages and erase blocks of the whole array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Geometry {
    /// Bytes of a page: the unit of programming and of the map.
    pub page_bytes: u32,
    /// Pages of an erase block, 2 to 32,767.
    pub pages_per_block: u32,
    /// Erase blocks, a multiple of the planes.
    pub blocks: u32,
    /// Order in which the pages of a block may be programmed.
    pub order: ProgramOrder,
    /// What works at the same time.
    pub parallelism: Parallelism,
}

impl Geometry {
    /// Pages of the array.
    pub const fn pages(&self) -> u64 {
        self.pages_per_block as u64 * self.blocks as u64
    }
}
