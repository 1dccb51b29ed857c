//! Greedy: the closed block with the fewest valid pages.
//!
//! ```text
//! victim = argmin over closed b of valid(b); lowest block number on ties
//! ```
//! Optimal under uniform random writes. P. Desnoyers, "Analytic Models of SSD Write Performance",
//! ACM TOS 10(2), 2014.

use ssdlab_core::{Archive, Archived, BlockId};

use super::{VictimInfo, VictimPolicy};
use crate::blocks::PlaneView;

/// Registry entry of this victim policy.
pub static INFO: VictimInfo = VictimInfo {
    name: "greedy",
    help: "The block with the fewest valid pages.",
    source: "",
    parameters: &[],
    role: &|_, _| Box::new(Greedy),
};

struct Greedy;

impl VictimPolicy for Greedy {
    fn choose(&mut self, plane: PlaneView<'_>, _now: u64) -> Option<BlockId> {
        plane.least_valid()
    }

    fn archive(&mut self, _archive: &mut Archive<'_>) -> Archived {
        Ok(())
    }
}
