//! Latency breakdowns in results: response times by operation, percentile and latency component.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use ssdlab_core::LatencyHistogram;
use ssdlab_nand::backend::parallel::{CAUSES, StallCause, StallTimes};
use ssdlab_trace::Op;

/// Part of a response time that is spent outside the flash. Part numbers below `CAUSES` denote the stall causes within
/// the flash ([`StallCause`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Part {
    /// Time to fetch map entries from host memory. It counts as a stall for the map.
    HostMemory = StallCause::Map as u8,
    /// Time in the host's block layer, until the drive receives the request.
    BlockLayer = CAUSES as u8,
    /// Time in the drive's queues, until the drive takes the request.
    HostQueue,
    /// Time in the controller: processing, pacing and DRAM, for this request or for earlier requests.
    Controller,
    /// Time on the link to the host: transfer of this request or of earlier requests.
    Link,
    /// Time to program all data written before a flush request.
    Flush,
}

/// Number of parts of a response time.
pub const PARTS: usize = CAUSES + 5;

/// Time in nanoseconds for each part of a response time.
pub(crate) type PartTimes = [u64; PARTS];

/// Names that results use for the parts of a response time, indexed by part number.
pub const PART_NAMES: [&str; PARTS] = [
    "host_reads",
    "host_writes",
    "partial_pages",
    "collection",
    "map",
    "bus",
    "order",
    "own_work",
    "block_layer",
    "host_queue",
    "controller",
    "link",
    "flush",
];

/// Half-width of the band around a percentile, as a fraction of the requests above that percentile.
const BAND: f64 = 0.5;

/// Total response time of several requests, divided into parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct LatencyBreakdown {
    /// Number of requests.
    pub requests: u64,
    /// Sum of the response times of the requests.
    pub sum_ns: u128,
    /// For each part, its sum over all requests.
    #[serde(serialize_with = "by_part")]
    pub parts_ns: [u128; PARTS],
}

impl LatencyBreakdown {
    pub(crate) fn add_request(&mut self, latency_ns: u64, parts_ns: &PartTimes) {
        self.requests += 1;
        self.sum_ns += u128::from(latency_ns);
        self.parts_ns.iter_mut().zip(parts_ns).for_each(|(sum, &more)| *sum += u128::from(more));
    }

    fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.sum_ns += other.sum_ns;
        self.parts_ns.iter_mut().zip(other.parts_ns).for_each(|(sum, more)| *sum += more);
    }

    /// Returns the share of one part in the sum of response times; 0 if no time passed.
    pub fn share(&self, part: usize) -> f64 {
        if self.sum_ns == 0 { 0.0 } else { self.parts_ns[part] as f64 / self.sum_ns as f64 }
    }
}

/// Serialises the nonzero parts of response times, sorted by name.
fn by_part<S: Serializer>(parts_ns: &[u128; PARTS], serializer: S) -> Result<S::Ok, S::Error> {
    let named: BTreeMap<&str, u128> = PART_NAMES.into_iter().zip(*parts_ns).filter(|(_, sum)| *sum > 0).collect();
    named.serialize(serializer)
}

/// Latency breakdown of all requests, and of the requests around certain percentiles.
///
/// The entry of a percentile q covers the requests between the percentiles q ± (1 - q) / 2, in whole buckets of the
/// histogram.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct BreakdownByPercentile {
    /// Breakdown of all requests.
    pub all: LatencyBreakdown,
    /// Latency breakdown of the middle half of the requests: response times from percentile 25 to 75.
    pub p50: LatencyBreakdown,
    /// Breakdown of the requests from percentile 98.5 to 99.5.
    pub p99: LatencyBreakdown,
    /// Breakdown of the requests from percentile 99.85 to 99.95.
    pub p99_9: LatencyBreakdown,
}

impl BreakdownByPercentile {
    /// Computes the breakdowns from one breakdown per histogram bucket, in ascending order of response time.
    fn of(buckets: &[(u16, LatencyBreakdown)]) -> Self {
        let mut all = LatencyBreakdown::default();
        buckets.iter().for_each(|(_, requests)| all.add(requests));
        let around = |quantile: f64| {
            let rank = |quantile: f64| ((quantile * all.requests as f64).ceil() as u64).max(1);
            let reach = BAND * (1.0 - quantile);
            let (from, to) = (rank(quantile - reach), rank(quantile + reach));
            let (mut sum, mut seen) = (LatencyBreakdown::default(), 0);
            for (_, requests) in buckets {
                let first = seen + 1;
                seen += requests.requests;
                if first <= to && seen >= from {
                    sum.add(requests);
                }
            }
            sum
        };
        Self { all, p50: around(0.5), p99: around(0.99), p99_9: around(0.999) }
    }
}

/// Latency breakdowns of a run, and the time that its dies spent on each type of work.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ResponseSummary {
    /// Latency breakdown of all requests.
    pub all: BreakdownByPercentile,
    /// Latency breakdown of reads; `None` without reads.
    pub read: Option<BreakdownByPercentile>,
    /// Latency breakdown of writes; `None` without writes.
    pub write: Option<BreakdownByPercentile>,
    /// Total time of all dies by type of work, in nanoseconds; [`StallCause::Dependency`] is idle time.
    #[serde(serialize_with = "by_work")]
    pub dies_ns: StallTimes,
}

fn by_work<S: Serializer>(dies: &StallTimes, serializer: S) -> Result<S::Ok, S::Error> {
    // Omits the last cause, `StallCause::Service`, because it applies only to requests, not to dies.
    let names = PART_NAMES[..StallCause::Dependency as usize].iter().chain(&["idle"]);
    serializer.collect_map(names.zip(dies))
}

impl ResponseSummary {
    /// Summarises a run: latency breakdowns of its requests by operation and bucket, and times of its dies by cause.
    pub(crate) fn of(requests: [ByBucket<LatencyBreakdown>; Op::ALL.len()], dies_ns: StallTimes) -> Self {
        let by_op = requests.map(|mut requests| requests.take());
        let mut all = ByBucket::<LatencyBreakdown>::default();
        by_op.iter().flatten().for_each(|(bucket, requests)| all.of((*bucket).into()).add(requests));
        let of = |op: Op| Some(BreakdownByPercentile::of(&by_op[op as usize])).filter(|of_op| of_op.all.requests > 0);
        Self { all: BreakdownByPercentile::of(&all.take()), read: of(Op::Read), write: of(Op::Write), dies_ns }
    }

    /// Returns the share of the dies' busy time that one type of work takes; 0 if all dies were idle.
    pub(crate) fn share_of_work(&self, kind: StallCause) -> f64 {
        let busy_ns: u64 = self.dies_ns[..StallCause::Dependency as usize].iter().sum();
        self.dies_ns[kind as usize] as f64 / busy_ns.max(1) as f64
    }
}

/// Sparse map from the buckets of a latency histogram to values.
#[derive(Clone, Debug)]
pub(crate) struct ByBucket<T> {
    /// Index of each bucket in `used`, or [`UNUSED`].
    places: Vec<u16>,
    used: Vec<(u16, T)>,
}

const UNUSED: u16 = u16::MAX;

impl<T> Default for ByBucket<T> {
    fn default() -> Self {
        Self { places: vec![UNUSED; LatencyHistogram::BUCKETS], used: Vec::new() }
    }
}

impl<T: Default> ByBucket<T> {
    /// Returns a mutable reference to the item of a bucket.
    #[inline]
    pub fn of(&mut self, bucket: usize) -> &mut T {
        if self.places[bucket] == UNUSED {
            self.places[bucket] = self.used.len() as u16;
            self.used.push((bucket as u16, T::default()));
        }
        &mut self.used[usize::from(self.places[bucket])].1
    }

    /// Removes and returns all items, in ascending order of their buckets.
    pub fn take(&mut self) -> Vec<(u16, T)> {
        self.used.iter().for_each(|&(bucket, _)| self.places[usize::from(bucket)] = UNUSED);
        let mut used = std::mem::take(&mut self.used);
        used.sort_unstable_by_key(|&(bucket, _)| bucket);
        used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test data: requests of 1, 2, ... 1,000 µs, each with half of its time in the queue and half on the link.
    #[test]
    fn percentiles_cover_the_requests_around_them() {
        let mut requests = ByBucket::<LatencyBreakdown>::default();
        for half_ns in (1..=1_000).map(|number| number * 500) {
            let mut parts_ns = [0; PARTS];
            (parts_ns[Part::HostQueue as usize], parts_ns[Part::Link as usize]) = (half_ns, half_ns);
            requests.of(LatencyHistogram::bucket(2 * half_ns)).add_request(2 * half_ns, &parts_ns);
        }
        let read = BreakdownByPercentile::of(&requests.take());
        assert_eq!((read.all.requests, read.all.sum_ns), (1_000, 500_500_000));
        for (around, quantile) in [(read.p50, 0.5), (read.p99, 0.99), (read.p99_9, 0.999)] {
            assert_eq!(around.parts_ns.iter().sum::<u128>(), around.sum_ns);
            let mean_ns = around.sum_ns as f64 / around.requests as f64;
            assert!((mean_ns / (quantile * 1e6) - 1.0).abs() < 0.02, "{quantile}: {mean_ns}");
            assert!((around.share(Part::Link as usize) - 0.5).abs() < 1e-9);
        }
        // Histogram buckets are up to 1.6 % wide, so the number of requests around a percentile is not exact.
        assert!((495..=520).contains(&read.p50.requests), "{}", read.p50.requests);
        assert!((10..=26).contains(&read.p99.requests), "{}", read.p99.requests);
    }

    #[test]
    fn sums_exceed_64_bits() {
        let mut parts_ns = [0; PARTS];
        parts_ns[Part::Link as usize] = u64::MAX / 3;
        let mut requests = LatencyBreakdown::default();
        (0..10).for_each(|_| requests.add_request(u64::MAX / 3, &parts_ns));
        let expected = 10 * u128::from(u64::MAX / 3);
        assert_eq!((requests.sum_ns, requests.parts_ns[Part::Link as usize]), (expected, expected));
    }
}
