//! NAND flash: geometry, timing, and the rules a chip enforces.

pub mod geometry;
pub mod timing;

pub use geometry::Geometry;
pub use timing::Timing;
