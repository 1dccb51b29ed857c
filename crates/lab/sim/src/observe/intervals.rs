//! Response and waiting times by intervals of simulated time, from which a report page can show any part of a run.
//!
//! A request is counted in the interval in which it completes. The length of a run is not known in advance. So
//! intervals start short. Whenever time passes the end of the last interval, intervals are merged in pairs and double
//! in length.

use ssdlab_core::{InBucket, LatencyHistogram};
use ssdlab_trace::{Op, Request};

use crate::observe::breakdown::{ByBucket, PART_NAMES, PARTS, PartTimes};

/// Maximum number of intervals. At this maximum, each interval is about a hundredth of the run, and a report page can
/// show all intervals.
const MOST: usize = 128;
/// Log2 of the initial interval length in nanoseconds. This length is about the latency of a request.
const FIRST_SHIFT: u32 = 16;

/// Number of operation types that are counted: reads and writes, in the order of [`Op`].
pub(crate) const OPS: usize = 2;
/// Number of durations recorded for each request: its response time and its waiting time.
const KINDS: usize = 2;

/// Requests completed in one interval.
#[derive(Clone, Debug, Default)]
struct Interval {
    /// Number of requests in each histogram bucket, as pairs (bucket, count) in ascending order of bucket. Indexed by
    /// operation, and by response or waiting time.
    counts: [[Vec<(u16, u32)>; KINDS]; OPS],
    /// Sums of the parts of response times (see [`PartTimes`]), by operation.
    parts_ns: [PartTimes; OPS],
    /// The slowest request of each operation; of equally slow requests, the first.
    slowest: [Option<Slow>; OPS],
}

impl Interval {
    fn merge(&mut self, later: Self) {
        for (counts, more) in self.counts.as_flattened_mut().iter_mut().zip(later.counts.into_iter().flatten()) {
            counts.extend(more);
            counts.sort_by_key(|&(bucket, _)| bucket);
            counts.dedup_by(|second, first| {
                let is_same = second.0 == first.0;
                first.1 += if is_same { second.1 } else { 0 };
                is_same
            });
        }
        self.parts_ns.iter_mut().zip(&later.parts_ns).for_each(|(sums, more)| add(sums, more));
        for (slowest, other) in self.slowest.iter_mut().zip(later.slowest) {
            // `max_by_key` returns the last of several equal keys, so the earlier request, which comes last here, wins
            // ties.
            *slowest = [other, *slowest].into_iter().flatten().max_by_key(|slow| slow.latency_ns);
        }
    }
}

fn add(sums: &mut PartTimes, more: &PartTimes) {
    sums.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.wrapping_add(*more));
}

/// Requests completed so far, by time interval.
#[derive(Debug)]
pub(crate) struct Intervals {
    origin_ns: u64,
    /// Log2 of the length of an interval in nanoseconds.
    shift: u32,
    /// Intervals so far; the last interval is not complete yet.
    intervals: Vec<Interval>,
    /// End of the current time interval, in nanoseconds.
    ends_ns: u64,
    /// Number of requests in the current interval by operation, response or waiting time, and bucket.
    counts: [[ByBucket<u32>; KINDS]; OPS],
}

impl Intervals {
    pub fn new(origin_ns: u64) -> Self {
        Self {
            origin_ns,
            shift: FIRST_SHIFT,
            intervals: vec![Interval::default()],
            ends_ns: origin_ns + (1 << FIRST_SHIFT),
            counts: Default::default(),
        }
    }

    /// Counts a read or write that completes at `now_ns`, with its response and waiting times.
    pub fn request_done(&mut self, request: &Request, now_ns: u64, times: [InBucket; KINDS], parts_ns: &PartTimes) {
        if now_ns >= self.ends_ns {
            self.begin(now_ns - self.origin_ns);
        }
        let op = request.op as usize;
        self.counts[op].iter_mut().zip(times).for_each(|(counts, time)| *counts.of(time.bucket) += 1);
        let [latency_ns, waited_ns] = times.map(|time| time.ns);
        let interval = self.intervals.last_mut().expect("an interval has begun");
        add(&mut interval.parts_ns[op], parts_ns);
        if interval.slowest[op].is_none_or(|slowest| latency_ns > slowest.latency_ns) {
            let largest = (0..PARTS).fold(0, |most, part| if parts_ns[part] > parts_ns[most] { part } else { most });
            interval.slowest[op] = Some(Slow {
                op: request.op,
                offset: request.offset,
                bytes: request.bytes,
                ended_ns: now_ns - self.origin_ns,
                latency_ns,
                waited_ns,
                part: PART_NAMES[largest],
                part_ns: parts_ns[largest],
            });
        }
    }

    fn end(&mut self) {
        let interval = self.intervals.last_mut().expect("an interval has begun");
        interval.counts = self.counts.each_mut().map(|of_op| of_op.each_mut().map(ByBucket::take));
    }

    /// Ends the current interval and begins the interval that contains `time_ns`, counted from the start of measuring.
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
        self.ends_ns = self.origin_ns.saturating_add((self.intervals.len() as u64) << self.shift);
    }

    /// Returns the response and waiting times of all intervals.
    pub fn finish(mut self) -> Timeline {
        self.end();
        let counts = |kind: usize, op: usize| {
            let mut all = Vec::new();
            for (number, interval) in (0..).zip(&self.intervals) {
                let counts = interval.counts[op][kind].iter();
                all.extend(counts.map(|&(bucket, requests)| InInterval { interval: number, bucket, requests }));
            }
            all
        };
        Timeline {
            interval_ns: 1 << self.shift,
            response: [0, 1].map(|op| counts(0, op)),
            waiting: [0, 1].map(|op| counts(1, op)),
            slowest: self.intervals.iter().flat_map(|interval| interval.slowest).flatten().collect(),
            parts_ns: [0, 1].map(|op| self.intervals.iter().map(|interval| interval.parts_ns[op]).collect()),
        }
    }
}

/// Requests that fall into one interval and one bucket of a latency histogram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InInterval {
    /// Number of the interval, counted from the start of measuring.
    pub interval: u16,
    /// Number of the bucket; see [`LatencyHistogram::bounds`].
    pub bucket: u16,
    /// Number of requests.
    pub requests: u32,
}

impl InInterval {
    /// Returns the bounds of the bucket in nanoseconds; the upper bound is exclusive.
    pub fn bounds_ns(&self) -> (u64, u64) {
        LatencyHistogram::bounds(self.bucket.into())
    }
}

/// The slowest read or write of an interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slow {
    /// Operation of the slowest request.
    pub op: Op,
    /// Offset of the request's first byte.
    pub offset: u64,
    /// Length of the request in bytes.
    pub bytes: u32,
    /// Time when the request completed, relative to the start of measuring.
    pub ended_ns: u64,
    /// Response time of the request in nanoseconds.
    pub latency_ns: u64,
    /// Waiting time of the request in nanoseconds.
    pub waited_ns: u64,
    /// Name of the largest part of the response time.
    pub part: &'static str,
    /// Duration of the largest part of the response time, in nanoseconds.
    pub part_ns: u64,
}

/// Response and waiting times by interval. In arrays of length 2, index 0 is for reads and index 1 for writes.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// Length of an interval, in nanoseconds.
    pub interval_ns: u64,
    /// Request counts by response time, sorted by interval and then by histogram bucket.
    pub response: [Vec<InInterval>; OPS],
    /// Request counts by waiting time, sorted by interval and then by histogram bucket.
    pub waiting: [Vec<InInterval>; OPS],
    /// Slowest read and slowest write of each interval.
    pub slowest: Vec<Slow>,
    /// For each interval, the parts of the response times, summed over its requests.
    pub parts_ns: [Vec<PartTimes>; OPS],
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::collections::BTreeMap;

    use ssdlab_core::Rng;

    /// A completed request: operation, completion time since the start of measuring, response time, and the latency
    /// part to which the whole response time belongs.
    type Completed = (Op, u64, u64, usize);

    /// The test compares intervals with a list of all requests.
    #[test]
    fn each_interval_holds_the_requests_that_end_in_it() {
        for (seed, longest_step_ns, longest_ns) in
            [(1, 10, 50_000), (2, 3_000, 50_000), (3, 900_000, 50_000), (4, 3_000, 1 << 30), (5, 2, 1 << 50)]
        {
            let mut rng = Rng::named(seed, "intervals");
            let (mut intervals, mut all, mut now_ns) = (Intervals::new(77), Vec::<Completed>::new(), 77);
            for number in 0..3_000 {
                now_ns += rng.below(longest_step_ns) * rng.below(2);
                let op = [Op::Read, Op::Write][rng.below(2) as usize];
                let (latency_ns, part) = (rng.below(longest_ns), rng.below(PARTS as u64) as usize);
                let mut parts_ns = [0; PARTS];
                parts_ns[part] = latency_ns;
                let request = Request { time_ns: 0, offset: number, bytes: 1, op, flags: 0, stream: 0 };
                let times = [latency_ns, latency_ns / 3].map(InBucket::of);
                intervals.request_done(&request, now_ns, times, &parts_ns);
                all.push((op, now_ns - 77, latency_ns, part));
            }
            let timeline = intervals.finish();
            assert!(timeline.parts_ns[0].len() <= MOST && (now_ns - 77) / timeline.interval_ns < MOST as u64);
            for op in [Op::Read, Op::Write] {
                check(&timeline, op, &all, &format!("seed {seed}"));
            }
        }
    }

    fn check(timeline: &Timeline, op: Op, all: &[Completed], seed: &str) {
        let interval_of = |one: &Completed| (one.1 / timeline.interval_ns) as usize;
        for (found, divisor) in [(&timeline.response, 1), (&timeline.waiting, 3)] {
            let mut expected = BTreeMap::<(u16, u16), u32>::new();
            for one in all.iter().filter(|one| one.0 == op) {
                let bucket = LatencyHistogram::bucket(one.2 / divisor);
                *expected.entry((interval_of(one) as u16, bucket as u16)).or_default() += 1;
            }
            let found = found[op as usize].iter().map(|one| ((one.interval, one.bucket), one.requests));
            assert!(found.eq(expected), "{seed}");
        }
        let mut parts_ns = vec![[0; PARTS]; timeline.parts_ns[op as usize].len()];
        let mut slowest = BTreeMap::<usize, (u64, &Completed)>::new();
        for (number, one) in (0..).zip(all).filter(|(_, one)| one.0 == op) {
            parts_ns[interval_of(one)][one.3] += one.2;
            let slowest = slowest.entry(interval_of(one)).or_insert((number, one));
            if one.2 > slowest.1.2 {
                *slowest = (number, one);
            }
        }
        assert_eq!(timeline.parts_ns[op as usize], parts_ns, "{seed}");
        let found = timeline.slowest.iter().filter(|slow| slow.op == op);
        let found =
            found.map(|slow| (slow.offset, slow.ended_ns, slow.latency_ns, slow.waited_ns, slow.part, slow.part_ns));
        let expected = slowest.into_values().map(|(number, one)| {
            let part = if one.2 > 0 { one.3 } else { 0 };
            (number, one.1, one.2, one.2 / 3, PART_NAMES[part], one.2)
        });
        assert!(found.eq(expected), "{seed}");
    }
}
