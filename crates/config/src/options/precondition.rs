//! The state of the device before the first request.

use super::{Fallback, Kind, OptionSpec, Variant};

pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        key: "precondition.fill",
        kind: Kind::Percent { min: 0.0, max: 100.0 },
        fallback: Fallback::Value("100%"),
        help: "Share of the logical pages written once, in order.",
        example: "80%",
    },
    OptionSpec {
        key: "precondition.overwrite",
        kind: Kind::Choice(&[
            Variant { name: "none", help: "not at all" },
            Variant { name: "steady", help: "uniformly at random until write amplification is stable" },
            Variant { name: "passes", help: "uniformly at random, `count` times the capacity" },
        ]),
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
