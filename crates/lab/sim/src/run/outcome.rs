//! Results of a run.

use ssdlab_core::LatencyHistogram;

use crate::observe::activity::Activity;
use crate::observe::meter::LogFigures;
use crate::observe::series::Series;
use crate::observe::summary::Summary;

/// Results of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Figures of the measured phase of the last replay.
    pub summary: Summary,
    /// Time between the first and the last arrival of the trace, at the speed of the replay.
    pub trace_ns: u64,
    /// Logical pages that the host wrote in warm-ups.
    pub warmup_pages: u64,
    /// Share of the logical pages on which equally concentrated writes would fall evenly. `None` after few writes,
    /// without [`crate::Setup::attribution`], and for other FTLs than page mapping.
    pub written_share: Option<f64>,
    /// Pages copied and blocks erased by collection ahead of need in the measured phase.
    pub collected_ahead: u64,
    /// Share of think time in the time between requests of a process; `None` without think time or event clock.
    pub thinking_share: Option<f64>,
    /// Time series of the measured phase.
    pub series: Series,
    /// Erases of each block during the measured phase.
    pub erase_counts: Vec<u32>,
    /// Response times by [`ssdlab_trace::Op`]; empty if time is not modelled.
    pub latency: [LatencyHistogram; 4],
    /// Merges and captures of a log-block FTL.
    pub log: Option<LogFigures>,
    /// Busy times of dies and channels, if modelled.
    pub activity: Option<Activity>,
}
