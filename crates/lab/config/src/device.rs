//! Geometry and capacity of a device, after the checks of the sections `nand` and `device`.

use ssdlab_nand::Geometry;
use ssdlab_sim::Size;

/// Device whose geometry and capacity have passed all checks of their configuration sections.
pub(crate) struct Device {
    pub geometry: Geometry,
    pub logical_pages: u32,
    pub size: Size,
    /// Number of blocks that the FTL reserves for open blocks, erased blocks or its map; part of `geometry.blocks`.
    pub reserve_blocks: u32,
}

/// Device that passed its checks; `None` if the checks found a violation.
pub(crate) type KnownDevice<'a> = Option<&'a Device>;

impl Device {
    pub(crate) fn capacity_bytes(&self) -> u64 {
        u64::from(self.logical_pages) * u64::from(self.geometry.page_bytes)
    }
}
