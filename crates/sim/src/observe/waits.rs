//! What response times are made of: every nanosecond of every request goes to one part, so that the parts add up.
//!
//! ```text
//! issued -> queue -> controller -> link -> flash, by what the request waits for there -> link -> complete
//!                                       \> buffer: until there is room, until all is safe /
//! ```
//! Below the FTL the flash says where the time went ([`Wait`]). Requests are kept by bucket of the histogram of response
//! times, as sums.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use ssdlab_core::LatencyHistogram;
use ssdlab_nand::backend::parallel::{DieTime, WAITS, Wait};
use ssdlab_trace::Op;

/// What part of a response time went to; the first are those of [`Wait`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Part {
    /// The host's block layer and the drive's queues, until the drive takes the request.
    HostQueue = WAITS as u8,
    /// The controller, at work on this request or on those before it.
    Controller,
    /// The link to the host, likewise.
    Link,
    /// No room in the write buffer.
    FullBuffer,
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
    "host_queue",
    "controller",
    "link",
    "full_buffer",
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

/// What the response time of a request is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MadeOf<'a> {
    /// Of the histogram of response times.
    pub bucket: usize,
    /// Of it, what went by in the drive and its queues.
    in_drive: &'a [u64; PARTS],
    /// And what in the block layer.
    above_ns: u64,
}

impl MadeOf<'_> {
    /// Adds it to sums by part.
    #[inline]
    pub fn add_to(self, sums: &mut [u64; PARTS]) {
        sums.iter_mut().zip(self.in_drive).for_each(|(sum, part)| *sum += part);
        sums[Part::HostQueue as usize] += self.above_ns;
    }

    /// That of a request without a block layer.
    #[cfg(test)]
    pub fn of(in_drive: &[u64; PARTS]) -> MadeOf<'_> {
        MadeOf { bucket: LatencyHistogram::bucket(in_drive.iter().sum()), in_drive, above_ns: 0 }
    }

    /// By part.
    pub fn parts(self) -> [u64; PARTS] {
        let mut parts = [0; PARTS];
        self.add_to(&mut parts);
        parts
    }
}

/// A request on its way through the drive.
#[derive(Clone, Copy, Debug)]
struct Way {
    parts: [u64; PARTS],
    issued_ns: u64,
    until_ns: u64,
}

impl Way {
    /// One that never was in the drive.
    const ABOVE: Self = Self { parts: [0; PARTS], issued_ns: 0, until_ns: 0 };
}

/// Sums over the requests of one bucket that 64 bits hold, as in [`Parts`].
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    requests: u64,
    sum_ns: u64,
    parts_ns: [u64; PARTS],
}

impl From<Sums> for Parts {
    fn from(sums: Sums) -> Self {
        Self { requests: sums.requests, sum_ns: sums.sum_ns.into(), parts_ns: sums.parts_ns.map(u128::from) }
    }
}

/// Requests by bucket of the histogram of response times.
#[derive(Debug, Default)]
struct Kept {
    buckets: Vec<Sums>,
    /// Of the buckets whose sums 64 bits did not hold, what they held before.
    spilled: Vec<(usize, Parts)>,
}

impl Kept {
    #[inline]
    fn add(&mut self, latency_ns: u64, made_of: MadeOf<'_>) {
        let bucket = made_of.bucket;
        if self.buckets.len() <= bucket {
            self.buckets.resize(bucket + 1, Sums::default());
        }
        let sums = &mut self.buckets[bucket];
        // The parts are no larger than the whole.
        if sums.sum_ns.checked_add(latency_ns).is_none() {
            self.spilled.push((bucket, std::mem::take(sums).into()));
        }
        sums.requests += 1;
        sums.sum_ns += latency_ns;
        made_of.add_to(&mut sums.parts_ns);
    }

    fn all(&self) -> impl Iterator<Item = (usize, Parts)> {
        let held = self.buckets.iter().enumerate().filter(|(_, sums)| sums.requests > 0);
        held.map(|(bucket, &sums)| (bucket, sums.into())).chain(self.spilled.iter().copied())
    }
}

/// Charges requests, and keeps what they were charged for.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    /// By the number of the flight.
    ways: Vec<Way>,
    /// The flight that left the drive last; none of requests that were never in it.
    left: Option<u32>,
    /// By operation.
    kept: [Kept; 4],
    dies_at_start: DieTime,
}

impl Waits {
    /// Forgets everything so far.
    pub fn start_measuring(&mut self, dies: DieTime) {
        self.kept = Default::default();
        self.dies_at_start = dies;
    }

    /// A request enters the drive's queues.
    #[inline]
    pub fn enter(&mut self, flight: u32, issued_ns: u64) {
        let flight = flight as usize;
        if self.ways.len() <= flight {
            self.ways.resize(flight + 1, Way::ABOVE);
        }
        self.ways[flight] = Way { issued_ns, until_ns: issued_ns, ..Way::ABOVE };
    }

    /// The time since a request was charged last went to this.
    #[inline]
    pub fn charge(&mut self, flight: u32, part: Part, now_ns: u64) {
        let way = &mut self.ways[flight as usize];
        way.parts[part as usize] += now_ns - way.until_ns;
        way.until_ns = now_ns;
    }

    /// The flash is done with a request.
    #[inline]
    pub fn flash(&mut self, flight: u32, parts: &[u64; WAITS], now_ns: u64) {
        let way = &mut self.ways[flight as usize];
        way.parts[..WAITS].copy_from_slice(parts);
        way.until_ns = now_ns;
    }

    /// A request is back at the host.
    #[inline]
    pub fn leave(&mut self, flight: u32) {
        self.left = Some(flight);
    }

    /// The next requests that are complete were never in the drive.
    pub fn stayed_above(&mut self) {
        self.left = None;
    }

    /// A request of the host is complete with the one that left the drive last. Before that entered the drive, it was in
    /// the block layer. Returns what its response time is made of.
    #[inline]
    pub fn request_done(&mut self, op: Op, latency_ns: u64) -> MadeOf<'_> {
        let way = self.left.map_or(&Way::ABOVE, |flight| &self.ways[flight as usize]);
        let bucket = LatencyHistogram::bucket(latency_ns);
        let made_of = MadeOf { bucket, in_drive: &way.parts, above_ns: latency_ns - (way.until_ns - way.issued_ns) };
        self.kept[op as usize].add(latency_ns, made_of);
        made_of
    }

    pub fn finish(self, dies: DieTime) -> ResponseSummary {
        let of_some = |ops: &[Kept]| {
            let mut sums = BTreeMap::<usize, Parts>::new();
            for (bucket, parts) in ops.iter().flat_map(Kept::all) {
                sums.entry(bucket).or_default().add(&parts);
            }
            by_percentile(&sums)
        };
        let of = |op: Op| {
            Some(of_some(std::slice::from_ref(&self.kept[op as usize]))).filter(|found| found.all.requests > 0)
        };
        ResponseSummary {
            all: of_some(&self.kept),
            read: of(Op::Read),
            write: of(Op::Write),
            dies_ns: std::array::from_fn(|state| dies[state] - self.dies_at_start[state]),
        }
    }
}

fn by_percentile(buckets: &BTreeMap<usize, Parts>) -> PartsByPercentile {
    let mut all = Parts::default();
    buckets.values().for_each(|parts| all.add(parts));
    let between = |quantile: f64| {
        let rank = |quantile: f64| ((quantile * all.requests as f64).ceil() as u64).max(1);
        let reach = BAND * (1.0 - quantile);
        let (from, to) = (rank(quantile - reach), rank(quantile + reach));
        let (mut sum, mut seen) = (Parts::default(), 0);
        for parts in buckets.values() {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// 1,000 requests of 1, 2, 3 ... microseconds: half of each in the queue, the rest on the link.
    #[test]
    fn percentiles_are_means_of_the_requests_around_them() {
        let mut waits = Waits::default();
        for number in 1..=1_000 {
            waits.enter(0, 0);
            waits.charge(0, Part::HostQueue, number * 500);
            waits.charge(0, Part::Link, number * 1_000);
            waits.leave(0);
            waits.request_done(Op::Read, number * 1_000);
        }
        let read = waits.finish([0; 7]).read.expect("reads");
        assert_eq!((read.all.requests, read.all.sum_ns), (1_000, 500_500_000));
        for (parts, quantile) in [(read.p50, 0.5), (read.p99, 0.99), (read.p99_9, 0.999)] {
            assert_eq!(parts.parts_ns.iter().sum::<u128>(), parts.sum_ns);
            let mean_ns = parts.sum_ns as f64 / parts.requests as f64;
            assert!((mean_ns / (quantile * 1e6) - 1.0).abs() < 0.02, "{quantile}: {mean_ns}");
            assert!((parts.share(Part::Link as usize) - 0.5).abs() < 1e-9);
        }
        // Whole buckets, of up to 1.6 %.
        assert!((495..=520).contains(&read.p50.requests), "{}", read.p50.requests);
        assert!((10..=26).contains(&read.p99.requests), "{}", read.p99.requests);
    }

    /// Sums that 64 bits do not hold are not lost.
    #[test]
    fn sums_go_on_beyond_64_bits() {
        let mut waits = Waits::default();
        let long_ns = u64::MAX / 3;
        for _ in 0..10 {
            waits.enter(0, 0);
            waits.charge(0, Part::Link, long_ns);
            waits.leave(0);
            waits.request_done(Op::Read, long_ns);
        }
        let all = waits.finish([0; 7]).read.expect("reads").all;
        let expected = 10 * u128::from(long_ns);
        assert_eq!((all.requests, all.sum_ns, all.parts_ns[Part::Link as usize]), (10, expected, expected));
    }

    /// A request that was in the block layer before the drive saw it waited there.
    #[test]
    fn what_the_drive_did_not_see_is_the_queue() {
        let mut waits = Waits::default();
        waits.enter(3, 700);
        waits.charge(3, Part::Link, 1_000);
        waits.leave(3);
        waits.request_done(Op::Write, 1_000);
        let write = waits.finish([0; 7]).write.expect("a write").all;
        assert_eq!((write.parts_ns[Part::HostQueue as usize], write.parts_ns[Part::Link as usize]), (700, 300));
    }
}
