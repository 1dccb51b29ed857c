//! A cache as the source of what is left for a drive that serves one request after the other.
//!
//! To the drive the cache is the source of its requests. A closed loop adds the work of the cache to the time of
//! requests without delaying those below; in an open loop requests below come as much later.

use std::cell::RefCell;
use std::collections::VecDeque;

use ssdlab_core::LatencyHistogram;
use ssdlab_trace::{Progress, Request, Source, TraceError};

use super::{Cache, CacheSummary};
use crate::host::fit::{AddressMapper, Fitted};
use crate::host::issue::BATCH;
use crate::observe::so_far::SoFar;
use crate::run::error::SimError;
use crate::run::monitor::{Control, Monitor, Phase, Status};
use crate::run::repeat::Replays;
use crate::setup::Setup;
use crate::setup::host::{CacheOptions, Fit, Replay};

/// A monitor shared by the source and its reader.
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

/// The requests of a source that are left after a cache.
pub(crate) struct Cached<'s, 'm> {
    cache: Cache,
    fitter: AddressMapper,
    above: Replays<'s>,
    monitor: Shared<'s, 'm>,
    batch: Vec<Request>,
    next: usize,
    below: VecDeque<Request>,
    /// Requests of a replay before measuring begins.
    warmup_requests: u64,
    /// Requests of the host before measuring begins; none once it has begun.
    warmup: Option<u64>,
    /// Measured requests of the host that were wrapped.
    wrapped: u64,
    /// Measured time of requests in the cache.
    cache_ns: u64,
    /// Open loop: factor on the times of the trace.
    time_scale: Option<f64>,
    /// When the work of the cache so far is done, on the clock of the trace.
    free_ns: u64,
    /// Whether the monitor stopped it.
    stopped: bool,
    /// Why it cannot go on.
    error: Option<SimError>,
}

impl<'s, 'm> Cached<'s, 'm> {
    /// An empty cache, which writes nothing ahead of need: it does not know when the drive is idle.
    ///
    /// # Errors
    /// If the cache is impossible, or its pages do not fit the device.
    pub fn new(
        setup: &Setup,
        options: &CacheOptions,
        above: &'s mut dyn Source,
        monitor: Shared<'s, 'm>,
    ) -> Result<Self, SimError> {
        Ok(Self {
            cache: Cache::new(setup, options, options.dirty_percent)?,
            fitter: AddressMapper::new(setup),
            above: Replays::new(above),
            monitor,
            batch: Vec::with_capacity(BATCH),
            next: 0,
            below: VecDeque::new(),
            warmup_requests: setup.warmup_requests,
            warmup: (setup.warmup_requests > 0).then_some(setup.warmup_requests),
            wrapped: 0,
            cache_ns: 0,
            time_scale: match setup.replay {
                Replay::Open { time_scale } => Some(time_scale),
                Replay::Closed { .. } | Replay::Processes { .. } => None,
            },
            free_ns: 0,
            stopped: false,
            error: None,
        })
    }

    /// The set-up of the drive below: its requests lie on the device, and the warm-up ends when this source says so.
    pub fn setup_below(setup: &Setup) -> Setup {
        let warmup_requests = if setup.warmup_requests > 0 { u64::MAX } else { 0 };
        Setup { cache: None, fit: Fit::Error, warmup_requests, ..setup.clone() }
    }

    /// What it did in the measured phase, whether it was stopped, and how many requests were wrapped. `latency` is that
    /// of the requests below, empty where time is not modelled.
    ///
    /// # Errors
    /// What kept it from going on.
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

    /// The next request from above; none at the end.
    fn fetch(&mut self) -> Result<Option<Request>, TraceError> {
        if self.next == self.batch.len() {
            self.batch.clear();
            self.next = 0;
            if self.above.fill(&mut self.batch, BATCH)? == 0 {
                return Ok(None);
            }
            // While everything hits, the loop below does not get to ask the monitor.
            let phase = if self.warmup.is_some() { Phase::Warmup } else { Phase::Measure };
            let status = Status::replaying(phase, self.above.progress(), self.fitter.requests());
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
        let Fitted { request, wrapped } = self.fitter.fit(request)?;
        self.wrapped += u64::from(wrapped);
        let below = &mut self.below;
        let work_ns = self.cache.submit(&request, &mut |request, _| below.push_back(request))?;
        let time_ns = self.work(request.time_ns, work_ns);
        self.below.iter_mut().for_each(|request| request.time_ns = time_ns);
        Ok(())
    }

    /// Works so long for a request that comes then; when that is done, on the clock of the trace.
    fn work(&mut self, time_ns: u64, work_ns: u64) -> u64 {
        let Some(scale) = self.time_scale else {
            self.cache_ns += work_ns;
            return time_ns;
        };
        self.free_ns = self.free_ns.max(time_ns).saturating_add((work_ns as f64 / scale).round() as u64);
        self.cache_ns += ((self.free_ns - time_ns) as f64 * scale).round() as u64;
        self.free_ns
    }

    /// Whether all requests of the warm-up have been taken, but not yet told to be the last.
    fn at_end_of_warmup(&self) -> bool {
        self.warmup == Some(self.fitter.requests())
    }

    fn start_measuring(&mut self) {
        self.warmup = None;
        // A phase begins when the one before it is over, and so with a cache that has nothing to do.
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
        // The drive below takes an empty batch for the end of its warm-up, which a short trace ends early.
        if count == 0 && self.warmup.is_some() {
            self.start_measuring();
        }
        Ok(count)
    }

    fn progress(&self) -> Progress {
        self.above.progress()
    }

    /// Begins the next replay, whose requests come after those of the one before.
    fn rewind(&mut self) -> Result<(), TraceError> {
        self.above.rewind()?;
        self.batch.clear();
        self.next = 0;
        if self.warmup_requests > 0 {
            self.free_ns = 0;
            self.warmup = Some(self.fitter.requests() + self.warmup_requests);
        } else {
            self.start_measuring();
        }
        Ok(())
    }
}
