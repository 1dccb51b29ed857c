//! How requests reach the device.

use super::repeat::{REPEATS, repeat_options};
use crate::checker::{Checker, Read};
use crate::kind::{Choices, Kind};
use crate::table::{Case, Fallback, Is, OptionSpec, SECOND, Section};
use ssdlab_core::Nanos;
use ssdlab_sim::{BlockOptions, Clock, DriveOptions, Fit, Protocol, Repeat, Replay, Setup};
use ssdlab_trace::{Arrival, Pattern, Workload};

pub(crate) const SECTION: Section = Section {
    name: "host",
    help: "How requests reach the device.",
    used: &[],
    options: || [OPTIONS, &REPEAT].concat(),
};

static REPLAYS: Choices<fn(&mut Checker<'_>) -> Read<Replay>, 3> = Choices::new([
    ("closed", "as many requests as `queue_depth` outstanding; trace times are ignored", |checker| {
        let depth = checker.small("host.replay.closed.queue_depth")?;
        let per_stream = checker.flag("host.replay.closed.per_stream")?;
        Ok(Replay::Closed { depth, per_stream, think: checker.nanos("host.replay.closed.think")? })
    }),
    (
        "processes",
        "each process goes on when the read or synchronous write it waits for is complete; what nobody \
         waits for follows in the order of the trace",
        |checker| Ok(Replay::Processes { think: checker.nanos("host.replay.processes.think")? }),
    ),
    ("open", "each request at its time in the trace; requests queue", |checker| {
        Ok(Replay::Open { time_scale: checker.float("host.replay.open.time_scale")? })
    }),
]);

/// What is done with addresses beyond the device.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Fitting {
    Error,
    Wrap,
    Scale,
    Grow,
    Compact,
}

impl Fitting {
    /// Whether it needs to know where the trace lies.
    pub(crate) const fn needs_extent(self) -> bool {
        matches!(self, Self::Scale | Self::Grow | Self::Compact)
    }
}

static FITTINGS: Choices<Fitting, 5> = Choices::new([
    ("error", "stop and name the request", Fitting::Error),
    ("wrap", "address modulo capacity", Fitting::Wrap),
    ("scale", "address times capacity over the extent of the trace", Fitting::Scale),
    ("grow", "enlarge the device until the trace fits", Fitting::Grow),
    (
        "compact",
        "leave out the pages that no request reads or writes; the others keep their order. Unless device.capacity is set, \
         which that of a preset is not, the drive is as large as the trace needs: device.fill",
        Fitting::Compact,
    ),
]);

const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        key: "host.replay",
        kind: REPLAYS.kind(),
        fallback: Fallback::Value("closed"),
        help: "When the next request is issued.",
        example: "open",
    },
    OptionSpec {
        key: "host.replay.closed.queue_depth",
        kind: Kind::Count { min: 1, max: 1_000_000 },
        fallback: Fallback::Unless("32", &[Case { key: "drive.protocol", is: Is::Variant("sata"), value: "31" }]),
        help: "Requests outstanding; without `time = \"event\"` one at a time is served, whatever this says. More than the \
               drive holds need a block layer to wait in.",
        example: "4",
    },
    OptionSpec {
        key: "host.replay.closed.per_stream",
        kind: Kind::Bool,
        fallback: Fallback::Value("false"),
        help: "Each stream of the trace keeps so many outstanding, rather than all streams together.",
        example: "true",
    },
    OptionSpec {
        key: "host.replay.closed.think",
        kind: Kind::Nanos { min: 0, max: 1_000 * SECOND },
        fallback: Fallback::Value("0ns"),
        help: "Time between a completion and the request that takes its place.",
        example: "50us",
    },
    OptionSpec {
        key: "host.replay.processes.think",
        kind: Kind::Nanos { min: 0, max: 1_000 * SECOND },
        fallback: Fallback::Value("0ns"),
        help: "Time between a completion and the next request of the process.",
        example: "50us",
    },
    OptionSpec {
        key: "host.replay.open.time_scale",
        kind: Kind::Float { min: 1e-6, max: 1e6 },
        fallback: Fallback::Value("1.0"),
        help: "Factor on the times of the trace: 0.5 issues requests twice as fast.",
        example: "0.5",
    },
    OptionSpec {
        key: "host.fit",
        kind: FITTINGS.kind(),
        fallback: Fallback::Value("error"),
        help: "What to do with addresses beyond the device, or with those that the trace leaves out. Where neither this nor \
               `device.capacity` is set, a trace on the default drive is packed, as `compact` says.",
        example: "compact",
    },
    OptionSpec {
        key: "host.warmup",
        kind: Kind::Count { min: 0, max: i64::MAX as u64 },
        fallback: Fallback::Value("0"),
        help: "Requests of a replay before measuring starts. It starts when all of them are complete, and times count anew from \
               the next: of an open replay no queue goes on.",
        example: "100000",
    },
];

const REPEAT: [OptionSpec; 4] = repeat_options!(
    "host.repeat",
    "times",
    "How often the trace is replayed. The last replay is measured; each begins when the one before it is over."
);

impl Checker<'_> {
    pub(crate) fn replay(&mut self, clock: &Clock, block: Option<&BlockOptions>) -> Read<Replay> {
        let read = self.choice("host.replay", &REPLAYS)?;
        let replay = read(self)?;
        // What a drive does not take waits in the block layer, where there is one.
        if let (Replay::Closed { depth, per_stream, .. }, Clock::Event(_, drive), None) = (&replay, clock, block) {
            self.refuse_more_than_queues_hold(*depth, *per_stream, drive)?;
        }
        Ok(replay)
    }

    pub(crate) fn fitting(&self) -> Read<Fitting> {
        self.choice("host.fit", &FITTINGS)
    }

    pub(crate) fn fit(&mut self, extent_bytes: Option<u64>) -> Read<Fit> {
        let fitting = self.fitting()?;
        if fitting.needs_extent() && extent_bytes.is_none() {
            let name = self.name("host.fit")?;
            let message = format!("{name:?} needs to know where a trace ends, and none is given; set it to \"error\"");
            self.report("host.fit", message);
        }
        Ok(match fitting {
            // A device that has grown holds every address, and so does one that is checked to hold a packed trace.
            Fitting::Error | Fitting::Grow | Fitting::Compact => Fit::Error,
            Fitting::Wrap => Fit::Wrap,
            // An empty trace has no address to scale; one byte keeps the ratio defined.
            Fitting::Scale => Fit::Scale { extent_bytes: extent_bytes.unwrap_or(1).max(1) },
        })
    }

    /// Refuses requests that, one after the other, could take longer than 64 bits of nanoseconds hold. What garbage
    /// collection adds is not known; such runs take days.
    pub(crate) fn refuse_endless(&mut self, setup: &Setup, workload: &Workload) {
        let page_bytes = u64::from(setup.geometry.page_bytes);
        let pages = |bytes: u32| u64::from(bytes).div_ceil(page_bytes) as f64;
        let largest = workload.sizes.iter().map(|(bytes, _)| *bytes).max().unwrap_or(0);
        let (gap_ns, pages) = match (&workload.pattern, workload.arrival) {
            (Pattern::Filebench(one), _) => ((one.think_ns + one.service_ns) as f64, pages(one.max_bio_bytes)),
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
            Replay::Open { time_scale } => (gap_ns * time_scale).max(work_ns),
            Replay::Closed { think, .. } | Replay::Processes { think } => work_ns + think.0 as f64,
        };
        let (Repeat::Times(replays) | Repeat::UntilSteady { most: replays, .. }) = setup.repeat;
        let most = (i64::MAX as f64 / (each_ns.max(1.0) * replays as f64)) as u64;
        if workload.requests > most {
            let message = format!(
                "{} requests of {} each, {replays} times, may last over 292 years; lower it to {most}",
                workload.requests,
                Nanos(each_ns as u64)
            );
            self.report("workload.requests", message);
        }
    }

    /// What the queues do not hold would not be outstanding, whatever was asked for.
    fn refuse_more_than_queues_hold(&mut self, depth: u32, per_stream: bool, drive: &DriveOptions) -> Read<()> {
        let (queue_depth, queues) = match drive.front.protocol {
            Protocol::Direct => return Ok(()),
            Protocol::SingleQueue { depth } => (depth, 1),
            // Each stream has one queue, all streams together have all.
            Protocol::MultiQueue { depth, .. } if per_stream => (depth, 1),
            Protocol::MultiQueue { depth, queues, .. } => (depth, queues),
        };
        let holds = u64::from(queue_depth) * u64::from(queues);
        let depth = u64::from(depth);
        if depth > holds {
            let protocol = self.name("drive.protocol")?;
            let message = format!(
                "{depth} exceeds the {holds} requests that drive.protocol {protocol} holds; lower it to {holds}"
            );
            self.report("host.replay.closed.queue_depth", message);
        }
        Ok(())
    }
}
