//! What lies above a drive: who issues requests when, the block layer, a cache.

pub(crate) mod block;
pub(crate) mod cache;
pub(crate) mod fit;
pub(crate) mod issue;
