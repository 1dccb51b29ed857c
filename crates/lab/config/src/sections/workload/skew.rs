//! Reads the settings of workload patterns with popular addresses.

use crate::checker::Reader;
use crate::kind::{Choices, Kind};
use crate::table::{OptionSpec, option};
use ssdlab_trace::{Pattern, Placement};

pub(super) const ZIPF: (&str, &str, Reader<Pattern>) =
    ("zipf", "the k-th most popular address with a probability proportional to 1 / k^`theta`", |checker| {
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
    ("together", "at the start of the span", Placement::Together),
    ("scattered", "scattered over the whole span", Placement::Scattered),
]);

pub(super) const OPTIONS: &[OptionSpec] = &[
    option("workload.pattern.zipf.theta", Kind::Float { min: 0.01, max: 10.0 })
        .default("0.99")
        .example("0.8")
        .help("Skew; YCSB uses 0.99."),
    option("workload.pattern.hot_cold.hot_requests", Kind::Percent { min: 0.0, max: 100.0 })
        .default("80%")
        .example("90%")
        .help("Share of the requests that are hot."),
    option("workload.pattern.hot_cold.hot_space", Kind::Percent { min: 0.01, max: 99.99 })
        .default("20%")
        .example("10%")
        .help("Share of the span that is hot."),
    option("workload.pattern.hot_cold.placement", PLACEMENTS.kind())
        .default("together")
        .example("scattered")
        .help("Location of the hot addresses."),
];
