//! Brings a fresh device into the state in which a used one is: filled, then overwritten at random or by the trace.

use ssdlab_core::{Lpn, Rng};
use ssdlab_ftl::{Ftl, WriteContext};
use ssdlab_nand::backend::Flash;
use ssdlab_trace::{Op, Progress, Source};

use crate::check::shadow::Checker;
use crate::drive::parts::Parts;
use crate::drive::sinks::Sinks;
use crate::drive::stack::Stack;
use crate::host::fit::Fitter;
use crate::host::issue::BATCH;
use crate::observe::summary::{HostCounters, PreconditionSummary};
use crate::run::error::SimError;
use crate::run::monitor::{Control, Monitor, Phase, Status};
use crate::run::repeat::Replays;
use crate::run::steady::{Judge, Written};
use crate::setup::host::Repeat;
use crate::setup::{Overwrite, Setup};

/// Pages between two looks at the monitor.
const CHUNK: u64 = 1 << 18;
/// Writes whose map entries are fetched ahead.
const LOOKAHEAD: usize = 16;
/// Write amplification is taken over windows of this many to a device's capacity.
const WINDOWS_PER_PASS: u64 = 4;
/// It has settled when two successive windows differ by less than this share.
const SETTLED: f64 = 0.005;
/// It must settle within this many overwrites of the device.
const MAX_PASSES: u64 = 16;

/// Prepares the device as its set-up says, without measuring; the second result tells whether the monitor stopped it.
///
/// # Errors
/// If it is to be overwritten by a trace and there is none, or the trace cannot be read, or the data check finds
/// something wrong.
pub(crate) fn prepare<P: Parts>(
    stack: &mut Stack<P>,
    trace: Option<&mut Replays<'_>>,
    monitor: &mut dyn Monitor,
) -> Result<(PreconditionSummary, Control), SimError> {
    let Setup { precondition, logical_pages, seed, .. } = stack.setup;
    let pages = (precondition.fill * f64::from(logical_pages)).round() as u64;
    let mut summary = PreconditionSummary::default();
    let mut target = Target::<P> { ftl: &mut stack.ftl, sinks: &mut stack.sinks, monitor };
    let mut control = target.fill(pages);
    if control == Control::Continue {
        control = match (precondition.overwrite, trace) {
            (Overwrite::Trace(repeat), Some(trace)) => overwrite_by(trace, repeat, stack, &mut summary, monitor)?,
            (Overwrite::Trace(_), None) => {
                let why = "precondition.overwrite: there is no trace to overwrite the drive by; set it to \"steady\"";
                return Err(SimError::Setup(why.into()));
            }
            (at_random, _) => target.overwrite_at_random(at_random, pages, seed, &mut summary),
        };
    }
    let counts = stack.sinks.flash.counts();
    summary.host_pages_written = counts.programs[ssdlab_nand::Cause::Host as usize];
    summary.flash_pages_programmed = counts.programmed();
    stack.ftl.preload(&mut stack.sinks);
    stack.stop_at_violation()?;
    Ok((summary, control))
}

/// Overwrites the device by the writes and trims of a trace, which begins anew after that.
fn overwrite_by<P: Parts>(
    trace: &mut Replays<'_>,
    repeat: Repeat,
    stack: &mut Stack<P>,
    summary: &mut PreconditionSummary,
    monitor: &mut dyn Monitor,
) -> Result<Control, SimError> {
    let mut judge = Judge::new(repeat, &stack.setup);
    let mut batch = Vec::with_capacity(BATCH);
    let (mut requests, mut control, mut more) = (0, Control::Continue, true);
    while more && control == Control::Continue {
        judge.begin();
        stack.host = HostCounters::default();
        let before = stack.sinks.flash.counts();
        let mut fitter = Fitter::new(&stack.setup);
        while control == Control::Continue && trace.fill(&mut batch, BATCH)? > 0 {
            for request in &batch {
                let request = fitter.fit(request)?.request;
                if matches!(request.op, Op::Write | Op::Trim) {
                    stack.take(&request, |stack, offset, end| stack.access(&request, offset, end));
                }
            }
            requests += batch.len() as u64;
            batch.clear();
            let Progress { done, total } = trace.progress();
            control = monitor.report(&Status { phase: Phase::Overwrite, done, total, requests });
        }
        if control == Control::Continue {
            let programmed = (stack.sinks.flash.counts() - before).programmed();
            more = judge.end(Written { host_pages: stack.host.pages_written, programmed });
            trace.start_over()?;
        }
    }
    let found = judge.summary();
    summary.write_amplification = found.write_amplification.last().copied().flatten();
    summary.stable = found.steady;
    summary.replays = Some(found.replays);
    Ok(control)
}

/// What preconditioning works on.
struct Target<'a, P: Parts> {
    ftl: &'a mut P::Ftl,
    sinks: &'a mut Sinks<P::Flash, P::Checker, P::Meter>,
    monitor: &'a mut dyn Monitor,
}

impl<P: Parts> Target<'_, P> {
    /// Overwrites the first `pages` pages, if there are any.
    fn overwrite_at_random(
        &mut self,
        overwrite: Overwrite,
        pages: u64,
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
                let (amplification, control) = self.overwrite(pages, writes, (0, Some(writes)), &mut rng);
                (amplification, None, control)
            }
            Overwrite::Steady => {
                let (amplification, stable, control) = self.overwrite_until_steady(pages, &mut rng);
                (amplification, Some(stable), control)
            }
        };
        (summary.write_amplification, summary.stable) = (amplification, stable);
        control
    }

    fn look(&mut self, phase: Phase, done: u64, total: Option<u64>) -> Control {
        self.monitor.report(&Status { phase, done, total, requests: 0 })
    }

    fn fill(&mut self, pages: u64) -> Control {
        let mut next = 0;
        while next < pages {
            if self.look(Phase::Fill, next, Some(pages)) == Control::Stop {
                return Control::Stop;
            }
            let count = CHUNK.min(pages - next) as u32;
            let lpn = Lpn(next as u32);
            self.sinks.checker.expect_write(lpn, count);
            self.ftl.write(lpn, count, WriteContext::default(), self.sinks);
            next += u64::from(count);
        }
        Control::Continue
    }

    /// Overwrites `writes` of the first `pages` pages at random and returns the write amplification;
    /// `progress` is (writes done before, writes planned if known).
    fn overwrite(
        &mut self,
        pages: u64,
        writes: u64,
        progress: (u64, Option<u64>),
        rng: &mut Rng,
    ) -> (Option<f64>, Control) {
        let before = self.sinks.flash.counts();
        let mut ahead: [u32; LOOKAHEAD] = std::array::from_fn(|_| rng.below(pages) as u32);
        let mut done = 0;
        while done < writes {
            if self.look(Phase::Overwrite, progress.0 + done, progress.1) == Control::Stop {
                return (None, Control::Stop);
            }
            let count = CHUNK.min(writes - done);
            for slot in (0..LOOKAHEAD).cycle().take(count as usize) {
                let lpn = std::mem::replace(&mut ahead[slot], rng.below(pages) as u32);
                self.ftl.prefetch(Lpn(ahead[slot]));
                self.sinks.checker.expect_write(Lpn(lpn), 1);
                self.ftl.write(Lpn(lpn), 1, WriteContext::default(), self.sinks);
            }
            done += count;
        }
        let programmed = (self.sinks.flash.counts() - before).programmed();
        ((writes > 0).then(|| programmed as f64 / writes as f64), Control::Continue)
    }

    fn overwrite_until_steady(&mut self, pages: u64, rng: &mut Rng) -> (Option<f64>, bool, Control) {
        let window = pages.div_ceil(WINDOWS_PER_PASS);
        let limit = MAX_PASSES * WINDOWS_PER_PASS;
        let mut earlier: Option<f64> = None;
        for number in 0..limit {
            let (latest, control) = self.overwrite(pages, window, (number * window, None), rng);
            if control == Control::Stop {
                return (earlier, false, control);
            }
            // In the first pass garbage collection may not have started: that is calm, not steady.
            let settled = |before: f64, now: f64| (now / before - 1.0).abs() < SETTLED;
            if number >= WINDOWS_PER_PASS && earlier.zip(latest).is_some_and(|(before, now)| settled(before, now)) {
                return (latest, true, Control::Continue);
            }
            earlier = latest;
        }
        (earlier, false, Control::Continue)
    }
}
