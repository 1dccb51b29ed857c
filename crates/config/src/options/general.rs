//! Settings outside any table.

use super::{Fallback, Kind, OptionSpec, SECOND, Variant, many_planes};

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
            Variant { name: "serial", help: "one operation at a time, whatever the array could do at once" },
            Variant { name: "event", help: "channels, dies and planes at work on many requests at once" },
        ]),
        // An array of several planes is described to see what they do together.
        fallback: Fallback::Unless("serial", &many_planes("event")),
        help: "How simulated time passes.",
        example: "count",
    },
    OptionSpec {
        key: "gantt",
        kind: Kind::Choice(&[
            Variant { name: "none", help: "none" },
            Variant { name: "window", help: "`length` of simulated time, from `from` on" },
        ]),
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
