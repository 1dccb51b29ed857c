//! What every other crate of ssdlab stands on: units, ids, random numbers, histograms, counters.
//!
//! Layer 0: nothing here knows flash, files, threads or wall time.

pub mod counters;
pub mod hist;
pub mod id;
pub mod mem;
pub mod program_order;
pub mod reciprocal;
pub mod rng;
pub mod units;

pub use hist::LatencyHistogram;
pub use id::{BlockId, Lpn, Ppn};
pub use mem::HugeVec;
pub use program_order::ProgramOrder;
pub use reciprocal::Reciprocal;
pub use rng::Rng;
pub use units::{Bytes, Nanos, UnitError};
