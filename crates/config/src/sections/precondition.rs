//! The state of the device before the first request.

use crate::checker::{Checker, Read, Reader};
use crate::kind::{Choices, Kind};
use crate::table::{Fallback, OptionSpec, Section};
use ssdlab_sim::{Overwrite, Precondition};

pub(crate) const SECTION: Section = Section {
    name: "precondition",
    help: "The state of the device before the first request.",
    options: || OPTIONS.to_vec(),
};

static OVERWRITES: Choices<Reader<Overwrite>, 3> = Choices::new([
    ("none", "not at all", |_| Ok(Overwrite::None)),
    ("steady", "uniformly at random until write amplification is stable", |_| Ok(Overwrite::Steady)),
    ("passes", "uniformly at random, `count` times the capacity", |checker| {
        Ok(Overwrite::Passes(checker.float("precondition.overwrite.passes.count")?))
    }),
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
        help: "How the filled pages are overwritten before the first request.",
        example: "none",
    },
    OptionSpec {
        key: "precondition.overwrite.passes.count",
        kind: Kind::Float { min: 0.0, max: 1000.0 },
        fallback: Fallback::Value("2.0"),
        help: "Bytes overwritten as a multiple of the capacity.",
        example: "1.5",
    },
];

impl Checker<'_> {
    pub(crate) fn precondition(&mut self) -> Read<Precondition> {
        let fill = self.share("precondition.fill")?;
        let overwrite = self.variant("precondition.overwrite", &OVERWRITES)?;
        if fill == 0.0 && overwrite != Overwrite::None {
            let message = "0% leaves nothing to overwrite; raise it or set precondition.overwrite to \"none\"";
            self.report("precondition.fill", message.into());
        }
        Ok(Precondition { fill, overwrite })
    }
}
