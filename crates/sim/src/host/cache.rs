//! A cache above the drive: requests go through it on their way from the source, and what it cannot hold goes on.
//!
//! To whatever lies below, the cache is the source of requests. So requests, response times and rates of a run are those
//! below the cache, and [`CacheSummary`] has what the host sees above it. A page copied from or to the cache takes
//! time, and so does one that is restored or compressed: whoever touches a page pays for it and for the victim that it
//! drives out of the raw pool, as in the cost function before figure 12 of Harper 2018. In an open loop the host does
//! all that for one page after the other, and requests below come as much later; in a closed loop the next request below
//! does not wait for it.

use std::cell::RefCell;
use std::collections::VecDeque;

use serde::Serialize;
use ssdlab_cache::{CacheError, CompressedPool, Stage, StageCounters, StageOptions, Transitions, policy};
use ssdlab_core::LatencyHistogram;
use ssdlab_trace::{Progress, Request, Source, TraceError};

use crate::host::issue::BATCH;
use crate::run::error::SimError;
use crate::run::monitor::{Control, Monitor, Phase, Status};
use crate::setup::Setup;
use crate::setup::host::{CacheOptions, Replay};

/// What the cache above the drive did during the measured phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CacheSummary {
    /// Its replacement policy.
    pub policy: &'static str,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Pages it has room for, with that of the compressed pool.
    pub capacity_pages: u64,
    /// Requests of the host.
    pub requests: u64,
    /// Requests for which nothing went below.
    pub served: u64,
    /// Pages touched that were cached, raw or compressed.
    pub hits: u64,
    /// Pages touched that were not.
    pub misses: u64,
    /// Misses of all pages touched; none if none was touched.
    pub miss_ratio: Option<f64>,
    /// Dirty pages written below.
    pub written_back: u64,
    /// Pages dirty at the end.
    pub dirty_pages: u64,
    /// What was done.
    pub counters: StageCounters,
    /// What was where.
    pub pools: PoolsSummary,
    /// Time that requests spent in the cache: pages copied, restored and compressed, with waiting for others'.
    pub cache_ns: u64,
    /// Mean time of a request of the host: its time in the cache, and the requests below that it causes, one after the
    /// other; none where time is not modelled.
    pub mean_ns: Option<f64>,
}

/// What the pools of the cache did. Without a compressed pool, all is raw.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PoolsSummary {
    /// Pages that the raw pool holds.
    pub raw_capacity_pages: u64,
    /// Bytes that the compressed pool holds.
    pub compressed_capacity_bytes: u64,
    /// Pages touched that were raw.
    pub raw_hits: u64,
    /// Pages touched that were compressed.
    pub compressed_hits: u64,
    /// Pages compressed, in vain or not.
    pub compressions: u64,
    /// Time to compress them.
    pub compress_ns: u64,
    /// Time to restore pages.
    pub restore_ns: u64,
    /// Raw pages at the end.
    pub raw_pages: u64,
    /// Compressed pages at the end.
    pub compressed_pages: u64,
    /// Bytes of these.
    pub compressed_bytes: u64,
    /// Raw bytes for each of them; none if there are none.
    pub ratio: Option<f64>,
    /// What moved from where to where.
    pub transitions: Transitions,
}

/// What was done so far.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    counters: StageCounters,
    transitions: Transitions,
    requests: u64,
    served: u64,
    cache_ns: u64,
}

/// Work beyond copies.
#[derive(Clone, Copy, Debug, Default)]
struct Work {
    compressions: u64,
    compress_ns: u64,
    restore_ns: u64,
}

/// A monitor that the source and whoever reads from it look at in turn.
#[derive(Clone, Copy)]
pub(crate) struct Shared<'a, 'm>(pub &'a RefCell<&'m mut (dyn Monitor + 'm)>);

impl Monitor for Shared<'_, '_> {
    fn report(&mut self, status: &Status) -> Control {
        self.0.borrow_mut().report(status)
    }
}

/// The requests of a source that are left after a cache.
pub(crate) struct Cached<'s, 'm> {
    options: CacheOptions,
    stage: Stage,
    above: &'s mut dyn Source,
    monitor: Shared<'s, 'm>,
    batch: Vec<Request>,
    next: usize,
    below: VecDeque<Request>,
    /// Requests handed out, and how many of them come before measuring.
    handed: u64,
    warmup: u64,
    totals: Totals,
    /// When measuring began.
    start: Option<Totals>,
    /// Open loop: factor on the times of the trace.
    time_scale: Option<f64>,
    /// When the work of the cache so far is done, on the clock of the trace.
    free_ns: u64,
    /// Whether the monitor stopped it.
    pub stopped: bool,
}

impl<'s, 'm> Cached<'s, 'm> {
    /// An empty cache.
    ///
    /// # Errors
    /// If the cache is impossible, or its pages do not fit the device.
    pub fn new(
        setup: &Setup,
        options: CacheOptions,
        above: &'s mut dyn Source,
        monitor: Shared<'s, 'm>,
    ) -> Result<Self, SimError> {
        let impossible = |error: CacheError| SimError::Setup(format!("the cache above the drive: {error}"));
        if !setup.capacity_bytes().is_multiple_of(u64::from(options.page_bytes)) {
            return Err(SimError::Setup(format!(
                "pages of {} bytes of the cache above the drive do not divide its {} bytes; lower cache.page",
                options.page_bytes,
                setup.capacity_bytes()
            )));
        }
        let info = policy(options.policy).map_err(impossible)?;
        let values = info.parameters.iter().zip(options.parameters);
        let changes: Vec<_> = values.filter_map(|(one, value)| Some((one.name.to_owned(), value?))).collect();
        let stage_options = StageOptions {
            page_bytes: options.page_bytes,
            capacity_pages: options.raw_pages(),
            writes: options.writes,
            // Nobody tells the source when the drive is idle.
            background_percent: options.dirty_percent,
            hard_percent: options.dirty_percent,
        };
        let mut stage = Stage::new(info, &changes, stage_options).map_err(impossible)?;
        if let Some(pool) = options.compressed {
            stage = stage
                .compressing(CompressedPool {
                    policy: policy(pool.policy).map_err(impossible)?,
                    bytes: pool.room_pages * u64::from(options.page_bytes),
                    sizes: pool.sizes,
                    seed: setup.seed,
                })
                .map_err(impossible)?;
        }
        Ok(Self {
            options,
            stage,
            above,
            monitor,
            batch: Vec::with_capacity(BATCH),
            next: 0,
            below: VecDeque::new(),
            handed: 0,
            warmup: setup.warmup_requests,
            totals: Totals::default(),
            start: None,
            time_scale: match setup.replay {
                Replay::Open { time_scale } => Some(time_scale),
                Replay::Closed { .. } | Replay::Processes { .. } => None,
            },
            free_ns: 0,
            stopped: false,
        })
    }

    /// What it did in the measured phase; `latency` is that of the requests below, empty where time is not modelled.
    pub fn summary(&self, latency: &[LatencyHistogram; 4]) -> CacheSummary {
        let start = self.start.unwrap_or(self.totals);
        let counters = self.totals.counters - start.counters;
        let requests = self.totals.requests - start.requests;
        let touched = counters.read_pages + counters.written_pages;
        let hits = counters.read_hits + counters.write_hits;
        let cache_ns = self.totals.cache_ns - start.cache_ns;
        let below_ns: u128 = latency.iter().map(LatencyHistogram::sum_ns).sum();
        let timed = latency.iter().any(|histogram| histogram.count() > 0);
        CacheSummary {
            policy: self.options.policy,
            page_bytes: self.options.page_bytes,
            capacity_pages: self.options.capacity_pages,
            requests,
            served: self.totals.served - start.served,
            hits,
            misses: touched - hits,
            miss_ratio: (touched > 0).then(|| (touched - hits) as f64 / touched as f64),
            written_back: counters.written_back(),
            dirty_pages: self.stage.dirty_pages(),
            counters,
            pools: self.pools(self.totals.transitions - start.transitions),
            cache_ns,
            mean_ns: (timed && requests > 0).then(|| (below_ns as f64 + cache_ns as f64) / requests as f64),
        }
    }

    /// What is in the pools, and what `transitions` did.
    fn pools(&self, transitions: Transitions) -> PoolsSummary {
        let page_bytes = u64::from(self.options.page_bytes);
        let (compressed_pages, compressed_bytes) = self.stage.compressed_pages();
        let Work { compressions, compress_ns, restore_ns } = self.work(transitions);
        PoolsSummary {
            raw_capacity_pages: self.options.raw_pages(),
            compressed_capacity_bytes: (self.options.capacity_pages - self.options.raw_pages()) * page_bytes,
            raw_hits: transitions.raw_hits + transitions.raw_overwritten,
            compressed_hits: transitions.compressed_hits + transitions.compressed_overwritten,
            compressions,
            compress_ns,
            restore_ns,
            raw_pages: self.stage.raw_pages(),
            compressed_pages,
            compressed_bytes,
            ratio: (compressed_pages > 0).then(|| (compressed_pages * page_bytes) as f64 / compressed_bytes as f64),
            transitions,
        }
    }

    /// What `transitions` cost.
    fn work(&self, transitions: Transitions) -> Work {
        let Some(pool) = self.options.compressed else { return Work::default() };
        let compressions = transitions.demoted();
        Work {
            compressions,
            compress_ns: compressions.saturating_mul(pool.compress.0),
            restore_ns: transitions.restored.saturating_mul(pool.restore.0),
        }
    }

    /// Takes the next request from above; false at the end.
    fn take(&mut self) -> Result<bool, TraceError> {
        if self.next == self.batch.len() {
            self.batch.clear();
            self.next = 0;
            if self.above.fill(&mut self.batch, BATCH)? == 0 {
                return Ok(false);
            }
            // Where everything hits, nobody below gets to ask.
            let Progress { done, total } = self.above.progress();
            let phase = if self.start.is_some() { Phase::Measure } else { Phase::Warmup };
            let status = Status { phase, done, total, requests: self.totals.requests };
            if self.below.is_empty() && self.monitor.report(&status) == Control::Stop {
                self.stopped = true;
                return Ok(false);
            }
        }
        let request = self.batch[self.next];
        self.next += 1;
        let below = &mut self.below;
        self.stage
            .submit(&request, &mut |request, _| below.push_back(request))
            .map_err(|error| TraceError::Format(error.to_string()))?;
        let counters = self.stage.counters();
        let touched = |counters: StageCounters| counters.read_pages + counters.written_pages;
        let pages = touched(counters) - touched(self.totals.counters);
        let transitions = self.stage.transitions();
        let Work { compress_ns, restore_ns, .. } = self.work(transitions - self.totals.transitions);
        let copy_ns = pages.saturating_mul(self.options.copy.0);
        let time_ns = self.spend(request.time_ns, copy_ns.saturating_add(compress_ns).saturating_add(restore_ns));
        self.below.iter_mut().for_each(|request| request.time_ns = time_ns);
        self.totals.counters = counters;
        self.totals.transitions = transitions;
        self.totals.requests += 1;
        self.totals.served += u64::from(self.below.is_empty());
        Ok(true)
    }

    /// Works so long for a request that comes then; when that is done, on the clock of the trace.
    fn spend(&mut self, time_ns: u64, takes_ns: u64) -> u64 {
        let Some(scale) = self.time_scale else {
            self.totals.cache_ns += takes_ns;
            return time_ns;
        };
        self.free_ns = self.free_ns.max(time_ns).saturating_add((takes_ns as f64 / scale).round() as u64);
        self.totals.cache_ns += ((self.free_ns - time_ns) as f64 * scale).round() as u64;
        self.free_ns
    }
}

impl Source for Cached<'_, '_> {
    fn fill(&mut self, out: &mut Vec<Request>, max: usize) -> Result<usize, TraceError> {
        if self.handed >= self.warmup && self.start.is_none() {
            self.start = Some(self.totals);
        }
        let mut count = 0;
        while count < max {
            match self.below.pop_front() {
                Some(request) => {
                    out.push(request);
                    count += 1;
                }
                None if self.stopped || !self.take()? => break,
                None => {}
            }
        }
        self.handed += count as u64;
        Ok(count)
    }

    fn progress(&self) -> Progress {
        self.above.progress()
    }
}

#[cfg(test)]
mod tests {
    use crate::MOST_PARAMETERS;
    use ssdlab_cache::POLICIES;

    #[test]
    fn every_policy_has_room_for_its_parameters() {
        assert!(POLICIES.iter().all(|info| info.parameters.len() <= MOST_PARAMETERS));
    }
}
