//! A cache above the drive: requests go through it on their way from the source, and what it cannot hold goes on.
//!
//! To whatever lies below, the cache is the source of requests. So requests, response times and rates of a run are those
//! below the cache, and [`CacheSummary`] has what the host sees above it. A page copied from or to the cache takes
//! time. In an open loop the host copies one page after the other, and requests below come as much later; in a closed
//! loop the next request below does not wait for copies.

use std::cell::RefCell;
use std::collections::VecDeque;

use serde::{Serialize, Serializer};
use ssdlab_cache::{CacheError, Stage, StageCounters, StageOptions, WriteMode, policy};
use ssdlab_core::{LatencyHistogram, Nanos};
use ssdlab_trace::{Progress, Request, Source, TraceError};

use crate::engine::BATCH;
use crate::{Control, Monitor, Phase, Replay, Setup, SimError, Status};

/// Parameters that a policy may have.
pub const MOST_PARAMETERS: usize = 4;

/// The cache above a drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CacheOptions {
    /// Its replacement policy.
    pub policy: &'static str,
    /// Values of the policy's parameters, in the order of its table; none for the default.
    pub parameters: [Option<u64>; MOST_PARAMETERS],
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Pages it holds.
    pub capacity_pages: u64,
    /// What happens to writes.
    pub writes: WriteMode,
    /// Share of the pages that may be dirty, percent.
    pub dirty_percent: u32,
    /// Time to copy a page from or to it.
    pub copy: Nanos,
}

/// What the cache above the drive did during the measured phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CacheSummary {
    /// Its replacement policy.
    pub policy: &'static str,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Pages it holds.
    pub capacity_pages: u64,
    /// Requests of the host.
    pub requests: u64,
    /// Requests for which nothing went below.
    pub served: u64,
    /// Pages touched that were cached.
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
    #[serde(serialize_with = "counter_map")]
    pub counters: StageCounters,
    /// Time spent on copies from and to the cache, with that of waiting for others'.
    pub copy_ns: u64,
    /// Mean time of a request of the host: its copies, and the requests below that it causes, one after the other;
    /// none where time is not modelled.
    pub mean_ns: Option<f64>,
}

fn counter_map<S: Serializer>(counters: &StageCounters, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(counters.rows().iter().map(|row| (row.name, row.value)))
}

/// What was done so far.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    counters: StageCounters,
    requests: u64,
    served: u64,
    copy_ns: u64,
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
    /// When the copies so far are done, on the clock of the trace.
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
            capacity_pages: options.capacity_pages,
            writes: options.writes,
            // Nobody tells the source when the drive is idle.
            background_percent: options.dirty_percent,
            hard_percent: options.dirty_percent,
        };
        Ok(Self {
            options,
            stage: Stage::new(info, &changes, stage_options).map_err(impossible)?,
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
        let copy_ns = self.totals.copy_ns - start.copy_ns;
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
            copy_ns,
            mean_ns: (timed && requests > 0).then(|| (below_ns as f64 + copy_ns as f64) / requests as f64),
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
        let time_ns = self.copy(request.time_ns, pages);
        self.below.iter_mut().for_each(|request| request.time_ns = time_ns);
        self.totals.counters = counters;
        self.totals.requests += 1;
        self.totals.served += u64::from(self.below.is_empty());
        Ok(true)
    }

    /// Copies so many pages for a request that comes then; when that is done, on the clock of the trace.
    fn copy(&mut self, time_ns: u64, pages: u64) -> u64 {
        let takes_ns = pages.saturating_mul(self.options.copy.0);
        let Some(scale) = self.time_scale else {
            self.totals.copy_ns += takes_ns;
            return time_ns;
        };
        self.free_ns = self.free_ns.max(time_ns).saturating_add((takes_ns as f64 / scale).round() as u64);
        self.totals.copy_ns += ((self.free_ns - time_ns) as f64 * scale).round() as u64;
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
    use super::*;
    use ssdlab_cache::POLICIES;

    #[test]
    fn every_policy_has_room_for_its_parameters() {
        assert!(POLICIES.iter().all(|info| info.parameters.len() <= MOST_PARAMETERS));
    }
}
