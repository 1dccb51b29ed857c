//! Survivors on the block that the host fills: one frontier, as the classic models have it.
//!
//! ```text
//! host page -> frontier 0        survivor -> frontier 0
//! ```

use super::{PlacementInfo, PlacementRules, Route};

/// The registration.
pub static INFO: PlacementInfo = PlacementInfo {
    name: "shared",
    help: "the block host writes fill (the classic models)",
    source: "",
    parameters: &[],
    role: PlacementRules {
        host: 1,
        survivors: 0,
        host_route: Route::Fixed(0),
        survivor_route: Route::Fixed(0),
        build: None,
    },
};
