//! Counts of an SLC cache.

use serde::{Deserialize, Serialize};

/// Counts of an SLC cache since construction. Folded pages are counted by [`Cause::Fold`](ssdlab_nand::Cause::Fold).
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SlcCounts {
    /// Number of host pages written to the SLC cache.
    pub cached: u64,
    /// Number of host pages written to native blocks because the SLC cache was full.
    pub bypassed: u64,
    /// Number of erases in SLC mode of each block.
    pub erases: Vec<u32>,
}
