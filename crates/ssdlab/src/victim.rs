//! Victim policies decide which block garbage collection reclaims next.
//!
//! A [`VictimPolicy`] gets a view of the blocks of a plane ([`PlaneView`]) and returns a closed block. Garbage
//! collection then copies the valid pages of this block and erases it. `ftl.page.collect` sets the number of planes in
//! a view. Three properties of blocks are recorded only if [`VictimPolicy::uses`] lists them: the time of the last
//! invalidation, the stream that owns the block, and the blocks that have changed since the last choice. Tests can
//! build a view from [`ClosedBlocks`].
//!
//! # Example
//!
//! ```
#![cfg_attr(any(doc, doctest), doc = include_str!("../../../python/ssdlab/model/extension/templates/victim.rs"))]
//! ```

pub use ssdlab_ftl::blocks::{Allocation, ClosedBlocks, PlaneView, Uses};
use ssdlab_ftl::gc::VICTIMS;
pub use ssdlab_ftl::gc::{VictimInfo, VictimPolicy};

use crate::NameTaken;

/// Adds a victim policy to ssdlab; fails if another victim policy has the same name.
pub fn register(info: &'static VictimInfo) -> Result<(), NameTaken> {
    VICTIMS.register(info)
}
