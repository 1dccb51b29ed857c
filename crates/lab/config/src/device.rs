//! The device after the checks of its section, for the checks of other sections.

use ssdlab_nand::Geometry;

/// A device that satisfies the rules of its section.
pub(crate) struct Device {
    pub geometry: Geometry,
    pub logical_pages: u32,
    /// Number of the array's blocks that the FTL reserves: open blocks, erased blocks, or blocks for its map.
    pub reserve_blocks: u32,
}

/// The checked device; `None` after a violation.
pub(crate) type KnownDevice<'a> = Option<&'a Device>;

impl Device {
    pub(crate) fn capacity_bytes(&self) -> u64 {
        u64::from(self.logical_pages) * u64::from(self.geometry.page_bytes)
    }
}
