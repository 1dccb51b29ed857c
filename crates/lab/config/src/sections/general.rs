//! Settings outside any table: seed, checks, clock and recording.

use super::nand::many_planes;
use crate::checker::{Checker, Read, Reader};
use crate::kind::Choices;
use crate::sections::device::KnownDevice;
use crate::table::{Fallback, OptionSpec, SECOND, Section, count, nanos, option, switch};
use ssdlab_core::Nanos;
use ssdlab_core::units::write_nanos;
use ssdlab_ftl::FtlChoice;
use ssdlab_nand::Timing;
use ssdlab_nand::backend::parallel::Window;
use ssdlab_sim::Clock;

pub(crate) const SECTION: Section =
    Section { name: "", help: "General settings, outside any table.", used: &[], options: || OPTIONS.to_vec() };

/// Function that reads the settings of one clock variant. For the variant "event", it also checks the settings against
/// the FTL and the device.
type ReadClock = fn(&mut Checker<'_>, &FtlChoice, KnownDevice<'_>) -> Read<Clock>;

static CLOCKS: Choices<ReadClock, 3> = Choices::new([
    ("count", "operations are counted and take no time", |_, _, _| Ok(Clock::Count)),
    ("serial", "one operation at a time, even on several planes", |checker, _, _| Ok(Clock::Serial(checker.timing()?))),
    ("event", "channels, dies and planes work on many requests at once", |checker, ftl, device| {
        let timing = checker.timing()?;
        checker.refuse_no_time(&timing);
        let commands = checker.commands(&timing)?;
        Ok(Clock::Event(timing, checker.drive(commands, ftl, device)?))
    }),
]);

static WINDOWS: Choices<Reader<Option<Window>>, 2> = Choices::new([
    ("none", "no operation is recorded", |_| Ok(None)),
    ("window", "`length` of simulated time, starting at `from`", |checker| {
        let (from, length) = (checker.nanos("gantt.window.from")?, checker.nanos("gantt.window.length")?);
        Ok(Some(Window { from, length }))
    }),
]);

const OPTIONS: &[OptionSpec] = &[
    count("seed", 0..=i64::MAX as u64)
        .default("1")
        .example("42")
        .help("Seed of all random streams; the same seed and settings give the same results."),
    switch("check", false).help(
        "Checks each flash operation against the NAND rules, and each read against a copy of the data. Runs are slower \
         with checks.",
    ),
    option("time", CLOCKS.kind())
        // Users who configure several planes probably want to simulate their parallelism, so the default is the event
        // clock.
        .fallback(Fallback::Unless("serial", &many_planes("event")))
        .example("count")
        .help("How simulated time passes."),
    option("gantt", WINDOWS.kind()).default("none").example("window").help(
        "Time window in which every flash operation is recorded with its channel, die and plane. Needs \
         `time = \"event\"`.",
    ),
    nanos("gantt.window.from", 0..=1_000_000 * SECOND)
        .default("0ns")
        .example("250ms")
        .help("Start of the window, relative to the start of the measurement."),
    nanos("gantt.window.length", 0..=1_000_000 * SECOND).default("10ms").example("2ms").help("Length of the window."),
];

impl Checker<'_> {
    /// Reads the settings of the time model.
    pub(crate) fn clock(&mut self, ftl: &FtlChoice, device: KnownDevice<'_>) -> Read<Clock> {
        let read = self.choice("time", &CLOCKS)?;
        read(self, ftl, device)
    }

    /// Rejects a chip whose operations take no time, because a closed loop of several requests would then never end.
    fn refuse_no_time(&mut self, timing: &Timing) {
        for (key, times) in [
            ("nand.read", timing.read.by_type()),
            ("nand.program", timing.program.by_type()),
            ("nand.erase", &[timing.erase]),
        ] {
            if times.contains(&Nanos::ZERO) {
                let some = |time: &Nanos| write_nanos(if *time == Nanos::ZERO { 1_000 } else { time.0 });
                let some = times.iter().map(some).collect::<Vec<_>>().join(",");
                self.report(key, format!("operations with a time of 0ns never advance the clock; raise it to {some}"));
            }
        }
    }

    /// Reads the time window in which flash operations are recorded.
    pub(crate) fn gantt(&mut self, clock: &Clock) -> Read<Option<Window>> {
        let Some(window) = self.variant("gantt", &WINDOWS)? else { return Ok(None) };
        if !matches!(clock, Clock::Event(..)) {
            self.report("gantt", "needs the event clock; set time to \"event\"");
        }
        if window.length == Nanos::ZERO {
            self.report("gantt.window.length", "0ns records nothing; raise it to 10ms");
        }
        Ok(Some(window))
    }
}
