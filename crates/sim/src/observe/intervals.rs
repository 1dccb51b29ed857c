//! Response times, waiting times and what they are made of: by intervals of simulated time, so that a stretch of the
//! run can be looked at by itself, and of the whole run. A request counts to the interval in which it is complete.
//!
//! How long a run takes is not known at its start, so intervals begin short and double (pairs merge) whenever time goes
//! beyond the last of them. The histograms are those of [`LatencyHistogram`]: all intervals add up to that of the run.
//! All this costs some percent of a run, so it is kept where response times are taken apart anyway. What a request is
//! made of is added to its bucket and to the interval in 32 bits, and these sums to longer ones before they overflow. What
//! takes so long that 32 bits would hold few is added there at once.

use ssdlab_core::{InBucket, LatencyHistogram};
use ssdlab_trace::{Op, Request};

use crate::observe::counts::{Counted, Counts, boxed};
use crate::observe::parts::{ByBucket, PART_NAMES, PARTS, Parts};
use crate::observe::waits::{Few, LONG_NS, MadeOf, Many};

/// So many that an interval is a hundredth of the run, and that a page has room for them.
const MOST: usize = 128;
/// Intervals begin at 2^16 ns, as a request takes.
const FIRST_SHIFT: u32 = 16;

/// Reads and writes, in the order of [`Op`]; other requests are not counted.
const OPS: usize = 2;
/// Times of one operation: of response and of waiting.
const KINDS: usize = 2;

/// Columns of a histogram, of which the first are its buckets.
const COLUMNS: usize = LatencyHistogram::BUCKETS.next_power_of_two();

/// What is counted in one interval.
#[derive(Clone, Debug, Default)]
struct Interval {
    /// Requests by column; see [`column`].
    counted: Counted,
    /// How many requests are not counted yet.
    latest: usize,
    /// Sums of the parts of response times, by operation.
    parts_ns: [[u64; PARTS]; OPS],
    /// The first of the slowest requests, by operation.
    slowest: [Option<Slow>; OPS],
}

impl Interval {
    fn is_empty(&self) -> bool {
        self.latest == 0 && self.counted.is_empty()
    }

    fn merge(&mut self, later: Self) {
        if later.is_empty() {
            return;
        }
        if self.is_empty() {
            *self = later;
            return;
        }
        self.latest += later.latest;
        self.counted.merge(later.counted);
        for (sums, more) in self.parts_ns.iter_mut().zip(&later.parts_ns) {
            add(sums, more);
        }
        for (slowest, other) in self.slowest.iter_mut().zip(later.slowest) {
            if other.is_some_and(|other| slowest.is_none_or(|slowest| other.latency_ns > slowest.latency_ns)) {
                *slowest = other;
            }
        }
    }
}

/// Adds what 64 bits hold for half a thousand years of waiting.
fn add(sums: &mut [u64; PARTS], more: &[u64; PARTS]) {
    sums.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.saturating_add(*more));
}

/// The number of a bucket among those of all histograms of an interval.
#[inline]
fn column(op: usize, kind: usize, bucket: usize) -> usize {
    (op * KINDS + kind) * COLUMNS + bucket
}

/// The number of a histogram, and of a bucket of it.
#[inline]
fn of_column(column: usize) -> (usize, usize) {
    (column / COLUMNS, column % COLUMNS)
}

/// So many requests are counted at a time: intervals that hold few have been merged by then.
const MOST_LATEST: usize = 1 << 15;

/// Buckets of response times that are not long.
const SHORT_BUCKETS: usize = LatencyHistogram::bucket(LONG_NS);

const _: () = assert!(OPS * KINDS * COLUMNS <= Counts::NUMBERS, "columns can be counted");

/// Counts requests as they are complete, one interval after the other.
#[derive(Debug)]
pub(crate) struct Intervals {
    origin_ns: u64,
    shift: u32,
    /// The last is under way.
    intervals: Vec<Interval>,
    /// When that ends.
    ends_ns: u64,
    /// The columns of each request that is not counted yet, by interval, and where those of this one begin.
    latest: Vec<[u16; KINDS]>,
    begun: usize,
    /// What those that are not long are made of, by operation: the latest, and those before; and the parts of long ones.
    few: [Few; OPS],
    many: [Many; OPS],
    parts_ns: [[u64; PARTS]; OPS],
    /// Its slowest requests, by operation, and what response times are longer from.
    slowest: [Option<Slow>; OPS],
    slower_ns: [u64; OPS],
    /// Requests of the run that are not long, by operation and bucket: the latest, and those before; and all others.
    few_of_run: [Box<[Few; SHORT_BUCKETS]>; OPS],
    many_of_run: [ByBucket<Many>; OPS],
    others: [ByBucket<Parts>; Op::ALL.len()],
}

impl Intervals {
    pub fn new(origin_ns: u64) -> Self {
        Self {
            origin_ns,
            shift: FIRST_SHIFT,
            intervals: vec![Interval::default()],
            ends_ns: origin_ns + (1 << FIRST_SHIFT),
            latest: Vec::with_capacity(MOST_LATEST),
            begun: 0,
            few: Default::default(),
            many: Default::default(),
            parts_ns: Default::default(),
            slowest: [None; OPS],
            slower_ns: [0; OPS],
            few_of_run: std::array::from_fn(|_| boxed()),
            many_of_run: Default::default(),
            others: Default::default(),
        }
    }

    /// A request is complete, with what its response time is made of.
    #[inline(always)]
    pub fn request_done(&mut self, request: &Request, now_ns: u64, waited: InBucket, made_of: MadeOf<'_>) {
        let (op, InBucket { ns: latency_ns, bucket }) = (request.op as usize, made_of.latency);
        if op >= OPS {
            return self.others[op].of(bucket).add_requests(1, &made_of.parts());
        }
        if now_ns >= self.ends_ns {
            self.begin(now_ns - self.origin_ns);
        }
        if latency_ns >= self.slower_ns[op] {
            self.note_slowest(request, now_ns, latency_ns, waited.ns, made_of.parts());
        }
        if self.latest.len() == MOST_LATEST {
            self.count_latest();
        }
        self.latest.push([column(op, 0, bucket) as u16, column(op, 1, waited.bucket) as u16]);
        let Some(of_run) = self.few_of_run[op].get_mut(bucket) else {
            return self.count_long(op, bucket, made_of.parts());
        };
        let one = made_of.few();
        let of_interval = &mut self.few[op];
        of_run.add(&one);
        of_interval.add(&one);
        if of_run.either_is_full(of_interval) {
            self.make_room(op, bucket);
        }
    }

    /// Counts the latest requests of each interval.
    #[cold]
    fn count_latest(&mut self) {
        self.under_way().latest = self.latest.len() - self.begun;
        let (mut counts, mut latest) = (Counts::new(), self.latest.as_flattened());
        for interval in self.intervals.iter_mut().filter(|interval| interval.latest > 0) {
            let columns = latest.split_off(..std::mem::take(&mut interval.latest) * KINDS).expect("they are there");
            columns.iter().for_each(|&column| counts.add(column.into()));
            interval.counted.merge(counts.take());
        }
        self.latest.clear();
        self.begun = 0;
    }

    fn under_way(&mut self) -> &mut Interval {
        self.intervals.last_mut().expect("one is under way")
    }

    #[inline(never)]
    fn count_long(&mut self, op: usize, bucket: usize, parts: [u64; PARTS]) {
        add(&mut self.parts_ns[op], &parts);
        self.others[op].of(bucket).add_requests(1, &parts);
    }

    /// The few requests of a bucket and of the interval are among the many.
    #[cold]
    fn make_room(&mut self, op: usize, bucket: usize) {
        self.many_of_run[op].of(bucket).take(&mut self.few_of_run[op][bucket]);
        self.many[op].take(&mut self.few[op]);
    }

    #[cold]
    fn note_slowest(&mut self, request: &Request, now_ns: u64, latency_ns: u64, waited_ns: u64, parts: [u64; PARTS]) {
        let largest = (0..PARTS).fold(0, |most, part| if parts[part] > parts[most] { part } else { most });
        self.slower_ns[request.op as usize] = latency_ns.saturating_add(1);
        self.slowest[request.op as usize] = Some(Slow {
            op: request.op,
            offset: request.offset,
            bytes: request.bytes,
            ended_ns: now_ns - self.origin_ns,
            latency_ns,
            waited_ns,
            part: PART_NAMES[largest],
            part_ns: parts[largest],
        });
    }

    /// Ends the interval under way.
    fn end(&mut self) {
        self.slower_ns = [0; OPS];
        let mut parts_ns = std::mem::take(&mut self.parts_ns);
        for ((parts_ns, many), few) in parts_ns.iter_mut().zip(&mut self.many).zip(&mut self.few) {
            many.take(few);
            add(parts_ns, &std::mem::take(many).parts());
        }
        let latest = self.latest.len() - std::mem::replace(&mut self.begun, self.latest.len());
        let slowest = std::mem::take(&mut self.slowest);
        let ended = self.under_way();
        (ended.latest, ended.parts_ns, ended.slowest) = (latest, parts_ns, slowest);
    }

    /// Ends the interval under way and begins that of `time_ns`, a time since the origin.
    #[cold]
    fn begin(&mut self, time_ns: u64) {
        self.end();
        while time_ns >> self.shift >= MOST as u64 {
            self.shift += 1;
            let mut intervals = std::mem::replace(&mut self.intervals, Vec::with_capacity(MOST)).into_iter();
            while let Some(mut first) = intervals.next() {
                if let Some(second) = intervals.next() {
                    first.merge(second);
                }
                self.intervals.push(first);
            }
        }
        self.intervals.resize_with((time_ns >> self.shift) as usize + 1, Interval::default);
        self.ends_ns = self.origin_ns.saturating_add((self.intervals.len() as u64) << self.shift);
    }

    /// What was counted, and the requests of the run by operation.
    pub fn finish(mut self) -> (Course, [ByBucket<Parts>; Op::ALL.len()]) {
        self.count_latest();
        self.end();
        for (op, mut many) in self.many_of_run.into_iter().enumerate() {
            let few = self.few_of_run[op].iter_mut().enumerate().filter(|(_, few)| !few.is_empty());
            few.for_each(|(bucket, few)| many.of(bucket).take(few));
            for (bucket, many) in many.sorted() {
                self.others[op].of(bucket).add_requests(many.requests(), &many.parts());
            }
        }
        let mut times: [[Vec<InInterval>; KINDS]; OPS] = Default::default();
        for (number, interval) in (0..).zip(&self.intervals) {
            interval.counted.iter().for_each(|(column, requests)| {
                let (histogram, bucket) = of_column(column);
                let found = InInterval { interval: number, bucket: bucket as u16, requests };
                times[histogram / KINDS][histogram % KINDS].push(found);
            });
        }
        let [[read, waiting_read], [write, waiting_write]] = times;
        let parts = |op: usize| self.intervals.iter().map(|interval| interval.parts_ns[op]).collect();
        let course = Course {
            interval_ns: 1 << self.shift,
            response: [read, write],
            waiting: [waiting_read, waiting_write],
            slowest: self.intervals.iter().flat_map(|interval| interval.slowest).flatten().collect(),
            parts_ns: [parts(0), parts(1)],
        };
        (course, self.others)
    }
}

/// Requests of one interval in one bucket of a histogram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InInterval {
    /// Number of the interval, from the start of measuring.
    pub interval: u16,
    /// Number of the bucket; see [`LatencyHistogram::bounds`].
    pub bucket: u16,
    /// Requests.
    pub requests: u32,
}

impl InInterval {
    /// Smallest value of the bucket and first value of the next one, in nanoseconds.
    pub fn bounds_ns(&self) -> (u64, u64) {
        LatencyHistogram::bounds(self.bucket.into())
    }
}

/// The slowest read or write of an interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slow {
    /// What it was.
    pub op: Op,
    /// Where it began.
    pub offset: u64,
    /// How long it was.
    pub bytes: u32,
    /// When it was complete, from the start of measuring.
    pub ended_ns: u64,
    /// Its response time.
    pub latency_ns: u64,
    /// How long it waited of that.
    pub waited_ns: u64,
    /// The name of the largest part of its response time.
    pub part: &'static str,
    /// How large that is.
    pub part_ns: u64,
}

/// Times of reads and writes by intervals; the arrays hold reads, then writes.
#[derive(Clone, Debug)]
pub struct Course {
    /// Length of an interval, in nanoseconds.
    pub interval_ns: u64,
    /// Response times, by interval and then by bucket.
    pub response: [Vec<InInterval>; OPS],
    /// Waiting times, likewise.
    pub waiting: [Vec<InInterval>; OPS],
    /// The slowest read and the slowest write of each interval that has one.
    pub slowest: Vec<Slow>,
    /// Sums of the parts of response times, an entry for each interval.
    pub parts_ns: [Vec<[u64; PARTS]>; OPS],
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::collections::BTreeMap;

    use ssdlab_core::Rng;
    use ssdlab_nand::backend::parallel::{Charges, WAITS};

    use crate::observe::waits::{Stages, Waits};

    /// Against a list of all requests.
    #[test]
    fn each_interval_holds_the_requests_that_end_in_it() {
        // Buckets of many long ones overflow.
        let usual = 0..50_000;
        for (seed, longest_step_ns, response_ns) in [
            (1, 10, usual.clone()),
            (2, 3_000, usual.clone()),
            (3, 900_000, usual),
            (4, 3_000, 0..3 * LONG_NS),
            (5, 10, LONG_NS - 100..LONG_NS),
            (6, 10, LONG_NS - 50..LONG_NS + 50),
        ] {
            let mut rng = Rng::named(seed, "intervals");
            let (mut intervals, mut all, mut now_ns) = (Intervals::new(77), Vec::new(), 77);
            let waits = Waits::default();
            for _ in 0..3_000 {
                now_ns += rng.below(longest_step_ns) * rng.below(2);
                let op = Op::ALL[rng.below(4) as usize];
                let latency_ns = response_ns.start + rng.below(response_ns.end - response_ns.start);
                let part = rng.below(WAITS as u64) as usize;
                let mut flash = Charges::default();
                if let Some(charged_ns) = flash.0.get_mut(part) {
                    *charged_ns = latency_ns;
                }
                let request = Request { time_ns: 0, offset: all.len() as u64, bytes: 1, op, flags: 0, stream: 0 };
                let stages = Stages { served_ns: latency_ns, in_flash: true, ..Stages::default() };
                let made_of = waits.made_of(Some((0, &stages)), latency_ns, InBucket::of(latency_ns), |_| Some(&flash));
                intervals.request_done(&request, now_ns, InBucket::of(latency_ns / 3), made_of);
                all.push((op, now_ns - 77, latency_ns, part));
            }
            let (course, run) = intervals.finish();
            for (op, of_run) in Op::ALL.into_iter().zip(run) {
                let mut expected = BTreeMap::<usize, Parts>::new();
                for &(_, _, latency_ns, part) in all.iter().filter(|one| one.0 == op) {
                    let mut parts_ns = [0; PARTS];
                    parts_ns[part] = latency_ns;
                    let bucket = LatencyHistogram::bucket(latency_ns);
                    expected.entry(bucket).or_default().add_requests(1, &parts_ns);
                }
                assert!(of_run.sorted().into_iter().eq(expected), "seed {seed}");
            }
            let parts_ns = &course.parts_ns;
            assert!(parts_ns[0].len() <= MOST && (now_ns - 77) / course.interval_ns < MOST as u64, "seed {seed}");
            for op in [Op::Read, Op::Write] {
                let of_op = || all.iter().filter(|one| one.0 == op);
                for (found, divisor) in [(&course.response, 1), (&course.waiting, 3)] {
                    let found = &found[op as usize];
                    assert!(found.is_sorted_by_key(|one| (one.interval, one.bucket)));
                    assert_eq!(found.iter().map(|one| u64::from(one.requests)).sum::<u64>(), of_op().count() as u64);
                    for one in found {
                        let (lower_ns, upper_ns) = one.bounds_ns();
                        let here = of_op().filter(|(_, end_ns, latency_ns, _)| {
                            end_ns / course.interval_ns == u64::from(one.interval)
                                && (lower_ns..upper_ns).contains(&(latency_ns / divisor))
                        });
                        assert_eq!(here.count() as u32, one.requests, "seed {seed}: {one:?}");
                    }
                }
                for interval in 0..=(now_ns - 77) / course.interval_ns {
                    let here = (0..).zip(&all).filter(|(_, one)| one.0 == op && one.1 / course.interval_ns == interval);
                    let slowest = here.reduce(|slowest, one| if one.1.2 > slowest.1.2 { one } else { slowest });
                    let found = course
                        .slowest
                        .iter()
                        .find(|slow| slow.op == op && slow.ended_ns / course.interval_ns == interval);
                    assert_eq!(found.map(|slow| (slow.offset, slow.latency_ns)), slowest.map(|(n, one)| (n, one.2)));
                    if let (Some(slow), Some((_, one))) = (found, slowest) {
                        let part = if one.2 > 0 { one.3 } else { 0 };
                        assert_eq!((slow.waited_ns, slow.part, slow.part_ns), (one.2 / 3, PART_NAMES[part], one.2));
                    }
                }
                for (interval, parts) in (0..).zip(&parts_ns[op as usize]) {
                    for (part, &sum_ns) in parts.iter().enumerate() {
                        let here = of_op().filter(|one| one.1 / course.interval_ns == interval && one.3 == part);
                        assert_eq!(here.map(|one| one.2).sum::<u64>(), sum_ns, "seed {seed}");
                    }
                }
            }
        }
    }

    /// Goal: requests keep their interval when many are counted at a time. Method: more of them than that, also at one
    /// moment, beside counts by interval of requests that are counted one by one.
    #[test]
    fn requests_that_are_counted_together_keep_their_interval() {
        let (mut rng, mut intervals, waits) = (Rng::named(7, "intervals"), Intervals::new(0), Waits::default());
        let (mut all, mut now_ns) = (Vec::new(), 0);
        for number in 0..5 * MOST_LATEST / 2 {
            let is_burst = (MOST_LATEST / 2..2 * MOST_LATEST).contains(&number);
            now_ns += if is_burst { 0 } else { rng.below(2_000) };
            let (waited_ns, latency_ns) = (rng.below(1_000), rng.below(100_000));
            let op = Op::ALL[rng.below(2) as usize];
            let request = Request { time_ns: 0, offset: 0, bytes: 1, op, flags: 0, stream: 0 };
            let made_of = waits.made_of(None, now_ns, InBucket::of(latency_ns), |_| None);
            intervals.request_done(&request, now_ns, InBucket::of(waited_ns), made_of);
            all.push((request.op as usize, now_ns, [latency_ns, waited_ns]));
        }
        let (course, _) = intervals.finish();
        let mut expected: [[BTreeMap<(u16, u16), u32>; KINDS]; OPS] = Default::default();
        let mut sums_ns = [vec![0; course.parts_ns[0].len()], vec![0; course.parts_ns[1].len()]];
        for (op, end_ns, times_ns) in all {
            let interval = end_ns / course.interval_ns;
            for (expected, time_ns) in expected[op].iter_mut().zip(times_ns) {
                *expected.entry((interval as u16, LatencyHistogram::bucket(time_ns) as u16)).or_default() += 1;
            }
            sums_ns[op][interval as usize] += times_ns[0];
        }
        for (op, expected) in expected.into_iter().enumerate() {
            for (found, expected) in [&course.response[op], &course.waiting[op]].into_iter().zip(expected) {
                let found = found.iter().map(|one| ((one.interval, one.bucket), one.requests));
                assert!(found.eq(expected));
            }
            assert!(course.parts_ns[op].iter().map(|parts| parts.iter().sum::<u64>()).eq(sums_ns[op].iter().copied()));
        }
    }
}
