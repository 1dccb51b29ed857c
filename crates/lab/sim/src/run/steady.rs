//! Ends repeated replays after a fixed number of replays, or once write amplification is steady.
//!
//! A window is the smallest number of replays that together write at least as many pages as the flash has. Collection
//! may begin in the first window; each later window collects all blocks. Two successive windows are steady if their
//! write amplification differs by less than `within` of [`Repeat::UntilSteady`]. A replay that writes nothing is
//! steady.

use serde::Serialize;

use crate::setup::Setup;
use crate::setup::host::Repeat;

/// Results of repeated replays of the trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RepeatSummary {
    /// Number of replays begun, including the measured replay.
    pub replays: u64,
    /// True if write amplification became steady; `None` unless the trace is repeated until it is steady.
    pub steady: Option<bool>,
    /// Number of logical pages written in all replays, as a multiple of the device capacity.
    pub capacities_written: f64,
    /// Write amplification of each complete replay without its warm-up; `None` if the replay wrote nothing.
    pub write_amplification: Vec<Option<f64>>,
}

/// Number of pages that the host wrote, and number of pages programmed, during a part of the run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Written {
    /// Number of pages that the host wrote.
    pub host_pages: u64,
    /// Number of pages that were programmed.
    pub programmed: u64,
}

impl Written {
    /// Returns the number of pages programmed per host page; `None` if the host wrote nothing.
    pub fn amplification(self) -> Option<f64> {
        (self.host_pages > 0).then(|| self.programmed as f64 / self.host_pages as f64)
    }
}

/// Counts replays and decides which replay is the last.
#[derive(Clone, Debug)]
pub(crate) struct SteadyStateDetector {
    repeat: Repeat,
    flash_pages: u64,
    logical_pages: u32,
    window: Written,
    /// Write amplification of the latest complete window.
    latest: Option<f64>,
    host_pages: u64,
    summary: RepeatSummary,
}

impl SteadyStateDetector {
    pub fn new(repeat: Repeat, setup: &Setup) -> Self {
        let steady = matches!(repeat, Repeat::UntilSteady { .. }).then_some(false);
        Self {
            repeat,
            flash_pages: setup.geometry.pages(),
            logical_pages: setup.logical_pages,
            window: Written::default(),
            latest: None,
            host_pages: 0,
            summary: RepeatSummary { steady, ..RepeatSummary::default() },
        }
    }

    /// Records the start of a replay. Returns true if it is certain that another replay follows.
    pub fn begin(&mut self) -> bool {
        self.summary.replays += 1;
        matches!(self.repeat, Repeat::Times(times) if self.summary.replays < times)
    }

    /// Records the end of a replay; `written` counts the pages written and programmed in the replay. Returns true if
    /// another replay follows.
    pub fn end(&mut self, written: Written) -> bool {
        self.host_pages += written.host_pages;
        self.summary.write_amplification.push(written.amplification());
        match self.repeat {
            Repeat::Times(times) => self.summary.replays < times,
            Repeat::UntilSteady { within, most } => {
                let steady = self.settled(written, within);
                self.summary.steady = Some(steady);
                !steady && self.summary.replays < most
            }
        }
    }

    fn settled(&mut self, written: Written, within: f64) -> bool {
        let Some(_) = written.amplification() else { return true };
        self.window.host_pages += written.host_pages;
        self.window.programmed += written.programmed;
        if self.window.host_pages < self.flash_pages {
            return false;
        }
        let now = std::mem::take(&mut self.window).amplification();
        let before = std::mem::replace(&mut self.latest, now);
        before.zip(now).is_some_and(|(before, now)| (now / before - 1.0).abs() < within)
    }

    /// Returns the write amplification of the last complete replay.
    pub fn write_amplification(&self) -> Option<f64> {
        self.summary.write_amplification.last().copied().flatten()
    }

    /// Returns the summary of all replays.
    pub fn summary(mut self) -> RepeatSummary {
        self.summary.capacities_written = self.host_pages as f64 / f64::from(self.logical_pages);
        self.summary
    }
}
