//! Measures the requests of the measured phase: response times, time series and flash operations.

use ssdlab_core::{InBucket, LatencyHistogram};
use ssdlab_ftl::{Ftl, FtlChoice, GcOccupancy, SlcCounts};
use ssdlab_nand::backend::Flash;
use ssdlab_nand::{Cause, Counts};
use ssdlab_trace::Op;

use crate::check::data_checker::Checker;
use crate::drive::parts::Parts;
use crate::drive::sinks::Sinks;
use crate::drive::stack::Stack;
use crate::host::replay::{Cycles, scaled};
use crate::observe::activity::{Activity, DriveSummary};
use crate::observe::concentration::Concentration;
use crate::observe::latency::{LatencyByOp, TimeSummary, per_second};
use crate::observe::lifetime::Life;
use crate::observe::meter::{Measured, Meter};
use crate::observe::replayed::{Backlog, ReplaySummary};
use crate::observe::requests::HostCounters;
use crate::observe::series::{Series, Tally};
use crate::observe::summary::{
    CheckSummary, CollectionSummary, DeviceSummary, FlashSummary, SlcSummary, Summary, WearSummary,
};
use crate::precondition::PreconditionSummary;
use crate::run::Outcome;
use crate::run::monitor::SoFar;
use crate::run::steady::Written;
use crate::setup::Setup;
use crate::setup::host::Replay;

/// Measurement of the requests to a stack of FTL and flash.
pub(crate) struct Measurement {
    latency: [LatencyHistogram; 4],
    /// Arrival times of the first and the latest measured request, in trace time.
    arrivals_ns: Option<(u64, u64)>,
    /// Offset that is added to the timestamps of the trace to obtain arrival times on the clock of the run.
    shift_ns: u64,
    /// Number of incomplete requests when the last request was issued; `None` if the drive serves one request at a
    /// time.
    backlog: Option<Backlog>,
    cycles: Cycles,
    start: Start,
    series: Series,
}

/// Snapshot of the flash and host counters.
#[derive(Clone, Copy)]
struct Moment {
    /// True if time is modelled.
    timed: bool,
    counts: Counts,
    now_ns: u64,
    busy_ns: u64,
    host: HostCounters,
    occupied: Option<GcOccupancy>,
}

impl Moment {
    fn of<P: Parts>(stack: &Stack<P>) -> Self {
        let flash = &stack.sinks.flash;
        Self {
            timed: flash.is_timed(),
            counts: flash.counts(),
            now_ns: flash.now_ns(),
            busy_ns: flash.busy_ns(),
            host: stack.host,
            occupied: stack.ftl.occupied(),
        }
    }
}

/// State of the simulated drive when measuring began.
struct Start {
    at: Moment,
    erases: Vec<u32>,
    slc: Option<SlcCounts>,
}

/// State of the simulated drive when measuring ended.
struct End<'a> {
    at: Moment,
    erases: &'a [u32],
    slc: Option<&'a SlcCounts>,
    device: DeviceSummary,
    measured: Measured,
    written_share: Option<f64>,
    check: Option<CheckSummary>,
}

/// Results available only from a drive with timing.
pub(crate) struct OfDrive {
    pub summary: DriveSummary,
    pub activity: Activity,
    /// Number of pages that the host wrote but the drive did not program. These pages were overwritten or trimmed in
    /// the write buffer, or still wait in it at the end. Pages that already waited at the start are subtracted.
    pub absorbed_pages: i64,
    /// Number of pages in the write buffer at the end, minus their number at the start.
    pub buffered_pages: i64,
}

impl Measurement {
    /// Starts measuring and resets the host counters.
    pub fn start<P: Parts>(stack: &mut Stack<P>) -> Self {
        stack.host = HostCounters::default();
        stack.sinks.meter.restart();
        let setup = &stack.setup;
        let is_watched = setup.attribution && matches!(setup.ftl, FtlChoice::Page(..));
        stack.concentration = is_watched.then(|| Box::new(Concentration::new(setup.logical_pages)));
        Self {
            latency: Default::default(),
            arrivals_ns: None,
            shift_ns: 0,
            backlog: None,
            cycles: Cycles::default(),
            start: Start {
                at: Moment::of(stack),
                erases: stack.ftl.erase_counts().to_vec(),
                slc: stack.ftl.slc_counts().cloned(),
            },
            series: Series::new(Tally::default()),
        }
    }

    /// Returns the time when measuring began.
    pub fn start_ns(&self) -> u64 {
        self.start.at.now_ns
    }

    /// Returns the response times since measuring began, by operation.
    pub fn latency(&self) -> &[LatencyHistogram; Op::ALL.len()] {
        &self.latency
    }

    /// Records the first and latest arrival in trace time, the offset from trace time to the clock of the run, and the
    /// number of incomplete requests when the last request was issued.
    pub fn arrived(&mut self, (first_ns, latest_ns): (u64, u64), shift_ns: u64, backlog: Option<Backlog>) {
        self.shift_ns = shift_ns;
        self.backlog = backlog;
        self.arrivals_ns = Some((self.arrivals_ns.map_or(first_ns, |(first, _)| first), latest_ns));
    }

    /// Records the time that the host spent thinking and waiting between requests.
    pub fn cycled(&mut self, cycles: Cycles) {
        self.cycles = cycles;
    }

    /// Counts a completed request of the host.
    #[inline(always)]
    pub fn request_done<P: Parts>(&mut self, stack: &Stack<P>, op: Op, latency: InBucket) {
        if stack.sinks.flash.is_timed() {
            self.latency[op as usize].add(latency);
            self.series.request_took(op, latency.ns);
        }
        let (latency, start) = (&self.latency, &self.start);
        self.series.request_done(|| start.totals(&Moment::of(stack), latency));
    }

    /// Returns the numbers of pages written and programmed since measuring began.
    pub fn written<P: Parts>(&self, stack: &Stack<P>) -> Written {
        self.start.written(&Moment::of(stack))
    }

    /// Returns the results since measuring began; `requests` is the number of requests replayed.
    pub fn so_far<P: Parts>(&self, stack: &Stack<P>, requests: u64) -> SoFar {
        let now = Moment::of(stack);
        let timed = |figure: u64| now.timed.then_some(figure);
        SoFar {
            requests,
            elapsed_ns: timed(now.now_ns - self.start.at.now_ns),
            busy_ns: timed(now.busy_ns - self.start.at.busy_ns),
            write_amplification: self.start.written(&now).amplification(),
            latency: now.timed.then(|| LatencyByOp::of(&self.latency)),
            free_blocks: stack.ftl.free_blocks(),
            blocks: stack.ftl.erase_counts().len() as u32,
        }
    }

    /// Returns the results of the measured phase.
    pub fn finish<P: Parts>(
        self,
        stack: &mut Stack<P>,
        precondition: PreconditionSummary,
        partial: bool,
        drive: Option<OfDrive>,
    ) -> Outcome {
        let at = Moment::of(stack);
        let Sinks { flash, checker, meter, .. } = &mut stack.sinks;
        let check = checker.get().map(|checker| {
            let (flash_operations_checked, page_reads_checked) = checker.checked();
            CheckSummary { flash_operations_checked, page_reads_checked }
        });
        let end = End {
            at,
            erases: stack.ftl.erase_counts(),
            slc: stack.ftl.slc_counts(),
            device: DeviceSummary::of(&stack.setup, stack.ftl.memory_bytes(), stack.ftl.mapping_table_bytes()),
            measured: meter.figures(stack.host.pages_written, &|cost| flash.cost_ns(cost)),
            written_share: stack.concentration.as_ref().and_then(|concentration| concentration.share()),
            check,
        };
        self.outcome(&stack.setup, end, precondition, partial, drive)
    }

    /// Computes the results for [`Self::finish`]. This function is compiled only once, not for each combination of FTL,
    /// flash, checker and meter.
    #[inline(never)]
    fn outcome(
        mut self,
        setup: &Setup,
        end: End<'_>,
        precondition: PreconditionSummary,
        partial: bool,
        drive: Option<OfDrive>,
    ) -> Outcome {
        let Moment { timed, now_ns, host, .. } = end.at;
        let device = end.device;
        self.series.finish(self.start.totals(&end.at, &self.latency));
        let counts = end.at.counts - self.start.at.counts;
        // Release builds also check that the programs match the host's writes, because a run whose counts do not add up
        // must not be reported.
        let absorbed_pages = drive.as_ref().map_or(0, |drive| drive.absorbed_pages);
        let asked_for = host.pages_written.wrapping_add_signed(-absorbed_pages);
        assert_eq!(
            counts.programs[Cause::Host as usize],
            asked_for,
            "pages programmed for the host match the pages that it wrote, minus those absorbed in the buffer"
        );
        let write_amplification =
            Written { host_pages: host.pages_written, programmed: counts.programmed() }.amplification();
        let erase_counts: Vec<u32> =
            end.erases.iter().zip(&self.start.erases).map(|(now, before)| now - before).collect();
        let elapsed_ns = now_ns - self.start.at.now_ns;
        let arrivals_ns = self.arrivals_ns.unwrap_or_default();
        let (first_arrival_ns, last_arrival_ns) = match setup.replay {
            Replay::Open { speed, .. } => (scaled(arrivals_ns.0, speed), scaled(arrivals_ns.1, speed)),
            Replay::Closed { .. } | Replay::Processes { .. } => arrivals_ns,
        };
        let is_open = matches!(setup.replay, Replay::Open { .. });
        // Without requests, the drive cannot have fallen behind the trace.
        let arrived_ns = self.arrivals_ns.map_or(now_ns, |_| last_arrival_ns.saturating_add(self.shift_ns));
        let behind_ns = is_open.then(|| now_ns.saturating_sub(arrived_ns));
        let time = timed.then(|| self.time(&end.at, behind_ns));
        let latency = timed.then(|| LatencyByOp::of(&self.latency));
        let of_drive = drive.as_ref().map(|drive| &drive.summary);
        let fell_behind_ns = time
            .as_ref()
            .zip(latency.as_ref())
            .and_then(|(time, latency)| time.fell_behind_ns(latency, of_drive.map(|drive| &drive.service)));
        let requests = latency.as_ref().and_then(|latency| latency.all).map_or(0, |all| all.count);
        let backlog = self.backlog.filter(|_| is_open).map(|backlog| match backlog.at_ns == arrived_ns {
            true => backlog.requests,
            // The last request was issued after its arrival, because too many requests were waiting.
            false => requests - self.series.requests_by(arrived_ns - self.start.at.now_ns),
        });
        let replay = ReplaySummary::of(
            setup.replay,
            arrivals_ns.1 - arrivals_ns.0,
            (requests, last_arrival_ns - first_arrival_ns),
            backlog,
            time.as_ref().filter(|_| fell_behind_ns.is_some()),
        );
        let buffered = drive.as_ref().map_or(0, |drive| drive.buffered_pages) as f64;
        let slc = self.start.slc.as_ref().zip(end.slc);
        let slc = slc.map(|(before, now)| SlcSummary::of(before, now, setup.slc_endurance_cycles));
        let lifetime = Life {
            capacity_bytes: device.capacity_bytes,
            scale: setup.size.ratio(),
            physical_pages: device.physical_pages,
            endurance_cycles: device.endurance_cycles,
            programmed: worn_pages(setup, &counts, slc.as_ref()),
            written_bytes: host.bytes_written,
            absorbed_share: 1.0 - buffered / host.pages_written.max(1) as f64,
            trace_ns: last_arrival_ns - first_arrival_ns,
            elapsed_ns: timed.then_some(elapsed_ns),
            kept_up: is_open.then_some(fell_behind_ns.is_none()),
        };
        let occupied = end.at.occupied.zip(self.start.at.occupied).map(|(now, before)| now - before);
        let capacities_written = host.pages_written as f64 / f64::from(setup.logical_pages);
        let Measured { log, map } = end.measured;
        let (drive, activity) = drive.map(|drive| (drive.summary, drive.activity)).unzip();
        Outcome {
            summary: Summary {
                partial,
                device,
                precondition,
                repeat: None,
                replay,
                cache: None,
                host,
                flash: FlashSummary(counts),
                write_amplification,
                capacities_written,
                time,
                latency,
                drive,
                log: log.as_ref().map(|figures| figures.summary.clone()),
                map,
                collection: occupied.map(CollectionSummary::of),
                slc,
                wear: WearSummary::of(&erase_counts),
                lifetime: lifetime.summary(),
                check: end.check,
                diagnosis: Vec::new(),
            },
            trace_ns: last_arrival_ns - first_arrival_ns,
            warmup_pages: 0,
            written_share: end.written_share,
            collected_ahead: 0,
            thinking_share: self.cycles.thinking_share(),
            series: self.series,
            erase_counts,
            latency: self.latency,
            log,
            activity,
        }
    }

    /// Returns the rates of the measured phase, which ended `behind_ns` after the last arrival of an open replay.
    fn time(&self, end: &Moment, behind_ns: Option<u64>) -> TimeSummary {
        let elapsed_ns = end.now_ns - self.start.at.now_ns;
        let busy_ns = end.busy_ns - self.start.at.busy_ns;
        let per_second = |amount: u64| per_second(amount, elapsed_ns);
        TimeSummary {
            elapsed_ns,
            busy_ns,
            utilisation: if elapsed_ns > 0 { busy_ns as f64 / elapsed_ns as f64 } else { 0.0 },
            iops: per_second(self.latency.iter().map(LatencyHistogram::count).sum()),
            bytes_read_per_s: per_second(end.host.bytes_read),
            bytes_written_per_s: per_second(end.host.bytes_written),
            behind_ns,
        }
    }
}

/// Returns the number of programmed pages, weighted by the wear that they cause. A page in SLC mode wears the cells of
/// a whole word line, but these cells endure more cycles in this mode.
fn worn_pages(setup: &Setup, counts: &Counts, slc: Option<&SlcSummary>) -> f64 {
    let Some(slc) = slc else { return counts.programmed() as f64 };
    let wear = f64::from(setup.endurance_cycles) / f64::from(slc.endurance_cycles);
    let cells = f64::from(setup.geometry.units.word_line);
    // Pages written to the SLC cache, including their parity.
    let cached = slc.pages_cached as f64 * (setup.geometry.flash_pages() as f64 / setup.geometry.pages() as f64);
    counts.programmed() as f64 - cached + cached * cells * wear
}

impl Start {
    /// Returns the numbers of pages written and programmed from the start of measuring to `now`.
    fn written(&self, now: &Moment) -> Written {
        let programmed = (now.counts - self.at.counts).programmed();
        Written { host_pages: now.host.pages_written, programmed }
    }

    /// Returns the time from the start of measuring to `now`, and the totals of work and latency over this time.
    #[inline(never)]
    fn totals(&self, now: &Moment, latency: &[LatencyHistogram; 4]) -> (u64, Tally) {
        let counts = now.counts - self.at.counts;
        let programmed = counts.programmed();
        let sum_ns = |op: Op| u64::try_from(latency[op as usize].sum_ns()).unwrap_or(u64::MAX);
        let done = |op: Op| latency[op as usize].count();
        let tally = Tally {
            host_pages_written: now.host.pages_written,
            flash_pages_programmed: programmed,
            pages_copied: programmed - counts.programs[Cause::Host as usize],
            blocks_erased: counts.erased(),
            read_requests: if now.timed { done(Op::Read) } else { now.host.read_requests },
            read_latency_sum_ns: sum_ns(Op::Read),
            write_requests: if now.timed { done(Op::Write) } else { now.host.write_requests },
            write_latency_sum_ns: sum_ns(Op::Write),
        };
        (now.now_ns - self.at.now_ns, tally)
    }
}
