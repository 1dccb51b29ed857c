//! Reads the settings of the arrival times of generated requests.

use crate::checker::{Checker, Read, Reader};
use crate::kind::{Choices, Kind};
use crate::table::{Fallback, OptionSpec, option};
use crate::value::QueueGroup;
use ssdlab_trace::{Arrival, Queue};

pub(super) static ARRIVALS: Choices<Reader<Arrival>, 3> = Choices::new([
    ("closed", "all requests arrive at time 0; for closed replay", |_| Ok(Arrival::Closed)),
    ("fixed", "evenly spaced at `rate`", |checker| {
        Ok(Arrival::Fixed { per_second: checker.rate("workload.arrival.fixed.rate")? as f64 })
    }),
    ("poisson", "exponentially distributed intervals, with the mean rate `rate`", |checker| {
        Ok(Arrival::Poisson { per_second: checker.rate("workload.arrival.poisson.rate")? as f64 })
    }),
]);

pub(super) const QUEUES: &str = "workload.queues";

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
    option(QUEUES, Kind::Queues).default("none").example("1:fixed:10k/s:50%,6:poisson:15k/s:1%").help(
        "Request queues, each with its own arrivals, rate and share of reads. They replace `workload.arrival` and \
         `workload.reads`. The example has one queue of 10,000 requests per second, half of them reads, and six queues \
         of 15,000 requests per second each. Requests of queue n have stream number n; `host.replay.open.depth` limits \
         the outstanding requests of each queue.",
    ),
];

impl Checker<'_> {
    /// Reads the queues of the workload. `arrival` is the arrival process of a workload without queues.
    pub(super) fn workload_queues(&mut self, arrival: Arrival) -> Read<Vec<Queue>> {
        let groups = self.queues(QUEUES)?;
        if !groups.is_empty() && arrival != Arrival::Closed {
            self.report("workload.arrival", "workload.queues replaces this setting; set it to \"closed\"");
        }
        let queue = |&QueueGroup { poisson, rate, reads, .. }: &QueueGroup| {
            let per_second = rate as f64;
            let arrival = if poisson { Arrival::Poisson { per_second } } else { Arrival::Fixed { per_second } };
            Queue { arrival, reads: reads / 100.0 }
        };
        Ok(groups.iter().flat_map(|group| std::iter::repeat_n(queue(group), group.count as usize)).collect())
    }
}
