//! Victim policies, which choose the block to collect next. Each policy has a file with an `INFO` and a line in
//! [`VICTIMS`]. Settings, help texts, documents and the tests with random devices read this table.

pub mod cost_benefit;
pub mod d_choices;
pub mod fifo;
pub mod greedy;
pub mod random;
pub mod windowed_greedy;

use ssdlab_core::{Archive, Archived, BlockId, Choice, Info, Registry, Rng, Settings};

use crate::blocks::{PlaneView, Uses};

/// Chooses the closed block of a plane to collect next.
///
/// Contract of `choose`: it has no side effects except on the policy's own state, such as its random stream. It returns
/// a closed block of the plane, or `None` if the plane has no closed block. `now` is on the clock of
/// [`crate::blocks::ClosedBlocks::close`]. One policy object serves all planes.
pub trait VictimPolicy: Send {
    /// Returns the block of `plane` to collect next.
    fn choose(&mut self, plane: PlaneView<'_>, now: u64) -> Option<BlockId>;

    /// Returns the properties of blocks that the policy uses; the FTL records only these.
    fn uses(&self) -> Uses {
        Uses::default()
    }

    /// Saves or loads the policy's state.
    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived;
}

/// A registered victim policy.
pub type VictimInfo = Info<BuildVictim>;

/// Builds a victim policy from its parameters and the seed of its random stream.
pub type BuildVictim = &'static (dyn Fn(&Settings, u64) -> Box<dyn VictimPolicy> + Send + Sync);

/// A selected victim policy with its parameters.
pub type VictimChoice = Choice<BuildVictim>;

/// Every registered victim policy.
pub static VICTIMS: Registry<BuildVictim> = Registry::new(
    "victim policy",
    &[&greedy::INFO, &fifo::INFO, &random::INFO, &d_choices::INFO, &cost_benefit::INFO, &windowed_greedy::INFO],
);

/// Creates the random stream that a victim policy uses.
fn rng(seed: u64) -> Rng {
    Rng::named(seed, "gc")
}
