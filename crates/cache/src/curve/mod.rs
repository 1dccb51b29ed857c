//! Miss-ratio curves: misses by the size of the cache.

pub(crate) mod exact;
pub(crate) mod sampled;
