//! Patterns in which some addresses are more popular than others.

use crate::checker::Reader;
use crate::kind::{Choices, Kind};
use crate::table::{Fallback, OptionSpec};
use ssdlab_trace::{Pattern, Placement};

pub(super) const ZIPF: (&str, &str, Reader<Pattern>) =
    ("zipf", "the k-th most popular address in proportion to 1 / k^`theta`", |checker| {
        Ok(Pattern::Zipf { theta: checker.float("workload.pattern.zipf.theta")? })
    });

pub(super) const HOT_COLD: (&str, &str, Reader<Pattern>) =
    ("hot_cold", "`hot_requests` of the requests go to `hot_space` of the addresses", |checker| {
        Ok(Pattern::HotCold {
            hot_requests: checker.share("workload.pattern.hot_cold.hot_requests")?,
            hot_space: checker.share("workload.pattern.hot_cold.hot_space")?,
            placement: checker.choice("workload.pattern.hot_cold.placement", &PLACEMENTS)?,
        })
    });

static PLACEMENTS: Choices<Placement, 2> = Choices::new([
    ("together", "in the first stretch of the span", Placement::Together),
    ("scattered", "one by one all over the span", Placement::Scattered),
]);

pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        key: "workload.pattern.zipf.theta",
        kind: Kind::Float { min: 0.01, max: 10.0 },
        fallback: Fallback::Value("0.99"),
        help: "Skew; 0.99 is YCSB's.",
        example: "0.8",
    },
    OptionSpec {
        key: "workload.pattern.hot_cold.hot_requests",
        kind: Kind::Percent { min: 0.0, max: 100.0 },
        fallback: Fallback::Value("80%"),
        help: "Share of the requests that are hot.",
        example: "90%",
    },
    OptionSpec {
        key: "workload.pattern.hot_cold.hot_space",
        kind: Kind::Percent { min: 0.01, max: 99.99 },
        fallback: Fallback::Value("20%"),
        help: "Share of the span that is hot.",
        example: "10%",
    },
    OptionSpec {
        key: "workload.pattern.hot_cold.placement",
        kind: PLACEMENTS.kind(),
        fallback: Fallback::Value("together"),
        help: "Where the hot addresses lie.",
        example: "scattered",
    },
];
