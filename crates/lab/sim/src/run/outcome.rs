//! All results of a run.

use ssdlab_core::LatencyHistogram;

use crate::observe::activity::Activity;
use crate::observe::meter::LogFigures;
use crate::observe::series::Series;
use crate::observe::summary::Summary;

/// All results of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Metrics of the measured phase of the last replay.
    pub summary: Summary,
    /// Time between the first and the last arrival of the trace, after the replay has scaled the timestamps.
    pub trace_ns: u64,
    /// Number of logical pages that the host wrote in warm-ups.
    pub warmup_pages: u64,
    /// Effective number of written pages, as a share of the logical pages: uniform writes to this share of the pages
    /// would be equally concentrated. `None` if there were too few writes, if [`crate::Setup::attribution`] is off, or
    /// if the FTL is not page mapping.
    pub written_share: Option<f64>,
    /// Number of pages copied plus number of blocks erased by garbage collection in advance, in the measured phase.
    pub collected_ahead: u64,
    /// Think time of a process as a share of the time between its requests; `None` without think time or without the
    /// event clock.
    pub thinking_share: Option<f64>,
    /// Time series of the measured phase.
    pub series: Series,
    /// Number of erases of each block during the measured phase.
    pub erase_counts: Vec<u32>,
    /// Response times by operation ([`ssdlab_trace::Op`]); empty if time is not modelled.
    pub latency: [LatencyHistogram; 4],
    /// Metrics of the merges and sequential log blocks of a log-block FTL.
    pub log: Option<LogFigures>,
    /// Busy times of dies and channels, if modelled.
    pub activity: Option<Activity>,
}
