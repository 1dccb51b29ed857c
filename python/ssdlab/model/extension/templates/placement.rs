//! A placement policy: decides which pages share a block.

use ssdlab::NameTaken;
use ssdlab::placement::{self, PlacementInfo, PlacementRules};

/// Adds the policy to ssdlab. The setting `ftl.page.survivors=mine` then selects it.
pub fn register() -> Result<(), NameTaken> {
    placement::register(&MINE)
}

/// Registry entry of the policy: name, help text, parameters and rules.
static MINE: PlacementInfo = PlacementInfo {
    name: "mine",
    help: "garbage collection writes to the host's open block",
    // The paper that describes the policy.
    source: "",
    // Each parameter that is added here becomes a setting; see `ssdlab::Parameter::new`.
    parameters: &[],
    // `own_gc_block`: true if garbage collection fills a separate open block.
    // `by_page`: an optional `Placement` that chooses the open block for each page.
    role: PlacementRules { own_gc_block: false, by_page: None },
};

#[cfg(test)]
mod tests {
    use super::register;
    use ssdlab::simulate;

    #[test]
    fn a_shared_block_mixes_hot_and_cold_pages() {
        register().unwrap();
        let drive = ["device.capacity=32MiB", "nand.pages_per_block=64", "workload.requests=20000"];
        // Returns the write amplification with a placement policy under skewed writes.
        let amplification = |policy: &str| {
            let settings = [&drive[..], &["workload.pattern=zipf", policy]].concat();
            simulate(&settings).unwrap().write_amplification
        };
        assert_eq!(amplification("ftl.page.survivors=mine"), amplification("ftl.page.survivors=shared"));
        assert!(amplification("ftl.page.survivors=mine") > amplification("ftl.page.survivors=own"));
    }
}

/// Runs the policy on small random inputs. An input that breaks a rule is reduced to few operations.
#[cfg(test)]
mod conformance {
    ssdlab_conformance::placement!(super::MINE);
}
