//! NAND flash: geometry, timing, and the rules a chip enforces.

pub mod array;
pub mod geometry;
pub mod timing;

pub use array::{FlashArray, PageData, Violation};
pub use geometry::Geometry;
pub use timing::Timing;
