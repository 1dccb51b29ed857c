//! The state of the device before the first request.

use super::repeat::{REPEATS, repeat_options};
use crate::checker::{Checker, Read, Reader};
use crate::kind::{Choices, Kind};
use crate::table::{Fallback, OptionSpec, Section};
use ssdlab_sim::{Method, Overwrite, Precondition};

pub(crate) const SECTION: Section = Section {
    name: "precondition",
    help: "The state of the device before the first request.",
    used: &[],
    options: || [OPTIONS, &TRACE].concat(),
};

static OVERWRITES: Choices<Reader<Overwrite>, 4> = Choices::new([
    ("none", "not at all", |_| Ok(Overwrite::None)),
    ("steady", "uniformly at random until write amplification is stable", |checker| {
        Ok(Overwrite::Steady(checker.choice("precondition.overwrite.steady.method", &METHODS)?))
    }),
    ("passes", "uniformly at random, `count` times what is filled", |checker| {
        Ok(Overwrite::Passes(checker.float("precondition.overwrite.passes.count")?))
    }),
    ("trace", "by what the trace writes and trims, untimed, over and over", |checker| {
        Ok(Overwrite::Trace(checker.repeat("precondition.overwrite.trace.repeat")?))
    }),
]);

static METHODS: Choices<Method, 3> = Choices::new([
    (
        "auto",
        "\"sampled\" for drives of 64 GiB and more (in pages of 4 KiB) where that can be, else \"exact\"",
        Method::Auto,
    ),
    ("exact", "every plane is overwritten until write amplification is stable", Method::Exact),
    (
        "sampled",
        "a few planes are, and the others take over their state; page mapping, map in RAM, no check",
        Method::Sampled,
    ),
]);

const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        key: "precondition.fill",
        kind: Kind::Percent { min: 0.0, max: 100.0 },
        fallback: Fallback::Value("100%"),
        help: "Share of the logical pages written once, in order.",
        example: "80%",
    },
    OptionSpec {
        key: "precondition.overwrite",
        kind: OVERWRITES.kind(),
        fallback: Fallback::Value("steady"),
        help: "How the device is overwritten before the first request; at random only filled pages are.",
        example: "none",
    },
    OptionSpec {
        key: "precondition.overwrite.steady.method",
        kind: METHODS.kind(),
        fallback: Fallback::Value("auto"),
        help: "How a drive comes to its steady state; results say which way it was.",
        example: "exact",
    },
    OptionSpec {
        key: "precondition.overwrite.passes.count",
        kind: Kind::Float { min: 0.0, max: 1000.0 },
        fallback: Fallback::Value("2.0"),
        help: "Pages overwritten as a multiple of those filled.",
        example: "1.5",
    },
];

const TRACE: [OptionSpec; 4] = repeat_options!(
    "precondition.overwrite.trace.repeat",
    "until-steady",
    "How often what the trace writes and trims is replayed before the first request."
);

impl Checker<'_> {
    pub(crate) fn precondition(&mut self) -> Read<Precondition> {
        let fill = self.share("precondition.fill")?;
        let overwrite = self.variant("precondition.overwrite", &OVERWRITES)?;
        if fill == 0.0 && matches!(overwrite, Overwrite::Steady(_) | Overwrite::Passes(_)) {
            let message = "0% leaves nothing to overwrite; set precondition.overwrite to \"none\"";
            self.report("precondition.fill", message.into());
        }
        Ok(Precondition { fill, overwrite })
    }
}
