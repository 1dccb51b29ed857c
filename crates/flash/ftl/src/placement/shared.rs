//! GC relocates pages to the host's open block, as in the classic models.
//!
//! ```text
//! host page -> open block 0        relocated page -> open block 0
//! ```

use super::{PlacementInfo, PlacementRules};

/// Registry entry of this placement policy.
pub static INFO: PlacementInfo = PlacementInfo {
    name: "shared",
    help: "the open block of host writes (as in the classic models)",
    source: "",
    parameters: &[],
    role: PlacementRules { own_gc_block: false, by_page: None },
};
