//! d-choices: the fewest valid pages among `d` sealed blocks drawn at random (with replacement).
//!
//! ```text
//! victim = argmin of valid(b) over d draws of a random sealed b; first drawn on ties
//! ```
//! d = 1 is random, d to infinity is greedy. B. Van Houdt, "A mean field model for a class of garbage
//! collection algorithms in flash-based solid state drives", SIGMETRICS 2013.

use ssdlab_core::{BlockId, Rng};

use super::VictimPolicy;
use super::random::random_sealed;
use crate::blocks::PlaneView;

/// One line for help and documentation.
pub const HELP: &str = "Fewest valid pages among d sealed blocks drawn at random.";

pub(super) struct DChoices {
    d: u32,
    rng: Rng,
}

impl DChoices {
    pub(super) fn new(d: u32, rng: Rng) -> Self {
        Self { d, rng }
    }
}

impl VictimPolicy for DChoices {
    fn choose(&mut self, plane: PlaneView<'_>, _now: u64) -> Option<BlockId> {
        let mut best = random_sealed(plane, &mut self.rng)?;
        for _ in 1..self.d {
            let block = random_sealed(plane, &mut self.rng)?;
            if plane.valid(block) < plane.valid(best) {
                best = block;
            }
        }
        Some(best)
    }
}
