//! Settings for the state of the device before the first request.

use super::repeat;
use crate::checker::{Checker, Read, Reader};
use crate::kind::Choices;
use crate::table::{OptionSpec, Section, float, option, percent};
use ssdlab_sim::{Method, Overwrite, Precondition};

pub(crate) const SECTION: Section =
    Section { name: "precondition", help: "State of the device before the first request.", used: &[], options };

static OVERWRITES: Choices<Reader<Overwrite>, 4> = Choices::new([
    ("none", "not overwritten", |_| Ok(Overwrite::None)),
    ("steady", "overwrites uniformly random pages until write amplification is stable", |checker| {
        Ok(Overwrite::Steady(checker.choice("precondition.overwrite.steady.method", &METHODS)?))
    }),
    ("passes", "overwrites `count` times as many pages as were filled, chosen uniformly at random", |checker| {
        Ok(Overwrite::Passes(checker.float("precondition.overwrite.passes.count")?))
    }),
    ("trace", "replays the writes and trims of the trace, without timing", |checker| {
        Ok(Overwrite::Trace(checker.repeat("precondition.overwrite.trace.repeat")?))
    }),
]);

static METHODS: Choices<Method, 3> = Choices::new([
    (
        "auto",
        "\"sampled\" for drives of at least 64 GiB (with 4 KiB pages) if possible, otherwise \"exact\"",
        Method::Auto,
    ),
    ("exact", "overwrites every plane until write amplification is stable", Method::Exact),
    (
        "sampled",
        "overwrites only some planes, or a part of each superblock, and copies their state to the others; needs \
         `check = false`, page mapping and a map in RAM",
        Method::Sampled,
    ),
]);

const OPTIONS: &[OptionSpec] = &[
    percent("precondition.fill", 0.0..=100.0)
        .default("100%")
        .example("80%")
        .help("Share of the logical pages to fill first: each is written once, in ascending order."),
    option("precondition.overwrite", OVERWRITES.kind())
        .default("steady")
        .example("none")
        .help("How the device is overwritten before the first request; random overwrites touch only filled pages."),
    option("precondition.overwrite.steady.method", METHODS.kind())
        .default("auto")
        .example("exact")
        .help("Method for reaching steady state; results show the method used."),
    float("precondition.overwrite.passes.count", 0.0..=1000.0)
        .default("2.0")
        .example("1.5")
        .help("Number of overwritten pages, as a multiple of the number of filled pages."),
];

fn options() -> Vec<OptionSpec> {
    let repeat = repeat::options(
        "precondition.overwrite.trace.repeat",
        "until-steady",
        "Number of times that the writes and trims of the trace are replayed before the first request.",
    );
    [OPTIONS, &repeat].concat()
}

impl Checker<'_> {
    pub(crate) fn precondition(&mut self) -> Read<Precondition> {
        let fill = self.share("precondition.fill")?;
        let overwrite = self.variant("precondition.overwrite", &OVERWRITES)?;
        if fill == 0.0 && matches!(overwrite, Overwrite::Steady(_) | Overwrite::Passes(_)) {
            self.report("precondition.fill", "0% leaves nothing to overwrite; set precondition.overwrite to \"none\"");
        }
        Ok(Precondition { fill, overwrite })
    }
}
