//! A cache above a serial drive, which serves one request at a time. For the drive, the cache is the source of
//! requests.
//!
//! In a closed loop, the work of the cache adds to latencies but does not delay backing requests. In an open loop, the
//! work also delays backing requests.

use std::cell::RefCell;
use std::collections::VecDeque;

use ssdlab_core::LatencyHistogram;
use ssdlab_trace::{Progress, Request, Source, TraceError};

use super::{Cache, CacheSummary};
use crate::host::fit::{AddressMapper, Fitted};
use crate::host::replay::BATCH;
use crate::run::error::SimError;
use crate::run::monitor::{Control, Monitor, Phase, SoFar, Status, prepare_source};
use crate::run::repeat::Replays;
use crate::setup::Setup;
use crate::setup::host::{CacheOptions, Fit, Replay};

/// A monitor shared by the cache and the drive.
#[derive(Clone, Copy)]
pub(crate) struct Shared<'a, 'm>(pub &'a RefCell<&'m mut (dyn Monitor + 'm)>);

impl Monitor for Shared<'_, '_> {
    fn report(&mut self, status: &Status) -> Control {
        self.0.borrow_mut().report(status)
    }

    fn abandons(&self) -> bool {
        self.0.borrow().abandons()
    }

    fn watches(&self) -> bool {
        self.0.borrow().watches()
    }

    fn watch(&mut self, so_far: &SoFar) {
        self.0.borrow_mut().watch(so_far);
    }

    fn note(&mut self, text: &str) {
        self.0.borrow_mut().note(text);
    }
}

/// Source of the drive's requests: a cache that receives requests from another source.
pub(crate) struct Cached<'s, 'm> {
    cache: Cache,
    mapper: AddressMapper,
    above: Replays<'s>,
    monitor: Shared<'s, 'm>,
    batch: Vec<Request>,
    next: usize,
    below: VecDeque<Request>,
    /// Number of host requests in each warm-up.
    warmup_requests: u64,
    /// Number of the last host request that belongs to the warm-up; `None` once measuring has begun.
    warmup: Option<u64>,
    /// Number of host requests that wrapped around the device in the measured phase.
    wrapped: u64,
    /// Time that host requests spent in the cache in the measured phase.
    cache_ns: u64,
    /// Replay speed of an open loop, relative to the timestamps of the trace.
    speed: Option<f64>,
    /// Trace time at which the cache will have finished all work received so far.
    free_ns: u64,
    /// True if the monitor stopped the run.
    stopped: bool,
    /// Error that ended the run, if any.
    error: Option<SimError>,
}

impl<'s, 'm> Cached<'s, 'm> {
    /// Creates an empty cache without background write-back, because the cache does not know when the drive is idle.
    ///
    /// # Errors
    /// Fails if the options are invalid, or the page size does not divide the device.
    pub fn new(
        setup: &Setup,
        options: &CacheOptions,
        above: &'s mut dyn Source,
        monitor: Shared<'s, 'm>,
    ) -> Result<Self, SimError> {
        Ok(Self {
            cache: Cache::new(setup, options, options.dirty_percent)?,
            mapper: AddressMapper::new(setup),
            above: Replays::new(above),
            monitor,
            batch: Vec::with_capacity(BATCH),
            next: 0,
            below: VecDeque::new(),
            warmup_requests: setup.warmup_requests,
            warmup: (setup.warmup_requests > 0).then_some(setup.warmup_requests),
            wrapped: 0,
            cache_ns: 0,
            speed: match setup.replay {
                Replay::Open { speed, .. } => Some(speed),
                Replay::Closed { .. } | Replay::Processes { .. } => None,
            },
            free_ns: 0,
            stopped: false,
            error: None,
        })
    }

    /// Returns the set-up of the drive below the cache. The drive's warm-up has no fixed length: it ends when this
    /// source reports that the warm-up is over.
    pub fn setup_below(setup: &Setup) -> Setup {
        let warmup_requests = if setup.warmup_requests > 0 { u64::MAX } else { 0 };
        Setup { cache: None, fit: Fit::Error, warmup_requests, ..setup.clone() }
    }

    /// Returns the cache's results in the measured phase, a flag that is true if the run was stopped, and the number of
    /// requests that wrapped around the device. `latency` holds the latencies below the cache; it is empty if time is
    /// not modelled.
    ///
    /// # Errors
    /// Returns the error that ended the run, if any.
    pub fn finish(self, latency: &[LatencyHistogram; 4]) -> Result<(CacheSummary, bool, u64), SimError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let below_ns: u128 = latency.iter().map(LatencyHistogram::sum_ns).sum();
        let timed = latency.iter().any(|histogram| histogram.count() > 0);
        let mut summary = self.cache.summary(self.cache_ns, None);
        summary.mean_ns =
            (timed && summary.requests > 0).then(|| (below_ns as f64 + self.cache_ns as f64) / summary.requests as f64);
        Ok((summary, self.stopped, self.wrapped))
    }

    /// Returns the next host request; `None` at the end.
    fn fetch(&mut self) -> Result<Option<Request>, TraceError> {
        if self.next == self.batch.len() {
            self.batch.clear();
            self.next = 0;
            if prepare_source(&mut self.above, &mut self.monitor, self.mapper.requests())? == Control::Stop {
                self.stopped = true;
                return Ok(None);
            }
            if self.above.fill(&mut self.batch, BATCH)? == 0 {
                return Ok(None);
            }
            // The drive below reports progress only for requests that it gets. If all requests hit the cache, the cache
            // reports progress instead.
            let phase = if self.warmup.is_some() { Phase::Warmup } else { Phase::Measure };
            let status = Status::replaying(phase, self.above.progress(), self.mapper.requests());
            if self.below.is_empty() && self.monitor.report(&status) == Control::Stop {
                self.stopped = true;
                return Ok(None);
            }
        }
        self.next += 1;
        Ok(Some(self.batch[self.next - 1]))
    }

    /// Sends a request of the host through the cache.
    fn take(&mut self, request: &Request) -> Result<(), SimError> {
        let Fitted { request, wrapped } = self.mapper.fit(request)?;
        self.wrapped += u64::from(wrapped);
        let below = &mut self.below;
        let work_ns = self.cache.submit(&request, &mut |request, _| below.push_back(request))?;
        let time_ns = self.work(request.time_ns, work_ns);
        self.below.iter_mut().for_each(|request| request.time_ns = time_ns);
        Ok(())
    }

    /// Adds the time of the cache's work on a request that arrives at trace time `time_ns`. Returns the trace time at
    /// which this work ends; without a replay speed, the work does not delay the request, and `time_ns` is returned.
    fn work(&mut self, time_ns: u64, work_ns: u64) -> u64 {
        let Some(speed) = self.speed else {
            self.cache_ns += work_ns;
            return time_ns;
        };
        self.free_ns = self.free_ns.max(time_ns).saturating_add((work_ns as f64 * speed).round() as u64);
        self.cache_ns += ((self.free_ns - time_ns) as f64 / speed).round() as u64;
        self.free_ns
    }

    /// Returns true if the warm-up is over, but its end has not been reported to the drive yet.
    fn at_end_of_warmup(&self) -> bool {
        self.warmup == Some(self.mapper.requests())
    }

    fn start_measuring(&mut self) {
        self.warmup = None;
        // The cache is idle at the start of a phase, because all requests of the previous phase are complete.
        (self.wrapped, self.cache_ns, self.free_ns) = (0, 0, 0);
        self.cache.start_measuring();
    }
}

impl Source for Cached<'_, '_> {
    fn fill(&mut self, out: &mut Vec<Request>, max: usize) -> Result<usize, TraceError> {
        let mut count = 0;
        while count < max {
            if let Some(request) = self.below.pop_front() {
                out.push(request);
                count += 1;
                continue;
            }
            if self.stopped || self.error.is_some() || self.at_end_of_warmup() {
                break;
            }
            let Some(request) = self.fetch()? else { break };
            self.error = self.take(&request).err();
        }
        // An empty batch signals to the drive that the warm-up is over. If the trace is short, the warm-up ends early.
        if count == 0 && self.warmup.is_some() {
            self.start_measuring();
        }
        Ok(count)
    }

    fn progress(&self) -> Progress {
        self.above.progress()
    }

    /// Begins the next replay of the source.
    fn rewind(&mut self) -> Result<(), TraceError> {
        self.above.rewind()?;
        self.batch.clear();
        self.next = 0;
        if self.warmup_requests > 0 {
            self.free_ns = 0;
            self.warmup = Some(self.mapper.requests() + self.warmup_requests);
        } else {
            self.start_measuring();
        }
        Ok(())
    }
}
