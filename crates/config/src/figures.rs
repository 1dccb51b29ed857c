//! The figures of a device in whole pages and blocks.

use ssdlab_nand::Geometry;

/// A device, unless something is wrong with it.
pub(crate) type KnownDevice<'a> = Option<&'a (Geometry, DeviceFigures)>;

/// The device in whole pages and blocks. Ratios are computed from these, so that they mean one thing only.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DeviceFigures {
    /// Bytes the host sees.
    pub capacity_bytes: u64,
    /// Pages the host sees (U).
    pub logical_pages: u32,
    /// Pages of flash (T).
    pub physical_pages: u32,
    /// Erase blocks of flash.
    pub blocks: u32,
    /// Blocks the FTL needs beside those of the data: open, erased, or of its map; part of `blocks`.
    pub reserve_blocks: u32,
    /// Over-provisioning `(T - U) / U`.
    pub op_over_logical: f64,
    /// Spare factor `(T - U) / T`.
    pub spare_of_physical: f64,
    /// Over-provisioning without the reserve blocks.
    pub op_without_reserve: f64,
}

impl DeviceFigures {
    /// Figures of a device of this geometry.
    pub(crate) fn new(
        page_bytes: u32,
        pages_per_block: u32,
        logical_pages: u32,
        blocks: u32,
        reserve_blocks: u32,
    ) -> Self {
        let physical_pages = blocks * pages_per_block;
        let logical = f64::from(logical_pages);
        let physical = f64::from(physical_pages);
        let effective = f64::from(blocks - reserve_blocks) * f64::from(pages_per_block);
        Self {
            capacity_bytes: u64::from(logical_pages) * u64::from(page_bytes),
            logical_pages,
            physical_pages,
            blocks,
            reserve_blocks,
            op_over_logical: (physical - logical) / logical,
            spare_of_physical: (physical - logical) / physical,
            op_without_reserve: (effective - logical) / logical,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_come_from_the_integers() {
        let figures = DeviceFigures::new(4096, 64, 6_400, 110, 3);
        assert_eq!(figures.physical_pages, 7_040);
        assert_eq!(figures.op_over_logical, 0.1);
        assert_eq!(figures.op_without_reserve, 448.0 / 6_400.0);
        assert_eq!(figures.spare_of_physical, 640.0 / 7_040.0);
    }
}
