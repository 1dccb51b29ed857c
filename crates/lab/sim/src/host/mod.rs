//! The host above a drive: replay, cache, block layer.

pub(crate) mod block;
pub(crate) mod cache;
pub(crate) mod fit;
pub(crate) mod replay;
