//! A placement policy: which pages share a block.

use ssdlab::NameTaken;
use ssdlab::placement::{self, PlacementInfo, PlacementRules};

/// Adds the policy to ssdlab. The setting `ftl.page.survivors=mine` then chooses it.
pub fn register() -> Result<(), NameTaken> {
    placement::register(&MINE)
}

/// What lists, help and settings say about the policy.
static MINE: PlacementInfo = PlacementInfo {
    name: "mine",
    help: "pages that garbage collection moves share the open block of the host",
    // The paper that describes the policy.
    source: "",
    // Each parameter would be a setting; see `ssdlab::Parameter::new`.
    parameters: &[],
    // With true, garbage collection fills an open block of its own.
    role: PlacementRules { own_gc_block: false },
};

#[cfg(test)]
mod tests {
    use super::register;
    use ssdlab::simulate;

    #[test]
    fn a_shared_block_mixes_hot_and_cold_pages() {
        register().unwrap();
        let drive = ["device.capacity=32MiB", "nand.pages_per_block=64", "workload.requests=20000"];
        // The write amplification with a placement policy, where some pages are written more often than others.
        let amplification = |policy: &str| {
            let settings = [&drive[..], &["workload.pattern=zipf", policy]].concat();
            simulate(&settings).unwrap().write_amplification
        };
        assert_eq!(amplification("ftl.page.survivors=mine"), amplification("ftl.page.survivors=shared"));
        assert!(amplification("ftl.page.survivors=mine") > amplification("ftl.page.survivors=own"));
    }
}

/// Random small worlds, in which a broken rule is shown with few operations.
#[cfg(test)]
mod conformance {
    ssdlab_conformance::placement!(super::MINE);
}
