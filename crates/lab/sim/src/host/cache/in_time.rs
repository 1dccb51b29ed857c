//! A host cache as a component of a drive's event loop.
//!
//! ```text
//! request -> look-up -> misses are read from below at once
//!                       -> pages copied, restored, compressed -> complete
//!                       evicted dirty pages, and dirty pages above a limit, are written below; no request waits
//!                       a write that dirties pages waits while too many pages are dirty -> complete
//! ```
//! - Look-ups take no time; the host works on one page at a time.
//! - A page is dirty until its write to the drive has completed. So [`CacheOptions::dirty_percent`] limits the pages
//!   that are dirty in the cache or being written. Writers continue in the order in which they dirtied pages, as in
//!   Linux (`balance_dirty_pages`).
//! - Above [`CacheOptions::background_percent`], dirty pages are written to the drive at once, oldest first.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use ssdlab_core::{LatencyHistogram, Slab};
use ssdlab_nand::backend::parallel::NEVER;
use ssdlab_trace::{Op, Request};

use super::backing_queue::BackingQueue;
use super::{BelowSummary, Cache, CacheSummary, WaitSummary};
use crate::host::fit::runs;
use crate::host::replay::Issued;
use crate::observe::latency::{LatencyByOp, TimeSummary, per_second};
use crate::run::error::SimError;
use crate::setup::Setup;
use crate::setup::host::CacheOptions;

/// A host request that the cache has not completed yet.
#[derive(Clone, Copy, Debug)]
struct HostRequest {
    request: Request,
    issued_ns: u64,
    submitted_ns: u64,
    /// Number of backing requests that this host request waits for, plus one until the request's look-up is done.
    waits: u32,
    /// Duration of the cache's work on the pages of this host request.
    work_ns: u64,
    /// Total number of pages dirtied by this and all earlier requests; 0 if this request dirtied no page.
    dirtied: u64,
}

/// Measurements of a cache's host requests and backing requests.
#[derive(Debug, Default)]
struct Times {
    /// Bytes of host requests, by operation.
    bytes: [u64; Op::ALL.len()],
    /// Totals over host requests: latency, time below the cache, and time in the cache.
    total_ns: u128,
    drive_ns: u128,
    cache_ns: u64,
    /// Time that the cache spent working on pages.
    work_ns: u64,
    /// Response times of backing requests, by operation.
    below: [LatencyHistogram; Op::ALL.len()],
}

/// A host cache with the host requests and backing requests in progress.
pub(crate) struct CacheStage {
    cache: Cache,
    hosts: Slab<HostRequest>,
    below: BackingQueue,
    /// Host requests with page work in progress, each with the end time of that work.
    working: VecDeque<(u64, u32)>,
    /// Writers that wait because too many pages are dirty, in the order of [`HostRequest::dirtied`].
    limited: BinaryHeap<Reverse<(u64, u32)>>,
    hard_pages: u64,
    /// Number of dirty pages written to the layer below.
    written_back: u64,
    done: VecDeque<u32>,
    /// Scratch buffer for the host requests that waited for a backing request; kept to reuse its memory.
    freed: Vec<u32>,
    times: Times,
}

impl CacheStage {
    /// Creates an empty cache.
    ///
    /// # Errors
    /// Fails if the options are invalid, or the page size does not divide the device.
    pub fn new(setup: &Setup, options: &CacheOptions) -> Result<Self, SimError> {
        let cache = Cache::new(setup, options, options.background_percent.min(options.dirty_percent))?;
        Ok(Self {
            hard_pages: cache.write_back.hard_pages(),
            cache,
            hosts: Slab::default(),
            below: BackingQueue::new(options.page_bytes),
            working: VecDeque::new(),
            limited: BinaryHeap::new(),
            written_back: 0,
            done: VecDeque::new(),
            freed: Vec::new(),
            times: Times::default(),
        })
    }

    /// Starts measuring the requests.
    pub fn start_measuring(&mut self) {
        self.cache.start_measuring();
        self.times = Times::default();
    }

    /// Returns the response times of backing requests since measuring began, by operation.
    pub fn latency_below(&self) -> &[LatencyHistogram; Op::ALL.len()] {
        &self.times.below
    }

    /// Returns the results since measuring began, once all requests are complete. Replaces the byte rates in `time`,
    /// which count backing requests, with the rates of host requests.
    pub fn finish(self, latency: &[LatencyHistogram; Op::ALL.len()], time: &mut TimeSummary) -> CacheSummary {
        let Times { bytes, total_ns, drive_ns, cache_ns, work_ns, below } = self.times;
        let count = |of: &[LatencyHistogram]| of.iter().map(LatencyHistogram::count).sum::<u64>();
        let rate = |amount: u64| per_second(amount, time.elapsed_ns);
        let mut summary = self.cache.summary(cache_ns, LatencyByOp::of(latency).all.map(|all| all.mean_ns));
        summary.waits = Some(WaitSummary {
            drive_ns,
            limit_ns: total_ns - drive_ns - u128::from(cache_ns),
            utilisation: if time.elapsed_ns > 0 { work_ns as f64 / time.elapsed_ns as f64 } else { 0.0 },
        });
        summary.below = Some(BelowSummary {
            iops: rate(count(&below)),
            bytes_read_per_s: time.bytes_read_per_s,
            bytes_written_per_s: time.bytes_written_per_s,
            latency: LatencyByOp::of(&below),
        });
        (time.bytes_read_per_s, time.bytes_written_per_s) =
            (rate(bytes[Op::Read as usize]), rate(bytes[Op::Write as usize]));
        summary
    }

    /// Returns the number of incomplete host requests and backing requests.
    pub fn unfinished(&self) -> u32 {
        (self.hosts.len() + self.below.len()) as u32
    }

    /// Returns true if a writer waits for dirty pages to be written.
    pub fn holds_up(&self) -> bool {
        !self.limited.is_empty()
    }

    /// Describes the queues, for an error message.
    pub fn describe(&self) -> String {
        format!(
            "{} host requests in the cache, {} of them blocked by the dirty limit; {} requests below the cache",
            self.hosts.len(),
            self.limited.len(),
            self.below.len()
        )
    }

    /// Returns the earliest end time of page work in progress, or [`NEVER`] if there is none.
    pub fn next_ns(&self) -> u64 {
        self.working.front().map_or(NEVER, |&(time_ns, _)| time_ns)
    }

    /// Accepts a request from the host.
    pub fn submit(&mut self, issued: Issued, now_ns: u64) -> Result<(), SimError> {
        let Issued { request, time_ns } = issued;
        let host = HostRequest { request, issued_ns: time_ns, submitted_ns: now_ns, waits: 1, work_ns: 0, dirtied: 0 };
        let number = self.hosts.insert(host);
        let Self { cache, hosts, below, .. } = self;
        let host = &mut hosts[number];
        if matches!(request.op, Op::Read | Op::Write) {
            let arrivals = |(offset, end)| below.wait_for_arrivals(number, offset, end);
            host.waits += runs(&request, cache.device_bytes).map(arrivals).sum::<u32>();
        }
        let dirtied = cache.totals.counters.dirtied;
        let mut flush = None;
        host.work_ns = cache.submit(&request, &mut |request, why| {
            let waits = why.is_waited_for();
            host.waits += u32::from(waits);
            let sent = below.add(request, why, waits.then_some(number), flush);
            if request.op == Op::Flush {
                flush = Some(sent);
            }
        })?;
        if cache.totals.counters.dirtied > dirtied {
            host.dirtied = cache.totals.counters.dirtied;
        }
        cache.background(now_ns, &mut |request, why| {
            below.add(request, why, None, None);
        });
        self.release(number, now_ns);
        Ok(())
    }

    /// Records that the look-up of a host request, or one of its backing requests, is complete. Once the host request
    /// waits for nothing else, starts the work on its pages.
    fn release(&mut self, number: u32, now_ns: u64) {
        let host = &mut self.hosts[number];
        host.waits -= 1;
        if host.waits > 0 {
            return;
        }
        self.times.drive_ns += u128::from(now_ns - host.submitted_ns);
        if host.work_ns == 0 {
            self.worked(number);
            return;
        }
        let free_ns = self.working.back().map_or(now_ns, |&(time_ns, _)| time_ns);
        let done_ns = free_ns.saturating_add(host.work_ns);
        self.times.cache_ns += done_ns - now_ns;
        self.times.work_ns += host.work_ns;
        self.working.push_back((done_ns, number));
    }

    /// Completes the page copies, compressions and restorations that end by `now_ns`.
    pub fn advance(&mut self, now_ns: u64) {
        while let Some(&(_, number)) = self.working.front().filter(|&&(time_ns, _)| time_ns <= now_ns) {
            self.working.pop_front();
            self.worked(number);
        }
    }

    /// Continues a host request whose page work is complete.
    fn worked(&mut self, number: u32) {
        let HostRequest { dirtied, .. } = self.hosts[number];
        if self.is_above_limit(dirtied) {
            self.limited.push(Reverse((dirtied, number)));
        } else {
            self.done.push_back(number);
        }
    }

    /// Returns true if a writer must wait. `dirtied` is the number of pages dirtied up to and including its write; the
    /// writer waits while more of these pages than the limit are still dirty.
    fn is_above_limit(&self, dirtied: u64) -> bool {
        let counters = self.cache.write_back.counters();
        let clean = self.written_back + counters.overwritten + counters.discarded;
        dirtied.saturating_sub(clean) > self.hard_pages
    }

    /// Returns true if a request can be sent to the layer below, or a host request can be completed.
    #[inline]
    pub fn has_work(&self) -> bool {
        self.below.is_ready() || !self.done.is_empty() || self.is_freed()
    }

    /// Returns true if the writer that has waited longest can continue.
    fn is_freed(&self) -> bool {
        self.limited.peek().is_some_and(|&Reverse((dirtied, _))| !self.is_above_limit(dirtied))
    }

    /// Returns the next request for the layer below, with its number.
    pub fn next(&mut self) -> Option<(u32, Request)> {
        self.below.next()
    }

    /// Completes a backing request.
    pub fn completed(&mut self, number: u32, op: Op, now_ns: u64, latency_ns: u64) {
        self.times.below[op as usize].record(latency_ns);
        let mut freed = std::mem::take(&mut self.freed);
        self.written_back += self.below.completed(number, &mut freed);
        freed.drain(..).for_each(|host| self.release(host, now_ns));
        self.freed = freed;
    }

    /// Returns a completed host request, if any, with its latency.
    pub fn take_done(&mut self, now_ns: u64) -> Option<(Request, u64)> {
        while self.is_freed() {
            self.done.extend(self.limited.pop().map(|Reverse((_, number))| number));
        }
        let number = self.done.pop_front()?;
        let HostRequest { request, issued_ns, .. } = self.hosts[number];
        self.hosts.remove(number);
        self.times.bytes[request.op as usize] += u64::from(request.bytes);
        self.times.total_ns += u128::from(now_ns - issued_ns);
        Some((request, now_ns - issued_ns))
    }
}
