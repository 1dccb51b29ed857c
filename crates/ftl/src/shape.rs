//! The device that an FTL runs on.

use ssdlab_nand::ProgramOrder;

/// All that an FTL knows of the flash below it and of the pages above it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Pages the host sees.
    pub logical_pages: u32,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Erase blocks.
    pub blocks: u32,
    /// Pages of an erase block, 2 to 32,767.
    pub pages_per_block: u32,
    /// Order in which the pages of a block may be programmed.
    pub order: ProgramOrder,
    /// Planes that the blocks are spread over evenly: plane `p` owns those from `p * blocks / planes`.
    pub planes: u32,
}
