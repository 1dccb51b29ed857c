//! Synthetic requests from a [`Workload`], streamed.
//!
//! Addresses are drawn among the slots of `align_bytes` from which the largest request still fits into
//! the span. Address, operation, size and gap each come from a random stream of their own, so changing one
//! part of a workload leaves the others' draws alone; the same workload gives the same requests everywhere.

use ssdlab_core::Rng;

use crate::zipf::{Scatter, Zipf};
use crate::{Arrival, Op, Pattern, Progress, Request, Source, TraceError, Workload};

/// Most slots: ranks stay exact in an `f64`.
const SLOTS_MAX: u64 = 1 << 53;
/// Most sequential streams: each is a [`Request::stream`].
const STREAMS_MAX: u32 = 65_535;
/// Longest duration in ns: half of what 64 bits hold, so that random gaps cannot pass it.
const DURATION_MAX_NS: f64 = 9.0e18;

/// Generates the requests of a workload.
#[derive(Clone, Debug)]
pub struct Generator {
    addresses: Addresses,
    sizes: Sizes,
    clock: Clock,
    reads: f64,
    align: u64,
    done: u64,
    total: u64,
    streams: Vec<String>,
    address_rng: Rng,
    op_rng: Rng,
}

#[derive(Clone, Debug)]
enum Addresses {
    Uniform { slots: u64 },
    Zipf { zipf: Zipf, scatter: Scatter },
    HotCold { hot_requests: f64, hot_slots: u64, cold_slots: u64 },
    Sequential { stretch: u64, cursors: Vec<u64>, turn: usize },
}

/// Sizes with the sum of the weights up to and including each.
#[derive(Clone, Debug)]
struct Sizes {
    steps: Vec<(f64, u32)>,
    rng: Rng,
}

impl Sizes {
    fn draw(&mut self) -> u32 {
        let (total, last) = self.steps[self.steps.len() - 1];
        if self.steps.len() == 1 {
            return last;
        }
        let point = self.rng.unit() * total;
        self.steps.iter().find(|(until, _)| point < *until).map_or(last, |(_, size)| *size)
    }
}

/// Arrival times; the first request comes at 0.
#[derive(Clone, Debug)]
enum Clock {
    Closed,
    Fixed { gap_ns: f64 },
    Poisson { gap_ns: f64, now_ns: u64, fraction: f64, rng: Rng },
}

impl Clock {
    /// Time of request number `index`; to be called once for each, in order.
    fn tick(&mut self, index: u64) -> u64 {
        match self {
            Self::Closed => 0,
            Self::Fixed { gap_ns } => libm::round(index as f64 * *gap_ns) as u64,
            Self::Poisson { gap_ns, now_ns, fraction, rng } => {
                let now = *now_ns;
                // Whole ns and the rest apart, so that long runs stay exact.
                *fraction -= libm::log(1.0 - rng.unit()) * *gap_ns;
                let whole = libm::floor(*fraction);
                *now_ns = now_ns.saturating_add(whole as u64);
                *fraction -= whole;
                now
            }
        }
    }
}

fn wrong<T>(field: &'static str, why: impl Into<String>) -> Result<T, TraceError> {
    Err(TraceError::Workload { field, why: why.into() })
}

fn share(field: &'static str, value: f64) -> Result<(), TraceError> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    wrong(field, format!("{value} is not a share; write a number from 0 to 1"))
}

impl Generator {
    /// Checks `workload` and starts at its first request.
    pub fn new(workload: &Workload) -> Result<Self, TraceError> {
        let Workload { pattern, arrival, requests, reads, sizes, align_bytes, span_bytes, seed } = workload;
        let rng = |name| Rng::named(*seed, name);
        share("reads", *reads)?;
        if *align_bytes == 0 {
            return wrong(
                "align_bytes",
                "0 aligns nothing; write the smallest distance of two addresses, such as 4KiB",
            );
        }
        let align = u64::from(*align_bytes);
        let (sizes, largest) = checked_sizes(sizes, rng("workload.size"))?;
        if u64::from(largest) > *span_bytes {
            let why =
                format!("{span_bytes} bytes do not hold the largest request of {largest}; enlarge it or shrink sizes");
            return wrong("span_bytes", why);
        }
        let slots = (span_bytes - u64::from(largest)) / align + 1;
        if slots > SLOTS_MAX {
            return wrong("span_bytes", "more than 2^53 addresses; enlarge align_bytes or shrink the span");
        }
        let mut address_rng = rng("workload.address");
        let mut streams = vec![String::new()];
        let addresses = match pattern {
            Pattern::Uniform => Addresses::Uniform { slots },
            Pattern::Zipf { theta } => {
                if !(*theta > 0.0 && *theta <= Zipf::THETA_MAX) {
                    let why = format!(
                        "{theta} is no skew; write a number above 0 and at most {}, such as 0.99",
                        Zipf::THETA_MAX
                    );
                    return wrong("theta", why);
                }
                Addresses::Zipf { zipf: Zipf::new(slots, *theta), scatter: Scatter::new(slots, &mut address_rng) }
            }
            Pattern::HotCold { hot_requests, hot_space } => hot_cold(*hot_requests, *hot_space, slots)?,
            Pattern::Sequential { streams: count } => {
                if !(1..=STREAMS_MAX).contains(count) {
                    return wrong("streams", format!("{count} is out of range; write 1 to {STREAMS_MAX}"));
                }
                let stretch = span_bytes / u64::from(*count) / align * align;
                if stretch < u64::from(largest) {
                    let why = format!(
                        "{count} streams share {span_bytes} bytes, {stretch} each, less than the largest request of {largest}; \
                         use fewer streams or a larger span"
                    );
                    return wrong("streams", why);
                }
                streams.extend((1..=*count).map(|stream| format!("seq{stream}")));
                Addresses::Sequential { stretch, cursors: vec![0; *count as usize], turn: 0 }
            }
        };
        Ok(Self {
            addresses,
            sizes,
            clock: checked_clock(arrival, *requests, rng("workload.arrival"))?,
            reads: *reads,
            align,
            done: 0,
            total: *requests,
            streams,
            address_rng,
            op_rng: rng("workload.op"),
        })
    }

    /// Names by [`Request::stream`]: the first is empty, `seq1` and on are the sequential streams.
    pub fn streams(&self) -> &[String] {
        &self.streams
    }

    fn next(&mut self) -> Request {
        let bytes = self.sizes.draw();
        let rng = &mut self.address_rng;
        let mut stream = 0;
        let offset = match &mut self.addresses {
            Addresses::Uniform { slots } => rng.below(*slots) * self.align,
            Addresses::Zipf { zipf, scatter } => scatter.apply(zipf.sample(rng) - 1) * self.align,
            Addresses::HotCold { hot_requests, hot_slots, cold_slots } => {
                let hot = rng.unit() < *hot_requests;
                let slot = if hot { rng.below(*hot_slots) } else { *hot_slots + rng.below(*cold_slots) };
                slot * self.align
            }
            Addresses::Sequential { stretch, cursors, turn } => {
                let index = *turn;
                *turn = (index + 1) % cursors.len();
                stream = index as u16 + 1;
                let cursor = &mut cursors[index];
                if *cursor + u64::from(bytes) > *stretch {
                    *cursor = 0;
                }
                let offset = index as u64 * *stretch + *cursor;
                *cursor += u64::from(bytes).next_multiple_of(self.align);
                offset
            }
        };
        // Drawn only if it decides anything: a pure workload is the common case of write studies.
        let reads = self.reads >= 1.0 || (self.reads > 0.0 && self.op_rng.unit() < self.reads);
        let op = if reads { Op::Read } else { Op::Write };
        let time_ns = self.clock.tick(self.done);
        self.done += 1;
        Request { time_ns, offset, bytes, op, flags: 0, stream }
    }
}

fn checked_sizes(sizes: &[(u32, f64)], rng: Rng) -> Result<(Sizes, u32), TraceError> {
    let mut steps = Vec::with_capacity(sizes.len());
    let mut total = 0.0;
    for &(size, weight) in sizes {
        if size == 0 {
            return wrong("sizes", "0 bytes is no request; remove that size");
        }
        if !(weight.is_finite() && weight >= 0.0) {
            return wrong("sizes", format!("weight {weight} of {size} bytes is not a number from 0 up"));
        }
        if weight > 0.0 {
            total += weight;
            steps.push((total, size));
        }
    }
    match steps.iter().map(|(_, size)| *size).max() {
        Some(largest) if total.is_finite() => Ok((Sizes { steps, rng }, largest)),
        Some(_) => wrong("sizes", "the weights add up to infinity; scale them down"),
        None => wrong("sizes", "no size has a weight above 0; write at least one, such as 4KiB with weight 1"),
    }
}

fn checked_clock(arrival: &Arrival, requests: u64, rng: Rng) -> Result<Clock, TraceError> {
    let gap_ns = |per_second: f64| {
        let gap_ns = 1e9 / per_second;
        if !(per_second.is_finite() && per_second > 0.0) {
            return wrong("per_second", format!("{per_second} is no rate; write a number above 0"));
        }
        if gap_ns * requests as f64 > DURATION_MAX_NS {
            return wrong(
                "per_second",
                format!("{requests} requests at {per_second} a second last over 285 years; raise it"),
            );
        }
        Ok(gap_ns)
    };
    Ok(match *arrival {
        Arrival::Closed => Clock::Closed,
        Arrival::Fixed { per_second } => Clock::Fixed { gap_ns: gap_ns(per_second)? },
        Arrival::Poisson { per_second } => {
            Clock::Poisson { gap_ns: gap_ns(per_second)?, now_ns: 0, fraction: 0.0, rng }
        }
    })
}

/// The hot part is the first `hot_space` of the slots, the cold part the rest.
fn hot_cold(hot_requests: f64, hot_space: f64, slots: u64) -> Result<Addresses, TraceError> {
    share("hot_requests", hot_requests)?;
    share("hot_space", hot_space)?;
    let hot_slots = (libm::round(slots as f64 * hot_space) as u64).min(slots);
    let cold_slots = slots - hot_slots;
    if (hot_slots == 0 && hot_requests > 0.0) || (cold_slots == 0 && hot_requests < 1.0) {
        let part = if hot_slots == 0 { "hot" } else { "cold" };
        let why = format!("{hot_space} of {slots} addresses leaves none {part}; change it or enlarge the span");
        return wrong("hot_space", why);
    }
    Ok(Addresses::HotCold { hot_requests, hot_slots, cold_slots })
}

impl Source for Generator {
    fn fill(&mut self, out: &mut Vec<Request>, max: usize) -> Result<usize, TraceError> {
        let count = usize::try_from(self.total - self.done).unwrap_or(max).min(max);
        out.extend((0..count).map(|_| self.next()));
        Ok(count)
    }

    fn progress(&self) -> Progress {
        Progress { done: self.done, total: Some(self.total) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(pattern: Pattern, arrival: Arrival) -> Workload {
        Workload {
            pattern,
            arrival,
            requests: 100_000,
            reads: 0.3,
            sizes: vec![(4096, 3.0), (16384, 1.0)],
            align_bytes: 4096,
            span_bytes: 64 << 20,
            seed: 42,
        }
    }

    fn generate(workload: &Workload) -> Vec<Request> {
        let mut generator = Generator::new(workload).unwrap();
        let mut out = Vec::new();
        while generator.fill(&mut out, 777).unwrap() > 0 {}
        assert_eq!(generator.progress().done, workload.requests);
        out
    }

    fn patterns() -> [Pattern; 4] {
        [
            Pattern::Uniform,
            Pattern::Zipf { theta: 0.99 },
            Pattern::HotCold { hot_requests: 0.9, hot_space: 0.1 },
            Pattern::Sequential { streams: 3 },
        ]
    }

    #[test]
    fn every_pattern_stays_in_the_span_aligned_and_repeats_by_seed() {
        for pattern in patterns() {
            let workload = workload(pattern, Arrival::Poisson { per_second: 1e5 });
            let requests = generate(&workload);
            assert_eq!(requests.len(), 100_000);
            assert!(requests.iter().all(|r| r.end() <= workload.span_bytes && r.offset.is_multiple_of(4096)));
            assert!(requests.is_sorted_by_key(|r| r.time_ns));
            assert_eq!(requests, generate(&workload));
            assert_ne!(requests, generate(&Workload { seed: 43, ..workload }));
        }
    }

    #[test]
    fn shares_of_reads_and_sizes_are_kept() {
        let requests = generate(&workload(Pattern::Uniform, Arrival::Closed));
        let share = |test: &dyn Fn(&Request) -> bool| requests.iter().filter(|r| test(r)).count() as f64 / 1e5;
        // Standard deviation below 0.0016: six sigma.
        assert!((share(&|r| r.op == Op::Read) - 0.3).abs() < 0.01);
        assert!((share(&|r| r.bytes == 4096) - 0.75).abs() < 0.01);
    }

    #[test]
    fn changing_the_arrivals_leaves_the_addresses_alone() {
        let addresses =
            |arrival| generate(&workload(Pattern::Uniform, arrival)).iter().map(|r| r.offset).collect::<Vec<_>>();
        assert_eq!(addresses(Arrival::Closed), addresses(Arrival::Poisson { per_second: 10.0 }));
    }

    #[test]
    fn arrivals_follow_their_process() {
        let times =
            |arrival| generate(&workload(Pattern::Uniform, arrival)).iter().map(|r| r.time_ns).collect::<Vec<_>>();
        assert!(times(Arrival::Closed).iter().all(|&t| t == 0));
        let fixed = times(Arrival::Fixed { per_second: 3.0 });
        assert_eq!(fixed[..4], [0, 333_333_333, 666_666_667, 1_000_000_000]);
        let poisson = times(Arrival::Poisson { per_second: 1000.0 });
        let gaps: Vec<f64> = poisson.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean / 1e6 - 1.0).abs() < 0.02, "mean {mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.03, "an exponential law's deviation is its mean");
    }

    #[test]
    fn hot_requests_go_to_the_hot_space() {
        let pattern = Pattern::HotCold { hot_requests: 0.8, hot_space: 0.2 };
        let requests = generate(&workload(pattern, Arrival::Closed));
        let limit = (64 << 20) / 5;
        let hot = requests.iter().filter(|r| r.offset < limit).count() as f64 / 1e5;
        assert!((hot - 0.8).abs() < 0.01, "{hot}");
    }

    #[test]
    fn sequential_streams_take_turns_through_their_stretches() {
        let mut workload = workload(Pattern::Sequential { streams: 2 }, Arrival::Closed);
        workload.sizes = vec![(4096, 1.0)];
        workload.span_bytes = 4 * 4096 + 100;
        workload.requests = 6;
        let got: Vec<(u64, u16)> = generate(&workload).iter().map(|r| (r.offset / 4096, r.stream)).collect();
        assert_eq!(got, [(0, 1), (2, 2), (1, 1), (3, 2), (0, 1), (2, 2)]);
    }

    #[test]
    fn impossible_workloads_are_refused_with_a_remedy() {
        let good = || workload(Pattern::Uniform, Arrival::Closed);
        let error = |workload: Workload| Generator::new(&workload).unwrap_err().to_string();
        let text = error(Workload { span_bytes: 8192, ..good() });
        assert_eq!(
            text,
            "workload span_bytes: 8192 bytes do not hold the largest request of 16384; enlarge it or shrink sizes"
        );
        assert!(error(Workload { reads: 1.5, ..good() }).contains("from 0 to 1"));
        assert!(error(Workload { sizes: vec![], ..good() }).contains("at least one"));
        assert!(error(Workload { sizes: vec![(0, 1.0)], ..good() }).contains("0 bytes"));
        assert!(error(Workload { align_bytes: 0, ..good() }).contains("align_bytes"));
        assert!(error(workload(Pattern::Zipf { theta: f64::NAN }, Arrival::Closed)).contains("0.99"));
        assert!(error(workload(Pattern::Sequential { streams: 0 }, Arrival::Closed)).contains("1 to 65535"));
        assert!(error(workload(Pattern::Sequential { streams: 9999 }, Arrival::Closed)).contains("fewer streams"));
        assert!(error(workload(Pattern::Uniform, Arrival::Fixed { per_second: 0.0 })).contains("above 0"));
        assert!(error(workload(Pattern::Uniform, Arrival::Poisson { per_second: 1e-9 })).contains("285 years"));
        let all_hot = Pattern::HotCold { hot_requests: 0.5, hot_space: 1.0 };
        assert!(error(workload(all_hot, Arrival::Closed)).contains("leaves none cold"));
    }
}
