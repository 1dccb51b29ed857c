//! Interface and results of the meters, which compute metrics from the events that an FTL reports.

use serde::Serialize;
use ssdlab_core::{Lpn, counters};
use ssdlab_nand::{FlashSink, MergeCost};

/// A receiver of flash operations that may also evaluate the events that an FTL reports. The default methods measure
/// nothing and compile to nothing.
pub(crate) trait Meter: FlashSink {
    /// Records that `stream` begins a write of `count` pages from `lpn`.
    #[inline(always)]
    fn begin_write(&mut self, _stream: u16, _lpn: Lpn, _count: u32) {}

    /// Records the end of the write that [`Self::begin_write`] began.
    #[inline(always)]
    fn end_write(&mut self) {}

    /// Discards all measurements so far.
    fn restart(&mut self) {}

    /// Returns the measurements. `cost_ns` converts the cost of a merge to a duration; it returns `None` if time is not
    /// modelled.
    fn figures(&mut self, _host_pages_written: u64, _cost_ns: &dyn Fn(MergeCost) -> Option<u64>) -> Measured {
        Measured::default()
    }

    /// Returns the meter as a trait object; None if it measures nothing.
    fn boxed(self) -> BoxedMeter
    where
        Self: Sized + Send + 'static,
    {
        Some(Box::new(self))
    }
}

impl Meter for () {
    fn boxed(self) -> BoxedMeter {
        None
    }
}

/// A meter of any type; None if the FTL has no metrics of its own.
pub(crate) type BoxedMeter = Option<Box<dyn Meter + Send>>;

impl Meter for BoxedMeter {
    #[inline(always)]
    fn begin_write(&mut self, stream: u16, lpn: Lpn, count: u32) {
        if let Some(meter) = self {
            meter.begin_write(stream, lpn, count);
        }
    }

    #[inline(always)]
    fn end_write(&mut self) {
        if let Some(meter) = self {
            meter.end_write();
        }
    }

    fn restart(&mut self) {
        if let Some(meter) = self {
            meter.restart();
        }
    }

    fn figures(&mut self, host_pages_written: u64, cost_ns: &dyn Fn(MergeCost) -> Option<u64>) -> Measured {
        self.as_mut().map(|meter| meter.figures(host_pages_written, cost_ns)).unwrap_or_default()
    }

    fn boxed(self) -> BoxedMeter {
        self
    }
}

/// Metrics that were computed from the events that an FTL reports.
#[derive(Default)]
pub(crate) struct Measured {
    /// Metrics of a log-block FTL.
    pub log: Option<LogFigures>,
    /// Metrics of an FTL with its map in flash.
    pub map: Option<MapSummary>,
}

/// Totals for merges of one type.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct MergeTally {
    /// Number of logical blocks merged.
    pub count: u64,
    /// Number of pages copied.
    pub copies: u64,
    /// Number of data blocks erased, excluding reclaimed log blocks.
    pub erases: u64,
}

/// Totals of merges by type.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Merges {
    /// Switch merges: a log block became a data block.
    pub switch: MergeTally,
    /// Partial merges: a log block was completed with copies and became a data block.
    pub partial: MergeTally,
    /// Full merges: the newest pages were copied to a free block.
    pub full: MergeTally,
}

counters! {
    /// Counts of the sequential runs that the host wrote, of their pages, and of random pages: in total and in
    /// sequential log blocks.
    pub struct CaptureCounters {
        sub_streams: "runs", "Sequential sub-streams: runs of at least two pages.";
        captured_sub_streams: "runs", "Sub-streams with at least one page in a sequential log block.";
        pages_of_captured: "pages", "Pages of sequential sub-streams.";
        captured_pages: "pages", "Pages of sequential sub-streams written to sequential log blocks.";
        random_pages: "pages", "Random pages: runs of one page.";
        captured_random_pages: "pages", "Random pages written to sequential log blocks.";
    }
}

/// Ability of sequential log blocks to distinguish sequential from random pages. The SBFAST slides, "Evaluation PAE2",
/// define the ratios.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct CaptureSummary {
    /// Number of the stream in the trace; `None` for all streams together.
    pub stream: Option<u16>,
    /// Number of sequential sub-streams.
    pub sub_streams: u64,
    /// Number of random pages: sequential runs of one page.
    pub random_pages: u64,
    /// Share of the sub-streams that were captured at least in part; `None` without sub-streams.
    pub hit_ratio: Option<f64>,
    /// Captured share of the pages of captured sub-streams; `None` without captured sub-streams.
    pub hit_quality: Option<f64>,
    /// Share of the random pages that were captured; `None` without random pages.
    pub error_capture: Option<f64>,
    /// Share of random pages that were not captured: 1 - `error_capture`.
    pub pseudo_benefit: Option<f64>,
}

impl CaptureSummary {
    pub(crate) fn of(stream: Option<u16>, counts: &CaptureCounters) -> Self {
        let share = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        let error_capture = share(counts.captured_random_pages, counts.random_pages);
        Self {
            stream,
            sub_streams: counts.sub_streams,
            random_pages: counts.random_pages,
            hit_ratio: share(counts.captured_sub_streams, counts.sub_streams),
            hit_quality: share(counts.captured_pages, counts.pages_of_captured),
            error_capture,
            pseudo_benefit: error_capture.map(|error| 1.0 - error),
        }
    }
}

/// Metrics of the log of a log-block FTL in the measured phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LogSummary {
    /// Merges by type.
    pub merges: Merges,
    /// Full merges per page that the host wrote; `None` if the host wrote nothing.
    pub full_merges_per_page: Option<f64>,
    /// Number of host pages that waited for log space to be reclaimed ([`ssdlab_nand::Note::Reclaimed`]).
    pub reclaims: u64,
    /// Mean number of logical blocks merged per reclaim.
    pub associativity_mean: Option<f64>,
    /// Mean flash work of a reclaim, if time is modelled: the total duration of its flash operations on all dies.
    pub reclaim_mean_ns: Option<f64>,
    /// Number of log blocks that were retired from the log.
    pub retired_blocks: u64,
    /// Mean share of the pages of a log block that had been programmed when the block was retired.
    pub utilisation_mean: Option<f64>,
    /// How well sequential log blocks captured sequential writes, over all streams; `None` for a log without such
    /// blocks.
    pub capture: Option<CaptureSummary>,
    /// Capture metrics of the sequential log blocks by stream, if the trace has stream numbers.
    pub capture_by_stream: Vec<CaptureSummary>,
}

/// Metrics of a log-block FTL, with the distributions from which the summary is computed.
#[derive(Clone, Debug)]
pub struct LogFigures {
    /// Summary metrics of the log blocks.
    pub summary: LogSummary,
    /// Number of reclaims, indexed by the number of logical blocks merged.
    pub associativity: Vec<u64>,
    /// Number of retired log blocks, indexed by the number of pages programmed.
    pub utilisation: Vec<u64>,
    /// Reclaims by cost, cheapest first. Each entry holds the numbers of copies and erases in a reclaim, its duration
    /// in nanoseconds (0 if time is not modelled), and the number of reclaims with this cost.
    pub reclaim_costs: Vec<(MergeCost, u64, u64)>,
}

/// Totals of map look-ups for one type of access, such as reads, or for all accesses.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct LookupTally {
    /// Number of look-ups, one per page touched.
    pub count: u64,
    /// Number of look-ups whose entry was in RAM.
    pub hits: u64,
    /// `hits` divided by `count`; `None` without look-ups.
    pub hit_ratio: Option<f64>,
}

/// Metrics of a map in flash in the measured phase.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MapSummary {
    /// Totals of look-ups for page reads.
    pub reads: LookupTally,
    /// Totals of look-ups for page writes and trims.
    pub changes: LookupTally,
    /// Totals of all look-ups.
    pub all: LookupTally,
    /// Total number of map pages read.
    pub pages_read: u64,
    /// Total number of map pages programmed.
    pub pages_programmed: u64,
    /// `pages_programmed` per page that the host wrote; `None` if the host wrote nothing.
    pub translation_write_amplification: Option<f64>,
    /// Share of the map look-ups for host reads that had to read a map page first; `None` without reads.
    pub double_read_share: Option<f64>,
    /// Number of map pages in flash.
    pub pages: u32,
    /// Number of look-ups that missed although the entry had been in RAM earlier, when its page was written.
    #[serde(skip)]
    pub missed_again: u64,
}
