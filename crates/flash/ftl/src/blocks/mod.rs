//! The erase blocks of a device: one table for every FTL, with additions for garbage collection.

mod closed;
mod table;

pub use closed::{ClosedBlocks, PlaneView};
pub use table::{Allocation, BlockTable, FreeList};
