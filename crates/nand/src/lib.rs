//! NAND flash: the seam to the FTL, and all that lies below it.
//!
//! An FTL emits flash operations into a [`FlashSink`], in dependency order. What receives them counts
//! ([`backend::CountingFlash`]), tells time ([`backend::SerialFlash`], [`backend::parallel::ParallelFlash`]) or
//! enforces the rules of a chip ([`FlashArray`]). Geometry, timing and commands describe the chips.

pub mod array;
pub mod backend;
pub mod cause;
pub mod commands;
pub mod counts;
pub mod geometry;
pub mod note;
pub mod operation;
pub mod parallelism;
pub mod program_order;
pub mod sink;
pub mod timing;

pub use array::{FlashArray, PageData, Violation};
pub use cause::Cause;
pub use commands::{Commands, Interruption, Suspend};
pub use counts::Counts;
pub use geometry::Geometry;
pub use note::{MergeCost, MergeKind, Note, VictimReason};
pub use operation::FlashOp;
pub use parallelism::{Level, Parallelism, Place, StripeOrder};
pub use program_order::ProgramOrder;
pub use sink::{BlockMode, Failure, FlashSink, Oob, Role, Source};
pub use timing::{PageTimes, Timing};
