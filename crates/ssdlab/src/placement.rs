//! Placement policies decide which pages share a block.
//!
//! A placement policy is a table of properties ([`PlacementRules`]) that configures the open blocks of page mapping.
//! With [`ByPage`], a [`Placement`] chooses the open block of each page. Pages that become invalid together belong in
//! one block.
//!
//! # Example
//!
//! ```
#![cfg_attr(any(doc, doctest), doc = include_str!("../../../python/ssdlab/model/extension/templates/placement.rs"))]
//! ```

pub use ssdlab_ftl::WriteContext;
use ssdlab_ftl::placement::PLACEMENTS;
pub use ssdlab_ftl::placement::{ByPage, Placement, PlacementInfo, PlacementRules};

use crate::NameTaken;

/// Adds a placement policy to ssdlab; fails if another placement policy has the same name.
pub fn register(info: &'static PlacementInfo) -> Result<(), NameTaken> {
    PLACEMENTS.register(info)
}
