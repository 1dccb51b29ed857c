//! When enough has been replayed: after so many times, or once write amplification is steady.
//!
//! Replays are put together to windows, each the fewest that write as many pages as the flash has. In the first window
//! collection may begin; in every later one all blocks have been through it. Two successive windows whose write
//! amplification differs by less than a share are steady. A replay that writes nothing leaves nothing to settle.

use crate::observe::summary::RepeatSummary;
use crate::setup::Setup;
use crate::setup::host::Repeat;

/// Pages written in some time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Written {
    /// By the host.
    pub host_pages: u64,
    /// On flash.
    pub programmed: u64,
}

impl Written {
    /// Pages programmed for each page of the host; none if it wrote nothing.
    pub fn amplification(self) -> Option<f64> {
        (self.host_pages > 0).then(|| self.programmed as f64 / self.host_pages as f64)
    }
}

/// Counts replays and decides which is the last.
#[derive(Clone, Debug)]
pub(crate) struct SteadyStateDetector {
    repeat: Repeat,
    flash_pages: u64,
    logical_pages: u32,
    window: Written,
    /// Write amplification of the last whole window.
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

    /// A replay begins: whether it is known that others follow.
    pub fn begin(&mut self) -> bool {
        self.summary.replays += 1;
        matches!(self.repeat, Repeat::Times(times) if self.summary.replays < times)
    }

    /// A replay is over: whether another follows.
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

    /// Write amplification of the last whole replay.
    pub fn write_amplification(&self) -> Option<f64> {
        self.summary.write_amplification.last().copied().flatten()
    }

    /// What was replayed.
    pub fn summary(mut self) -> RepeatSummary {
        self.summary.capacities_written = self.host_pages as f64 / f64::from(self.logical_pages);
        self.summary
    }
}
