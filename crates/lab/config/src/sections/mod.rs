//! Sections of the configuration, one file or folder each: options, readers and checks.

pub(crate) mod block;
mod blocks;
pub(crate) mod cache;
pub(crate) mod device;
pub(crate) mod drive;
pub(crate) mod ftl;
pub(crate) mod general;
pub(crate) mod host;
pub(crate) mod nand;
pub(crate) mod precondition;
pub(crate) mod provision;
mod repeat;
pub(crate) mod workload;
