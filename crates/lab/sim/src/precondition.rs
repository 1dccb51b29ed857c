//! Brings a new device into the state of a used device: filled, then overwritten at random or by the trace.

pub(crate) mod sampled;

use std::ops::Range;

use serde::{Deserialize, Serialize};
use ssdlab_core::{Archive, Archived, Lpn, Rng};
use ssdlab_ftl::{Ftl, WriteContext};
use ssdlab_nand::backend::{Flash, Resume};
use ssdlab_nand::{Cause, Counts};
use ssdlab_trace::{Op, Progress, Request, Source};

use crate::check::data_checker::{Checker, DataChecker};
use crate::drive::parts::Parts;
use crate::drive::stack::Stack;
use crate::host::fit::AddressMapper;
use crate::host::replay::BATCH;
use crate::observe::requests::HostCounters;
use crate::run::error::SimError;
use crate::run::monitor::{Control, Monitor, Phase, Status, prepare_source};
use crate::run::repeat::Replays;
use crate::run::steady::{SteadyStateDetector, Written};
use crate::setup::host::Repeat;
use crate::setup::{Overwrite, Setup};

/// The device's state before the first request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PreconditionSummary {
    /// Number of pages written by preconditioning.
    pub host_pages_written: u64,
    /// Number of pages programmed since the device was made.
    pub flash_pages_programmed: u64,
    /// Number of host pages programmed by earlier runs of a saved drive; the totals above include them. Pages
    /// overwritten in a write buffer do not count.
    pub runs_pages_written: u64,
    /// Write amplification at the end of overwriting; `None` if it was not measured.
    pub write_amplification: Option<f64>,
    /// True if write amplification was steady; `None` unless the set-up preconditions until it is steady.
    pub stable: Option<bool>,
    /// Number of replays of the trace's writes, if the trace overwrote the device.
    pub replays: Option<u64>,
    /// Number of planes in the sample. Only these planes were preconditioned, and their state was applied to all
    /// planes. `None` if planes were not sampled.
    pub sampled_planes: Option<u32>,
    /// Number of sections per superblock. Only one section was preconditioned, and its state was applied to all
    /// sections. `None` if sections were not sampled.
    pub sampled_sections: Option<u32>,
}

impl PreconditionSummary {
    /// Adds the writes of a completed run to the totals; `counts` are the flash operations since the device was made.
    pub(crate) fn add_run(&mut self, counts: &Counts) {
        self.runs_pages_written += counts.programs[Cause::Host as usize] - self.host_pages_written;
        self.count(counts);
    }

    /// Sets the numbers of pages written and programmed, given the flash operation counts since the device was made.
    pub(crate) fn count(&mut self, counts: &Counts) {
        self.host_pages_written = counts.programs[Cause::Host as usize];
        self.flash_pages_programmed = counts.programmed();
    }
}

/// Number of pages that preconditioning fills between two reports of its progress.
const FILL_CHUNK: u64 = 1 << 18;
/// Number of pages overwritten between two reports to the monitor. It is small, because each page may cost merges of
/// whole blocks.
const OVERWRITE_CHUNK: u64 = 1 << 12;
/// Number of writes to look ahead when map entries are prefetched.
const LOOKAHEAD: usize = 16;
/// Number of measurement windows while the host writes the capacity of the device once. Each window yields one value
/// of write amplification.
const WINDOWS_PER_PASS: u64 = 4;
/// Relative difference below which two successive windows count as steady.
const SETTLED: f64 = 0.005;
/// Maximum number of additional device overwrites, beyond the minimum number, to reach steady write amplification.
const MAX_PASSES: u64 = 15;

/// An FTL with its flash, while no operation is in flight. Code for preconditioning and saving uses this trait, so that
/// it is compiled only once for all FTLs.
pub(crate) trait Device {
    fn setup(&self) -> &Setup;

    fn counts(&self) -> Counts;

    fn host(&mut self) -> &mut HostCounters;

    /// Writes `count` logical pages from `first`.
    fn write(&mut self, first: Lpn, count: u32);

    /// Overwrites `count` pages, drawn at random from the first `pages` pages. `ahead` holds the pages drawn for the
    /// next writes.
    fn overwrite(&mut self, pages: u64, count: u64, ahead: &mut [u32; LOOKAHEAD], rng: &mut Rng);

    /// Serves a request of the trace.
    fn take(&mut self, request: &Request);

    /// Preconditions the device by sampling if the set-up requires this, or if the set-up allows it and the device is
    /// large and suitable. Otherwise returns `None`.
    fn sample(&mut self, monitor: &mut dyn Monitor) -> Result<Option<(PreconditionSummary, Control)>, SimError>;

    /// Loads into the drive's RAM the map entries that a used drive would have cached there.
    fn preload(&mut self);

    /// Reports the result of the data check.
    ///
    /// # Errors
    /// Fails if the data check found a violation.
    fn checked(&self) -> Result<(), SimError>;

    /// Saves the state of the device. If the FTL was created for loading, loads the saved state instead.
    fn archive(&mut self, summary: &mut PreconditionSummary, archive: &mut Archive<'_>) -> Archived;
}

/// Preconditions the device as its set-up requires.
///
/// # Errors
/// Fails if the method does not suit the device, the trace is missing or unreadable, or the data check fails.
pub(crate) fn prepare(
    device: &mut dyn Device,
    trace: Option<&mut Replays<'_>>,
    monitor: &mut dyn Monitor,
) -> Result<(PreconditionSummary, Control), SimError> {
    if let Some(prepared) = device.sample(monitor)? {
        return Ok(prepared);
    }
    let Setup { precondition, seed, .. } = *device.setup();
    let (pages, flash_pages) = (device.setup().filled_pages(), device.setup().geometry.pages());
    let mut summary = PreconditionSummary::default();
    let mut target = Target { device, monitor };
    let mut control = target.fill(pages);
    if control == Control::Continue {
        control = match (precondition.overwrite, trace) {
            (Overwrite::Trace(repeat), Some(trace)) => overwrite_by(trace, repeat, device, &mut summary, monitor)?,
            (Overwrite::Trace(_), None) => {
                let why = "precondition.overwrite: \"trace\" needs a trace; set it to \"steady\"";
                return Err(SimError::Setup(why.into()));
            }
            (at_random, _) => target.overwrite_at_random(at_random, (pages, flash_pages), seed, &mut summary),
        };
    }
    summary.count(&device.counts());
    device.preload();
    device.checked()?;
    Ok((summary, control))
}

/// Overwrites the device with the writes and trims of a trace, and rewinds the trace.
fn overwrite_by(
    trace: &mut Replays<'_>,
    repeat: Repeat,
    device: &mut dyn Device,
    summary: &mut PreconditionSummary,
    monitor: &mut dyn Monitor,
) -> Result<Control, SimError> {
    let mut detector = SteadyStateDetector::new(repeat, device.setup());
    let mut batch = Vec::with_capacity(BATCH);
    let (mut requests, mut control, mut more) = (0, Control::Continue, true);
    while more && control == Control::Continue {
        detector.begin();
        *device.host() = HostCounters::default();
        let before = device.counts();
        let mut mapper = AddressMapper::new(device.setup());
        control = prepare_source(trace, monitor, requests)?;
        while control == Control::Continue && trace.fill(&mut batch, BATCH)? > 0 {
            for request in &batch {
                let request = mapper.fit(request)?.request;
                if matches!(request.op, Op::Write | Op::Trim) {
                    device.take(&request);
                }
            }
            requests += batch.len() as u64;
            batch.clear();
            let Progress { done, total } = trace.progress();
            let write_amplification = detector.write_amplification();
            control = monitor.report(&Status { phase: Phase::Overwrite, done, total, write_amplification, requests });
        }
        if control == Control::Continue {
            let programmed = (device.counts() - before).programmed();
            more = detector.end(Written { host_pages: device.host().pages_written, programmed });
            trace.start_over()?;
        }
    }
    let repeats = detector.summary();
    summary.write_amplification = repeats.write_amplification.last().copied().flatten();
    summary.stable = repeats.steady;
    summary.replays = Some(repeats.replays);
    Ok(control)
}

impl<P: Parts<Flash: Resume>> Device for Stack<P> {
    fn setup(&self) -> &Setup {
        &self.setup
    }

    fn counts(&self) -> Counts {
        self.sinks.flash.counts()
    }

    fn host(&mut self) -> &mut HostCounters {
        &mut self.host
    }

    fn write(&mut self, first: Lpn, count: u32) {
        if let Some(checker) = self.sinks.checker.get_mut() {
            checker.expect_write(first, count);
        }
        self.ftl.write(first, count, WriteContext::default(), &mut self.sinks);
    }

    fn overwrite(&mut self, pages: u64, count: u64, ahead: &mut [u32; LOOKAHEAD], rng: &mut Rng) {
        for slot in (0..LOOKAHEAD).cycle().take(count as usize) {
            let lpn = std::mem::replace(&mut ahead[slot], rng.below(pages) as u32);
            self.ftl.prefetch(Lpn(ahead[slot]));
            Device::write(self, Lpn(lpn), 1);
        }
    }

    fn take(&mut self, request: &Request) {
        self.take_all(request);
    }

    fn sample(&mut self, monitor: &mut dyn Monitor) -> Result<Option<(PreconditionSummary, Control)>, SimError> {
        sampled::prepare(self, monitor)
    }

    fn preload(&mut self) {
        self.ftl.preload(&mut self.sinks);
    }

    fn checked(&self) -> Result<(), SimError> {
        self.stop_at_violation()
    }

    fn archive(&mut self, summary: &mut PreconditionSummary, archive: &mut Archive<'_>) -> Archived {
        let mut counts = self.sinks.flash.counts();
        archive.value(summary)?;
        archive.value(&mut counts)?;
        self.ftl.archive(archive)?;
        if let Some(checker) = self.sinks.checker.get_mut() {
            checker.archive(archive)?;
        }
        if let Archive::Load(_) = archive {
            let programmed = self.sinks.checker.get().into_iter().flat_map(DataChecker::programmed);
            self.sinks.flash.resume(counts, &self.ftl.slc_blocks(), programmed);
        }
        Ok(())
    }
}

/// A device that is being preconditioned, and the monitor.
struct Target<'a> {
    device: &'a mut dyn Device,
    monitor: &'a mut dyn Monitor,
}

impl Target<'_> {
    /// Overwrites the first `pages` pages (none if 0) of a device with `flash_pages` flash pages.
    fn overwrite_at_random(
        &mut self,
        overwrite: Overwrite,
        (pages, flash_pages): (u64, u64),
        seed: u64,
        summary: &mut PreconditionSummary,
    ) -> Control {
        if pages == 0 {
            return Control::Continue;
        }
        let mut rng = Rng::named(seed, "precondition");
        let (amplification, stable, control) = match overwrite {
            Overwrite::None | Overwrite::Trace(_) => (None, None, Control::Continue),
            Overwrite::Passes(passes) => {
                let writes = (passes * pages as f64).round() as u64;
                let progress = OverwriteProgress { before: 0, planned: Some(writes), write_amplification: None };
                let (amplification, control) = self.overwrite(pages, writes, progress, &mut rng);
                (amplification, None, control)
            }
            Overwrite::Steady(_) => {
                let (amplification, stable, control) = self.overwrite_until_steady(pages, flash_pages, &mut rng);
                (amplification, Some(stable), control)
            }
        };
        (summary.write_amplification, summary.stable) = (amplification, stable);
        control
    }

    fn report(&mut self, phase: Phase, done: u64, total: Option<u64>, write_amplification: Option<f64>) -> Control {
        self.monitor.report(&Status { phase, done, total, write_amplification, requests: 0 })
    }

    fn fill(&mut self, pages: u64) -> Control {
        let mut next = 0;
        while next < pages {
            if self.report(Phase::Fill, next, Some(pages), None) == Control::Stop {
                return Control::Stop;
            }
            let count = FILL_CHUNK.min(pages - next) as u32;
            self.device.write(Lpn(next as u32), count);
            next += u64::from(count);
        }
        Control::Continue
    }

    /// Writes `writes` pages, chosen at random among the first `pages` logical pages. Returns the write amplification.
    fn overwrite(
        &mut self,
        pages: u64,
        writes: u64,
        progress: OverwriteProgress,
        rng: &mut Rng,
    ) -> (Option<f64>, Control) {
        let OverwriteProgress { before, planned, mut write_amplification } = progress;
        let began = self.device.counts();
        let (mut marked, mut marked_at) = (began, 0);
        let mut ahead: [u32; LOOKAHEAD] = std::array::from_fn(|_| rng.below(pages) as u32);
        let mut done = 0;
        while done < writes {
            if done - marked_at >= window(pages) {
                let now = self.device.counts();
                let programmed = (now - marked).programmed();
                write_amplification = Written { host_pages: done - marked_at, programmed }.amplification();
                (marked, marked_at) = (now, done);
            }
            if self.report(Phase::Overwrite, before + done, planned, write_amplification) == Control::Stop {
                return (None, Control::Stop);
            }
            let count = OVERWRITE_CHUNK.min(writes - done);
            self.device.overwrite(pages, count, &mut ahead, rng);
            done += count;
        }
        let programmed = (self.device.counts() - began).programmed();
        (Written { host_pages: writes, programmed }.amplification(), Control::Continue)
    }

    fn overwrite_until_steady(&mut self, pages: u64, flash_pages: u64, rng: &mut Rng) -> (Option<f64>, bool, Control) {
        let window = window(pages);
        let least = least_windows(pages, flash_pages);
        let limit = least + MAX_PASSES * WINDOWS_PER_PASS;
        let mut earlier: Option<f64> = None;
        // The last two relative changes of the write amplification from one window to the next.
        let mut differences = (None, None);
        for number in 0..limit {
            let windows = expected_windows(differences, number, least..limit);
            let planned = windows.map(|windows| windows * window);
            let progress = OverwriteProgress { before: number * window, planned, write_amplification: earlier };
            let (latest, control) = self.overwrite(pages, window, progress, rng);
            if control == Control::Stop {
                return (earlier, false, control);
            }
            let difference = earlier.zip(latest).map(|(before, now)| (now / before - 1.0).abs());
            if number >= least && difference.is_some_and(|difference| difference < SETTLED) {
                return (latest, true, Control::Continue);
            }
            differences = (differences.1, difference);
            earlier = latest;
        }
        (earlier, false, Control::Continue)
    }
}

/// Progress of random overwriting, for the monitor.
struct OverwriteProgress {
    /// Number of pages overwritten so far.
    before: u64,
    /// Total number of pages to overwrite, if known or estimated.
    planned: Option<u64>,
    /// Write amplification in the latest window.
    write_amplification: Option<f64>,
}

/// Returns the length, in page writes, of a window over which write amplification is measured.
fn window(pages: u64) -> u64 {
    pages.div_ceil(WINDOWS_PER_PASS)
}

/// Returns the minimum number of windows before write amplification can be steady. Nothing is collected before the
/// flash is full. Until the flash has been written once more, victims have few valid pages, so write amplification is
/// low but not steady.
fn least_windows(pages: u64, flash_pages: u64) -> u64 {
    ((2 * flash_pages - pages) / window(pages)).max(WINDOWS_PER_PASS)
}

/// Estimates the number of windows until write amplification is steady after `done` windows. Assumes that the
/// difference between successive windows keeps shrinking by the latest factor. Returns `None` if the difference does
/// not shrink.
fn expected_windows(differences: (Option<f64>, Option<f64>), done: u64, may_take: Range<u64>) -> Option<u64> {
    let Range { start: least, end: limit } = may_take;
    let (Some(before), Some(latest)) = differences else { return None };
    let shrinks = latest / before;
    if shrinks.is_nan() || shrinks >= 1.0 {
        return None;
    }
    let mut difference = latest;
    let more = (1..limit - done).find(|_| {
        difference *= shrinks;
        difference < SETTLED
    });
    Some((done + more.unwrap_or(limit - done)).max(least + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected number of windows: as many as cover one device capacity at 7 % over-provisioning, and nine capacities
    /// if the flash is five times the capacity.
    #[test]
    fn nothing_is_steady_before_the_flash_was_written_twice() {
        for (flash_pages, windows) in [(1070, 4), (1300, 6), (5000, 36)] {
            assert_eq!(least_windows(1000, flash_pages), windows);
        }
    }

    /// If differences shrink by a constant factor, logarithms give the number of windows until they fall below the
    /// bound.
    #[test]
    fn the_end_of_overwriting_is_estimated_from_shrinking_differences() {
        for (latest, shrinks) in [(0.1, 0.5), (0.02, 0.9), (0.3, 0.2)] {
            let more = f64::ln(SETTLED / latest) / f64::ln(shrinks);
            let expected = expected_windows((Some(latest / shrinks), Some(latest)), 6, 4..64);
            assert_eq!(expected, Some(6 + more.ceil() as u64), "{latest} {shrinks}");
        }
    }

    #[test]
    fn differences_that_do_not_shrink_give_no_estimate() {
        assert_eq!(expected_windows((None, Some(0.1)), 2, 4..64), None);
        assert_eq!(expected_windows((Some(0.1), Some(0.1)), 6, 4..64), None);
        assert_eq!(expected_windows((Some(0.0), Some(0.0)), 6, 4..64), None);
        // In the first case, the difference shrinks too slowly. In the second case, the minimum number of windows is
        // not yet reached.
        assert_eq!(expected_windows((Some(0.1), Some(0.0999)), 60, 4..64), Some(64));
        assert_eq!(expected_windows((Some(0.1), Some(0.001)), 2, 4..64), Some(5));
    }
}
