//! Brings a fresh device into the state in which a used one is: filled, then overwritten at random or by the trace.

mod sampled;

use std::ops::Range;

use ssdlab_core::{Lpn, Rng};
use ssdlab_ftl::{Ftl, WriteContext};
use ssdlab_nand::Counts;
use ssdlab_nand::backend::{Flash, Resume};
use ssdlab_trace::{Op, Progress, Request, Source};

use crate::check::data_checker::Checker;
use crate::drive::parts::Parts;
use crate::drive::stack::Stack;
use crate::host::fit::AddressMapper;
use crate::host::issue::BATCH;
use crate::observe::summary::{HostCounters, PreconditionSummary};
use crate::run::error::SimError;
use crate::run::monitor::{Control, Monitor, Phase, Status};
use crate::run::repeat::Replays;
use crate::run::steady::{SteadyStateDetector, Written};
use crate::setup::host::Repeat;
use crate::setup::{Overwrite, Setup};

/// Pages filled between two looks at the monitor.
const FILL_CHUNK: u64 = 1 << 18;
/// Pages overwritten between two looks: each may cost merges of whole blocks.
const OVERWRITE_CHUNK: u64 = 1 << 12;
/// Writes whose map entries are fetched ahead.
const LOOKAHEAD: usize = 16;
/// Write amplification is taken over windows of this many to a device's capacity.
const WINDOWS_PER_PASS: u64 = 4;
/// It has settled when two successive windows differ by less than this share.
const SETTLED: f64 = 0.005;
/// It must settle within so many more overwrites of the device than it takes to tell.
const MAX_PASSES: u64 = 15;

/// FTL and flash that pages are written to. Whoever writes need not be compiled for each of their kinds.
pub(crate) trait Writable {
    fn counts(&self) -> Counts;

    /// Writes `count` pages from `first`.
    fn write(&mut self, first: Lpn, count: u32);

    /// Overwrites `count` of the first `pages` pages at random, after those that are `ahead`.
    fn overwrite(&mut self, pages: u64, count: u64, ahead: &mut [u32; LOOKAHEAD], rng: &mut Rng);
}

/// A device to be prepared.
pub(crate) trait Fresh: Writable {
    fn setup(&self) -> &Setup;

    /// Prepares it from a part of it, if that is to be done.
    fn sample(&mut self, monitor: &mut dyn Monitor) -> Result<Option<(PreconditionSummary, Control)>, SimError>;

    /// Serves a request.
    fn take(&mut self, request: &Request);

    /// What the host has asked for.
    fn host(&mut self) -> &mut HostCounters;

    /// Reads into the drive's RAM what it would have there.
    fn preload(&mut self);

    /// # Errors
    /// If the data check found something wrong.
    fn checked(&self) -> Result<(), SimError>;
}

/// Prepares the device as its set-up says, without measuring; the second result tells whether the monitor stopped it.
///
/// # Errors
/// If it cannot be prepared in the way asked for, if it is to be overwritten by a trace and there is none or that
/// cannot be read, or if the data check finds something wrong.
pub(crate) fn prepare(
    device: &mut dyn Fresh,
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
                let why = "precondition.overwrite: there is no trace to overwrite the drive by; set it to \"steady\"";
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

/// Overwrites the device by the writes and trims of a trace, which begins anew after that.
fn overwrite_by(
    trace: &mut Replays<'_>,
    repeat: Repeat,
    device: &mut dyn Fresh,
    summary: &mut PreconditionSummary,
    monitor: &mut dyn Monitor,
) -> Result<Control, SimError> {
    let mut judge = SteadyStateDetector::new(repeat, device.setup());
    let mut batch = Vec::with_capacity(BATCH);
    let (mut requests, mut control, mut more) = (0, Control::Continue, true);
    while more && control == Control::Continue {
        judge.begin();
        *device.host() = HostCounters::default();
        let before = device.counts();
        let mut fitter = AddressMapper::new(device.setup());
        while control == Control::Continue && trace.fill(&mut batch, BATCH)? > 0 {
            for request in &batch {
                let request = fitter.fit(request)?.request;
                if matches!(request.op, Op::Write | Op::Trim) {
                    device.take(&request);
                }
            }
            requests += batch.len() as u64;
            batch.clear();
            let Progress { done, total } = trace.progress();
            let write_amplification = judge.write_amplification();
            control = monitor.report(&Status { phase: Phase::Overwrite, done, total, write_amplification, requests });
        }
        if control == Control::Continue {
            let programmed = (device.counts() - before).programmed();
            more = judge.end(Written { host_pages: device.host().pages_written, programmed });
            trace.start_over()?;
        }
    }
    let found = judge.summary();
    summary.write_amplification = found.write_amplification.last().copied().flatten();
    summary.stable = found.steady;
    summary.replays = Some(found.replays);
    Ok(control)
}

impl<P: Parts> Writable for Stack<P> {
    fn counts(&self) -> Counts {
        self.sinks.flash.counts()
    }

    fn write(&mut self, first: Lpn, count: u32) {
        self.sinks.checker.expect_write(first, count);
        self.ftl.write(first, count, WriteContext::default(), &mut self.sinks);
    }

    fn overwrite(&mut self, pages: u64, count: u64, ahead: &mut [u32; LOOKAHEAD], rng: &mut Rng) {
        for slot in (0..LOOKAHEAD).cycle().take(count as usize) {
            let lpn = std::mem::replace(&mut ahead[slot], rng.below(pages) as u32);
            self.ftl.prefetch(Lpn(ahead[slot]));
            Writable::write(self, Lpn(lpn), 1);
        }
    }
}

impl<P: Parts<Flash: Resume>> Fresh for Stack<P> {
    fn setup(&self) -> &Setup {
        &self.setup
    }

    fn sample(&mut self, monitor: &mut dyn Monitor) -> Result<Option<(PreconditionSummary, Control)>, SimError> {
        sampled::prepare(self, monitor)
    }

    fn take(&mut self, request: &Request) {
        self.take_all(request);
    }

    fn host(&mut self) -> &mut HostCounters {
        &mut self.host
    }

    fn preload(&mut self) {
        self.ftl.preload(&mut self.sinks);
    }

    fn checked(&self) -> Result<(), SimError> {
        self.stop_at_violation()
    }
}

/// What preconditioning works on.
struct Target<'a> {
    device: &'a mut dyn Writable,
    monitor: &'a mut dyn Monitor,
}

impl Target<'_> {
    /// Overwrites the first `pages` pages, if there are any, of a device with so much flash.
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
                let course = Course { before: 0, planned: Some(writes), write_amplification: None };
                let (amplification, control) = self.overwrite(pages, writes, course, &mut rng);
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

    fn look(&mut self, phase: Phase, done: u64, total: Option<u64>, write_amplification: Option<f64>) -> Control {
        self.monitor.report(&Status { phase, done, total, write_amplification, requests: 0 })
    }

    fn fill(&mut self, pages: u64) -> Control {
        let mut next = 0;
        while next < pages {
            if self.look(Phase::Fill, next, Some(pages), None) == Control::Stop {
                return Control::Stop;
            }
            let count = FILL_CHUNK.min(pages - next) as u32;
            self.device.write(Lpn(next as u32), count);
            next += u64::from(count);
        }
        Control::Continue
    }

    /// Overwrites `writes` of the first `pages` pages at random and returns the write amplification.
    fn overwrite(&mut self, pages: u64, writes: u64, course: Course, rng: &mut Rng) -> (Option<f64>, Control) {
        let Course { before, planned, mut write_amplification } = course;
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
            if self.look(Phase::Overwrite, before + done, planned, write_amplification) == Control::Stop {
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
        // By how much the last two windows differed, each from the one before.
        let mut differences = (None, None);
        for number in 0..limit {
            let windows = expected_windows(differences, number, least..limit);
            let planned = windows.map(|windows| windows * window);
            let course = Course { before: number * window, planned, write_amplification: earlier };
            let (latest, control) = self.overwrite(pages, window, course, rng);
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

/// How far overwriting is, for whoever watches it.
struct Course {
    /// Pages overwritten before.
    before: u64,
    /// Pages to overwrite in all, if that is known or can be estimated.
    planned: Option<u64>,
    /// Write amplification of the latest window.
    write_amplification: Option<f64>,
}

/// Writes over which write amplification is taken.
fn window(pages: u64) -> u64 {
    pages.div_ceil(WINDOWS_PER_PASS)
}

/// Windows before write amplification can be steady: while the flash is filled up nothing is collected, and then blocks
/// are that hold next to nothing, until all of it was written once more. That is calm, not steady.
fn least_windows(pages: u64, flash_pages: u64) -> u64 {
    ((2 * flash_pages - pages) / window(pages)).max(WINDOWS_PER_PASS)
}

/// Windows in all until write amplification has settled, after `done`, if successive windows go on to differ less and
/// less as the last two did, within those that it may take; none if they do not.
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

    /// Worked out by hand: at 7 % one overwrite, at five times the capacity nine.
    #[test]
    fn nothing_is_steady_before_the_flash_was_written_twice() {
        for (flash_pages, windows) in [(1070, 4), (1300, 6), (5000, 36)] {
            assert_eq!(least_windows(1000, flash_pages), windows);
        }
    }

    /// Differences that shrink by the same factor each time fall below the bound after as many windows as logarithms
    /// say.
    #[test]
    fn the_end_of_overwriting_is_estimated_from_how_differences_shrink() {
        for (latest, shrinks) in [(0.1, 0.5), (0.02, 0.9), (0.3, 0.2)] {
            let more = f64::ln(SETTLED / latest) / f64::ln(shrinks);
            let expected = expected_windows((Some(latest / shrinks), Some(latest)), 6, 4..64);
            assert_eq!(expected, Some(6 + more.ceil() as u64), "{latest} {shrinks}");
        }
    }

    #[test]
    fn no_end_is_told_where_none_is_in_sight() {
        assert_eq!(expected_windows((None, Some(0.1)), 2, 4..64), None);
        assert_eq!(expected_windows((Some(0.1), Some(0.1)), 6, 4..64), None);
        assert_eq!(expected_windows((Some(0.0), Some(0.0)), 6, 4..64), None);
        // Slower than the limit allows; and not before the first pass is over.
        assert_eq!(expected_windows((Some(0.1), Some(0.0999)), 60, 4..64), Some(64));
        assert_eq!(expected_windows((Some(0.1), Some(0.001)), 2, 4..64), Some(5));
    }
}
