//! Erase blocks of a device: the block table that every FTL uses, with additions for garbage collection.

mod closed;
mod table;
mod watched;

pub use closed::{ClosedBlocks, PlaneView};
pub use table::{Allocation, BlockTable, FreeList};
pub use watched::Uses;
