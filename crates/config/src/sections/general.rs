//! Settings outside any table: what is random, what is checked, how time passes and what is recorded of it.

use super::ftl::plan::Plan;
use super::nand::many_planes;
use crate::checker::{Checker, Read, Reader};
use crate::figures::KnownDevice;
use crate::kind::{Choices, Kind};
use crate::table::{Fallback, OptionSpec, SECOND, Section};
use ssdlab_core::Nanos;
use ssdlab_core::units::write_nanos;
use ssdlab_nand::Timing;
use ssdlab_nand::backend::parallel::Window;
use ssdlab_sim::Clock;

pub(crate) const SECTION: Section =
    Section { name: "", help: "Settings outside any table.", used: &[], options: || OPTIONS.to_vec() };

/// Reads a clock; a drive that works on many requests needs to know FTL and device.
type ReadClock = fn(&mut Checker<'_>, &Plan, KnownDevice<'_>) -> Read<Clock>;

static CLOCKS: Choices<ReadClock, 3> = Choices::new([
    ("count", "operations are counted and take no time", |_, _, _| Ok(Clock::Count)),
    ("serial", "one operation at a time, whatever the array could do at once", |checker, _, _| {
        Ok(Clock::Serial(checker.timing()?))
    }),
    ("event", "channels, dies and planes at work on many requests at once", |checker, plan, device| {
        let timing = checker.timing()?;
        checker.refuse_no_time(&timing);
        let commands = checker.commands(&timing)?;
        Ok(Clock::Event(timing, checker.drive(commands, plan, device)?))
    }),
]);

static WINDOWS: Choices<Reader<Option<Window>>, 2> = Choices::new([
    ("none", "none", |_| Ok(None)),
    ("window", "`length` of simulated time, from `from` on", |checker| {
        let (from, length) = (checker.nanos("gantt.window.from")?, checker.nanos("gantt.window.length")?);
        Ok(Some(Window { from, length }))
    }),
]);

const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        key: "seed",
        kind: Kind::Count { min: 0, max: i64::MAX as u64 },
        fallback: Fallback::Value("1"),
        help: "Seed of every random stream; the same seed and settings give the same results.",
        example: "42",
    },
    OptionSpec {
        key: "check",
        kind: Kind::Bool,
        fallback: Fallback::Value("false"),
        help: "Check each flash operation against the NAND rules and each read against a shadow of the data (slower).",
        example: "true",
    },
    OptionSpec {
        key: "time",
        kind: CLOCKS.kind(),
        // An array of several planes is described to see what they do together.
        fallback: Fallback::Unless("serial", &many_planes("event")),
        help: "How simulated time passes.",
        example: "count",
    },
    OptionSpec {
        key: "gantt",
        kind: WINDOWS.kind(),
        fallback: Fallback::Value("none"),
        help: "The stretch of time of which every flash operation is recorded, with its channel, die and plane; needs \
               `time = \"event\"`.",
        example: "window",
    },
    OptionSpec {
        key: "gantt.window.from",
        kind: Kind::Nanos { min: 0, max: 1_000_000 * SECOND },
        fallback: Fallback::Value("0ns"),
        help: "Where the window starts, from the start of measuring.",
        example: "250ms",
    },
    OptionSpec {
        key: "gantt.window.length",
        kind: Kind::Nanos { min: 0, max: 1_000_000 * SECOND },
        fallback: Fallback::Value("10ms"),
        help: "Length of the window.",
        example: "2ms",
    },
];

impl Checker<'_> {
    /// The time model; the device is known unless something is wrong with it.
    pub(crate) fn clock(&mut self, plan: &Plan, device: KnownDevice<'_>) -> Read<Clock> {
        let read = self.choice("time", &CLOCKS)?;
        read(self, plan, device)
    }

    /// With one request after the other an operation may take no time; a closed loop of many would never end.
    fn refuse_no_time(&mut self, timing: &Timing) {
        for (key, times) in [
            ("nand.read", timing.read.by_type()),
            ("nand.program", timing.program.by_type()),
            ("nand.erase", &[timing.erase]),
        ] {
            if times.contains(&Nanos::ZERO) {
                let some = |time: &Nanos| write_nanos(if *time == Nanos::ZERO { 1_000 } else { time.0 });
                let some = times.iter().map(some).collect::<Vec<_>>().join(",");
                let message = format!(
                    "0ns would let the simulation make infinitely many requests in no time; raise it to {some}"
                );
                self.report(key, message);
            }
        }
    }

    /// The window of which operations are recorded.
    pub(crate) fn gantt(&mut self, clock: &Clock) -> Read<Option<Window>> {
        let Some(window) = self.variant("gantt", &WINDOWS)? else { return Ok(None) };
        if !matches!(clock, Clock::Event(..)) {
            let message = "no time of channels and dies is modelled; set time to \"event\"";
            self.report("gantt", message.into());
        }
        if window.length == Nanos::ZERO {
            self.report("gantt.window.length", "0ns records nothing; raise it to 10ms".into());
        }
        Ok(Some(window))
    }
}
