//! Greedy: the sealed block with the fewest valid pages.
//!
//! ```text
//! victim = argmin over sealed b of valid(b); lowest block number on ties
//! ```
//! Optimal under uniform random writes. P. Desnoyers, "Analytic Models of SSD Write Performance",
//! ACM TOS 10(2), 2014.

use ssdlab_core::BlockId;

use super::VictimPolicy;
use crate::blocks::PlaneView;

/// One line for help and documentation.
pub const HELP: &str = "Fewest valid pages.";

pub(super) struct Greedy;

impl VictimPolicy for Greedy {
    fn choose(&mut self, plane: PlaneView<'_>, _now: u64) -> Option<BlockId> {
        plane.least_valid()
    }
}
