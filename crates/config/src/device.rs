//! From capacity and over-provisioning to whole blocks, and back to ratios.

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
    /// Blocks the FTL always keeps open or erased; part of `blocks`.
    pub reserve_blocks: u32,
    /// Over-provisioning `(T - U) / U`.
    pub op_over_logical: f64,
    /// Spare factor `(T - U) / T`.
    pub spare_of_physical: f64,
    /// Over-provisioning without the reserve blocks: the one that garbage collection lives on.
    pub effective_op_over_logical: f64,
    /// Spare factor without the reserve blocks.
    pub effective_spare_of_physical: f64,
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
            effective_op_over_logical: (effective - logical) / logical,
            effective_spare_of_physical: (effective - logical) / effective,
        }
    }
}

/// Flash beyond the capacity, in the form in which it was asked for; shares of 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Provision {
    /// `(T - U) / U`.
    OverLogical(f64),
    /// `(T - U) / T`.
    OfPhysical(f64),
}

impl Provision {
    /// Fewest blocks that hold `logical_pages` with this much space beyond.
    pub(crate) fn blocks(self, logical_pages: u64, pages_per_block: u64) -> u64 {
        let pages = match self {
            Self::OverLogical(op) => logical_pages as f64 * (1.0 + op),
            Self::OfPhysical(spare) => logical_pages as f64 / (1.0 - spare),
        };
        let blocks = pages / pages_per_block as f64;
        // A ratio that gives whole blocks on paper must give them here: rounding noise is no block.
        let whole = blocks.round();
        if (blocks - whole).abs() <= 1e-12 * whole { whole as u64 } else { blocks.ceil() as u64 }
    }

    /// The smallest share in steps of 0.01 % that yields at least `blocks`, in percent.
    pub(crate) fn percent_for(self, blocks: u64, logical_pages: u64, pages_per_block: u64) -> f64 {
        let physical = (blocks * pages_per_block) as f64;
        let beyond = physical - logical_pages as f64;
        let share = match self {
            Self::OverLogical(_) => beyond / logical_pages as f64,
            Self::OfPhysical(_) => beyond / physical,
        };
        (share * 10_000.0).ceil() / 100.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An experiment fixes N blocks and derives U = floor(N B / alpha); asking for that U must give N back.
    #[test]
    fn exact_ratios_give_exact_blocks() {
        for blocks in [100_u64, 997, 4_000, 10_000, 65_536] {
            for pages_per_block in [64_u64, 128, 256] {
                for percent in [3_u64, 7, 10, 15, 20, 25, 28, 50] {
                    let share = percent as f64 / 100.0;
                    let pages = blocks * pages_per_block;
                    let over_logical = Provision::OverLogical(share);
                    assert_eq!(over_logical.blocks(pages * 100 / (100 + percent), pages_per_block), blocks);
                    let of_physical = Provision::OfPhysical(share);
                    assert_eq!(of_physical.blocks(pages * (100 - percent) / 100, pages_per_block), blocks);
                }
            }
        }
    }

    #[test]
    fn the_share_for_a_number_of_blocks_suffices() {
        for blocks in [103, 110, 150, 1_000] {
            for provision in [Provision::OverLogical(0.0), Provision::OfPhysical(0.0)] {
                let share = provision.percent_for(blocks, 6_400, 64) / 100.0;
                let asked = match provision {
                    Provision::OverLogical(_) => Provision::OverLogical(share),
                    Provision::OfPhysical(_) => Provision::OfPhysical(share),
                };
                assert!(asked.blocks(6_400, 64) >= blocks);
            }
        }
    }

    #[test]
    fn ratios_come_from_the_integers() {
        let figures = DeviceFigures::new(4096, 64, 6_400, 110, 3);
        assert_eq!(figures.physical_pages, 7_040);
        assert_eq!(figures.op_over_logical, 0.1);
        assert_eq!(figures.effective_op_over_logical, 448.0 / 6_400.0);
        assert_eq!(figures.spare_of_physical, 640.0 / 7_040.0);
    }
}
