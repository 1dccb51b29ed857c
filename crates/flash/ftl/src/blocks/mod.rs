//! Erase blocks of a device: the block table that every FTL uses, with additions for garbage collection.

mod closed;
mod table;
mod watched;

pub use closed::{ClosedBlocks, PlaneView};
pub(crate) use table::FreeList;
pub use table::{Allocation, BlockTable};
pub use watched::Uses;
