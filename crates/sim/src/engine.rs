//! The replay: requests to page operations, phase by phase, measured.

use ssdlab_core::{LatencyHistogram, Lpn};
use ssdlab_ftl::{Cause, Counts, FlashSink, Ftl};
use ssdlab_nand::Timing;
use ssdlab_trace::{Op, Request, Source};

use crate::flash::Flash;
use crate::log_meter::{Measured, Meter};
use crate::precondition::Target;
use crate::series::Tally;
use crate::shadow::Checker;
use crate::sinks::{PartOfPage, Sinks};
use crate::summary::{
    CheckSummary, DeviceSummary, FlashSummary, HostCounters, LatencyByOp, LatencySummary, LifetimeSummary,
    PreconditionSummary, Summary, TimeSummary, WearSummary,
};
use crate::{Clock, Control, Monitor, Outcome, Phase, Replay, Series, Setup, SimError, Status};

/// Requests fetched and replayed at a time.
const BATCH: usize = 4096;
/// Requests whose map entries are fetched ahead.
const LOOKAHEAD: usize = 16;
const NANOS_PER_SECOND: f64 = 1e9;
const SECONDS_PER_DAY: f64 = 86_400.0;
const DAYS_PER_YEAR: f64 = 365.25;

/// A stack of FTL and flash, with the measurements taken on it.
pub(crate) struct Engine<'a, F, D, C, M> {
    setup: &'a Setup,
    page_shift: u32,
    ftl: F,
    sinks: Sinks<D, C, M>,
    /// Requests seen in any phase.
    requests: u64,
    host: HostCounters,
    latency: [LatencyHistogram; 4],
    /// Arrival of the first and of the latest measured request.
    arrivals_ns: Option<(u64, u64)>,
    start: Start,
    series: Series,
}

/// State when measuring began.
struct Start {
    counts: Counts,
    time_ns: u64,
    busy_ns: u64,
    erases: Vec<u32>,
}

impl<'a, F: Ftl, D: Flash, C: Checker + FlashSink, M: Meter> Engine<'a, F, D, C, M> {
    pub(crate) fn new(setup: &'a Setup, ftl: F, flash: D, checker: C, meter: M) -> Self {
        Self {
            setup,
            page_shift: setup.geometry.page_bytes.trailing_zeros(),
            ftl,
            sinks: Sinks { flash, checker, meter },
            requests: 0,
            host: HostCounters::default(),
            latency: Default::default(),
            arrivals_ns: None,
            start: Start { counts: Counts::default(), time_ns: 0, busy_ns: 0, erases: Vec::new() },
            series: Series::new(Tally::default()),
        }
    }

    pub(crate) fn run(mut self, source: &mut dyn Source, monitor: &mut dyn Monitor) -> Result<Outcome, SimError> {
        let mut target = Target { ftl: &mut self.ftl, sinks: &mut self.sinks, monitor };
        let (precondition, mut control) =
            target.prepare(&self.setup.precondition, self.setup.logical_pages, self.setup.seed);
        self.ftl.preload(&mut self.sinks);
        self.stop_at_violation()?;
        self.sinks.flash.reset_clock();
        if control == Control::Continue {
            control = self.replay(source, monitor, Phase::Warmup, self.setup.warmup_requests)?;
        }
        self.start_measuring();
        if control == Control::Continue {
            control = self.replay(source, monitor, Phase::Measure, u64::MAX)?;
        }
        Ok(self.finish(precondition, control == Control::Stop))
    }

    fn start_measuring(&mut self) {
        self.host = HostCounters::default();
        self.latency = Default::default();
        self.arrivals_ns = None;
        self.sinks.meter.restart();
        self.start = Start {
            counts: self.sinks.flash.counts(),
            time_ns: self.sinks.flash.now_ns(),
            busy_ns: self.sinks.flash.busy_ns(),
            erases: self.ftl.erase_counts().to_vec(),
        };
        self.series = Series::new(Tally::default());
    }

    /// Replays up to `limit` requests.
    fn replay(
        &mut self,
        source: &mut dyn Source,
        monitor: &mut dyn Monitor,
        phase: Phase,
        limit: u64,
    ) -> Result<Control, SimError> {
        let mut batch = Vec::with_capacity(BATCH);
        let mut left = limit;
        while left > 0 {
            batch.clear();
            let count = source.fill(&mut batch, BATCH.min(usize::try_from(left).unwrap_or(BATCH)))?;
            if count == 0 {
                break;
            }
            left -= count as u64;
            for (index, request) in batch.iter().enumerate() {
                if let Some(ahead) = batch.get(index + LOOKAHEAD) {
                    self.ftl.prefetch(Lpn((ahead.offset >> self.page_shift) as u32));
                }
                self.serve(request)?;
            }
            let (first, latest) = (batch[0].time_ns, batch[count - 1].time_ns);
            self.arrivals_ns = Some((self.arrivals_ns.map_or(first, |(first, _)| first), latest));
            let progress = source.progress();
            let status = Status { phase, done: progress.done, total: progress.total, requests: self.requests };
            if monitor.report(&status) == Control::Stop {
                return Ok(Control::Stop);
            }
        }
        Ok(Control::Continue)
    }

    #[inline]
    fn serve(&mut self, request: &Request) -> Result<(), SimError> {
        self.requests += 1;
        let issued_ns = match self.setup.replay {
            Replay::Closed { think, .. } => {
                let think_ns = if self.requests > 1 { think.0 } else { 0 };
                self.sinks.flash.now_ns() + think_ns
            }
            Replay::Open { time_scale } => scaled(request.time_ns, time_scale),
        };
        self.sinks.flash.idle_until(issued_ns);
        let bytes = u64::from(request.bytes);
        match request.op {
            Op::Read => {
                self.host.read_requests += 1;
                self.host.bytes_read += bytes;
            }
            Op::Write => {
                self.host.write_requests += 1;
                self.host.bytes_written += bytes;
            }
            Op::Trim => {
                self.host.trim_requests += 1;
                self.host.bytes_trimmed += bytes;
            }
            Op::Flush => self.host.flush_requests += 1,
        }
        if request.op != Op::Flush {
            self.place(request)?;
        }
        if D::TIMED {
            let latency_ns = self.sinks.flash.now_ns() - issued_ns;
            self.latency[request.op as usize].record(latency_ns);
            self.series.request_took(request.op, latency_ns);
        }
        let (sinks, host, latency, start) = (&self.sinks, &self.host, &self.latency, &self.start);
        self.series.request_done(|| totals(&sinks.flash, host, latency, start));
        if C::ON { self.stop_at_violation() } else { Ok(()) }
    }

    /// Fits the request onto the device and serves it.
    #[inline]
    fn place(&mut self, request: &Request) -> Result<(), SimError> {
        let capacity_bytes = self.setup.capacity_bytes();
        let Some(pieces) = self.setup.fit.pieces(request, capacity_bytes, self.setup.geometry.page_bytes) else {
            let end = request.offset.saturating_add(u64::from(request.bytes));
            return Err(SimError::BeyondDevice { number: self.requests, end, capacity_bytes });
        };
        self.host.wrapped_requests += u64::from(pieces.wraps());
        pieces.for_each(|(offset, bytes)| self.access(request, offset, bytes));
        Ok(())
    }

    /// Serves `bytes` of the request at `offset`, which lie on the device.
    #[inline]
    fn access(&mut self, request: &Request, offset: u64, bytes: u64) {
        let page_mask = (1_u64 << self.page_shift) - 1;
        let end = offset + bytes;
        let first = (offset >> self.page_shift) as u32;
        let after = ((end + page_mask) >> self.page_shift) as u32;
        let count = after - first;
        match request.op {
            Op::Read => {
                self.host.pages_read += u64::from(count);
                let unmapped = match self.partial_read() {
                    true => self.read_parts(offset, end),
                    false => self.ftl.read(Lpn(first), count, Cause::Host, &mut self.sinks),
                };
                self.host.unmapped_pages_read += u64::from(unmapped);
                self.sinks.checker.verify_read(&self.ftl, Lpn(first), count);
            }
            Op::Write => {
                let head = offset & page_mask != 0;
                let tail = end & page_mask != 0 && (count > 1 || !head);
                if head {
                    self.read_partial_page(Lpn(first));
                }
                if tail {
                    self.read_partial_page(Lpn(after - 1));
                }
                self.host.pages_written += u64::from(count);
                self.sinks.checker.expect_write(Lpn(first), count);
                self.sinks.meter.begin_write(request.stream, Lpn(first), count);
                self.ftl.write(Lpn(first), count, &mut self.sinks);
                self.sinks.meter.end_write();
            }
            Op::Trim => {
                // Only pages wholly inside are forgotten; the ends keep their data.
                let first = ((offset + page_mask) >> self.page_shift) as u32;
                let count = ((end >> self.page_shift) as u32).saturating_sub(first);
                self.host.pages_trimmed += u64::from(count);
                self.sinks.checker.expect_trim(Lpn(first), count);
                self.ftl.trim(Lpn(first), count, &mut self.sinks);
            }
            Op::Flush => {}
        }
    }

    fn partial_read(&self) -> bool {
        matches!(self.setup.clock, Clock::Serial(Timing { partial_read: true, .. }))
    }

    /// Reads the bytes `offset..end` page by page, transferring no more than these.
    fn read_parts(&mut self, offset: u64, end: u64) -> u32 {
        let page_bytes = 1_u64 << self.page_shift;
        let mut unmapped = 0;
        let mut from = offset;
        while from < end {
            let lpn = from >> self.page_shift;
            let to = end.min((lpn + 1) * page_bytes);
            let mut part = PartOfPage { sinks: &mut self.sinks, bytes: (to - from) as u32 };
            unmapped += self.ftl.read(Lpn(lpn as u32), 1, Cause::Host, &mut part);
            from = to;
        }
        unmapped
    }

    /// Reads the page of which the host is about to write a part.
    fn read_partial_page(&mut self, lpn: Lpn) {
        self.host.partial_pages_written += 1;
        self.ftl.read(lpn, 1, Cause::ReadModifyWrite, &mut self.sinks);
        self.sinks.checker.verify_read(&self.ftl, lpn, 1);
    }

    fn stop_at_violation(&self) -> Result<(), SimError> {
        match self.sinks.checker.violation() {
            Some(violation) => Err(SimError::Check { number: self.requests, violation: violation.to_owned() }),
            None => Ok(()),
        }
    }

    fn finish(mut self, precondition: PreconditionSummary, partial: bool) -> Outcome {
        self.series.finish(totals(&self.sinks.flash, &self.host, &self.latency, &self.start));
        let counts = self.sinks.flash.counts() - self.start.counts;
        // Conservation, checked in release builds too: a run that breaks it must not be reported.
        assert_eq!(counts.programs[Cause::Host as usize], self.host.pages_written, "programs the host asked for");
        let write_amplification =
            (self.host.pages_written > 0).then(|| counts.programmed() as f64 / self.host.pages_written as f64);
        let erase_counts: Vec<u32> =
            self.ftl.erase_counts().iter().zip(&self.start.erases).map(|(now, before)| now - before).collect();
        let elapsed_ns = self.sinks.flash.now_ns() - self.start.time_ns;
        let seconds = elapsed_ns as f64 / NANOS_PER_SECOND;
        let mut all = LatencyHistogram::default();
        self.latency.iter().for_each(|histogram| all.merge(histogram));
        let per_second = |amount: f64| (seconds > 0.0).then(|| amount / seconds);
        let (first_arrival_ns, last_arrival_ns) = self.arrivals_ns.unwrap_or_default();
        let time = D::TIMED.then(|| {
            let busy_ns = self.sinks.flash.busy_ns() - self.start.busy_ns;
            TimeSummary {
                elapsed_ns,
                busy_ns,
                utilisation: if elapsed_ns > 0 { busy_ns as f64 / elapsed_ns as f64 } else { 0.0 },
                iops: per_second(all.count() as f64),
                bytes_read_per_s: per_second(self.host.bytes_read as f64),
                bytes_written_per_s: per_second(self.host.bytes_written as f64),
                behind_ns: match self.setup.replay {
                    Replay::Open { time_scale } => {
                        Some(self.sinks.flash.now_ns().saturating_sub(scaled(last_arrival_ns, time_scale)))
                    }
                    Replay::Closed { .. } => None,
                },
            }
        });
        let latency = D::TIMED.then(|| {
            let [read, write, trim, flush] = self.latency.each_ref().map(LatencySummary::of);
            LatencyByOp { all: LatencySummary::of(&all), read, write, trim, flush }
        });
        let device = DeviceSummary::of(self.setup, self.ftl.memory_bytes(), self.ftl.mapping_table_bytes());
        let host_tbw_bytes = write_amplification
            .map(|amplification| f64::from(device.endurance_cycles) * device.physical_bytes as f64 / amplification);
        // A closed loop runs as fast as the drive can; how fast the host really writes only the trace knows.
        let trace_seconds = (last_arrival_ns - first_arrival_ns) as f64 / NANOS_PER_SECOND;
        let writing_seconds = if trace_seconds > 0.0 { trace_seconds } else { seconds };
        let host_bytes_per_day = (self.host.bytes_written > 0 && writing_seconds > 0.0)
            .then(|| self.host.bytes_written as f64 / writing_seconds * SECONDS_PER_DAY);
        let years = host_tbw_bytes.zip(host_bytes_per_day).map(|(tbw, per_day)| tbw / per_day / DAYS_PER_YEAR);
        let capacities_written = self.host.pages_written as f64 / f64::from(self.setup.logical_pages);
        let (flash_operations_checked, page_reads_checked) = self.sinks.checker.checked();
        let Sinks { flash, meter, .. } = self.sinks;
        let Measured { log, map } = meter.figures(self.host.pages_written, |cost| flash.cost_ns(cost));
        Outcome {
            summary: Summary {
                partial,
                device,
                precondition,
                host: self.host,
                flash: FlashSummary(counts),
                write_amplification,
                capacities_written,
                time,
                latency,
                log: log.as_ref().map(|figures| figures.summary.clone()),
                map,
                wear: WearSummary::of(&erase_counts),
                lifetime: LifetimeSummary { host_tbw_bytes, host_bytes_per_day, years },
                check: C::ON.then_some(CheckSummary { flash_operations_checked, page_reads_checked }),
            },
            series: self.series,
            erase_counts,
            latency: self.latency,
            log,
        }
    }
}

/// Totals since the start of measuring, with the time they were taken at.
fn totals<D: Flash>(flash: &D, host: &HostCounters, latency: &[LatencyHistogram; 4], start: &Start) -> (u64, Tally) {
    let counts = flash.counts() - start.counts;
    let programmed = counts.programmed();
    let sum_ns = |op: Op| u64::try_from(latency[op as usize].sum_ns()).unwrap_or(u64::MAX);
    let tally = Tally {
        host_pages_written: host.pages_written,
        flash_pages_programmed: programmed,
        pages_copied: programmed - counts.programs[Cause::Host as usize],
        blocks_erased: counts.erased(),
        read_requests: host.read_requests,
        read_latency_sum_ns: sum_ns(Op::Read),
        write_requests: host.write_requests,
        write_latency_sum_ns: sum_ns(Op::Write),
    };
    (flash.now_ns() - start.time_ns, tally)
}

/// A time of the trace on the clock of the run, rounded to the nearest nanosecond.
pub(crate) fn scaled(time_ns: u64, scale: f64) -> u64 {
    if scale == 1.0 { time_ns } else { (time_ns as f64 * scale).round() as u64 }
}
