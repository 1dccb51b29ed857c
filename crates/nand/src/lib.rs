//! NAND flash: geometry, timing, and the rules a chip enforces.

pub mod array;
pub mod commands;
pub mod geometry;
pub mod parallel;
pub mod timing;

pub use array::{FlashArray, PageData, Violation};
pub use commands::{Commands, Interruption, Suspend};
pub use geometry::Geometry;
pub use parallel::{Level, Parallelism, Place, StripeOrder};
pub use timing::{PageTimes, Timing};
