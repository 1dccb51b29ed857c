//! Settings of the host, which determine how the host issues requests.

use super::repeat;
use crate::checker::{Checker, Read, Reader};
use crate::kind::{Choices, Kind};
use crate::table::{Case, Fallback, Is, OptionSpec, SECOND, Section, count, float, nanos, option, switch};
use ssdlab_core::Nanos;
use ssdlab_sim::{BlockOptions, Clock, DriveOptions, Fit, Protocol, Repeat, Replay, Setup, StreamDepths};
use ssdlab_trace::{Arrival, Pattern, Workload};

pub(crate) const SECTION: Section = Section { name: "host", help: "How the host issues requests.", used: &[], options };

const STREAM_DEPTH: &str = "host.replay.open.depth";

static REPLAYS: Choices<Reader<Replay>, 3> = Choices::new([
    ("closed", "`queue_depth` outstanding requests; timestamps of the trace are ignored", |checker| {
        let depth = checker.small("host.replay.closed.queue_depth")?;
        let per_stream = checker.flag("host.replay.closed.per_stream")?;
        Ok(Replay::Closed { depth, per_stream, think: checker.nanos("host.replay.closed.think")? })
    }),
    (
        "processes",
        "each process continues when its read or synchronous write completes; other requests follow in the order of \
         the trace",
        |checker| Ok(Replay::Processes { think: checker.nanos("host.replay.processes.think")? }),
    ),
    ("open", "each request at its timestamp in the trace; requests queue if the drive is busy", |checker| {
        Ok(Replay::Open { speed: checker.float("host.replay.open.speed")?, depths: checker.stream_depths()? })
    }),
]);

/// Rule for request addresses past the end of the device.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Fitting {
    Error,
    Wrap,
    Scale,
    Grow,
    Compact,
}

impl Fitting {
    /// True if this rule depends on the extent of the trace.
    pub(crate) const fn needs_extent(self) -> bool {
        matches!(self, Self::Scale | Self::Grow | Self::Compact)
    }
}

static FITTINGS: Choices<Fitting, 5> = Choices::new([
    ("error", "stop with an error that names the request", Fitting::Error),
    ("wrap", "address modulo capacity", Fitting::Wrap),
    ("scale", "scale all addresses down so that the trace fits the device", Fitting::Scale),
    ("grow", "enlarge the device until the trace fits", Fitting::Grow),
    (
        "compact",
        "remove the pages that no request touches; the other pages keep their order. Unless you set device.capacity, \
         the trace determines the drive's size (see device.fill)",
        Fitting::Compact,
    ),
]);

const OPTIONS: &[OptionSpec] = &[
    option("host.replay", REPLAYS.kind()).default("closed").example("open").help(
        "Replay mode: when the next request is issued. Unless you choose a mode, requests with timestamps are replayed \
         at their timestamps (`open`) if `time = \"event\"`.",
    ),
    count("host.replay.closed.queue_depth", 1..=1_000_000)
        .fallback(Fallback::Unless("32", &[Case { key: "drive.protocol", is: Is::Variant("sata"), value: "31" }]))
        .example("4")
        .help(
            "Number of outstanding requests; without `time = \"event\"`, the drive serves one at a time. If the \
             drive's queues cannot hold them all, a block layer must hold the rest.",
        ),
    switch("host.replay.closed.per_stream", false)
        .help("Keeps `queue_depth` requests outstanding per stream of the trace, not in total."),
    nanos("host.replay.closed.think", 0..=1_000 * SECOND)
        .default("0ns")
        .example("50us")
        .help("Think time between the completion of a request and the request that replaces it."),
    nanos("host.replay.processes.think", 0..=1_000 * SECOND)
        .default("0ns")
        .example("50us")
        .help("Think time between the completion of a request and the next request of the same process."),
    float("host.replay.open.speed", 1e-6..=1e6)
        .default("1.0")
        .example("2.0")
        .help("Speed relative to the timestamps of the trace: 2 issues requests twice as fast."),
    option(STREAM_DEPTH, Kind::Counts { min: 0, max: 65_536, most: StreamDepths::COUNT })
        .default("0")
        .example("64,8")
        .help(
            "Maximum number of outstanding requests for each of the streams 1, 2, ...; the last number applies to all \
             later streams. A stream at its limit issues its next request when an earlier one completes; latency is \
             measured from that time. 0 means no limit. Used with `time = \"event\"`.",
        ),
    option("host.fit", FITTINGS.kind()).default("error").example("compact").help(
        "Handling of addresses past the end of the device, and of pages that the trace skips. If neither this setting \
         nor `device.capacity` is set, a trace on the default drive is packed as with `compact`.",
    ),
    count("host.warmup", 0..=i64::MAX as u64).default("0").example("100000").help(
        "Number of warm-up requests, replayed before the measurement. When all of them have completed, the measurement \
         starts with empty queues and restarted timestamps.",
    ),
];

fn options() -> Vec<OptionSpec> {
    let repeat = repeat::options(
        "host.repeat",
        "times",
        "Number of replays of the trace. The last replay is measured; each replay starts when the previous replay has \
         ended.",
    );
    [OPTIONS, &repeat].concat()
}

impl Checker<'_> {
    pub(crate) fn replay(&mut self, clock: &Clock, block: Option<&BlockOptions>) -> Read<Replay> {
        let replay = self.variant("host.replay", &REPLAYS)?;
        if matches!(replay, Replay::Open { depths: Some(_), .. }) && !matches!(clock, Clock::Event(..)) {
            self.report(STREAM_DEPTH, "needs the event clock; set time to \"event\"");
        }
        // With a block layer, requests that exceed the drive's queues wait in the block layer.
        if let (Replay::Closed { depth, per_stream, .. }, Clock::Event(_, drive), None) = (&replay, clock, block) {
            self.refuse_more_than_queues_hold(*depth, *per_stream, drive)?;
        }
        Ok(replay)
    }

    /// Reads the maximum queue depth of each stream in an open replay; `None` without limits.
    fn stream_depths(&self) -> Read<Option<StreamDepths>> {
        let given = self.counts(STREAM_DEPTH)?;
        let depths: Vec<u32> = given.iter().map(|&depth| if depth == 0 { u32::MAX } else { depth as u32 }).collect();
        Ok(StreamDepths::new(&depths).filter(|_| given.iter().any(|&depth| depth > 0)))
    }

    pub(crate) fn fitting(&self) -> Read<Fitting> {
        self.choice("host.fit", &FITTINGS)
    }

    pub(crate) fn fit(&mut self, extent_bytes: Option<u64>) -> Read<Fit> {
        let fitting = self.fitting()?;
        if fitting.needs_extent() && extent_bytes.is_none() {
            self.report("host.fit", format!("{:?} needs a trace; set it to \"error\"", self.name("host.fit")?));
        }
        Ok(match fitting {
            // After `grow` or `compact`, every address fits: `grow` enlarges the device, and `compact` renumbers the
            // trace's pages.
            Fitting::Error | Fitting::Grow | Fitting::Compact => Fit::Error,
            Fitting::Wrap => Fit::Wrap,
            // For an empty trace, an extent of one byte avoids a division by zero.
            Fitting::Scale => Fit::Scale { extent_bytes: extent_bytes.unwrap_or(1).max(1) },
        })
    }

    /// Rejects a workload whose duration could exceed 292 years (63 bits of nanoseconds) if its requests were executed
    /// one at a time. Ignores garbage collection.
    pub(crate) fn refuse_endless(&mut self, setup: &Setup, workload: &Workload) {
        let page_bytes = u64::from(setup.geometry.page_bytes);
        let pages = |bytes: u32| u64::from(bytes).div_ceil(page_bytes) as f64;
        let largest = workload.sizes.iter().map(|(bytes, _)| *bytes).max().unwrap_or(0);
        let queued: f64 = workload.queues.iter().filter_map(|queue| queue.arrival.per_second()).sum();
        let (gap_ns, pages) = match (&workload.pattern, workload.arrival) {
            _ if queued > 0.0 => (1e9 / queued, pages(largest)),
            (Pattern::Filebench(bench), _) => ((bench.think_ns + bench.service_ns) as f64, pages(bench.max_bio_bytes)),
            (_, Arrival::Closed) => (0.0, pages(largest)),
            (_, Arrival::Fixed { per_second } | Arrival::Poisson { per_second }) => (1e9 / per_second, pages(largest)),
        };
        let work_ns = match &setup.clock {
            Clock::Count => 0.0,
            Clock::Serial(timing) | Clock::Event(timing, _) => {
                let times = [timing.read.by_type(), timing.program.by_type()].concat();
                pages * times.iter().map(|time| time.0).max().unwrap_or(0) as f64
            }
        };
        let each_ns = match setup.replay {
            Replay::Open { speed, .. } => (gap_ns / speed).max(work_ns),
            Replay::Closed { think, .. } | Replay::Processes { think } => work_ns + think.0 as f64,
        };
        let (Repeat::Times(replays) | Repeat::UntilSteady { most: replays, .. }) = setup.repeat;
        let most = (i64::MAX as f64 / (each_ns.max(1.0) * replays as f64)) as u64;
        if workload.requests > most {
            let (requests, each) = (workload.requests, Nanos(each_ns as u64));
            let message = format!(
                "the number of requests {requests} is too large: with {replays} replays and {each} per request, they \
                 may exceed 292 years of simulated time; lower it to {most}"
            );
            self.report("workload.requests", message);
        }
    }

    /// Rejects a host queue depth that exceeds the capacity of the drive's queues, because it could never be reached.
    fn refuse_more_than_queues_hold(&mut self, depth: u32, per_stream: bool, drive: &DriveOptions) -> Read<()> {
        let (queue_depth, queues) = match drive.front.protocol {
            Protocol::Direct => return Ok(()),
            Protocol::SingleQueue { depth } => (depth, 1),
            // Each stream uses only one queue of the drive, so the depth of that queue is the limit.
            Protocol::MultiQueue { depth, .. } if per_stream => (depth, 1),
            Protocol::MultiQueue { depth, queues, .. } => (depth, queues),
        };
        let holds = u64::from(queue_depth) * u64::from(queues);
        let depth = u64::from(depth);
        if depth > holds {
            let protocol = self.name("drive.protocol")?;
            let message = format!(
                "a queue depth of {depth} exceeds the {holds} requests that drive.protocol {protocol} holds; lower it \
                 to {holds}"
            );
            self.report("host.replay.closed.queue_depth", message);
        }
        Ok(())
    }
}
