//! The host above a drive: which request is issued when, a cache, the block layer.

pub(crate) mod block;
pub(crate) mod cache;
pub(crate) mod fit;
pub(crate) mod issue;
