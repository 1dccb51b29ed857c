//! Workload generators, which produce the requests of a [`Workload`] as a stream.
//!
//! Addresses are multiples of `align_bytes` within the span. Address, operation, size and gap use separate random
//! streams, so changing one setting does not change the random numbers for the others. Identical workloads produce
//! identical requests on all platforms.
//!
//! To add an address pattern, write a file with a type that implements [`Addresses`] and a [`PatternInfo`], and add a
//! line to [`PATTERNS`].

mod addresses;
mod check;
mod clock;
mod copy_files;
mod filebench;
mod hot_cold;
mod locality;
mod oltp;
mod queues;
mod scatter;
mod sequential;
mod sizes;
mod space;
mod streams;
mod uniform;
mod zipf;

use std::fmt::Debug;
use std::ops::Range;

use ssdlab_core::units::write_bytes;
use ssdlab_core::{Bytes, Registry};

use crate::{Pattern, Progress, Request, Source, TraceError, Workload};
pub use addresses::{Addresses, PatternInfo, PatternRules, Start};
use check::{ensure, share};
pub use clock::Clock;
use filebench::FilebenchRun;
pub use filebench::{FILE_SYSTEM_MIN, FILES_MAX, PERSONALITIES, Personality, PersonalityRules, Step, Work};
pub use queues::QUEUES_MAX;
pub use space::{RequestTarget, Space};

/// All registered address patterns.
pub static PATTERNS: Registry<PatternRules> = Registry::new(
    "workload pattern",
    &[
        &uniform::INFO,
        &zipf::INFO,
        &hot_cold::INFO,
        &sequential::INFO,
        &streams::INFO,
        &copy_files::INFO,
        &oltp::INFO,
        &locality::INFO,
    ],
);

/// Maximum number of slots, so that ranks are exact in an `f64`.
const SLOTS_MAX: u64 = 1 << 53;
/// Maximum total bytes of all requests, so that sums fit 64 bits.
const BYTES_MAX: u64 = i64::MAX as u64;

/// Source of a workload's requests: either an address pattern combined with sizes, operations and times, or a simulated
/// system.
pub trait Requests: Debug + Send {
    /// Returns the names of the streams, beginning with stream 1.
    fn streams(&self) -> Vec<String>;

    /// Performs one step of the preparation required before the first request. Returns true if more steps remain.
    fn prepare(&mut self) -> Result<bool, TraceError> {
        Ok(false)
    }

    /// Appends the requests with the given indices. Appends fewer if the pattern ends within this range.
    fn fill(&mut self, out: &mut Vec<Request>, indices: Range<u64>) -> Result<(), TraceError>;
}

/// Generator of the requests of a workload.
#[derive(Debug)]
pub struct Generator {
    workload: Workload,
    requests: Box<dyn Requests>,
    done: u64,
    total: u64,
    streams: Vec<String>,
}

impl Workload {
    /// Checks that the workload can be generated. Examines only its parameters, which takes constant time and memory.
    /// The error for the first violated rule states the field and a valid value for it.
    pub fn check(&self) -> Result<(), TraceError> {
        queues::check(self)?;
        let pattern = match &self.pattern {
            Pattern::Addresses(pattern) => pattern,
            Pattern::Filebench(filebench) => {
                filebench::check(filebench, self.span_bytes)?;
                return self.check_bytes(filebench.max_bio_bytes);
            }
        };
        share("reads", self.reads)?;
        ensure!(self.align_bytes > 0, "align_bytes", "the alignment must not be 0; set it to 4KiB");
        sizes::check(&self.sizes)?;
        let space = self.space();
        let Space { align, span, largest, .. } = space;
        let most = write_bytes(if align <= span { span / align * align } else { span / 512 * 512 });
        let (size, all) = (write_bytes(largest), write_bytes(span));
        ensure!(largest <= span, "sizes", "the request size {size} exceeds the span of {all}; lower it to {most}");
        let why = "the span has more than 2^53 addresses; use a larger alignment or a smaller span";
        ensure!(space.starts() <= SLOTS_MAX, "span_bytes", "{why}");
        clock::check(&self.arrival, self.requests)?;
        (pattern.info.role.check)(pattern, space)?;
        self.check_bytes(largest as u32)
    }

    /// Checks that the total size of the requests fits the counters, assuming that each request has `largest` bytes.
    fn check_bytes(&self, largest: u32) -> Result<(), TraceError> {
        let most = BYTES_MAX / u64::from(largest.max(1));
        let (requests, size, total) = (self.total(), write_bytes(largest.into()), Bytes(BYTES_MAX));
        let why = format!("the number of requests {requests} is too large: with {size} each, they exceed {total}");
        ensure!(requests <= most, "requests", "{why}; lower it to {most}");
        Ok(())
    }

    /// True if the pattern determines the streams of the requests.
    fn has_streams(&self) -> bool {
        match &self.pattern {
            Pattern::Addresses(pattern) => pattern.info.role.streams,
            Pattern::Filebench(_) => true,
        }
    }

    fn space(&self) -> Space {
        let sizes = || sizes::weighted(&self.sizes).map(u64::from);
        let (smallest, largest) = (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0));
        Space { align: self.align_bytes.into(), span: self.span_bytes, smallest, largest }
    }

    /// Returns the number of generated requests; below [`Self::requests`] if the pattern ends earlier.
    fn total(&self) -> u64 {
        match &self.pattern {
            Pattern::Addresses(pattern) => (pattern.info.role.requests)(pattern, self.space()).min(self.requests),
            Pattern::Filebench(_) => self.requests,
        }
    }
}

impl Generator {
    /// Checks `workload` and creates a generator that begins with the first request.
    pub fn new(workload: &Workload) -> Result<Self, TraceError> {
        workload.check()?;
        let mut streams = vec![String::new()];
        let requests: Box<dyn Requests> = match &workload.pattern {
            Pattern::Addresses(pattern) => (pattern.info.role.start)(workload, pattern),
            Pattern::Filebench(filebench) => Box::new(FilebenchRun::new(filebench, workload.span_bytes, workload.seed)),
        };
        streams.extend(requests.streams());
        let total = workload.total();
        Ok(Self { workload: workload.clone(), requests, done: 0, total, streams })
    }

    /// Returns the stream names, indexed by [`Request::stream`]; the first name is empty. Queues are named `queue1` and
    /// so on, sequential streams `seq1` and so on, files `file1` and so on. Requests outside all sequential streams
    /// belong to the stream `random`. Filebench has one stream per thread, including kernel threads.
    pub fn streams(&self) -> &[String] {
        &self.streams
    }
}

impl Source for Generator {
    fn prepare(&mut self) -> Result<bool, TraceError> {
        self.requests.prepare()
    }

    fn fill(&mut self, out: &mut Vec<Request>, max: usize) -> Result<usize, TraceError> {
        let count = usize::try_from(self.total - self.done).unwrap_or(max).min(max);
        let before = out.len();
        self.requests.fill(out, self.done..self.done + count as u64)?;
        let filled = out.len() - before;
        self.done += filled as u64;
        if filled < count {
            self.total = self.done;
        }
        Ok(filled)
    }

    fn progress(&self) -> Progress {
        Progress { done: self.done, total: Some(self.total) }
    }

    fn rewind(&mut self) -> Result<(), TraceError> {
        *self = Self::new(&self.workload)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_core::parameter::{decimal, percent};

    use super::*;
    use crate::testing::{generate, refusal, workload};
    use crate::{Arrival, Op};

    fn arriving(workload: Workload, arrival: Arrival) -> Workload {
        Workload { arrival, ..workload }
    }

    fn workloads() -> [Workload; 8] {
        [
            workload("uniform", &[]),
            workload("zipf", &[]),
            workload("hot_cold", &[("hot_requests", percent(90)), ("hot_space", percent(10))]),
            workload("sequential", &[("streams", 3)]),
            workload("hot_cold", &[("hot_requests", percent(90)), ("hot_space", percent(10)), ("placement", 1)]),
            workload(
                "streams",
                &[
                    ("streams", 3),
                    ("length", 20),
                    ("sequential", percent(40)),
                    ("block", 1 << 18),
                    ("sub_block", 1 << 15),
                    ("block_headers", percent(20)),
                    ("sub_block_headers", percent(20)),
                    ("shuffle", percent(50)),
                    ("random_headers", 0),
                ],
            ),
            workload(
                "oltp",
                &[
                    ("block", 1 << 17),
                    ("hot_blocks", percent(2)),
                    ("hot_requests", percent(60)),
                    ("idle_blocks", percent(20)),
                ],
            ),
            workload(
                "locality",
                &[
                    ("jump", percent(10)),
                    ("advance", percent(50)),
                    ("back", percent(50)),
                    ("decay", decimal(0.9)),
                    ("runs", 20),
                    ("spread", decimal(2.0)),
                    ("heads", 10),
                    ("region", 1 << 20),
                    ("stretches", 3),
                ],
            ),
        ]
    }

    #[test]
    fn every_pattern_repeats_by_seed() {
        for workload in workloads() {
            let workload = arriving(workload, Arrival::Poisson { per_second: 1e5 });
            let requests = generate(&workload);
            assert_eq!(requests.len(), 100_000);
            assert!(requests.is_sorted_by_key(|r| r.time_ns));
            assert_eq!(requests, generate(&workload));
            assert_ne!(requests, generate(&Workload { seed: 43, ..workload }));
        }
    }

    #[test]
    fn shares_of_reads_and_sizes_are_kept() {
        let requests = generate(&workload("uniform", &[]));
        let share = |test: &dyn Fn(&Request) -> bool| requests.iter().filter(|r| test(r)).count() as f64 / 1e5;
        // The standard deviations of the two measured shares are below 0.0016. The tolerance is six times as large.
        assert!((share(&|r| r.op == Op::Read) - 0.3).abs() < 0.01);
        assert!((share(&|r| r.bytes == 4096) - 0.75).abs() < 0.01);
    }

    /// Published results name a seed, so the requests of a seed must never change.
    #[test]
    fn requests_of_a_seed_stay_the_same() {
        let fold = |hash: u64, value: u64| (hash ^ value).wrapping_mul(0x0000_0100_0000_01B3);
        let hash = |workload| {
            generate(&arriving(workload, Arrival::Poisson { per_second: 1e5 })).iter().fold(0, |hash, r| {
                [r.time_ns, r.offset, r.bytes.into(), r.op as u64, r.stream.into()].into_iter().fold(hash, fold)
            })
        };
        let known = [
            8_576_700_087_177_389_736,
            2_213_708_475_209_426_600,
            9_353_100_591_908_722_344,
            1_422_519_449_044_661_295,
            15_564_434_896_783_378_088,
            4_966_102_254_284_231_028,
            8_064_119_014_118_000_296,
            4_331_788_749_784_995_496,
        ];
        assert_eq!(workloads().map(hash), known);
    }

    #[test]
    fn changing_the_arrivals_does_not_change_the_addresses() {
        let addresses = |arrival| {
            generate(&arriving(workload("uniform", &[]), arrival)).iter().map(|r| r.offset).collect::<Vec<_>>()
        };
        assert_eq!(addresses(Arrival::Closed), addresses(Arrival::Poisson { per_second: 10.0 }));
    }

    #[test]
    fn arrivals_follow_their_process() {
        let times = |arrival| {
            generate(&arriving(workload("uniform", &[]), arrival)).iter().map(|r| r.time_ns).collect::<Vec<_>>()
        };
        assert!(times(Arrival::Closed).iter().all(|&t| t == 0));
        let fixed = times(Arrival::Fixed { per_second: 3.0 });
        assert_eq!(fixed[..4], [0, 333_333_333, 666_666_667, 1_000_000_000]);
        let poisson = times(Arrival::Poisson { per_second: 1000.0 });
        let gaps: Vec<f64> = poisson.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean / 1e6 - 1.0).abs() < 0.02, "mean {mean}");
        assert!(
            (variance.sqrt() / mean - 1.0).abs() < 0.03,
            "the deviation of an exponential distribution equals its mean"
        );
    }

    #[test]
    fn sequential_streams_take_turns() {
        let mut workload = workload("sequential", &[("streams", 2)]);
        workload.sizes = vec![(4096, 1.0)];
        workload.span_bytes = 4 * 4096 + 100;
        workload.requests = 6;
        let got: Vec<(u64, u16)> = generate(&workload).iter().map(|r| (r.offset / 4096, r.stream)).collect();
        assert_eq!(got, [(0, 1), (2, 2), (1, 1), (3, 2), (0, 1), (2, 2)]);
    }

    #[test]
    fn impossible_workloads_are_rejected_with_a_remedy() {
        let good = || workload("uniform", &[]);
        let text = refusal(&Workload { span_bytes: 8192, ..good() });
        assert_eq!(text, "workload sizes: the request size 16KiB exceeds the span of 8KiB; lower it to 8KiB");
        assert!(refusal(&Workload { reads: 1.5, ..good() }).contains("between 0 and 1"));
        assert!(refusal(&Workload { sizes: vec![], ..good() }).contains("at least one"));
        assert!(refusal(&Workload { sizes: vec![(0, 1.0)], ..good() }).contains("at least 1 byte"));
        assert!(refusal(&Workload { align_bytes: 0, ..good() }).contains("align_bytes"));
        assert!(
            refusal(&workload("sequential", &[("streams", 9999)]))
                .contains("streams: the number of streams 9999 is too large")
        );
        assert!(
            refusal(&arriving(workload("uniform", &[]), Arrival::Fixed { per_second: 0.0 })).contains("is not above 0")
        );
        assert!(
            refusal(&arriving(workload("uniform", &[]), Arrival::Poisson { per_second: 1e-9 })).contains("285 years")
        );
        let named = |name, changes: &[(&str, u64)]| Pattern::named(name, changes).unwrap_err().to_string();
        assert!(named("zip", &[]).starts_with("unknown workload pattern `zip`; choose one of uniform, zipf, hot_cold"));
        assert_eq!(
            named("sequential", &[("streams", 0)]),
            "parameter `streams` of choice `sequential` is 0, but must be from 1 to 65535 streams"
        );
    }
}
