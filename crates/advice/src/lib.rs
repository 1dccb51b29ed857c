//! What a drive would do on a trace, computed from one pass over its requests instead of a simulation of each drive.
//!
//! Advice holds only where an argument makes it exact; each module states the argument and what it leaves out, and its
//! tests compare it with the simulation.

mod map_cache;
mod sizes;
mod write_backs;

pub use map_cache::{MapAdvice, MapAdvisor, SegmentAdvice};
pub use sizes::MapSizes;
