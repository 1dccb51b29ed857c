//! Admission policies decide which items may enter a cache.
//!
//! An [`Admission`] accepts or refuses each item that misses the cache, before the replacement policy inserts it.
//! [`guarded`] combines an admission policy with a replacement policy.
//!
//! # Example
//!
//! ```
#![cfg_attr(any(doc, doctest), doc = include_str!("../../../python/ssdlab/model/extension/templates/admission.rs"))]
//! ```

use ssdlab_cache::ADMISSIONS;
pub use ssdlab_cache::{Access, Admission, AdmissionInfo, AdmissionRules, guarded};

use crate::NameTaken;

/// Adds an admission policy to ssdlab; fails if another admission policy has the same name.
pub fn register(info: &'static AdmissionInfo) -> Result<(), NameTaken> {
    ADMISSIONS.register(info)
}
