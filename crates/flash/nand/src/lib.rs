//! NAND flash: the interface to the FTL, and the models behind that interface.
//!
//! An FTL emits flash operations into a [`FlashSink`], in dependency order. A sink counts them ([`Counts`]), times them
//! ([`backend::SerialFlash`], [`backend::parallel::ParallelFlash`]), records them (`Vec<FlashOp>`) or checks them
//! against the rules of a chip ([`FlashArray`]). Geometry, timing and commands describe the chips.
//!
//! Sinks compose as tuples, and the sink `()` does nothing. FTLs are generic over the sink, and are compiled for
//! [`Counts`] without unused operations. `&mut dyn FlashSink` is a sink too: it stands for all other back ends.
//!
//! - **A chip decides how it copies.** [`FlashSink::copy`] is a read and a program unless the sink overrides it.
//! - **The spare area suffices for recovery.** [`SpareArea`] has the logical page, a sequence number and the [`Role`]
//!   of the page. Flash that stores spare areas adds a version, which identifies the newest of several copies.
//!   [`FlashSink::trimmed`] reports the position of a trim in the sequence of programs. Recovery reads all of this
//!   through a [`Scan`].
//! - **Decisions are notes.** A [`Note`] reports what was merged, looked up or chosen as a victim, and why. Observers
//!   add streams and times that the FTL does not know.

pub mod array;
pub mod backend;
pub mod cause;
pub mod commands;
pub mod counts;
pub mod geometry;
pub mod layout;
mod named;
pub mod note;
pub mod operation;
pub mod parallelism;
pub mod scan;
pub mod sink;
pub mod spare;
pub mod timing;

pub use array::{FlashArray, PageData, Violation};
pub use cause::Cause;
pub use commands::{Commands, Interruption, Suspend};
pub use counts::Counts;
pub use geometry::{Geometry, ProgramOrder, Units};
pub use layout::{At, Layout};
pub use note::{MergeCost, MergeKind, Note, RetireReason, VictimReason};
pub use operation::FlashOp;
pub use parallelism::{Collected, Level, Parallelism, Place, StripeOrder};
pub use scan::{Found, Scan, Trimmed};
pub use sink::{Failure, FlashSink, Source};
pub use spare::{Role, SpareArea};
pub use timing::{PageTimes, SlcTimes, Timing};
