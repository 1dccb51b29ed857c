//! Repeated replays of a trace. Each replay begins when the previous replay is over.
//!
//! Replays that follow the timestamps of the trace are separated by a gap: the mean time between requests of the trace.

use ssdlab_trace::{Job, JobOutcome, Progress, Request, Source, TraceError};

use crate::run::error::SimError;
use crate::run::monitor::{Control, Monitor, Phase};
use crate::run::steady::{RepeatSummary, SteadyStateDetector, Written};
use crate::setup::Setup;
use crate::setup::host::Repeat;

/// A drive that replays requests.
pub(crate) trait Replayer {
    /// Returns the set-up of the run.
    fn setup(&self) -> &Setup;

    /// Replays up to `limit` requests of `source`.
    fn replay(
        &mut self,
        source: &mut dyn Source,
        monitor: &mut dyn Monitor,
        phase: Phase,
        limit: u64,
    ) -> Result<Control, SimError>;

    /// Restarts the measurement of the replay.
    fn start_measuring(&mut self);

    /// Returns the number of pages that the host wrote, and the number of pages programmed, since measuring began.
    fn written(&self) -> Written;
}

/// Results of all replays of a trace.
pub(crate) struct Replayed {
    pub repeat: Option<RepeatSummary>,
    /// Logical pages that the host wrote in all warm-ups.
    pub warmup_pages: u64,
    pub control: Control,
}

/// Replays `source` as often as the set-up requires, unless `control` stops it. At the end, the measured phase is the
/// last replay without its warm-up.
pub(crate) fn replay_all(
    drive: &mut dyn Replayer,
    source: &mut Replays<'_>,
    monitor: &mut dyn Monitor,
    control: Control,
) -> Result<Replayed, SimError> {
    let Setup { repeat, warmup_requests, .. } = *drive.setup();
    let mut detector = SteadyStateDetector::new(repeat, drive.setup());
    let (mut control, mut warmup_pages) = (control, 0);
    drive.start_measuring();
    while control == Control::Continue {
        let phase = if detector.begin() { Phase::Warmup } else { Phase::Measure };
        let before = drive.written().host_pages;
        control = drive.replay(source, monitor, Phase::Warmup, warmup_requests)?;
        warmup_pages += drive.written().host_pages - before;
        drive.start_measuring();
        if control == Control::Continue {
            control = drive.replay(source, monitor, phase, u64::MAX)?;
        }
        if control == Control::Stop || !detector.end(drive.written()) {
            break;
        }
        source.rewind()?;
    }
    let repeat = (repeat != Repeat::ONCE).then(|| detector.summary());
    Ok(Replayed { repeat, warmup_pages, control })
}

/// A source that can be replayed repeatedly. In each replay, request times continue from the end of the previous
/// replay.
pub(crate) struct Replays<'s> {
    source: &'s mut dyn Source,
    /// True if later replays add an offset to the times of the source.
    shifts: bool,
    /// Time that is added to the trace times of requests in this replay.
    shift_ns: u64,
    /// Number of requests in this replay; `first_ns` and `last_ns` are the trace times of its first and last request.
    requests: u64,
    first_ns: u64,
    last_ns: u64,
}

impl<'s> Replays<'s> {
    /// Creates the replays of a source whose request times restart with each replay, so later replays add an offset.
    pub fn new(source: &'s mut dyn Source) -> Self {
        Self { source, shifts: true, shift_ns: 0, requests: 0, first_ns: 0, last_ns: 0 }
    }

    /// Creates the replays of a source whose request times already continue from one replay to the next.
    pub fn as_they_come(source: &'s mut dyn Source) -> Self {
        Self { shifts: false, ..Self::new(source) }
    }

    /// Returns to the first request of the source and forgets all earlier replays.
    ///
    /// # Errors
    /// Fails if the source cannot be read again.
    pub fn start_over(&mut self) -> Result<(), TraceError> {
        (self.shift_ns, self.requests) = (0, 0);
        self.source.rewind()
    }
}

impl Source for Replays<'_> {
    fn prepare(&mut self) -> Result<bool, TraceError> {
        self.source.prepare()
    }

    fn fill(&mut self, out: &mut Vec<Request>, max: usize) -> Result<usize, TraceError> {
        let before = out.len();
        let count = self.source.fill(out, max)?;
        let filled = &mut out[before..];
        if let (true, Some((first, last))) = (self.shifts, filled.first().zip(filled.last())) {
            if self.requests == 0 {
                self.first_ns = first.time_ns;
            }
            self.last_ns = last.time_ns;
            self.requests += count as u64;
            if self.shift_ns > 0 {
                filled.iter_mut().for_each(|request| request.time_ns = request.time_ns.saturating_add(self.shift_ns));
            }
        }
        Ok(count)
    }

    fn progress(&self) -> Progress {
        self.source.progress()
    }

    fn rewind(&mut self) -> Result<(), TraceError> {
        if self.requests > 1 {
            let span_ns = self.last_ns - self.first_ns;
            let mean_gap_ns = span_ns / (self.requests - 1);
            self.shift_ns = self.shift_ns.saturating_add(span_ns).saturating_add(mean_gap_ns);
        }
        self.requests = 0;
        self.source.rewind()
    }

    fn jobs(&self) -> &[Job] {
        self.source.jobs()
    }

    fn fill_job(&mut self, job: usize, out: &mut Vec<Request>, max: usize) -> Result<usize, TraceError> {
        self.source.fill_job(job, out, max)
    }

    fn jobs_done(&mut self, outcomes: Vec<JobOutcome>) {
        self.source.jobs_done(outcomes);
    }
}
