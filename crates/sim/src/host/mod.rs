//! What lies above a drive: who issues requests when, the block layer, a cache.

pub(crate) mod block;
pub(crate) mod cache;
mod fit;
pub(crate) mod issue;
