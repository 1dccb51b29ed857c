//! Replacement policies decide which item leaves a full cache.
//!
//! A [`Policy`] models a cache without its contents. It is notified of each access to an item, identified by a number,
//! and decides which items are cached. [`Lists`] provides ordered lists of items with sizes. The host cache and
//! `ssdlab cache` can use the policy.
//!
//! # Example
//!
//! ```
#![cfg_attr(any(doc, doctest), doc = include_str!("../../../python/ssdlab/model/extension/templates/cache_policy.rs"))]
//! ```

use ssdlab_cache::POLICIES;
pub use ssdlab_cache::{Access, Lists, Policy, PolicyInfo, PolicyRules};

use crate::NameTaken;

/// Adds a replacement policy to ssdlab; fails if another replacement policy has the same name.
pub fn register(info: &'static PolicyInfo) -> Result<(), NameTaken> {
    POLICIES.register(info)
}
