//! Workload generators: stream the requests of a [`Workload`].
//!
//! Addresses are multiples of `align_bytes` within the span. Each pattern longer than a line has its own file. Address,
//! operation, size and gap use separate random streams, so changing one setting keeps the draws of the others. Equal
//! workloads give equal requests on all platforms.

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
mod zipf;

use std::ops::Range;

use ssdlab_core::units::write_bytes;
use ssdlab_core::{Bytes, Rng};

use crate::{Op, Pattern, Progress, Request, Source, TraceError, Workload};
use check::{ensure, share, wrong};
use clock::Clock;
use copy_files::CopyFiles;
use filebench::FilebenchRun;
pub use filebench::{FILE_SYSTEM_MIN, FILES_MAX, PERSONALITIES, Personality, PersonalityRules, Step, Work};
use hot_cold::HotCold;
use locality::Walk;
use oltp::Oltp;
pub use queues::QUEUES_MAX;
use queues::Queues;
use scatter::Scatter;
use sequential::Sequential;
use sizes::Sizes;
use space::{RequestTarget, Space};
use streams::Interleaved;
use zipf::Zipf;

/// Maximum number of slots, so that ranks are exact in an `f64`.
const SLOTS_MAX: u64 = 1 << 53;
/// Maximum total bytes of all requests, so that sums fit 64 bits.
const BYTES_MAX: u64 = i64::MAX as u64;

/// Generator of the requests of a workload.
#[derive(Clone, Debug)]
pub struct Generator {
    workload: Workload,
    requests: Requests,
    done: u64,
    total: u64,
    streams: Vec<String>,
}

/// Source of the generated requests.
#[derive(Clone, Debug)]
enum Requests {
    /// The parts of each request are drawn independently.
    Drawn(Box<RequestParts>),
    /// A simulated system produces whole requests.
    Filebench(Box<FilebenchRun>),
}

/// Generators of the parts of a request: address, operation, size and time.
#[derive(Clone, Debug)]
struct RequestParts {
    addresses: Addresses,
    sizes: Sizes,
    clock: Clock,
    /// Queues of the workload; `None` if requests arrive by `clock` alone.
    queues: Option<Queues>,
    reads: f64,
    address_rng: Rng,
    op_rng: Rng,
}

/// Returns the names of `count` streams, numbered from 1.
fn numbered(name: &str, count: usize) -> Vec<String> {
    (1..=count).map(|number| format!("{name}{number}")).collect()
}

#[derive(Clone, Debug)]
struct Addresses {
    align: u64,
    pattern: PatternState,
}

#[derive(Clone, Debug)]
enum PatternState {
    Uniform { slots: u64 },
    Zipf { zipf: Zipf, scatter: Scatter },
    HotCold(HotCold),
    Sequential(Sequential),
    Streams(Interleaved),
    CopyFiles(CopyFiles),
    Oltp(Oltp),
    Locality(Walk),
}

impl Addresses {
    /// Creates the state of a pattern at its start; [`Workload::check`] must have accepted the pattern.
    fn new(pattern: &Pattern, space: Space, sizes: &Sizes, rng: &mut Rng) -> Result<Self, TraceError> {
        let slots = space.starts();
        let pattern = match *pattern {
            Pattern::Uniform => PatternState::Uniform { slots },
            Pattern::Zipf { theta } => {
                PatternState::Zipf { zipf: Zipf::new(slots, theta), scatter: Scatter::new(slots, rng) }
            }
            Pattern::HotCold { hot_requests, hot_space, placement } => {
                PatternState::HotCold(HotCold::new(hot_requests, hot_space, placement, slots, rng))
            }
            Pattern::Sequential { streams } => PatternState::Sequential(Sequential::new(streams, space)),
            Pattern::Streams(ref streams) => PatternState::Streams(Interleaved::new(streams, space)),
            Pattern::CopyFiles { files, file_bytes } => {
                PatternState::CopyFiles(CopyFiles::new(files, file_bytes, sizes.largest(), space))
            }
            Pattern::Oltp { block_bytes, hot_blocks, hot_requests, idle_blocks } => {
                PatternState::Oltp(Oltp::new(block_bytes, [hot_blocks, idle_blocks], hot_requests, space, rng))
            }
            Pattern::Locality(rules) => PatternState::Locality(Walk::new(rules, space, rng)),
            Pattern::Filebench(_) => {
                return wrong("pattern", "Filebench does not draw single addresses");
            }
        };
        Ok(Self { align: space.align, pattern })
    }

    /// Returns the names of the pattern's streams, from 1 on.
    fn streams(&self) -> Vec<String> {
        match &self.pattern {
            PatternState::Sequential(sequential) => numbered("seq", sequential.streams()),
            PatternState::Streams(interleaved) => {
                let mut names = numbered("seq", interleaved.streams());
                names.push("random".into());
                names
            }
            PatternState::CopyFiles(copy) => numbered("file", copy.files()),
            PatternState::Uniform { .. }
            | PatternState::Zipf { .. }
            | PatternState::HotCold(_)
            | PatternState::Oltp(_)
            | PatternState::Locality(_) => Vec::new(),
        }
    }

    /// Returns the target of the next request, whose size is `bytes`.
    #[inline]
    fn next(&mut self, bytes: u32, rng: &mut Rng) -> RequestTarget {
        let slot = match &mut self.pattern {
            PatternState::Uniform { slots } => rng.below(*slots),
            PatternState::Zipf { zipf, scatter } => scatter.apply(zipf.sample(rng) - 1),
            PatternState::HotCold(hot_cold) => hot_cold.next(rng),
            PatternState::Oltp(oltp) => oltp.next(rng),
            PatternState::Locality(walk) => walk.next(rng),
            PatternState::Sequential(sequential) => return sequential.next(bytes),
            PatternState::Streams(interleaved) => return interleaved.next(bytes, rng),
            PatternState::CopyFiles(copy) => return copy.next(),
        };
        RequestTarget { offset: slot * self.align, bytes, stream: 0 }
    }
}

impl Workload {
    /// Checks that the workload can be generated. Looks at its parameters only, so time and memory are constant.
    ///
    /// # Errors
    /// The first violated rule, with the field and a valid value for it.
    pub fn check(&self) -> Result<(), TraceError> {
        if let Pattern::Filebench(filebench) = &self.pattern {
            filebench::check(filebench, self.span_bytes)?;
            return self.check_bytes(filebench.max_bio_bytes);
        }
        share("reads", self.reads)?;
        ensure!(self.align_bytes > 0, "align_bytes", "must be at least 1; set it to 4KiB");
        sizes::check(&self.sizes)?;
        let space = self.space();
        let Space { align, span, largest } = space;
        let most = write_bytes(if align <= span { span / align * align } else { span / 512 * 512 });
        let (size, all) = (write_bytes(largest), write_bytes(span));
        ensure!(largest <= span, "sizes", "{size} exceeds the span {all}; lower it to {most}");
        let why = "the span has more than 2^53 addresses; enlarge the alignment or shrink the span";
        ensure!(space.starts() <= SLOTS_MAX, "span_bytes", "{why}");
        clock::check(&self.arrival, self.requests)?;
        queues::check(&self.queues, &self.pattern, self.requests)?;
        match self.pattern {
            Pattern::Uniform | Pattern::Filebench(_) => {}
            Pattern::Zipf { theta } => {
                let (most, is_valid) = (Zipf::THETA_MAX, theta > 0.0 && theta <= Zipf::THETA_MAX);
                ensure!(is_valid, "theta", "invalid skew {theta}: must be above 0 and at most {most}; set it to 0.99");
            }
            Pattern::HotCold { hot_requests, hot_space, .. } => {
                hot_cold::check(hot_requests, hot_space, space.starts())?;
            }
            Pattern::Sequential { streams } => sequential::check(streams, space)?,
            Pattern::Streams(ref streams) => streams::check(streams, space)?,
            Pattern::CopyFiles { files, file_bytes } => {
                // The pattern writes each byte of the span at most once.
                return copy_files::check(files, file_bytes, sizes::only(&self.sizes), space);
            }
            Pattern::Oltp { block_bytes, hot_blocks, hot_requests, idle_blocks } => {
                oltp::check(block_bytes, [hot_blocks, idle_blocks], hot_requests, space)?;
            }
            Pattern::Locality(ref rules) => locality::check(rules, space)?,
        }
        self.check_bytes(largest as u32)
    }

    /// Checks that all requests, at up to `largest` bytes each, fit the counters in total.
    fn check_bytes(&self, largest: u32) -> Result<(), TraceError> {
        let most = BYTES_MAX / u64::from(largest.max(1));
        let (requests, size, total) = (self.requests, write_bytes(largest.into()), Bytes(BYTES_MAX));
        let why = format!("{requests} requests of {size} exceed the countable total of {total}; lower it to {most}");
        ensure!(requests <= most, "requests", "{why}");
        Ok(())
    }

    fn space(&self) -> Space {
        let largest = sizes::weighted(&self.sizes).max().unwrap_or(0);
        Space { align: self.align_bytes.into(), span: self.span_bytes, largest: largest.into() }
    }
}

impl Generator {
    /// Checks `workload` and creates a generator at its first request.
    pub fn new(workload: &Workload) -> Result<Self, TraceError> {
        workload.check()?;
        let mut streams = vec![String::new()];
        let (requests, total) = if let Pattern::Filebench(filebench) = &workload.pattern {
            let run = FilebenchRun::new(filebench, workload.span_bytes, workload.seed);
            streams.extend(run.streams());
            (Requests::Filebench(Box::new(run)), workload.requests)
        } else {
            let parts = RequestParts::new(workload)?;
            streams.extend(parts.streams());
            let total = parts.total(workload.requests);
            (Requests::Drawn(Box::new(parts)), total)
        };
        Ok(Self { workload: workload.clone(), requests, done: 0, total, streams })
    }

    /// Returns the stream names, indexed by [`Request::stream`]; the first is empty. Queues are `queue1` and so on,
    /// sequential streams `seq1` and so on, files `file1` and so on. Requests between sub-streams have the stream `random`. Filebench has a stream
    /// per thread, including kernel threads.
    pub fn streams(&self) -> &[String] {
        &self.streams
    }
}

impl RequestParts {
    /// Creates the generators at their start; [`Workload::check`] must have accepted the workload.
    fn new(workload: &Workload) -> Result<Self, TraceError> {
        let Workload { pattern, arrival, reads, seed, .. } = workload;
        let rng = |name| Rng::named(*seed, name);
        let sizes = Sizes::new(&workload.sizes, rng("workload.size"));
        let mut address_rng = rng("workload.address");
        let addresses = Addresses::new(pattern, workload.space(), &sizes, &mut address_rng)?;
        let reads = if let PatternState::CopyFiles(_) = addresses.pattern { 0.0 } else { *reads };
        let (clock, op_rng) = (Clock::new(arrival, rng("workload.arrival")), rng("workload.op"));
        let queues = Queues::new(&workload.queues, *seed);
        Ok(Self { addresses, sizes, clock, queues, reads, address_rng, op_rng })
    }

    /// Returns the names of the streams, from 1 on.
    fn streams(&self) -> Vec<String> {
        self.queues.as_ref().map_or_else(|| self.addresses.streams(), |queues| numbered("queue", queues.count()))
    }

    /// Returns the number of requests that are generated if `asked` requests are requested.
    fn total(&self, asked: u64) -> u64 {
        match &self.addresses.pattern {
            PatternState::CopyFiles(copy) => copy.requests().min(asked),
            _ => asked,
        }
    }

    /// Appends the requests with the given indices.
    fn fill(&mut self, out: &mut Vec<Request>, indices: Range<u64>) {
        let pure = self.queues.is_none() && (self.reads <= 0.0 || self.reads >= 1.0);
        match (&self.addresses.pattern, self.sizes.only(), &self.clock) {
            // Fast path for the common case in which only addresses are random: a loop without branches, with the
            // random generator in registers.
            (&PatternState::Uniform { slots }, Some(bytes), Clock::Closed) if pure => {
                let op = if self.reads >= 1.0 { Op::Read } else { Op::Write };
                let (align, mut rng) = (self.addresses.align, self.address_rng.clone());
                out.extend(indices.map(|_| {
                    let offset = rng.below(slots) * align;
                    Request { time_ns: 0, offset, bytes, op, flags: 0, stream: 0 }
                }));
                self.address_rng = rng;
            }
            _ => out.extend(indices.map(|index| self.next(index))),
        }
    }

    /// Generates the request with number `index`.
    #[inline]
    fn next(&mut self, index: u64) -> Request {
        let bytes = self.sizes.draw();
        let RequestTarget { offset, bytes, stream } = self.addresses.next(bytes, &mut self.address_rng);
        let (time_ns, reads, stream) = match &mut self.queues {
            Some(queues) => queues.next(),
            None => (self.clock.tick(index), self.reads, stream),
        };
        // The random state is used only if needed; studies mostly have only reads or only writes.
        let reads = reads >= 1.0 || (reads > 0.0 && self.op_rng.unit() < reads);
        let op = if reads { Op::Read } else { Op::Write };
        Request { time_ns, offset, bytes, op, flags: 0, stream }
    }
}

impl Source for Generator {
    fn prepare(&mut self) -> Result<bool, TraceError> {
        match &mut self.requests {
            Requests::Drawn(_) => Ok(false),
            Requests::Filebench(run) => run.prepare(),
        }
    }

    fn fill(&mut self, out: &mut Vec<Request>, max: usize) -> Result<usize, TraceError> {
        let count = usize::try_from(self.total - self.done).unwrap_or(max).min(max);
        let indices = self.done..self.done + count as u64;
        match &mut self.requests {
            Requests::Drawn(parts) => parts.fill(out, indices),
            Requests::Filebench(run) => {
                for _ in indices {
                    out.push(run.next()?);
                }
            }
        }
        self.done += count as u64;
        Ok(count)
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
    use super::*;
    use crate::testing::{generate, refusal, workload};
    use crate::{Arrival, Locality, Placement, Streams};

    fn arriving(pattern: Pattern, arrival: Arrival) -> Workload {
        Workload { arrival, ..workload(pattern) }
    }

    fn patterns() -> [Pattern; 8] {
        [
            Pattern::Uniform,
            Pattern::Zipf { theta: 0.99 },
            Pattern::HotCold { hot_requests: 0.9, hot_space: 0.1, placement: Placement::Together },
            Pattern::Sequential { streams: 3 },
            Pattern::HotCold { hot_requests: 0.9, hot_space: 0.1, placement: Placement::Scattered },
            Pattern::Streams(Streams {
                streams: 3,
                length: 20,
                sequential: 0.4,
                block_bytes: 1 << 18,
                sub_block_bytes: 1 << 15,
                block_headers: 0.2,
                sub_block_headers: 0.2,
                shuffle: 0.5,
                random_headers: false,
            }),
            Pattern::Oltp { block_bytes: 1 << 17, hot_blocks: 0.02, hot_requests: 0.6, idle_blocks: 0.2 },
            Pattern::Locality(Locality {
                jump: 0.1,
                advance: 0.5,
                back: 0.5,
                decay: 0.9,
                runs: 20,
                spread: 2.0,
                heads: 10,
                region_bytes: 1 << 20,
                stretches: 3,
            }),
        ]
    }

    #[test]
    fn every_pattern_repeats_by_seed() {
        for pattern in patterns() {
            let workload = arriving(pattern, Arrival::Poisson { per_second: 1e5 });
            let requests = generate(&workload);
            assert_eq!(requests.len(), 100_000);
            assert!(requests.is_sorted_by_key(|r| r.time_ns));
            assert_eq!(requests, generate(&workload));
            assert_ne!(requests, generate(&Workload { seed: 43, ..workload }));
        }
    }

    #[test]
    fn shares_of_reads_and_sizes_are_kept() {
        let requests = generate(&workload(Pattern::Uniform));
        let share = |test: &dyn Fn(&Request) -> bool| requests.iter().filter(|r| test(r)).count() as f64 / 1e5;
        // The standard deviation is below 0.0016; the bound is six times that.
        assert!((share(&|r| r.op == Op::Read) - 0.3).abs() < 0.01);
        assert!((share(&|r| r.bytes == 4096) - 0.75).abs() < 0.01);
    }

    /// Published results name a seed, so the requests of a seed must never change.
    #[test]
    fn requests_of_a_seed_stay_the_same() {
        let fold = |hash: u64, value: u64| (hash ^ value).wrapping_mul(0x0000_0100_0000_01B3);
        let hash = |pattern| {
            generate(&arriving(pattern, Arrival::Poisson { per_second: 1e5 })).iter().fold(0, |hash, r| {
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
        assert_eq!(patterns().map(hash), known);
    }

    #[test]
    fn changing_the_arrivals_does_not_change_the_addresses() {
        let addresses =
            |arrival| generate(&arriving(Pattern::Uniform, arrival)).iter().map(|r| r.offset).collect::<Vec<_>>();
        assert_eq!(addresses(Arrival::Closed), addresses(Arrival::Poisson { per_second: 10.0 }));
    }

    #[test]
    fn arrivals_follow_their_process() {
        let times =
            |arrival| generate(&arriving(Pattern::Uniform, arrival)).iter().map(|r| r.time_ns).collect::<Vec<_>>();
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
        let mut workload = workload(Pattern::Sequential { streams: 2 });
        workload.sizes = vec![(4096, 1.0)];
        workload.span_bytes = 4 * 4096 + 100;
        workload.requests = 6;
        let got: Vec<(u64, u16)> = generate(&workload).iter().map(|r| (r.offset / 4096, r.stream)).collect();
        assert_eq!(got, [(0, 1), (2, 2), (1, 1), (3, 2), (0, 1), (2, 2)]);
    }

    #[test]
    fn impossible_workloads_are_rejected_with_a_remedy() {
        let good = || workload(Pattern::Uniform);
        let text = refusal(&Workload { span_bytes: 8192, ..good() });
        assert_eq!(text, "workload sizes: 16KiB exceeds the span 8KiB; lower it to 8KiB");
        assert!(refusal(&Workload { reads: 1.5, ..good() }).contains("from 0 to 1"));
        assert!(refusal(&Workload { sizes: vec![], ..good() }).contains("at least one"));
        assert!(refusal(&Workload { sizes: vec![(0, 1.0)], ..good() }).contains("at least 1 byte"));
        assert!(refusal(&Workload { align_bytes: 0, ..good() }).contains("align_bytes"));
        assert!(refusal(&workload(Pattern::Zipf { theta: f64::NAN })).contains("0.99"));
        assert!(refusal(&workload(Pattern::Sequential { streams: 0 })).contains("raise it to 1"));
        assert!(refusal(&workload(Pattern::Sequential { streams: 9999 })).contains("streams: 9999 streams share"));
        assert!(refusal(&arriving(Pattern::Uniform, Arrival::Fixed { per_second: 0.0 })).contains("positive rate"));
        assert!(refusal(&arriving(Pattern::Uniform, Arrival::Poisson { per_second: 1e-9 })).contains("285 years"));
        let all_hot = Pattern::HotCold { hot_requests: 0.5, hot_space: 1.0, placement: Placement::Together };
        assert!(refusal(&workload(all_hot)).contains("leaves no cold address"));
    }
}
