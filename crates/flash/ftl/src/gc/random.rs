//! Random: a closed block drawn uniformly at random.
//!
//! ```text
//! repeat: b = random block  until b is closed
//! victim = b
//! ```
//! In steady state nearly every block is closed, so the first draw usually succeeds. Write amplification is alpha /
//! (alpha - 1): B. Van Houdt, "A mean field model for a class of garbage collection algorithms", SIGMETRICS 2013.

use ssdlab_core::{Archive, Archived, BlockId, Rng};

use super::{VictimInfo, VictimPolicy, rng};
use crate::blocks::PlaneView;

/// Registry entry of this victim policy.
pub static INFO: VictimInfo = VictimInfo {
    name: "random",
    help: "A closed block drawn uniformly at random.",
    source: "Van Houdt, SIGMETRICS 2013",
    parameters: &[],
    role: &|_, seed| Box::new(Random { rng: rng(seed) }),
};

struct Random {
    rng: Rng,
}

impl VictimPolicy for Random {
    fn choose(&mut self, plane: PlaneView<'_>, _now: u64) -> Option<BlockId> {
        random_closed(plane, &mut self.rng)
    }

    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        let Self { rng } = self;
        archive.value(rng)
    }
}

/// Returns a closed block of the plane, drawn uniformly; `None` if the plane has none.
pub(super) fn random_closed(plane: PlaneView<'_>, rng: &mut Rng) -> Option<BlockId> {
    if plane.closed() == 0 {
        return None;
    }
    let blocks = plane.blocks();
    loop {
        let block = BlockId(blocks.start + rng.below(blocks.len() as u64) as u32);
        if plane.is_closed(block) {
            return Some(block);
        }
    }
}
