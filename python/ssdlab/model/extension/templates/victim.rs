//! A victim policy: chooses the block that garbage collection takes next.

use ssdlab::victim::{self, PlaneView, VictimInfo, VictimPolicy};
use ssdlab::{Archive, Archived, BlockId, NameTaken, Parameter, Unit};

/// Adds the policy to ssdlab. The setting `ftl.page.gc=mine` then selects it.
pub fn register() -> Result<(), NameTaken> {
    victim::register(&MINE)
}

/// Registry entry of the policy: name, help text, parameters and constructor.
static MINE: VictimInfo = VictimInfo {
    name: "mine",
    help: "The block with the fewest valid pages among the `window` blocks closed longest ago.",
    // The paper that describes the policy.
    source: "",
    // Each parameter is a setting: `ftl.page.gc.mine.window=16`.
    parameters: &[
        // Name, unit, default, smallest and largest value, and help of the parameter.
        Parameter::new("window", Unit::Count("blocks"), 64, [1, 1_000_000], "Number of oldest blocks to compare."),
    ],
    // A policy that needs random numbers seeds its generator with `_seed`: `Rng::named(_seed, "mine")`.
    role: &|settings, _seed| Box::new(Mine { window: settings.get("window") as usize }),
};

/// The policy; one object serves all planes of a drive.
struct Mine {
    window: usize,
}

impl VictimPolicy for Mine {
    /// Returns a closed block of the plane; None only if no block is closed. `_now` is the number of pages that the
    /// host has written; `plane.closed_at(block)` is in the same unit.
    fn choose(&mut self, plane: PlaneView<'_>, _now: u64) -> Option<BlockId> {
        plane.oldest_first().take(self.window).min_by_key(|&block| plane.valid(block))
    }

    /// Saves or loads the fields that change during a run, so that ssdlab can cache preconditioned drives. This policy
    /// has no such fields.
    fn archive(&mut self, _archive: &mut Archive<'_>) -> Archived {
        let Self { window: _ } = self;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::register;
    use ssdlab::simulate;

    #[test]
    fn a_window_of_one_block_is_first_in_first_out() {
        register().unwrap();
        let drive = ["device.capacity=32MiB", "nand.pages_per_block=64", "workload.requests=20000"];
        // Returns the write amplification with a victim policy.
        let amplification = |policy: &str| {
            let settings = [&drive[..], &[policy]].concat();
            simulate(&settings).unwrap().write_amplification
        };
        assert_eq!(amplification("ftl.page.gc.mine.window=1"), amplification("ftl.page.gc=fifo"));
        assert!(amplification("ftl.page.gc=mine") < amplification("ftl.page.gc=fifo"));
    }
}

/// Runs the policy on small random inputs. An input that breaks a rule is reduced to few operations.
#[cfg(test)]
mod conformance {
    ssdlab_conformance::victim!(super::MINE);
}
