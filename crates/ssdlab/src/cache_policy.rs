//! Replacement policies: which item leaves a full cache.
//!
//! A [`Policy`] is a cache without contents: it gets accesses to numbered items and decides which items it holds. [`Lists`]
//! keeps items in order, with their sizes. The policy serves the cache of the host and `ssdlab cache`.
//!
//! # Example
//!
//! ```
#![cfg_attr(any(doc, doctest), doc = include_str!("../../../python/ssdlab/model/extension/templates/cache_policy.rs"))]
//! ```

use ssdlab_cache::POLICIES;
pub use ssdlab_cache::{Access, Lists, Policy, PolicyInfo, PolicyRules};

use crate::NameTaken;

/// Adds a replacement policy to ssdlab.
///
/// # Errors
/// Fails if a component of this type is already registered under this name.
pub fn register(info: &'static PolicyInfo) -> Result<(), NameTaken> {
    POLICIES.register(info)
}
