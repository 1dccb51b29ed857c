//! How requests reach the device.

use super::{Case, Fallback, Is, Kind, OptionSpec, SECOND, Variant};

pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        key: "host.replay",
        kind: Kind::Choice(&[
            Variant { name: "closed", help: "as many requests as `queue_depth` outstanding; trace times are ignored" },
            Variant {
                name: "processes",
                help: "each process goes on when the read or synchronous write it waits for is complete; what nobody \
                       waits for follows in the order of the trace",
            },
            Variant { name: "open", help: "each request at its time in the trace; requests queue" },
        ]),
        fallback: Fallback::Value("closed"),
        help: "When the next request is issued.",
        example: "open",
    },
    OptionSpec {
        key: "host.replay.closed.queue_depth",
        kind: Kind::Count { min: 1, max: 1_000_000 },
        fallback: Fallback::Unless("32", &[Case { key: "drive.protocol", is: Is::Variant("sata"), value: "31" }]),
        help: "Requests outstanding; without `time = \"event\"` one at a time is served, whatever this says.",
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
        kind: Kind::Choice(&[
            Variant { name: "error", help: "stop and name the request" },
            Variant { name: "wrap", help: "address modulo capacity" },
            Variant { name: "scale", help: "address times capacity over the extent of the trace" },
            Variant { name: "grow", help: "enlarge the device until the trace fits" },
        ]),
        fallback: Fallback::Value("error"),
        help: "What to do with addresses beyond the device.",
        example: "wrap",
    },
    OptionSpec {
        key: "host.warmup",
        kind: Kind::Count { min: 0, max: i64::MAX as u64 },
        fallback: Fallback::Value("0"),
        help: "Requests replayed before measuring starts.",
        example: "100000",
    },
];
