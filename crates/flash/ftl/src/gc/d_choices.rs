//! d-choices: the block with the fewest valid pages among `d` closed blocks drawn at random (with replacement).
//!
//! ```text
//! victim = argmin of valid(b) over d draws of a random closed b; first drawn on ties
//! ```
//! d = 1 is random, d to infinity is greedy. B. Van Houdt, "A mean field model for a class of garbage
//! collection algorithms in flash-based solid state drives", SIGMETRICS 2013.

use ssdlab_core::{Archive, Archived, BlockId, Parameter, Rng, Unit};

use super::random::random_closed;
use super::{VictimInfo, VictimPolicy, rng};
use crate::blocks::PlaneView;

/// Registry entry of this victim policy.
pub static INFO: VictimInfo = VictimInfo {
    name: "d_choices",
    help: "The block with the fewest valid pages among d random closed blocks.",
    source: "Van Houdt, SIGMETRICS 2013",
    parameters: &[D],
    role: &|settings, seed| Box::new(DChoices { d: settings.get(D.name), rng: rng(seed) }),
};

const D: Parameter =
    Parameter::new("d", Unit::Count("blocks"), 10, [1, 65_536], "Number of random blocks to compare.").example(5);

struct DChoices {
    d: u64,
    rng: Rng,
}

impl VictimPolicy for DChoices {
    fn choose(&mut self, plane: PlaneView<'_>, _now: u64) -> Option<BlockId> {
        let mut best = random_closed(plane, &mut self.rng)?;
        for _ in 1..self.d {
            let block = random_closed(plane, &mut self.rng)?;
            if plane.valid(block) < plane.valid(best) {
                best = block;
            }
        }
        Some(best)
    }

    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        let Self { d: _, rng } = self;
        archive.value(rng)
    }
}
