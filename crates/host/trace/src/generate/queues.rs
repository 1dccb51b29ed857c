//! Several queues, each with its own arrival process and share of reads.

use ssdlab_core::Rng;

use super::check::{ensure, share};
use super::clock::{Clock, DURATION_MAX_NS, check_rate};
use crate::{Queue, TraceError, Workload};

/// Maximum number of queues of a workload.
pub const QUEUES_MAX: usize = 16;

pub(super) fn check(workload: &Workload) -> Result<(), TraceError> {
    let Workload { queues, requests, .. } = workload;
    let count = queues.len();
    let why = format!("{count} queues exceed the maximum of {QUEUES_MAX}; use {QUEUES_MAX} or fewer");
    ensure!(count <= QUEUES_MAX, "queues", "{why}");
    let mut all_per_second = 0.0;
    for queue in queues {
        let per_second = queue.arrival.per_second().unwrap_or_default();
        check_rate("queues", per_second)?;
        share("queues", queue.reads)?;
        all_per_second += per_second;
    }
    if !queues.is_empty() {
        let most = libm::floor(DURATION_MAX_NS / 1e9 * all_per_second) as u64;
        let why = format!(
            "the number of requests {requests} is too large: at {all_per_second}/s, they take more than 285 years; \
             lower it to {most}"
        );
        ensure!(*requests <= most, "requests", "{why}");
        let why = "the queue setting needs a pattern without its own streams; set it to \"none\"";
        ensure!(!workload.has_streams(), "queues", "{why}");
    }
    Ok(())
}

/// State of one queue: its arrival times, its progress and its share of reads.
#[derive(Clone, Debug)]
struct QueueState {
    clock: Clock,
    /// Arrival time of the queue's next request.
    next_ns: u64,
    /// Number of requests that the queue has sent.
    sent: u64,
    reads: f64,
}

/// Merges the requests of several queues by arrival time. At equal times, the queue with the lower number comes first.
#[derive(Clone, Debug)]
pub(super) struct Queues(Vec<QueueState>);

impl Queues {
    /// Creates the queues in their initial state; `None` if the workload has no queues.
    pub fn new(queues: &[Queue], seed: u64) -> Option<Self> {
        let start = |(number, queue): (usize, &Queue)| {
            let mut clock = Clock::new(&queue.arrival, Rng::named(seed, &format!("workload.queue{}", number + 1)));
            QueueState { next_ns: clock.tick(0), clock, sent: 0, reads: queue.reads }
        };
        (!queues.is_empty()).then(|| Self(queues.iter().enumerate().map(start).collect()))
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the arrival time of the next request, with the share of reads and the stream number of its queue.
    pub fn next(&mut self) -> (u64, f64, u16) {
        let next = self.0.iter_mut().enumerate().min_by_key(|(_, queue)| queue.next_ns);
        let (number, queue) = next.expect("a workload with queues has at least one queue");
        let time_ns = queue.next_ns;
        queue.sent += 1;
        queue.next_ns = queue.clock.tick(queue.sent);
        (time_ns, queue.reads, number as u16 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{generate, refusal, workload};
    use crate::{Arrival, Generator, Op, PATTERNS, Pattern};

    const FIXED: Queue = Queue { arrival: Arrival::Fixed { per_second: 10_000.0 }, reads: 0.5 };
    const POISSON: Queue = Queue { arrival: Arrival::Poisson { per_second: 15_000.0 }, reads: 0.01 };

    fn with(queues: &[Queue]) -> Workload {
        Workload { queues: queues.to_vec(), ..workload("uniform", &[]) }
    }

    /// The rate and the share of reads of each queue are within three standard deviations of the settings.
    #[test]
    fn queues_keep_their_rates_and_mixes() {
        let probe = [&[FIXED][..], &[POISSON; 6]].concat();
        let requests = generate(&with(&probe));
        assert!(requests.is_sorted_by_key(|request| request.time_ns));
        let seconds = requests.last().expect("requests").time_ns as f64 / 1e9;
        for (stream, queue) in (1..).zip(&probe) {
            let of_queue: Vec<_> = requests.iter().filter(|request| request.stream == stream).collect();
            let count = of_queue.len() as f64;
            let reads = of_queue.iter().filter(|request| request.op == Op::Read).count() as f64;
            // 100,000 requests at 10,000 + 6 x 15,000 a second take one second.
            let rate = queue.arrival.per_second().expect("a rate");
            let spread = if queue == &FIXED { 1.0 } else { (rate * seconds).sqrt() };
            assert!((count - rate * seconds).abs() <= 3.0 * spread, "queue {stream}: {count} in {seconds} s");
            let spread = (count * queue.reads * (1.0 - queue.reads)).sqrt();
            assert!((reads - count * queue.reads).abs() <= 3.0 * spread, "queue {stream}: {reads} of {count}");
        }
    }

    #[test]
    fn requests_are_merged_by_time() {
        let at = |per_second| Queue { arrival: Arrival::Fixed { per_second }, reads: 0.0 };
        let requests = generate(&Workload { requests: 6, ..with(&[at(1_000.0), at(500.0)]) });
        let times: Vec<(u64, u16)> =
            requests.iter().map(|request| (request.time_ns / 1_000_000, request.stream)).collect();
        assert_eq!(times, [(0, 1), (0, 2), (1, 1), (2, 1), (2, 2), (3, 1)]);
    }

    #[test]
    fn queues_are_streams_with_names() {
        let generator = Generator::new(&with(&[FIXED, POISSON])).expect("a workload");
        assert_eq!(generator.streams(), ["", "queue1", "queue2"]);
    }

    /// The rate of one queue does not change the requests of another.
    #[test]
    fn queues_are_independent() {
        let fast = Queue { arrival: Arrival::Poisson { per_second: 30_000.0 }, reads: 0.01 };
        let times = |queues: &[Queue]| {
            let requests = generate(&with(queues));
            requests
                .iter()
                .filter(|request| request.stream == 1)
                .map(|request| request.time_ns)
                .take(1_000)
                .collect::<Vec<_>>()
        };
        assert_eq!(times(&[POISSON, POISSON]), times(&[POISSON, fast]));
    }

    #[test]
    fn impossible_queues_are_rejected() {
        let at = |per_second| Queue { arrival: Arrival::Fixed { per_second }, reads: 0.5 };
        assert!(refusal(&with(&[at(0.0)])).contains("queues: the rate 0/s is not above 0"));
        assert!(refusal(&with(&[Queue { reads: 1.5, ..FIXED }])).contains("queues: the share 1.5 must be"));
        assert!(
            refusal(&with(&[Queue { arrival: Arrival::Closed, ..FIXED }]))
                .contains("queues: the rate 0/s is not above 0")
        );
        assert!(refusal(&with(&[FIXED; 17])).contains("queues: 17 queues exceed the maximum of 16; use 16 or fewer"));
        for info in PATTERNS.iter() {
            let has_streams = ["sequential", "streams", "copy_files"].contains(&info.name);
            let pattern = Pattern::named(info.name, &[]).expect("registered");
            let refused = refusal(&Workload { pattern, ..with(&[FIXED]) });
            assert_eq!(refused.contains("queues: the queue setting needs a pattern"), has_streams, "{refused}");
        }
        // Ten billion requests take over 285 years at 1.1 requests per second, but less at two requests per second.
        let slow = |rate| Workload { requests: 10_000_000_000, ..with(&[at(1.0), at(rate)]) };
        assert!(refusal(&slow(0.1)).contains("285 years"), "{}", refusal(&slow(0.1)));
        assert_eq!(refusal(&slow(1.0)), "");
    }
}
