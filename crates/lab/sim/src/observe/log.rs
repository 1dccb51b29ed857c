//! Measures a log-block FTL: merges by type, cost of reclaiming, utilisation of log blocks, and pages captured by
//! sequential log blocks.
//!
//! Captures are counted by *run*. A run is a series of consecutive pages that one stream of the trace writes in
//! sequence. A run of two or more pages is a sequential sub-stream; a run of one page is a random page.

use std::collections::BTreeMap;

use ssdlab_core::{BlockId, Lpn, Ppn};
use ssdlab_nand::{Cause, FlashSink, MergeCost, MergeKind, Note, Source, SpareArea};

use crate::observe::meter::{
    CaptureCounters, CaptureSummary, LogFigures, LogSummary, Measured, MergeTally, Merges, Meter,
};

/// The current run of pages that one stream writes in sequence.
#[derive(Clone, Copy, Default)]
struct PageRun {
    /// Number of the page that would continue the run.
    next: u32,
    pages: u64,
    captured: u64,
}

/// Meter for a log-block FTL.
pub(crate) struct LogMeter {
    pages_per_block: u32,
    /// True if the log has sequential log blocks.
    captures: bool,
    merges: [MergeTally; MergeKind::ALL.len()],
    associativity: Vec<u64>,
    utilisation: Vec<u64>,
    reclaim_costs: BTreeMap<MergeCost, u64>,
    streams: Vec<(PageRun, CaptureCounters)>,
    /// Stream, first page and page count of the current write.
    write: (u16, u32, u32),
    /// Pages of the current write that were captured: written to a sequential log block.
    captured: Vec<u32>,
}

impl LogMeter {
    pub(crate) fn new(pages_per_block: u32, captures: bool) -> Self {
        Self {
            pages_per_block,
            captures,
            merges: Default::default(),
            associativity: Vec::new(),
            utilisation: vec![0; pages_per_block as usize + 1],
            reclaim_costs: BTreeMap::new(),
            streams: Vec::new(),
            write: (0, 0, 0),
            captured: Vec::new(),
        }
    }
}

/// Adds a finished run to the counters.
fn close(run: PageRun, counts: &mut CaptureCounters) {
    match run.pages {
        0 => {}
        1 => {
            counts.random_pages += 1;
            counts.captured_random_pages += run.captured;
        }
        pages => {
            counts.sub_streams += 1;
            if run.captured > 0 {
                counts.captured_sub_streams += 1;
                counts.pages_of_captured += pages;
                counts.captured_pages += run.captured;
            }
        }
    }
}

impl FlashSink for LogMeter {
    #[inline(always)]
    fn read(&mut self, _ppn: Ppn, _cause: Cause) {}

    #[inline(always)]
    fn program(&mut self, _ppn: Ppn, _oob: SpareArea, _source: Source, _cause: Cause) {}

    #[inline(always)]
    fn erase(&mut self, _block: BlockId, _cause: Cause) {}

    #[inline(always)]
    fn copy(&mut self, _from: Ppn, _to: Ppn, _oob: SpareArea, _cause: Cause) {}

    fn note(&mut self, note: Note) {
        match note {
            Note::Captured(lpn) => self.captured.push(lpn.0),
            Note::Merged { kind, cost, .. } => {
                let tally = &mut self.merges[kind as usize];
                tally.count += 1;
                tally.copies += u64::from(cost.copies);
                tally.erases += u64::from(cost.erases);
            }
            Note::Reclaimed { associated, cost } => {
                let index = associated as usize;
                if self.associativity.len() <= index {
                    self.associativity.resize(index + 1, 0);
                }
                self.associativity[index] += 1;
                *self.reclaim_costs.entry(cost).or_default() += 1;
            }
            Note::Retired { written, .. } => self.utilisation[written as usize] += 1,
            Note::LookedUp { .. }
            | Note::Victim { .. }
            | Note::Opened { .. }
            | Note::Rotated(_)
            | Note::Drained(_)
            | Note::Bad(_) => {}
        }
    }
}

impl Meter for LogMeter {
    #[inline]
    fn begin_write(&mut self, stream: u16, lpn: Lpn, count: u32) {
        self.write = (stream, lpn.0, count);
        self.captured.clear();
    }

    #[inline]
    fn end_write(&mut self) {
        let (stream, first, count) = self.write;
        if self.streams.len() <= usize::from(stream) {
            self.streams.resize(usize::from(stream) + 1, Default::default());
        }
        let (run, counts) = &mut self.streams[usize::from(stream)];
        if run.next != first || run.pages == 0 {
            close(*run, counts);
            *run = PageRun::default();
        }
        run.next = first + count;
        run.pages += u64::from(count);
        run.captured += self.captured.len() as u64;
    }

    fn restart(&mut self) {
        *self = Self::new(self.pages_per_block, self.captures);
    }

    fn figures(&mut self, host_pages_written: u64, cost_ns: &dyn Fn(MergeCost) -> Option<u64>) -> Measured {
        let mut all = CaptureCounters::default();
        let mut capture_by_stream = Vec::new();
        for (number, (run, counts)) in self.streams.iter_mut().enumerate() {
            close(*run, counts);
            all += *counts;
            if self.captures && number > 0 && *counts != CaptureCounters::default() {
                capture_by_stream.push(CaptureSummary::of(Some(number as u16), counts));
            }
        }
        let mean = |histogram: &[u64]| {
            let count: u64 = histogram.iter().sum();
            let sum: f64 = histogram.iter().enumerate().map(|(value, &times)| value as f64 * times as f64).sum();
            (count, (count > 0).then(|| sum / count as f64))
        };
        let (reclaims, associativity_mean) = mean(&self.associativity);
        let (retired_blocks, written_mean) = mean(&self.utilisation);
        let timed: Option<Vec<f64>> =
            self.reclaim_costs.iter().map(|(&cost, &times)| Some(cost_ns(cost)? as f64 * times as f64)).collect();
        let [switch, partial, full] = self.merges;
        let summary = LogSummary {
            merges: Merges { switch, partial, full },
            full_merges_per_page: (host_pages_written > 0).then(|| full.count as f64 / host_pages_written as f64),
            reclaims,
            associativity_mean,
            reclaim_mean_ns: timed.filter(|_| reclaims > 0).map(|times| times.iter().sum::<f64>() / reclaims as f64),
            retired_blocks,
            utilisation_mean: written_mean.map(|pages| pages / f64::from(self.pages_per_block)),
            capture: self.captures.then(|| CaptureSummary::of(None, &all)),
            capture_by_stream,
        };
        let with_time = |(&cost, &times): (&MergeCost, &u64)| (cost, cost_ns(cost).unwrap_or(0), times);
        let figures = LogFigures {
            summary,
            associativity: self.associativity.clone(),
            utilisation: self.utilisation.clone(),
            reclaim_costs: self.reclaim_costs.iter().map(with_time).collect(),
        };
        Measured { log: Some(figures), map: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdlab_nand::RetireReason;

    fn write(meter: &mut LogMeter, stream: u16, lpn: u32, count: u32, captured: &[u32]) {
        meter.begin_write(stream, Lpn(lpn), count);
        captured.iter().for_each(|&lpn| meter.note(Note::Captured(Lpn(lpn))));
        meter.end_write();
    }

    /// Expected: stream 1 has the runs 10-12 (two pages captured) and 40 (captured); stream 2 has the runs 90-91 and 7
    /// (no page captured).
    #[test]
    fn runs_are_counted_by_stream() {
        let mut meter = LogMeter::new(4, true);
        write(&mut meter, 1, 10, 1, &[]);
        write(&mut meter, 2, 90, 2, &[]);
        write(&mut meter, 1, 11, 2, &[11, 12]);
        write(&mut meter, 2, 7, 1, &[]);
        write(&mut meter, 1, 40, 1, &[40]);
        let summary = meter.figures(7, &|_| None).log.expect("measures").summary;
        let all = summary.capture.expect("captures");
        assert_eq!((all.sub_streams, all.random_pages), (2, 2));
        assert_eq!((all.hit_ratio, all.hit_quality), (Some(0.5), Some(2.0 / 3.0)));
        assert_eq!((all.error_capture, all.pseudo_benefit), (Some(0.5), Some(0.5)));
        assert_eq!(summary.capture_by_stream[0].error_capture, Some(1.0));
        assert_eq!(summary.capture_by_stream[1].hit_ratio, Some(0.0));
        assert_eq!(summary.capture_by_stream[1].hit_quality, None);
    }

    #[test]
    fn a_log_that_cannot_capture_has_no_captures() {
        let mut meter = LogMeter::new(4, false);
        write(&mut meter, 1, 10, 2, &[]);
        let summary = meter.figures(2, &|_| None).log.expect("measures").summary;
        assert_eq!((summary.capture, summary.capture_by_stream), (None, vec![]));
    }

    #[test]
    fn means_follow_the_notes() {
        let mut meter = LogMeter::new(4, true);
        let cost = |copies, erases| MergeCost { copies, erases };
        meter.note(Note::Reclaimed { associated: 3, cost: cost(12, 4) });
        meter.note(Note::Reclaimed { associated: 1, cost: cost(4, 2) });
        for written in [4, 1] {
            meter.note(Note::Retired { block: BlockId(0), written, reason: RetireReason::Full });
        }
        meter.note(Note::Merged { lbn: 0, kind: MergeKind::Full, cost: cost(4, 1), data: Some(BlockId(0)) });
        let figures = meter.figures(10, &|cost| Some(u64::from(cost.copies) * 10)).log.expect("measures");
        let summary = &figures.summary;
        assert_eq!((summary.reclaims, summary.associativity_mean), (2, Some(2.0)));
        assert_eq!((summary.reclaim_mean_ns, summary.utilisation_mean), (Some(80.0), Some(0.625)));
        assert_eq!(summary.full_merges_per_page, Some(0.1));
        assert_eq!(figures.associativity, [0, 1, 0, 1]);
        assert_eq!(figures.reclaim_costs, [(cost(4, 2), 40, 1), (cost(12, 4), 120, 1)]);
    }
}
