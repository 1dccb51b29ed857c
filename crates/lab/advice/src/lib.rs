//! Predicts the behaviour of many drive configurations on a trace from one pass over the trace, without simulating each
//! configuration.
//!
//! Predictions are exact within the limits that each module states. Tests compare the predictions with the simulation.

mod map_cache;
mod sizes;
mod write_backs;

pub use map_cache::{MapAdvice, MapAdvisor, SegmentAdvice};
pub use sizes::MapSizes;
