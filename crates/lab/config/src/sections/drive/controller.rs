//! Reads the settings of the controller's processors.

use crate::checker::{Checker, Read};
use crate::table::{Derived, Fallback, OptionSpec, SECOND, count, nanos, value_or};
use ssdlab_sim::{CommandTimes, Controller, StageTime};

pub(crate) const COMMAND: &str = "drive.command";

const COMMAND_WORK: Derived = Derived { rule: "`drive.command`", value: |entries| value_or(entries, COMMAND, "0ns") };

/// Returns an option for a processing time or delay of the controller.
const fn time(key: &'static str, example: &'static str) -> OptionSpec {
    nanos(key, 0..=SECOND).default("0ns").example(example)
}

/// Keys of the controller settings for processing times and delays, per request or per page, except [`COMMAND`].
pub(crate) const TIMES: [&str; 9] = [
    "drive.work.read",
    "drive.work.write",
    "drive.work.page",
    "drive.work.read_completion",
    "drive.work.write_completion",
    "drive.latency.read",
    "drive.latency.write",
    "drive.latency.read_completion",
    "drive.latency.write_completion",
];

pub(super) const OPTIONS: &[OptionSpec] = &[
    count("drive.processors", 1..=64)
        .default("1")
        .example("4")
        .help("Number of processors in the controller; each works on one request at a time."),
    time(COMMAND, "2us").help(
        "Processor time per request before its first flash operation; default of `drive.work.read` and \
         `drive.work.write`.",
    ),
    time("drive.work.read", "1us")
        .fallback(Fallback::Derived(COMMAND_WORK))
        .help("Processor time per read before its first flash operation."),
    time("drive.work.write", "3us")
        .fallback(Fallback::Derived(COMMAND_WORK))
        .help("Processor time per write, trim or flush before its first flash operation."),
    time("drive.work.page", "200ns")
        .help("Processor time for each page of a read or write, in addition to the time per request."),
    time("drive.work.read_completion", "500ns").help("Processor time per read after its data has been transferred."),
    time("drive.work.write_completion", "500ns")
        .help("Processor time per write, trim or flush before its completion is reported."),
    time("drive.latency.read", "10us").help(
        "Delay of a read before its first flash operation, after its processor time; does not occupy a processor.",
    ),
    time("drive.latency.write", "5us").help(
        "Delay of a write, trim or flush before its first flash operation, after its processor time; does not occupy a \
         processor.",
    ),
    time("drive.latency.read_completion", "5us")
        .help("Delay of a read after its data has been transferred; does not occupy a processor."),
    time("drive.latency.write_completion", "5us")
        .help("Delay of a write, trim or flush before its completion is reported; does not occupy a processor."),
];

impl Checker<'_> {
    pub(super) fn controller(&self) -> Read<Controller> {
        let stage = |stage: &str| {
            let time = |what: &str| self.nanos(&format!("drive.{what}.{stage}"));
            Ok(StageTime { work: time("work")?, latency: time("latency")? })
        };
        let times =
            |op: &str| Ok(CommandTimes { submission: stage(op)?, completion: stage(&format!("{op}_completion"))? });
        Ok(Controller {
            processors: self.small("drive.processors")?,
            page_work: self.nanos("drive.work.page")?,
            read: times("read")?,
            write: times("write")?,
        })
    }
}
