//! What a drive has done up to now, for whoever watches it at work.

use serde::Serialize;

use crate::observe::summary::LatencyByOp;

/// Figures since measuring began, or before that since the replay did; free blocks are those of this moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SoFar {
    /// Requests replayed, from the first on.
    pub requests: u64,
    /// Simulated time; none where time is not modelled.
    pub elapsed_ns: Option<u64>,
    /// Time that a die worked, on average over the dies; none where time is not modelled.
    pub busy_ns: Option<u64>,
    /// Pages programmed over pages that the host wrote; none if it wrote nothing.
    pub write_amplification: Option<f64>,
    /// Response times; none where time is not modelled.
    pub latency: Option<LatencyByOp>,
    /// Erased blocks that are in no use.
    pub free_blocks: u32,
    /// All blocks.
    pub blocks: u32,
}
