//! Response times, waiting times and what they are made of: by intervals of simulated time, so that a stretch of the
//! run can be looked at by itself, and of the whole run. A request counts to the interval in which it is complete.
//!
//! How long a run takes is not known at its start, so intervals begin short and double (pairs merge) whenever time goes
//! beyond the last of them. The histograms are those of [`LatencyHistogram`]: all intervals add up to that of the run.
//! All this costs some percent of a run, so it is kept where response times are taken apart anyway. What a request is
//! made of is added to its bucket alone; parts are told apart, and added to those of the interval and of the run, when
//! the interval ends.

use ssdlab_core::LatencyHistogram;
use ssdlab_trace::{Op, Request};

use crate::observe::waits::{ByBucket, Charged, MadeOf, PART_NAMES, PARTS};

/// So many that an interval is a hundredth of the run, and that a page has room for them.
const MOST: usize = 128;
/// Intervals begin at 2^16 ns, as a request takes.
const FIRST_SHIFT: u32 = 16;

/// Reads and writes, in the order of [`Op`]; other requests are not counted.
const OPS: usize = 2;
/// Times of one operation: of response and of waiting.
const KINDS: usize = 2;

/// What is counted in one interval.
#[derive(Clone, Debug, Default)]
struct Interval {
    /// Requests by column, in the order of these; see [`column`]. If there are none, nothing was counted.
    requests: Vec<(u16, u32)>,
    /// Sums of the parts of response times, by operation.
    parts_ns: [[u64; PARTS]; OPS],
    /// The first of the slowest requests, by operation.
    slowest: [Option<Slow>; OPS],
}

impl Interval {
    fn merge(&mut self, later: Self) {
        if later.requests.is_empty() {
            return;
        }
        if self.requests.is_empty() {
            *self = later;
            return;
        }
        self.requests.extend(later.requests);
        self.requests.sort_by_key(|&(column, _)| column);
        self.requests.dedup_by(|(column, more), (before, requests)| {
            let again = column == before;
            if again {
                *requests += *more;
            }
            again
        });
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
    (op * KINDS + kind) * LatencyHistogram::BUCKETS + bucket
}

/// Requests of one operation and bucket, in two lines of the processor's cache.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(128))]
struct Row {
    requests: u64,
    charged: Charged,
}

impl Row {
    /// What was counted, which is counted no more, by part.
    fn take(&mut self) -> (u64, [u64; PARTS]) {
        let Self { requests, charged } = std::mem::take(self);
        (requests, charged.parts())
    }
}

#[cold]
fn make_room(rows: &mut Vec<Row>, bucket: usize) {
    rows.resize(bucket + 1, Row::default());
}

/// Counts requests as they are complete, one interval after the other.
#[derive(Debug)]
pub(crate) struct Intervals {
    origin_ns: u64,
    shift: u32,
    /// The last is under way.
    intervals: Vec<Interval>,
    /// Requests with what they are made of that are in no interval yet, by operation and bucket, and the sum of their
    /// response times.
    rows: [Vec<Row>; Op::ALL.len()],
    sum_ns: u64,
    /// Of the interval under way, requests by bucket of how long they waited.
    waiting: [Vec<u32>; OPS],
    /// Its columns that are not 0, a bit for each.
    used: Vec<u64>,
    /// Its slowest requests, by operation.
    slowest: [Option<Slow>; OPS],
    /// Room for the columns of an interval, which keeps no more than it has.
    counted: Vec<(u16, u32)>,
    /// All others of the run.
    run: [ByBucket; Op::ALL.len()],
}

impl Intervals {
    pub fn new(origin_ns: u64) -> Self {
        Self {
            origin_ns,
            shift: FIRST_SHIFT,
            intervals: vec![Interval::default()],
            rows: Default::default(),
            sum_ns: 0,
            waiting: std::array::from_fn(|_| vec![0; LatencyHistogram::BUCKETS]),
            used: vec![0; column(OPS, 0, 0).div_ceil(64)],
            slowest: [None; OPS],
            counted: Vec::new(),
            run: Default::default(),
        }
    }

    /// A request of this operation, with a response time of this bucket, will be complete next: its row is fetched.
    #[inline(always)]
    pub fn expect(&self, op: Op, bucket: usize) {
        if let Some(row) = self.rows[op as usize].get(bucket) {
            row.charged.expect();
        }
    }

    /// A request is complete, with what its response time is made of; how long it waited is given with its bucket.
    #[inline(always)]
    pub fn request_done(
        &mut self,
        request: &Request,
        now_ns: u64,
        latency_ns: u64,
        waited: (u64, usize),
        parts: MadeOf<'_>,
    ) {
        // No part is larger than the whole.
        if self.sum_ns.checked_add(latency_ns).is_none() {
            self.end();
        }
        let op = request.op as usize;
        if op < OPS {
            self.count_in_interval(request, now_ns, latency_ns, waited, parts);
        }
        let rows = &mut self.rows[op];
        if rows.len() <= parts.bucket {
            make_room(rows, parts.bucket);
        }
        let row = &mut rows[parts.bucket];
        row.requests += 1;
        parts.add_to(&mut row.charged);
        self.sum_ns += latency_ns;
    }

    #[inline(always)]
    fn count_in_interval(
        &mut self,
        request: &Request,
        now_ns: u64,
        latency_ns: u64,
        (waited_ns, bucket): (u64, usize),
        parts: MadeOf<'_>,
    ) {
        let at = (now_ns - self.origin_ns) >> self.shift;
        if at as usize + 1 != self.intervals.len() {
            self.begin(now_ns - self.origin_ns);
        }
        let op = request.op as usize;
        self.waiting[op][bucket] += 1;
        for column in [column(op, 0, parts.bucket), column(op, 1, bucket)] {
            self.used[column / 64] |= 1 << (column % 64);
        }
        if self.slowest[op].is_none_or(|slowest| latency_ns > slowest.latency_ns) {
            let parts = parts.parts();
            let largest = (0..PARTS).fold(0, |most, part| if parts[part] > parts[most] { part } else { most });
            self.slowest[op] = Some(Slow {
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
    }

    /// Adds what was counted since the last time to the interval under way and to the run.
    fn end(&mut self) {
        self.sum_ns = 0;
        let mut parts_ns = [[0; PARTS]; OPS];
        self.counted.clear();
        for (bits, first) in self.used.iter_mut().zip((0_usize..).step_by(64)) {
            while *bits != 0 {
                let column = first + bits.trailing_zeros() as usize;
                *bits &= *bits - 1;
                let (histogram, bucket) = (column / LatencyHistogram::BUCKETS, column % LatencyHistogram::BUCKETS);
                let (op, kind) = (histogram / KINDS, histogram % KINDS);
                let requests = if kind == 0 {
                    let (requests, parts) = self.rows[op][bucket].take();
                    add(&mut parts_ns[op], &parts);
                    self.run[op].add(bucket, requests, &parts);
                    requests as u32
                } else {
                    std::mem::take(&mut self.waiting[op][bucket])
                };
                self.counted.push((column as u16, requests));
            }
        }
        let ended = Interval { requests: self.counted.clone(), parts_ns, slowest: std::mem::take(&mut self.slowest) };
        self.intervals.last_mut().expect("one is under way").merge(ended);
        // Others are in no interval.
        for (run, rows) in self.run.iter_mut().zip(&mut self.rows).skip(OPS) {
            for (bucket, row) in rows.iter_mut().enumerate().filter(|(_, row)| row.requests > 0) {
                let (requests, parts) = row.take();
                run.add(bucket, requests, &parts);
            }
        }
    }

    /// Ends the interval under way and begins that of `time_ns`, a time since the origin.
    #[cold]
    fn begin(&mut self, time_ns: u64) {
        self.end();
        while time_ns >> self.shift >= MOST as u64 {
            self.shift += 1;
            let mut intervals = std::mem::take(&mut self.intervals).into_iter();
            while let Some(mut first) = intervals.next() {
                if let Some(second) = intervals.next() {
                    first.merge(second);
                }
                self.intervals.push(first);
            }
        }
        self.intervals.resize_with((time_ns >> self.shift) as usize + 1, Interval::default);
    }

    /// What was counted, and the requests of the run by operation.
    pub fn finish(mut self) -> (Course, [ByBucket; Op::ALL.len()]) {
        self.end();
        let mut times: [[Vec<InInterval>; KINDS]; OPS] = Default::default();
        for (number, interval) in (0..).zip(&self.intervals) {
            for &(column, requests) in &interval.requests {
                let column = usize::from(column);
                let (histogram, bucket) = (column / LatencyHistogram::BUCKETS, column % LatencyHistogram::BUCKETS);
                let (lower_ns, upper_ns) = LatencyHistogram::bounds(bucket);
                let found = InInterval { interval: number, lower_ns, upper_ns, requests: requests.into() };
                times[histogram / KINDS][histogram % KINDS].push(found);
            }
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
        (course, self.run)
    }
}

/// Requests of one interval in one bucket of a histogram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InInterval {
    /// Number of the interval, from the start of measuring.
    pub interval: u64,
    /// Smallest value of the bucket, in nanoseconds.
    pub lower_ns: u64,
    /// First value of the next one.
    pub upper_ns: u64,
    /// Requests.
    pub requests: u64,
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

    use ssdlab_core::Rng;

    fn with_bucket(ns: u64) -> (u64, usize) {
        (ns, LatencyHistogram::bucket(ns))
    }

    /// Against a list of all requests.
    #[test]
    fn each_interval_holds_the_requests_that_end_in_it() {
        for (seed, longest_step_ns) in [(1, 10), (2, 3_000), (3, 900_000)] {
            let mut rng = Rng::named(seed, "intervals");
            let (mut intervals, mut all, mut now_ns) = (Intervals::new(77), Vec::new(), 77);
            for _ in 0..3_000 {
                now_ns += rng.below(longest_step_ns) * rng.below(2);
                let op = Op::ALL[rng.below(4) as usize];
                let (latency_ns, part) = (rng.below(50_000), rng.below(PARTS as u64) as usize);
                let charged = Charged::of(part, latency_ns);
                let request = Request { time_ns: 0, offset: all.len() as u64, bytes: 1, op, flags: 0, stream: 0 };
                intervals.request_done(&request, now_ns, latency_ns, with_bucket(latency_ns / 3), MadeOf::of(&charged));
                all.push((op, now_ns - 77, latency_ns, part));
            }
            let (course, _) = intervals.finish();
            let parts_ns = &course.parts_ns;
            assert!(parts_ns[0].len() <= MOST && (now_ns - 77) / course.interval_ns < MOST as u64, "seed {seed}");
            for op in [Op::Read, Op::Write] {
                let of_op = || all.iter().filter(|one| one.0 == op);
                for (found, divisor) in [(&course.response, 1), (&course.waiting, 3)] {
                    let found = &found[op as usize];
                    assert!(found.is_sorted_by_key(|one| (one.interval, one.lower_ns)));
                    assert_eq!(found.iter().map(|one| one.requests).sum::<u64>(), of_op().count() as u64);
                    for one in found {
                        let here = of_op().filter(|(_, end_ns, latency_ns, _)| {
                            end_ns / course.interval_ns == one.interval
                                && (one.lower_ns..one.upper_ns).contains(&(latency_ns / divisor))
                        });
                        assert_eq!(here.count() as u64, one.requests, "seed {seed}: {one:?}");
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
}
