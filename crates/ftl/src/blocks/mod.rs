//! The erase blocks of a device: one table for every FTL, and what collection needs beside it.

mod sealed;
mod table;

pub use sealed::{PlaneView, SealedBlocks};
pub use table::{Allocation, BlockTable, FreeList};
