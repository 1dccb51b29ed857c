//! Survivors on blocks of their own.
//!
//! ```text
//! host page -> frontier 0        survivor -> frontier 1
//! ```
//! What survived a collection is likely to stay valid; kept apart from new data it is copied less often, the more so
//! the more skewed the writes are.

use super::{PlacementInfo, PlacementRules, Route};

/// The registration.
pub static INFO: PlacementInfo = PlacementInfo {
    name: "own",
    help: "a block of their own (cheaper under skew)",
    source: "",
    parameters: &[],
    role: PlacementRules {
        host: 1,
        survivors: 1,
        host_route: Route::Fixed(0),
        survivor_route: Route::Fixed(1),
        build: None,
    },
};
