//! GC relocates pages to a separate open block.
//!
//! ```text
//! host page -> open block 0        relocated page -> open block 1
//! ```
//! Relocated pages tend to stay valid. Separating them from new data saves copies, the more so with skewed writes.

use super::{PlacementInfo, PlacementRules};

/// Registry entry of this placement policy.
pub static INFO: PlacementInfo = PlacementInfo {
    name: "own",
    help: "a separate open block (less write amplification under skew)",
    source: "",
    parameters: &[],
    role: PlacementRules { own_gc_block: true, by_page: None },
};
