//! Rates and response times of requests, as reported in results.

use serde::Serialize;
use ssdlab_core::LatencyHistogram;

const NANOS_PER_SECOND: f64 = 1e9;

/// Returns `amount` per second; `None` if no time passed.
pub(crate) fn per_second(amount: u64, elapsed_ns: u64) -> Option<f64> {
    (elapsed_ns > 0).then(|| amount as f64 / (elapsed_ns as f64 / NANOS_PER_SECOND))
}

/// A drive keeps up with the trace if its lag is at most this share of the simulated time. The lag is the time from the
/// last arrival to the last completion, minus the mean service time.
const BEHIND: f64 = 0.05;

/// Rates of requests over the measured phase.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TimeSummary {
    /// Time from the start of measuring to the last completion.
    pub elapsed_ns: u64,
    /// Time during which the flash was busy.
    pub busy_ns: u64,
    /// Busy time as a share of the elapsed time.
    pub utilisation: f64,
    /// Requests completed per second; all rates are `None` if no time passed.
    pub iops: Option<f64>,
    /// Number of bytes read per second.
    pub bytes_read_per_s: Option<f64>,
    /// Number of bytes written per second.
    pub bytes_written_per_s: Option<f64>,
    /// Time from the last arrival to the last completion; `None` in closed replay.
    pub behind_ns: Option<u64>,
}

impl TimeSummary {
    /// Returns the time from the last arrival to the last completion if the drive did not keep up, otherwise `None`.
    /// `service` holds the service times of a drive that works on many requests at once.
    pub(crate) fn fell_behind_ns(&self, latency: &LatencyByOp, service: Option<&LatencyByOp>) -> Option<u64> {
        let requests = latency.all?.count;
        let service_ns = match service {
            Some(service) => service.all?.mean_ns,
            // A drive that serves requests one by one is busy only while it serves a request, so its busy time per
            // request is the service time.
            None => self.busy_ns as f64 / requests as f64,
        };
        self.behind_ns.filter(|&behind_ns| behind_ns as f64 - service_ns > BEHIND * self.elapsed_ns as f64)
    }
}

/// A distribution of response times, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LatencySummary {
    /// Number of requests.
    pub count: u64,
    /// Mean response time.
    pub mean_ns: f64,
    /// Standard deviation of the response times.
    pub std_dev_ns: f64,
    /// Shortest response time.
    pub min_ns: u64,
    /// Median response time. Like all quantiles here, it is accurate to 1.6 %.
    pub p50_ns: u64,
    /// Response time that 90 of 100 requests do not exceed.
    pub p90_ns: u64,
    /// Response time that 95 of 100 requests do not exceed.
    pub p95_ns: u64,
    /// Response time that 99 of 100 requests do not exceed.
    pub p99_ns: u64,
    /// Response time that 999 of 1,000 requests do not exceed.
    pub p99_9_ns: u64,
    /// Response time that 9,999 of 10,000 requests do not exceed.
    pub p99_99_ns: u64,
    /// Longest response time.
    pub max_ns: u64,
}

impl LatencySummary {
    /// Summarises a histogram of response times; `None` if it is empty.
    pub(crate) fn of(histogram: &LatencyHistogram) -> Option<Self> {
        let q = |quantile| histogram.quantile_ns(quantile);
        (histogram.count() > 0).then(|| Self {
            count: histogram.count(),
            mean_ns: histogram.mean_ns(),
            std_dev_ns: histogram.std_dev_ns(),
            min_ns: histogram.min_ns(),
            p50_ns: q(0.5),
            p90_ns: q(0.9),
            p95_ns: q(0.95),
            p99_ns: q(0.99),
            p99_9_ns: q(0.999),
            p99_99_ns: q(0.9999),
            max_ns: histogram.max_ns(),
        })
    }
}

/// Response times by operation, for the operations that occurred.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LatencyByOp {
    /// Response times of all requests.
    pub all: Option<LatencySummary>,
    /// Response times of reads.
    pub read: Option<LatencySummary>,
    /// Response times of writes.
    pub write: Option<LatencySummary>,
    /// Response times of trims.
    pub trim: Option<LatencySummary>,
    /// Response times of flushes.
    pub flush: Option<LatencySummary>,
}

impl LatencyByOp {
    /// Summarises the response times of each operation, given one histogram per [`ssdlab_trace::Op`].
    pub fn of(histograms: &[LatencyHistogram; 4]) -> Self {
        let mut all = LatencyHistogram::default();
        histograms.iter().for_each(|histogram| all.merge(histogram));
        let [read, write, trim, flush] = histograms.each_ref().map(LatencySummary::of);
        Self { all: LatencySummary::of(&all), read, write, trim, flush }
    }
}
