//! What response times are made of: every nanosecond of every request goes to one part, so that the parts add up.
//!
//! ```text
//! issued -> block layer -> queue -> controller -> link -> flash, by what it waits for there        -> link -> complete
//!                                                      \> buffer: until there is room, until all is safe /
//! ```
//! Below the FTL the flash says where the time went ([`Wait`]). A request that the flash has no room for, and a write
//! for whose pages the buffer has none, waits for the flash as a whole: until it has worked off enough of what it was
//! given before. That time is shared out among the kinds of work that the dies do meanwhile, in proportion to the time
//! that each takes; dies that rest do not count. Sums are kept by bucket of the histogram of response times.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use ssdlab_core::LatencyHistogram;
use ssdlab_core::mem::prefetch;
use ssdlab_nand::backend::parallel::{Charges, DieTime, WAITS, Wait};
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

/// Response times by part, where those of the flash are not told apart yet: requests are added up first.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Charged([u64; PARTS]);

impl Charged {
    /// What all went to one part.
    #[cfg(test)]
    pub fn of(part: usize, ns: u64) -> Self {
        let mut charged = Self::default();
        charged.0[part] = ns;
        if part < WAITS {
            charged.0[Wait::Order as usize] = ns;
        }
        if part < WAITS && part != Wait::Order as usize {
            charged.0[Wait::Bus as usize] = ns;
        }
        charged
    }

    /// More will be added soon: the processor fetches both of its lines.
    #[inline(always)]
    pub fn expect(&self) {
        prefetch(&self.0, 0);
        prefetch(&self.0, PARTS - 1);
    }

    #[inline(always)]
    fn add(&mut self, more: &Self) {
        self.0.iter_mut().zip(more.0).for_each(|(sum, part)| *sum = sum.wrapping_add(part));
    }

    #[inline(always)]
    fn add_flash(&mut self, flash: &Charges) {
        self.0.iter_mut().zip(flash.0).for_each(|(sum, part)| *sum = sum.wrapping_add(part));
    }

    /// By part.
    pub fn parts(self) -> [u64; PARTS] {
        let mut parts = self.0;
        let (flash, _) = parts.split_first_chunk_mut().expect("they come first");
        *flash = Charges(*flash).parts();
        parts
    }
}

/// What the response time of a request is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MadeOf<'a> {
    /// Of the histogram of response times.
    pub bucket: usize,
    /// Of it, what went by in the drive and its queues.
    in_drive: &'a Charged,
    /// And what in the block layer.
    above_ns: u64,
}

impl MadeOf<'_> {
    /// Adds all of it to sums of requests.
    #[inline(always)]
    pub fn add_to(self, sums: &mut Charged) {
        sums.add(self.in_drive);
        let above = &mut sums.0[Part::BlockLayer as usize];
        *above = above.wrapping_add(self.above_ns);
    }

    /// That of a request without a block layer.
    #[cfg(test)]
    pub fn of(in_drive: &Charged) -> MadeOf<'_> {
        MadeOf { bucket: LatencyHistogram::bucket(in_drive.parts().iter().sum()), in_drive, above_ns: 0 }
    }

    /// By part.
    pub fn parts(self) -> [u64; PARTS] {
        let mut charged = Charged::default();
        self.add_to(&mut charged);
        charged.parts()
    }
}

/// A request on its way through the drive.
#[derive(Clone, Copy, Debug)]
struct Way {
    charged: Charged,
    issued_ns: u64,
    until_ns: u64,
    /// Whether it waits for the flash as a whole.
    behind_flash: bool,
}

impl Way {
    /// One that never was in the drive.
    const ABOVE: Self = Self { charged: Charged([0; PARTS]), issued_ns: 0, until_ns: 0, behind_flash: false };
}

/// Requests by bucket of the histogram of response times.
#[derive(Clone, Debug, Default)]
pub(crate) struct ByBucket(Vec<Parts>);

impl ByBucket {
    fn bucket(&mut self, bucket: usize) -> &mut Parts {
        if self.0.len() <= bucket {
            self.0.resize(bucket + 1, Parts::default());
        }
        &mut self.0[bucket]
    }

    /// Adds requests of one bucket, of which these are sums; together they fit 64 bits.
    pub fn add(&mut self, bucket: usize, requests: u64, parts_ns: &[u64; PARTS]) {
        let sums = self.bucket(bucket);
        sums.requests += requests;
        sums.sum_ns += u128::from(parts_ns.iter().sum::<u64>());
        sums.parts_ns.iter_mut().zip(parts_ns).for_each(|(sum, &more)| *sum += u128::from(more));
    }

    fn merge(mut self, other: &Self) -> Self {
        other.0.iter().enumerate().for_each(|(bucket, parts)| self.bucket(bucket).add(parts));
        self
    }
}

/// Charges requests.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    /// By the number of the flight.
    ways: Vec<Way>,
    /// What the dies had done when a flight began to wait for the flash as a whole, by its number.
    dies_before: Vec<Charges>,
    /// The flight that left the drive last; none of requests that were never in it.
    left: Option<u32>,
    dies_at_start: Charges,
}

impl Waits {
    /// Forgets what the dies did so far.
    pub fn start_measuring(&mut self, dies: Charges) {
        self.dies_at_start = dies;
    }

    /// What the dies did since measuring began.
    pub fn since_start(&self, dies: &Charges) -> DieTime {
        dies.since(&self.dies_at_start).die_time()
    }

    /// A request enters the drive's queues.
    #[inline(always)]
    pub fn enter(&mut self, flight: u32, issued_ns: u64) {
        let flight = flight as usize;
        if self.ways.len() <= flight {
            self.ways.resize(flight + 1, Way::ABOVE);
        }
        self.ways[flight] = Way { issued_ns, until_ns: issued_ns, ..Way::ABOVE };
    }

    /// The time since a request was charged last went to this.
    #[inline(always)]
    pub fn charge(&mut self, flight: u32, part: Part, now_ns: u64) {
        let way = &mut self.ways[flight as usize];
        way.charged.0[part as usize] += now_ns - way.until_ns;
        way.until_ns = now_ns;
    }

    /// The flash is done with a request.
    #[inline(always)]
    pub fn flash(&mut self, flight: u32, charges: &Charges, now_ns: u64) {
        let way = &mut self.ways[flight as usize];
        way.charged.add_flash(charges);
        way.until_ns = now_ns;
    }

    /// From now on a request waits for the flash as a whole.
    #[cold]
    pub fn wait_for_flash(&mut self, flight: u32, dies: Charges) {
        if self.dies_before.len() < self.ways.len() {
            self.dies_before.resize(self.ways.len(), Charges::default());
        }
        self.dies_before[flight as usize] = dies;
        self.ways[flight as usize].behind_flash = true;
    }

    /// Whether it still does.
    #[inline(always)]
    pub fn is_behind_flash(&self, flight: u32) -> bool {
        self.ways[flight as usize].behind_flash
    }

    /// It has waited: for what the dies did since.
    #[cold]
    pub fn waited_for_flash(&mut self, flight: u32, dies: &Charges, now_ns: u64) {
        let way = &mut self.ways[flight as usize];
        let meanwhile = dies.since(&self.dies_before[flight as usize]);
        way.charged.add_flash(&meanwhile.divide(now_ns - way.until_ns));
        (way.until_ns, way.behind_flash) = (now_ns, false);
    }

    /// A request is back at the host.
    #[inline(always)]
    pub fn leave(&mut self, flight: u32) {
        self.left = Some(flight);
    }

    /// The next requests that are complete were never in the drive.
    pub fn stayed_above(&mut self) {
        self.left = None;
    }

    /// A request of the host is complete with the one that left the drive last. Before that entered the drive, it was
    /// in the block layer. Returns what its response time is made of.
    #[inline(always)]
    pub fn made_of(&self, latency_ns: u64) -> MadeOf<'_> {
        let way = self.left.map_or(&Way::ABOVE, |flight| &self.ways[flight as usize]);
        let bucket = LatencyHistogram::bucket(latency_ns);
        let made_of = MadeOf { bucket, in_drive: &way.charged, above_ns: latency_ns - (way.until_ns - way.issued_ns) };
        debug_assert_eq!(made_of.parts().iter().sum::<u64>(), latency_ns, "the parts are the whole");
        made_of
    }
}

impl ResponseSummary {
    /// Of all requests by operation, and of what the dies did meanwhile.
    pub(crate) fn of(requests: &[ByBucket; Op::ALL.len()], dies_ns: DieTime) -> Self {
        let of = |op: Op| Some(by_percentile(&requests[op as usize])).filter(|found| found.all.requests > 0);
        Self {
            all: by_percentile(&requests.iter().fold(ByBucket::default(), ByBucket::merge)),
            read: of(Op::Read),
            write: of(Op::Write),
            dies_ns,
        }
    }
}

fn by_percentile(buckets: &ByBucket) -> PartsByPercentile {
    let mut all = Parts::default();
    buckets.0.iter().for_each(|parts| all.add(parts));
    let between = |quantile: f64| {
        let rank = |quantile: f64| ((quantile * all.requests as f64).ceil() as u64).max(1);
        let reach = BAND * (1.0 - quantile);
        let (from, to) = (rank(quantile - reach), rank(quantile + reach));
        let (mut sum, mut seen) = (Parts::default(), 0);
        for parts in &buckets.0 {
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

    use ssdlab_trace::Request;

    use crate::observe::intervals::Intervals;

    /// What requests are made of that are complete one after the other, with those of `charge`.
    fn summary(op: Op, latencies_ns: impl Iterator<Item = u64>, charge: impl Fn(&mut Waits, u64)) -> PartsByPercentile {
        let (mut waits, mut intervals, mut now_ns) = (Waits::default(), Intervals::new(0), 0_u64);
        let request = Request { time_ns: 0, offset: 0, bytes: 1, op, flags: 0, stream: 0 };
        for latency_ns in latencies_ns {
            charge(&mut waits, latency_ns);
            waits.leave(0);
            now_ns = now_ns.max(latency_ns);
            intervals.request_done(&request, now_ns, latency_ns, (0, 0), waits.made_of(latency_ns));
        }
        let found = ResponseSummary::of(&intervals.finish().1, [0; 7]);
        let of_op = if op == Op::Read { found.read } else { found.write };
        of_op.filter(|of_op| *of_op == found.all).expect("nothing else")
    }

    /// 1,000 requests of 1, 2, 3 ... microseconds: half of each in the queue, the rest on the link.
    #[test]
    fn percentiles_are_means_of_the_requests_around_them() {
        let read = summary(Op::Read, (1..=1_000).map(|number| number * 1_000), |waits, latency_ns| {
            waits.enter(0, 0);
            waits.charge(0, Part::HostQueue, latency_ns / 2);
            waits.charge(0, Part::Link, latency_ns);
        });
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
        let long_ns = u64::MAX / 3;
        let read = summary(Op::Read, [long_ns; 10].into_iter(), |waits, latency_ns| {
            waits.enter(0, 0);
            waits.charge(0, Part::Link, latency_ns);
        });
        let expected = 10 * u128::from(long_ns);
        assert_eq!((read.all.requests, read.all.sum_ns), (10, expected));
        assert_eq!(read.all.parts_ns[Part::Link as usize], expected);
    }

    /// A request that was in the block layer before the drive saw it waited there.
    #[test]
    fn what_the_drive_did_not_see_is_the_block_layer() {
        let write = summary(Op::Write, [1_000].into_iter(), |waits, latency_ns| {
            waits.enter(0, 700);
            waits.charge(0, Part::Link, latency_ns);
        });
        let [above, link] = [Part::BlockLayer, Part::Link].map(|part| write.all.parts_ns[part as usize]);
        assert_eq!((above, link), (700, 300));
    }
}
