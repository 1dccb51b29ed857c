//! Garbage-collection victim policies, one file each, registered in [`POLICIES`].
//!
//! To add one: write its file, add a variant to [`VictimChoice`], register it here. The oracle tests pick it
//! up from the table; a line in the table of settings makes it configurable, with the help text from here.

pub mod cost_benefit;
pub mod d_choices;
pub mod fifo;
pub mod greedy;
pub mod random;
pub mod windowed_greedy;

use ssdlab_core::{BlockId, Rng};

use crate::blocks::PlaneView;
use crate::page::VictimChoice;

/// Decides which sealed block of a plane is collected next.
///
/// Contract: `choose` reads the plane and changes nothing but the policy's own random stream; `now` is on
/// the clock of [`crate::blocks::SealedBlocks::seal`]; the result is a sealed block of that plane; `None` only if
/// it has none. One policy serves all planes.
pub trait VictimPolicy: Send {
    /// The next victim in `plane`.
    fn choose(&mut self, plane: PlaneView<'_>, now: u64) -> Option<BlockId>;
}

/// A registered policy.
#[derive(Clone, Copy, Debug)]
pub struct PolicyInfo {
    /// Name in configurations.
    pub name: &'static str,
    /// The choice with typical parameters.
    pub example: VictimChoice,
}

/// Every victim policy.
pub static POLICIES: &[PolicyInfo] = &[
    PolicyInfo { name: "greedy", example: VictimChoice::Greedy },
    PolicyInfo { name: "fifo", example: VictimChoice::Fifo },
    PolicyInfo { name: "random", example: VictimChoice::Random },
    PolicyInfo { name: "d_choices", example: VictimChoice::DChoices { d: 10 } },
    PolicyInfo { name: "cost_benefit", example: VictimChoice::CostBenefit },
    PolicyInfo { name: "windowed_greedy", example: VictimChoice::WindowedGreedy { window: 256 } },
];

/// Builds the policy for `choice`; random ones draw from the stream `gc` of `seed`.
pub fn policy(choice: VictimChoice, seed: u64) -> Box<dyn VictimPolicy> {
    let rng = || Rng::named(seed, "gc");
    match choice {
        VictimChoice::Greedy => Box::new(greedy::Greedy),
        VictimChoice::Fifo => Box::new(fifo::Fifo),
        VictimChoice::Random => Box::new(random::Random::new(rng())),
        VictimChoice::DChoices { d } => Box::new(d_choices::DChoices::new(d, rng())),
        VictimChoice::CostBenefit => Box::new(cost_benefit::CostBenefit),
        VictimChoice::WindowedGreedy { window } => Box::new(windowed_greedy::WindowedGreedy::new(window)),
    }
}
