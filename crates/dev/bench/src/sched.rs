//! Measures the cost per decision of each I/O scheduler.

use std::time::Instant;

use ssdlab_core::Rng;
use ssdlab_sched::{
    Bio, Device, Direction, Flags, IoScheduler, Priority, RequestId, Requests, SCHEDULERS, SchedulerInfo,
};

use crate::{Scale, head, machine};

/// Number of queued requests during the measurement.
const QUEUED: usize = 256;
/// Maximum number of decisions per timed batch. Single decisions are not timed, because reading the clock takes as long
/// as a decision.
const BATCH: usize = 32;
const SECTORS: u64 = 60 << 21;

/// Prints each scheduler's time per decision in nanoseconds.
pub fn report(scale: Scale) {
    let rounds = scale.pick(20, 20_000);
    println!("## I/O schedulers: {QUEUED} queued requests of 16 processes, 70 % reads, uniformly random\n");
    head("scheduler | ns per decision, median | ns per request, median | result hash");
    for info in SCHEDULERS.iter() {
        let row = Bench::new(info).run(rounds);
        println!("| {} | {:.0} | {:.0} | {:08x} |", info.name, row.decision, row.request, machine::hash(&row.order));
    }
}

/// Measured times in nanoseconds, each the median of several batches.
struct Row {
    /// Time per call of `dispatch`, including the time to read the clock and the calls that return no request.
    decision: f64,
    /// Total time per request: allocation, insertion, dispatch and completion.
    request: f64,
    /// Checksum of the dispatch order.
    order: String,
}

/// Scheduler with queued requests, and a device that completes each batch before the next one starts.
struct Bench {
    scheduler: Box<dyn IoScheduler>,
    requests: Requests,
    rng: Rng,
    now: u64,
}

impl Bench {
    fn new(info: &SchedulerInfo) -> Self {
        let device = Device { sectors: SECTORS, rotational: false, nr_requests: 1024, queues: 1 };
        let scheduler = ssdlab_sched::build_scheduler(info, &[], &device).expect("defaults are valid");
        let mut bench = Self { scheduler, requests: Requests::default(), rng: Rng::named(1, "schedulers"), now: 0 };
        bench.insert(QUEUED + BATCH);
        bench
    }

    fn insert(&mut self, count: usize) {
        for _ in 0..count {
            let direction = if self.rng.below(10) < 7 { Direction::Read } else { Direction::Write };
            let (start, pid) = (8 * self.rng.below(SECTORS / 8), self.rng.below(16) as u32);
            let (flags, priority) = (Flags::NONE, Priority::default());
            let bio = Bio { start, sectors: 8, direction, flags, pid, priority, owner: 0 };
            let id = self.requests.allocate(bio, 1, 0, self.now);
            self.scheduler.insert(&self.requests[id], &self.requests, self.now);
        }
    }

    /// Dispatches requests until the batch is full or the scheduler returns no request. Returns the number of
    /// decisions, including a final decision that dispatched nothing.
    fn dispatch(&mut self, ids: &mut Vec<RequestId>) -> usize {
        while ids.len() < BATCH {
            let Some(id) = self.scheduler.dispatch(0, &self.requests, self.now, false) else { return ids.len() + 1 };
            ids.push(id);
        }
        ids.len()
    }

    fn run(mut self, rounds: usize) -> Row {
        let (mut decision_ns, mut request_ns) = (Vec::new(), Vec::new());
        let (mut ids, mut order) = (Vec::new(), 0_u64);
        while decision_ns.len() < rounds {
            ids.clear();
            let began = Instant::now();
            let decisions = self.dispatch(&mut ids);
            let dispatched = began.elapsed();
            self.now += 100_000;
            for &id in &ids {
                let rq = self.requests.free(id);
                order = order.wrapping_mul(31).wrapping_add(rq.start);
                self.scheduler.completed(rq, self.now);
            }
            self.insert(ids.len());
            let total = began.elapsed();
            if ids.is_empty() {
                self.now = self.scheduler.timer_ns().unwrap_or(self.now).max(self.now);
                self.scheduler.on_timer(self.now);
            } else {
                decision_ns.push(dispatched.as_nanos() as f64 / decisions as f64);
                request_ns.push(total.as_nanos() as f64 / ids.len() as f64);
            }
        }
        Row { decision: median(decision_ns), request: median(request_ns), order: order.to_string() }
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
