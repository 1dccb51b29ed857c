//! Results so far, for monitors that watch a run.

use serde::Serialize;

use crate::observe::summary::LatencyByOp;

/// Figures since measuring began, or before that since the replay began. Free blocks are current.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SoFar {
    /// Requests replayed, with earlier phases.
    pub requests: u64,
    /// Simulated time, if modelled.
    pub elapsed_ns: Option<u64>,
    /// Mean busy time per die, if time is modelled.
    pub busy_ns: Option<u64>,
    /// Pages programmed per page of the host; `None` if the host wrote nothing.
    pub write_amplification: Option<f64>,
    /// Response times, if time is modelled.
    pub latency: Option<LatencyByOp>,
    /// Free blocks.
    pub free_blocks: u32,
    /// All blocks.
    pub blocks: u32,
}
