//! The device that its section has checked, for the checks of other sections.

use ssdlab_nand::Geometry;

/// A valid device.
pub(crate) struct Device {
    pub geometry: Geometry,
    pub logical_pages: u32,
    /// Blocks of the geometry reserved by the FTL: open, erased, or for its map.
    pub reserve_blocks: u32,
}

/// The device; `None` after a violation.
pub(crate) type KnownDevice<'a> = Option<&'a Device>;

impl Device {
    pub(crate) fn capacity_bytes(&self) -> u64 {
        u64::from(self.logical_pages) * u64::from(self.geometry.page_bytes)
    }
}
