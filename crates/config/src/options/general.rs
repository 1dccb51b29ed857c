//! Settings outside any table.

use super::{Fallback, Kind, OptionSpec, Variant};

pub(super) const OPTIONS: &[OptionSpec] = &[
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
        kind: Kind::Choice(&[
            Variant { name: "count", help: "operations are counted and take no time" },
            Variant { name: "serial", help: "one chip, one operation at a time" },
        ]),
        fallback: Fallback::Value("serial"),
        help: "How simulated time passes.",
        example: "count",
    },
];
