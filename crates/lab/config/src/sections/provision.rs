//! Converts over-provisioning or a spare factor to whole blocks.

use crate::checker::{Checker, Read};
use crate::table::{Fallback, OptionSpec, percent};

pub(super) const OPTIONS: &[OptionSpec] = &[
    percent("device.op", 0.0..=1000.0)
        // The default is the over-provisioning of a drive that is sold in GB but built in GiB: 2^30 / 10^9 = 1.07.
        .default("7%")
        .example("12.5%")
        .help(
            "Over-provisioning: flash beyond the capacity as a share of the capacity, (T - U) / U, with total flash T \
             and capacity U. With `device.reserve = \"extra\"`, the FTL's reserve is not counted. Rounded up to whole \
             blocks per plane; results show the rounded figures, with and without the reserve.",
        ),
    percent("device.spare", 0.0..=95.0).fallback(Fallback::InsteadOf("device.op")).example("10%").help(
        "Spare factor: flash beyond the capacity as a share of all flash, (T - U) / T, with total flash T and \
             capacity U.",
    ),
];

/// Configured spare flash, as a fraction of the logical or the physical capacity.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Provision {
    /// Spare flash relative to the logical capacity: `(T - U) / U`, with total flash `T` and user capacity `U`.
    OverLogical(f64),
    /// Spare flash relative to the physical capacity: `(T - U) / T`, with total flash `T` and user capacity `U`.
    OfPhysical(f64),
}

/// The default of `device.op` in percent.
pub(super) const DEFAULT_PERCENT: f64 = 7.0;

impl Provision {
    /// Returns `percent` as over-provisioning that refers to the same capacity (logical or physical) as `self`.
    pub(super) fn with(self, percent: f64) -> Self {
        match self {
            Self::OverLogical(_) => Self::OverLogical(percent / 100.0),
            Self::OfPhysical(_) => Self::OfPhysical(percent / 100.0),
        }
    }

    /// Returns the number of physical pages for `logical_pages` with this over-provisioning.
    pub(super) fn pages(self, logical_pages: u64) -> f64 {
        match self {
            Self::OverLogical(op) => logical_pages as f64 * (1.0 + op),
            Self::OfPhysical(spare) => logical_pages as f64 / (1.0 - spare),
        }
    }

    /// Returns the minimum number of blocks for `logical_pages` with this over-provisioning.
    pub(crate) fn blocks(self, logical_pages: u64, pages_per_block: u64) -> u64 {
        let blocks = self.pages(logical_pages) / pages_per_block as f64;
        // Prevents rounding errors from adding a block if the ratio equals a whole number of blocks.
        let whole = blocks.round();
        if (blocks - whole).abs() <= 1e-12 * whole { whole as u64 } else { blocks.ceil() as u64 }
    }

    /// Returns the smallest over-provisioning in percent that gives at least `blocks` blocks, in steps of 0.01 %.
    pub(crate) fn percent_for(self, blocks: u64, logical_pages: u64, pages_per_block: u64) -> f64 {
        let physical = blocks.saturating_mul(pages_per_block) as f64;
        let beyond = physical - logical_pages as f64;
        let share = match self {
            Self::OverLogical(_) => beyond / logical_pages as f64,
            Self::OfPhysical(_) => beyond / physical,
        };
        (share * 10_000.0).ceil() / 100.0
    }
}

impl Checker<'_> {
    /// Reads the over-provisioning; returns the key of the option that sets it, and its value.
    pub(crate) fn provision(&self) -> Read<(&'static str, Provision)> {
        if self.applies("device.spare") {
            Ok(("device.spare", Provision::OfPhysical(self.share("device.spare")?)))
        } else {
            Ok(("device.op", Provision::OverLogical(self.share("device.op")?)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An experiment fixes N blocks and derives the logical pages U = floor(N B / alpha). The configuration must then
    /// compute N blocks from U pages.
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
}
