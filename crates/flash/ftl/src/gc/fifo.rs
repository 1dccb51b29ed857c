//! FIFO (also called LRU cleaning): the block closed longest ago.
//!
//! ```text
//! victim = head of the queue of closed blocks
//! ```
//! J. Menon, "A performance comparison of RAID-5 and log-structured arrays", HPDC 1995; closed form with
//! Lambert's W: Xiang and Kurkoski, "An improved analytic expression for write amplification", 2012.

use ssdlab_core::{Archive, Archived, BlockId};

use super::{VictimInfo, VictimPolicy};
use crate::blocks::PlaneView;

/// Registry entry of this victim policy.
pub static INFO: VictimInfo = VictimInfo {
    name: "fifo",
    help: "The block closed longest ago.",
    source: "Menon, HPDC 1995",
    parameters: &[],
    role: &|_, _| Box::new(Fifo),
};

struct Fifo;

impl VictimPolicy for Fifo {
    fn choose(&mut self, plane: PlaneView<'_>, _now: u64) -> Option<BlockId> {
        plane.oldest_first().next()
    }

    fn archive(&mut self, _archive: &mut Archive<'_>) -> Archived {
        Ok(())
    }
}
