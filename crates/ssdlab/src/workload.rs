//! Workload patterns: which addresses a generated workload requests.
//!
//! [`Addresses`] draws the address of one request after the other. Sizes, operations and times follow other settings of
//! the workload, each with random numbers of its own.
//!
//! # Example
//!
//! ```
#![cfg_attr(any(doc, doctest), doc = include_str!("../../../python/ssdlab/model/extension/templates/workload.rs"))]
//! ```

use ssdlab_trace::PATTERNS;
pub use ssdlab_trace::{Addresses, PatternInfo, PatternRules, RequestTarget, Space, TraceError};

use crate::NameTaken;

/// Adds a workload pattern to ssdlab.
///
/// # Errors
/// Fails if a component of this type is already registered under this name.
pub fn register(info: &'static PatternInfo) -> Result<(), NameTaken> {
    PATTERNS.register(info)
}
