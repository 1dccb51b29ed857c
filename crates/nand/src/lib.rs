//! NAND flash: the seam to the FTL, and all that lies below it.
//!
//! An FTL emits flash operations into a [`FlashSink`], in dependency order. What receives them counts
//! ([`backend::CountingFlash`]), tells time ([`backend::SerialFlash`], [`backend::parallel::ParallelFlash`]), records
//! (`Vec<FlashOp>`) or enforces the rules of a chip ([`FlashArray`]). Geometry, timing and commands describe the chips.
//!
//! Sinks compose as tuples, and the sink `()` does nothing. An FTL is generic in its sink, so it is compiled once for
//! each back end, and what a back end does not use costs nothing:
//!
//! - **A chip decides how it copies.** [`FlashSink::copy`] is a read and a program unless the sink does better, so an
//!   FTL need not know of copy-back.
//! - **The spare area is enough to recover.** [`SpareArea`] holds the logical page, a sequence number and the [`Role`] of the
//!   page; flash that stores it adds a version, which tells the newest of several copies. [`FlashSink::trimmed`] orders
//!   a trim among the programs, and a [`Scan`] is what recovery sees of all that.
//! - **Failures are optional.** Where [`FlashSink::FAILS`] is false, the code for failed programs and erases compiles
//!   to nothing.
//! - **Decisions are notes.** A [`Note`] says what was merged, looked up or chosen as a victim, and why. Observers
//!   measure notes with streams and times that the FTL does not know.

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
pub mod scan;
pub mod sink;
pub mod timing;

pub use array::{FlashArray, PageData, Violation};
pub use cause::Cause;
pub use commands::{Commands, Interruption, Suspend};
pub use counts::Counts;
pub use geometry::Geometry;
pub use note::{MergeCost, MergeKind, Note, RetireReason, VictimReason};
pub use operation::FlashOp;
pub use parallelism::{Level, Parallelism, Place, StripeOrder};
pub use program_order::ProgramOrder;
pub use scan::{Found, Scan, Trimmed};
pub use sink::{Failure, FlashSink, Role, Source, SpareArea};
pub use timing::{PageTimes, Timing};
