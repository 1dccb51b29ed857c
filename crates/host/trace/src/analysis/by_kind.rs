//! Counts of requests by operation.

/// Number of operations with an address: read, write, trim.
pub(super) const KINDS: usize = 3;
/// Number of requests by operation: read, write, trim.
pub type ByKind = [u64; KINDS];
