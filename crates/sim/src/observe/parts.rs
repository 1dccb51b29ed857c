//! What response times are made of, in results: by operation and percentile.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use ssdlab_core::LatencyHistogram;
use ssdlab_nand::backend::parallel::{DieTime, WAITS, Wait};
use ssdlab_trace::Op;

/// What part of a response time went to; the first are those of [`Wait`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Part {
    /// The host's block layer, until it gives the drive the request.
    BlockLayer = WAITS as u8,
    /// The drive's queues, until the drive takes the request.
    HostQueue,
    /// The controller, at work on this request or on those before it.
    Controller,
    /// The link to the host, likewise.
    Link,
    /// All that was written before has to be programmed.
    Flush,
}

/// Number of parts.
pub const PARTS: usize = WAITS + 5;

/// Names of the parts in results, by number.
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

/// Share of the requests below and above a percentile that it is the mean of, of those beyond it.
const BAND: f64 = 0.5;

/// Requests and what their response times are made of, in nanoseconds; the parts add up to all of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Parts {
    /// Requests.
    pub requests: u64,
    /// Sum of their response times.
    pub sum_ns: u128,
    /// Sums by part.
    pub parts_ns: [u128; PARTS],
}

impl Parts {
    /// Adds requests, of whose response times these are sums; together they fit 64 bits.
    pub(crate) fn add_requests(&mut self, requests: u64, parts_ns: &[u64; PARTS]) {
        self.requests += requests;
        self.sum_ns += u128::from(parts_ns.iter().sum::<u64>());
        self.parts_ns.iter_mut().zip(parts_ns).for_each(|(sum, &more)| *sum += u128::from(more));
    }

    fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.sum_ns += other.sum_ns;
        self.parts_ns.iter_mut().zip(other.parts_ns).for_each(|(sum, more)| *sum += more);
    }

    /// Share of one part; 0 where no time passed.
    pub fn share(&self, part: usize) -> f64 {
        if self.sum_ns == 0 { 0.0 } else { self.parts_ns[part] as f64 / self.sum_ns as f64 }
    }
}

impl Serialize for Parts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            requests: u64,
            sum_ns: u128,
            parts_ns: BTreeMap<&'a str, u128>,
        }
        let parts_ns = PART_NAMES.into_iter().zip(self.parts_ns).filter(|(_, sum)| *sum > 0).collect();
        Shape { requests: self.requests, sum_ns: self.sum_ns, parts_ns }.serialize(serializer)
    }
}

/// What the response times of some requests are made of. A percentile q stands for the requests between the percentiles
/// q ± (1 - q) / 2, whole buckets of the histogram.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct PartsByPercentile {
    /// Every request.
    pub all: Parts,
    /// The median: the middle half.
    pub p50: Parts,
    /// From percentile 98.5 to 99.5.
    pub p99: Parts,
    /// From percentile 99.85 to 99.95.
    pub p99_9: Parts,
}

/// What response times are made of, and what dies did meanwhile.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ResponseSummary {
    /// Every request.
    pub all: PartsByPercentile,
    /// Reads; none if there were none.
    pub read: Option<PartsByPercentile>,
    /// Writes; none if there were none.
    pub write: Option<PartsByPercentile>,
    /// What the dies did, as nanoseconds summed over them.
    #[serde(serialize_with = "by_state")]
    pub dies_ns: DieTime,
}

fn by_state<S: Serializer>(dies: &DieTime, serializer: S) -> Result<S::Ok, S::Error> {
    // Where requests wait for the order of operations, dies hold nothing.
    let name = |state: usize| if state == Wait::Order as usize { "idle" } else { PART_NAMES[state] };
    serializer.collect_map(dies.iter().enumerate().map(|(state, ns)| (name(state), ns)))
}

/// What is kept by bucket of the histogram of response times, of which a run uses few.
#[derive(Clone, Debug, Default)]
pub(crate) struct ByBucket<T> {
    /// Where each bucket is among those that are used; beyond these for others.
    places: Vec<u16>,
    used: Vec<(usize, T)>,
}

impl<T: Default> ByBucket<T> {
    /// What is kept of a bucket.
    #[inline(always)]
    pub fn of(&mut self, bucket: usize) -> &mut T {
        let place = self.places.get(bucket).map_or(usize::MAX, |&place| place.into());
        let place = if place < self.used.len() { place } else { self.begin(bucket) };
        &mut self.used[place].1
    }

    #[cold]
    fn begin(&mut self, bucket: usize) -> usize {
        self.places.resize(LatencyHistogram::BUCKETS, u16::MAX);
        self.places[bucket] = self.used.len() as u16;
        self.used.push((bucket, T::default()));
        self.used.len() - 1
    }

    /// Those that are used, shorter response times first.
    pub fn sorted(mut self) -> Vec<(usize, T)> {
        self.used.sort_unstable_by_key(|&(bucket, _)| bucket);
        self.used
    }
}

impl ResponseSummary {
    /// Share of what dies did while they held commands; 0 where they held none.
    pub(crate) fn share_of_held(&self, kind: Wait) -> f64 {
        let held_ns: u64 = self.dies_ns[..Wait::Order as usize].iter().sum();
        self.dies_ns[kind as usize] as f64 / held_ns.max(1) as f64
    }

    /// Of all requests by operation, and of what the dies did meanwhile.
    pub(crate) fn of(requests: [ByBucket<Parts>; Op::ALL.len()], dies_ns: DieTime) -> Self {
        let by_op = requests.map(ByBucket::sorted);
        let mut all = ByBucket::default();
        by_op.iter().flatten().for_each(|(bucket, parts)| Parts::add(all.of(*bucket), parts));
        let of = |op: Op| Some(by_percentile(&by_op[op as usize])).filter(|found| found.all.requests > 0);
        Self { all: by_percentile(&all.sorted()), read: of(Op::Read), write: of(Op::Write), dies_ns }
    }
}

fn by_percentile(buckets: &[(usize, Parts)]) -> PartsByPercentile {
    let mut all = Parts::default();
    buckets.iter().for_each(|(_, parts)| all.add(parts));
    let between = |quantile: f64| {
        let rank = |quantile: f64| ((quantile * all.requests as f64).ceil() as u64).max(1);
        let reach = BAND * (1.0 - quantile);
        let (from, to) = (rank(quantile - reach), rank(quantile + reach));
        let (mut sum, mut seen) = (Parts::default(), 0);
        for (_, parts) in buckets {
            let first = seen + 1;
            seen += parts.requests;
            if first <= to && seen >= from {
                sum.add(parts);
            }
        }
        sum
    };
    PartsByPercentile { all, p50: between(0.5), p99: between(0.99), p99_9: between(0.999) }
}
