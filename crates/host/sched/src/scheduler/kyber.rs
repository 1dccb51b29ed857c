//! `kyber`: domains for reads, writes and discards, each with a limit on requests at the device that adapts to measured
//! latencies (block/kyber-iosched.c of Linux 6).
//!
//! Domains take turns in batches; requests of a domain are served first in, first out. Latencies are evaluated 100 ms
//! after a completion. The device is congested if the 90th percentile of some domain's device time exceeds its target.
//! A domain's limit is then scaled by the bucket of the 99th percentile of its total latency. Without congestion, only
//! domains whose own 99th percentile is too high are scaled.
//!
//! Histograms have eight buckets, each a quarter of the target wide. They are evaluated with 500 samples, or after a
//! second with fewer samples. Requests wait in a list per CPU, in which a bio may merge with one of the eight latest
//! requests. When the queue of a domain is empty and a token is free, the domain's requests in the lists of all CPUs
//! move to this queue, CPU by CPU.
//!
//! Each hardware queue has its own domains and takes turns among them; tokens, latencies and limits are shared by the
//! whole device.

use ssdlab_core::{Parameter, Settings, Unit};

use super::jiffies::Jiffies;
use super::lists::Fifo;
use super::none::CHECKED;
use super::tokens::Tokens;
use super::{IoScheduler, MergeIndex, SchedulerInfo, SchedulerRules};
use crate::MS;
use crate::bio::{Bio, Direction, Flags};
use crate::layer::BlockLayerKind;
use crate::request::{Request, RequestId, Requests};

use rustc_hash::FxHashMap;

pub(super) static INFO: SchedulerInfo = SchedulerInfo {
    name: "kyber",
    help: "limits reads and writes in flight according to measured latencies; Linux 6",
    source: "Linux 6, block/kyber-iosched.c",
    parameters: &[
        Parameter::new("read_lat_nsec", Unit::Nanos, 2_000_000, [8, 60_000_000_000], "Latency target of reads."),
        Parameter::new("write_lat_nsec", Unit::Nanos, 10_000_000, [8, 60_000_000_000], "Latency target of writes."),
    ],
    role: SchedulerRules {
        merge_index: MergeIndex::Latest,
        by_queue: true,
        by_sync: true,
        ..SchedulerRules::new(BlockLayerKind::MultiQueue, &|settings, device| {
            Ok(Box::new(Kyber::new(settings, device.queues)))
        })
    },
};

/// Number of domains: reads, writes, discards. The kernel's fourth domain is empty: flushes bypass the scheduler.
const DOMAINS: usize = 3;
/// Maximum number of requests at the device, by domain.
const DEPTH: [u32; DOMAINS] = [256, 128, 64];
/// Maximum number of requests dispatched per batch, by domain.
const BATCH: [u64; DOMAINS] = [16, 8, 1];
/// Latency target of discards in nanoseconds.
const DISCARD_NS: u64 = 5_000 * MS;
/// Time from a completion to the next evaluation of all recorded latencies.
const PERIOD_NS: u64 = 100 * MS;
/// Number of buckets of a histogram. Each bucket is a quarter of the target wide, so the first four hold latencies
/// within the target.
const BUCKETS: usize = 8;
const GOOD_BUCKETS: usize = 4;
/// Number of samples needed to evaluate a histogram.
const SAMPLES: u64 = 500;
/// Time after which a histogram is evaluated even with fewer than [`SAMPLES`] samples.
const SAMPLING_NS: u64 = 1_000 * MS;

/// Latencies of a domain since the last evaluation.
#[derive(Clone, Copy, Debug, Default)]
struct Histogram([u64; BUCKETS]);

impl Histogram {
    fn add(&mut self, target: u64, latency: u64) {
        let quarter = (target / GOOD_BUCKETS as u64).max(1);
        // As in the kernel, a latency equal to the target counts as good.
        let bucket = usize::try_from(latency.saturating_sub(1) / quarter).unwrap_or(BUCKETS);
        self.0[bucket.min(BUCKETS - 1)] += 1;
    }

    /// Returns the bucket that holds the given percentile, and resets the histogram. Returns `None` if there are too
    /// few samples; after `until`, any number of samples is enough.
    fn percentile(&mut self, percent: u64, until: &mut Option<u64>, now: u64) -> Option<u64> {
        let samples: u64 = self.0.iter().sum();
        if samples == 0 {
            return None;
        }
        if samples < SAMPLES && now < *until.get_or_insert(now + SAMPLING_NS) {
            return None;
        }
        *until = None;
        let mut rank = (samples * percent).div_ceil(100);
        let bucket = self.0.iter().position(|&count| {
            let reached = count >= rank;
            rank = rank.saturating_sub(count);
            reached
        });
        *self = Self::default();
        Some(bucket.expect("the bucket counts must add up to the number of samples") as u64)
    }
}

/// Waiting requests of one kyber domain in a hardware queue.
#[derive(Debug, Default)]
struct Waiting {
    queue: Fifo,
    /// Requests that arrived after `queue` was last filled, by CPU.
    arrived: Vec<Fifo>,
}

/// A hardware queue (`struct kyber_hctx_data`).
#[derive(Debug, Default)]
struct HardwareQueue {
    domains: [Waiting; DOMAINS],
    current: usize,
    batching: u64,
}

/// Tokens and latencies of one domain.
#[derive(Debug)]
struct Domain {
    /// Tokens of the domain, one per request at the device.
    tokens: Tokens,
    target: u64,
    /// Latencies of requests from submission to completion.
    total: Histogram,
    /// Latencies of requests from dispatch to completion.
    device: Histogram,
    /// Time after which a histogram is evaluated even if it has too few samples. Both histograms share this time, as in
    /// the kernel. `device` is evaluated first, which clears the time. If there are few requests, `total` is therefore
    /// evaluated only with 500 samples, or after a second without new samples in `device`.
    until: Option<u64>,
    /// Latest bucket of the 99th percentile of `total`; `None` if the device has been congested since.
    p99: Option<u64>,
}

#[derive(Debug)]
pub(super) struct Kyber {
    queues: Vec<HardwareQueue>,
    domains: [Domain; DOMAINS],
    /// Time of the next evaluation of latencies.
    timer: Option<u64>,
    /// Dispatch time and token of each request at the device. A forced dispatch may have no token.
    dispatched: FxHashMap<RequestId, (u64, Option<u32>)>,
    jiffies: Jiffies,
}

impl Waiting {
    fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.arrived.iter().all(Fifo::is_empty)
    }

    /// Returns the domain's next request in this hardware queue.
    fn head(&self) -> Option<RequestId> {
        self.queue.head().or_else(|| self.arrived.iter().find_map(Fifo::head))
    }

    /// Returns the requests of one CPU that arrived after the queue was last filled.
    fn arrived(&mut self, cpu: u16) -> &mut Fifo {
        let cpu = usize::from(cpu);
        if self.arrived.len() <= cpu {
            self.arrived.resize_with(cpu + 1, Fifo::default);
        }
        &mut self.arrived[cpu]
    }

    /// Removes a request from the domain's queue, after filling the queue if it is empty.
    fn take(&mut self, id: RequestId, requests: &Requests) {
        if self.queue.is_empty() {
            for arrived in &mut self.arrived {
                while let Some(id) = arrived.head() {
                    arrived.remove(id);
                    self.queue.push(&requests[id], u64::MAX);
                }
            }
        }
        self.remove(&requests[id]);
    }

    fn remove(&mut self, rq: &Request) {
        if !self.queue.remove(rq.id) {
            self.arrived(rq.cpu).remove(rq.id);
        }
    }
}

impl Kyber {
    fn new(settings: &Settings, queues: u16) -> Self {
        let domain = |index: usize, target| Domain {
            tokens: Tokens::new(DEPTH[index]),
            target,
            total: Histogram::default(),
            device: Histogram::default(),
            until: None,
            p99: None,
        };
        let (read, write) = (settings.get("read_lat_nsec"), settings.get("write_lat_nsec"));
        Self {
            queues: (0..queues).map(|_| HardwareQueue::default()).collect(),
            domains: [domain(0, read), domain(1, write), domain(2, DISCARD_NS)],
            timer: None,
            dispatched: FxHashMap::default(),
            jiffies: Jiffies::default(),
        }
    }

    /// Returns the waiting requests in the hardware queue and domain of a request. A hardware queue may serve several
    /// CPUs.
    fn waiting(&mut self, rq: &Request) -> &mut Waiting {
        let queue = usize::from(rq.cpu) % self.queues.len();
        &mut self.queues[queue].domains[domain(rq.direction, rq.flags)]
    }

    /// Returns the domain to serve, and the position of its next request in the batch, counted from 1.
    fn choose(&self, queue: u16, force: bool) -> Option<(usize, u64)> {
        let HardwareQueue { domains, current, batching } = &self.queues[usize::from(queue)];
        let ready = |&index: &usize| !domains[index].is_empty() && (force || self.domains[index].tokens.is_free());
        if *batching < BATCH[*current] && ready(current) {
            return Some((*current, batching + 1));
        }
        // The current domain is tried last, so it gets another batch only if no other domain is ready.
        (1..=DOMAINS).map(|k| (current + k) % DOMAINS).find(ready).map(|domain| (domain, 1))
    }

    fn take(&mut self, queue: u16, (domain, batching): (usize, u64), id: RequestId, requests: &Requests, now: u64) {
        let queue = &mut self.queues[usize::from(queue)];
        (queue.current, queue.batching) = (domain, batching);
        queue.domains[domain].take(id, requests);
        self.dispatched.insert(id, (now, self.domains[domain].tokens.take()));
    }
}

fn domain(direction: Direction, flags: Flags) -> usize {
    if flags.any(Flags::DISCARD) { 2 } else { direction as usize }
}

impl IoScheduler for Kyber {
    fn insert(&mut self, rq: &Request, _requests: &Requests, _now: u64) -> bool {
        self.waiting(rq).arrived(rq.cpu).push(rq, u64::MAX);
        false
    }

    fn dispatch(&mut self, queue: u16, requests: &Requests, now: u64, force: bool) -> Option<RequestId> {
        let Some(turn) = self.choose(queue, force) else {
            self.queues[usize::from(queue)].batching = 0;
            return None;
        };
        let id = self.queues[usize::from(queue)].domains[turn.0].head()?;
        self.take(queue, turn, id, requests, now);
        Some(id)
    }

    fn completed(&mut self, rq: &Request, now: u64) {
        let (dispatched, token) =
            self.dispatched.remove(&rq.id).expect("a completed request must have been dispatched");
        let domain = &mut self.domains[domain(rq.direction, rq.flags)];
        if let Some(token) = token {
            domain.tokens.give_back(token);
        }
        domain.total.add(domain.target, now - rq.arrived);
        domain.device.add(domain.target, now - dispatched);
        self.timer.get_or_insert(self.jiffies.timer(now, PERIOD_NS));
    }

    fn latest(&self, queue: u16, bio: &Bio) -> Vec<RequestId> {
        let arrived = &self.queues[usize::from(queue)].domains[domain(bio.direction, bio.flags)].arrived;
        arrived.get(usize::from(queue)).map(|arrived| arrived.newest(CHECKED).collect()).unwrap_or_default()
    }

    fn merged(&mut self, _survivor: &Request, absorbed: &Request, _requests: &Requests) {
        self.waiting(absorbed).remove(absorbed);
    }

    fn depth(&self, bio: &Bio, nr_requests: u32) -> u32 {
        // Keeps a quarter of the scheduler's requests for synchronous I/O (KYBER_ASYNC_PERCENT).
        if bio.is_sync() { nr_requests } else { (nr_requests * 3 / 4).max(1) }
    }

    fn timer_ns(&self) -> Option<u64> {
        self.timer
    }

    fn on_timer(&mut self, now: u64) {
        self.timer = None;
        let mut congested = false;
        for Domain { device, until, .. } in &mut self.domains {
            congested |= device.percentile(90, until, now).is_some_and(|bucket| bucket >= GOOD_BUCKETS as u64);
        }
        for (domain, max) in self.domains.iter_mut().zip(DEPTH) {
            let mut p99 = domain.total.percentile(99, &mut domain.until, now);
            // While the device is congested, a domain with too few samples falls back to the percentile of its last
            // evaluation, but only once.
            if congested {
                p99 = p99.or(domain.p99);
                domain.p99 = None;
            } else if p99.is_some() {
                domain.p99 = p99;
            }
            let Some(bucket) = p99 else { continue };
            if congested || bucket >= GOOD_BUCKETS as u64 {
                let depth = u64::from(domain.tokens.limit()) * (bucket + 1) / GOOD_BUCKETS as u64;
                domain.tokens.resize((depth as u32).clamp(1, max));
            }
        }
    }
}

#[cfg(test)]
pub(super) mod oracle {
    use super::*;
    use crate::scheduler::oracle::{JIFFY_NS, Proposal, Replayed};

    pub fn model(changes: &[(String, u64)]) -> Kyber {
        Kyber::new(&crate::scheduler::tunables(&INFO, changes).unwrap(), 1)
    }

    impl Replayed for Kyber {
        fn propose(&mut self, _requests: &Requests, _now: u64) -> Option<Proposal> {
            let Some((domain, batching)) = self.choose(0, false) else {
                self.queues[0].batching = 0;
                return None;
            };
            self.queues[0].domains[domain].head().map(|id| Proposal { id, state: [domain as u64, batching, 0] })
        }

        fn follow(&mut self, id: RequestId, proposal: Option<Proposal>, requests: &Requests, now: u64) {
            let domain = domain(requests[id].direction, requests[id].flags);
            let batching = match proposal {
                Some(Proposal { state: [proposed, batching, _], .. }) if proposed as usize == domain => batching,
                _ if domain == self.queues[0].current => self.queues[0].batching + 1,
                _ => 1,
            };
            self.take(0, (domain, batching), id, requests, now);
        }

        fn tick(&mut self, phase_ns: u64) -> bool {
            self.jiffies = Jiffies::new(JIFFY_NS, phase_ns);
            true
        }

        fn tune(&mut self, name: &str, value: u64) {
            let domain = ["read_lat_nsec", "write_lat_nsec"].iter().position(|tunable| *tunable == name);
            self.domains[domain.expect("the tunable must belong to kyber")].target = value;
        }

        fn depth_of(&self, direction: Direction) -> Option<u32> {
            Some(self.domains[direction as usize].tokens.limit())
        }

        fn set_depth(&mut self, direction: Direction, depth: u32) {
            self.domains[direction as usize].tokens.resize(depth);
        }
    }
}
