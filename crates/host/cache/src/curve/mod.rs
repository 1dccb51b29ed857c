//! Miss-ratio curves: misses by cache size.

pub(crate) mod exact;
pub(crate) mod sampled;
