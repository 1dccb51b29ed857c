//! When generated requests arrive.

use crate::checker::Reader;
use crate::kind::{Choices, Kind};
use crate::table::{Fallback, OptionSpec};
use ssdlab_trace::Arrival;

pub(super) static ARRIVALS: Choices<Reader<Arrival>, 3> = Choices::new([
    ("closed", "all at time 0: the closed loop of the replay decides", |_| Ok(Arrival::Closed)),
    ("fixed", "evenly spaced at `rate`", |checker| {
        Ok(Arrival::Fixed { per_second: checker.rate("workload.arrival.fixed.rate")? as f64 })
    }),
    ("poisson", "exponential gaps, `rate` on average", |checker| {
        Ok(Arrival::Poisson { per_second: checker.rate("workload.arrival.poisson.rate")? as f64 })
    }),
]);

pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        key: "workload.arrival",
        kind: ARRIVALS.kind(),
        fallback: Fallback::Value("closed"),
        help: "When requests arrive; seen by `host.replay = \"open\"` only.",
        example: "closed",
    },
    OptionSpec {
        key: "workload.arrival.fixed.rate",
        kind: Kind::Rate,
        fallback: Fallback::Required,
        help: "Requests per second.",
        example: "500/s",
    },
    OptionSpec {
        key: "workload.arrival.poisson.rate",
        kind: Kind::Rate,
        fallback: Fallback::Required,
        help: "Requests per second on average.",
        example: "2k/s",
    },
];
