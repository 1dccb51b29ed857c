//! How requests reach the device.

use super::{Fallback, Kind, OptionSpec, Variant};

pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        key: "host.replay",
        kind: Kind::Choice(&[
            Variant { name: "closed", help: "each request when the one before it completes; trace times are ignored" },
            Variant { name: "open", help: "each request at its time in the trace; requests queue" },
        ]),
        fallback: Fallback::Value("closed"),
        help: "When the next request is issued.",
        example: "open",
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
