//! Workload patterns decide which addresses a generated workload accesses.
//!
//! [`Addresses`] generates the addresses of successive requests. Other workload settings determine sizes, operations
//! and times, each from a separate stream of random numbers.
//!
//! # Example
//!
//! ```
#![cfg_attr(any(doc, doctest), doc = include_str!("../../../python/ssdlab/model/extension/templates/workload.rs"))]
//! ```

use ssdlab_trace::PATTERNS;
pub use ssdlab_trace::{Addresses, PatternInfo, PatternRules, RequestTarget, Space, TraceError};

use crate::NameTaken;

/// Adds a workload pattern to ssdlab; fails if another workload pattern has the same name.
pub fn register(info: &'static PatternInfo) -> Result<(), NameTaken> {
    PATTERNS.register(info)
}
