//! Reads the settings of the arrival times of generated requests.

use crate::checker::Reader;
use crate::kind::{Choices, Kind};
use crate::table::{Fallback, OptionSpec, option};
use ssdlab_trace::Arrival;

pub(super) static ARRIVALS: Choices<Reader<Arrival>, 3> = Choices::new([
    ("closed", "all at time 0, for closed replay", |_| Ok(Arrival::Closed)),
    ("fixed", "evenly spaced at `rate`", |checker| {
        Ok(Arrival::Fixed { per_second: checker.rate("workload.arrival.fixed.rate")? as f64 })
    }),
    ("poisson", "exponential gaps, `rate` on average", |checker| {
        Ok(Arrival::Poisson { per_second: checker.rate("workload.arrival.poisson.rate")? as f64 })
    }),
]);

pub(super) const OPTIONS: &[OptionSpec] = &[
    option("workload.arrival", ARRIVALS.kind())
        .default("closed")
        .example("closed")
        .help("When requests arrive; only `host.replay = \"open\"` uses these times."),
    option("workload.arrival.fixed.rate", Kind::Rate)
        .fallback(Fallback::Required)
        .example("500/s")
        .help("Requests per second."),
    option("workload.arrival.poisson.rate", Kind::Rate)
        .fallback(Fallback::Required)
        .example("2k/s")
        .help("Requests per second on average."),
];
