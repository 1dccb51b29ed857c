//! The host's cache above the drive.
//!
//! Copying, restoring and compressing a page take time. The request that touches a page waits for this work, and for
//! the work on the victim that it evicts from the uncompressed pool. This follows the cost function before figure 12 of
//! Harper 2018. The codec times in that paper cover all threads together, so the host works on one page at a time.
//!
//! In an event-driven drive, the cache is a component of the event loop ([`in_time`]). For a drive that serves requests
//! one by one, the cache is the source of requests ([`source`]), so that the drive's loop still works in batches.

mod backing_queue;
pub(crate) mod in_time;
pub(crate) mod source;
mod summary;

use ssdlab_cache::{CacheError, CompressedPool, Transitions, Why, WriteBackCache, WriteBackOptions};
use ssdlab_core::units::write_bytes;
use ssdlab_trace::{Op, Request, TraceError, flag};

use crate::host::fit::runs;
use crate::run::error::SimError;
use crate::setup::Setup;
use crate::setup::host::CacheOptions;
use summary::Totals;
pub use summary::{BelowSummary, CacheSummary, PoolsSummary, WaitSummary};

/// Number and duration of the codec's operations on pages.
#[derive(Clone, Copy, Debug, Default)]
struct Work {
    compressions: u64,
    compress_ns: u64,
    restore_ns: u64,
}

/// A host cache, and running totals of its work.
struct Cache {
    options: CacheOptions,
    write_back: WriteBackCache,
    device_bytes: u64,
    totals: Totals,
    /// Value of `totals` at the start of the measured phase.
    start: Totals,
}

impl Cache {
    /// Creates an empty cache that writes back in the background while more than `background_percent` of its pages are
    /// dirty.
    ///
    /// # Errors
    /// Fails if the options are invalid, or the page size does not divide the device.
    fn new(setup: &Setup, options: &CacheOptions, background_percent: u32) -> Result<Self, SimError> {
        let impossible = |error: CacheError| SimError::Setup(format!("host cache: {error}"));
        let device_bytes = setup.capacity_bytes();
        if !device_bytes.is_multiple_of(u64::from(options.page_bytes)) {
            return Err(SimError::Setup(format!(
                "cache.page: {} does not divide the drive's capacity of {}; lower it to {} or less",
                write_bytes(options.page_bytes.into()),
                write_bytes(device_bytes),
                write_bytes(1 << device_bytes.trailing_zeros()),
            )));
        }
        let write_back = WriteBackOptions {
            page_bytes: options.page_bytes,
            capacity_pages: options.raw_pages(),
            writes: options.writes,
            background_percent,
            hard_percent: options.dirty_percent,
        };
        let mut cache = WriteBackCache::new(options.policy, &options.parameters, write_back).map_err(impossible)?;
        if let Some(pool) = options.compressed {
            cache = cache
                .compressing(CompressedPool {
                    policy: pool.policy,
                    bytes: pool.room_pages * u64::from(options.page_bytes),
                    sizes: pool.sizes,
                    seed: setup.seed,
                })
                .map_err(impossible)?;
        }
        Ok(Self {
            options: options.clone(),
            write_back: cache,
            device_bytes,
            totals: Totals::default(),
            start: Totals::default(),
        })
    }

    fn start_measuring(&mut self) {
        self.start = self.totals;
    }

    /// Processes a host request and passes its backing requests to `below`. Returns the duration of the page work.
    fn submit<F: FnMut(Request, Why)>(&mut self, request: &Request, below: &mut F) -> Result<u64, SimError> {
        let before = self.totals;
        let (cache, mut served) = (&mut self.write_back, true);
        let mut submit = |request: &Request| {
            let below = &mut |request, why| {
                served = false;
                below(request, why);
            };
            cache.submit(request, below).map_err(|error| TraceError::Invalid(error.to_string()))
        };
        if request.op == Op::Flush || request.end() <= self.device_bytes {
            submit(request)?;
        } else {
            let mut flags = request.flags;
            for (offset, end) in runs(request, self.device_bytes) {
                submit(&Request { offset, bytes: (end - offset) as u32, flags, ..*request })?;
                flags &= !flag::PREFLUSH;
            }
        }
        self.totals = Totals {
            counters: self.write_back.counters(),
            transitions: self.write_back.transitions(),
            requests: before.requests + 1,
            served: before.served + u64::from(served),
            first_touched: self.write_back.pages_touched(),
        };
        let did = self.totals - before;
        let Work { compress_ns, restore_ns, .. } = self.work(did.transitions);
        let copy_ns = did.touched().saturating_mul(self.options.copy.0);
        Ok(copy_ns.saturating_add(compress_ns).saturating_add(restore_ns))
    }

    /// Writes dirty pages back in the background.
    fn background<F: FnMut(Request, Why)>(&mut self, now_ns: u64, below: &mut F) {
        if self.write_back.background(u64::MAX, now_ns, below) > 0 {
            self.totals.counters = self.write_back.counters();
        }
    }

    /// Returns the work that the codec does for the given transitions of pages between the pools.
    fn work(&self, transitions: Transitions) -> Work {
        let Some(pool) = self.options.compressed else { return Work::default() };
        let compressions = transitions.demoted();
        Work {
            compressions,
            compress_ns: compressions.saturating_mul(pool.compress.0),
            restore_ns: transitions.restored.saturating_mul(pool.restore.0),
        }
    }

    /// Returns the results of the measured phase, given the total time `cache_ns` of host requests in the cache and
    /// their mean latency `mean_ns`.
    fn summary(&self, cache_ns: u64, mean_ns: Option<f64>) -> CacheSummary {
        let did = self.totals - self.start;
        let (counters, touched) = (did.counters, did.touched());
        let hits = counters.read_hits + counters.write_hits;
        CacheSummary {
            policy: self.options.policy.name,
            page_bytes: self.options.page_bytes,
            capacity_pages: self.options.capacity_pages,
            requests: did.requests,
            served: did.served,
            hits,
            misses: touched - hits,
            miss_ratio: (touched > 0).then(|| (touched - hits) as f64 / touched as f64),
            missed_again: (touched - hits - did.first_touched).min(did.transitions.dropped()),
            written_back: counters.written_back(),
            dirty_pages: self.write_back.dirty_pages(),
            counters,
            pools: self.pools(did.transitions),
            cache_ns,
            mean_ns,
            waits: None,
            below: None,
        }
    }

    /// Summarises the contents of the pools, and the transitions of pages between them.
    fn pools(&self, transitions: Transitions) -> PoolsSummary {
        let page_bytes = u64::from(self.options.page_bytes);
        let (compressed_pages, compressed_bytes) = self.write_back.compressed_pages();
        let Work { compressions, compress_ns, restore_ns } = self.work(transitions);
        PoolsSummary {
            raw_capacity_pages: self.options.raw_pages(),
            compressed_capacity_bytes: (self.options.capacity_pages - self.options.raw_pages()) * page_bytes,
            raw_hits: transitions.raw_hits + transitions.raw_overwritten,
            compressed_hits: transitions.compressed_hits + transitions.compressed_overwritten,
            compressions,
            compress_ns,
            restore_ns,
            raw_pages: self.write_back.raw_pages(),
            compressed_pages,
            compressed_bytes,
            ratio: (compressed_pages > 0).then(|| (compressed_pages * page_bytes) as f64 / compressed_bytes as f64),
            transitions,
        }
    }
}
