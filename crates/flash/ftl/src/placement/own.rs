//! GC relocates pages to an open block of its own.
//!
//! ```text
//! host page -> open block 0        relocated page -> open block 1
//! ```
//! Pages that survived a collection tend to stay valid. Kept apart from new data they are copied less often, the more so
//! the more skewed the writes are.

use super::{PlacementInfo, PlacementRules};

/// The registration.
pub static INFO: PlacementInfo = PlacementInfo {
    name: "own",
    help: "a block of their own (less write amplification under skew)",
    source: "",
    parameters: &[],
    role: PlacementRules { own_gc_block: true },
};
