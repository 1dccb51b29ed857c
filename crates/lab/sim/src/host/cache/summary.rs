//! Results of a cache above the drive.

use std::ops::Sub;

use serde::Serialize;
use ssdlab_cache::{Transitions, WriteBackCounters};

use crate::observe::latency::LatencyByOp;

/// Results of the cache above the drive in the measured phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CacheSummary {
    /// Name of the replacement policy.
    pub policy: &'static str,
    /// Page size of the cache in bytes.
    pub page_bytes: u32,
    /// Capacity in uncompressed pages, including the compressed pool.
    pub capacity_pages: u64,
    /// Number of host requests.
    pub requests: u64,
    /// Number of host requests served without a request to the layer below.
    pub served: u64,
    /// Number of touched pages that were cached, uncompressed or compressed.
    pub hits: u64,
    /// Number of touched pages that were not cached.
    pub misses: u64,
    /// Misses per page touched; `None` if no page was touched.
    pub miss_ratio: Option<f64>,
    /// Number of misses on pages that had been evicted to make space. With unlimited capacity, they would have been
    /// hits.
    #[serde(skip)]
    pub missed_again: u64,
    /// Number of dirty pages written to the layer below.
    pub written_back: u64,
    /// Number of dirty pages in the cache at the end of the run.
    pub dirty_pages: u64,
    /// Counters of the cache.
    pub counters: WriteBackCounters,
    /// Results of the uncompressed and the compressed pool.
    pub pools: PoolsSummary,
    /// Time that host requests spent in the cache: copying, restoring and compressing, and waiting for the work of
    /// other requests in the cache.
    pub cache_ns: u64,
    /// Mean latency of a host request, if time is modelled. Above a serial drive: time in the cache plus the latencies
    /// of all backing requests that the host request causes.
    pub mean_ns: Option<f64>,
    /// Time that host requests spent waiting outside the cache, by reason; `None` unless the drive is event-driven.
    pub waits: Option<WaitSummary>,
    /// Rates and response times of backing requests; `None` unless the drive is event-driven.
    pub below: Option<BelowSummary>,
}

/// Total times that host requests spent waiting outside the cache.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WaitSummary {
    /// Time spent waiting for requests to the layer below.
    pub drive_ns: u128,
    /// Time spent waiting while the number of dirty pages was at its limit.
    pub limit_ns: u128,
    /// Fraction of time that the cache spent working on pages.
    pub utilisation: f64,
}

/// Rates and response times of the backing requests: the requests that a cache sends to the layer below to serve host
/// requests and to write back dirty pages.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BelowSummary {
    /// Backing requests completed per second; all rates are `None` if no time passed.
    pub iops: Option<f64>,
    /// Bytes read from the layer below per second.
    pub bytes_read_per_s: Option<f64>,
    /// Bytes written to the layer below per second.
    pub bytes_written_per_s: Option<f64>,
    /// Response times of backing requests.
    pub latency: LatencyByOp,
}

/// Results of the two pools of a cache. Without a compressed pool, all pages are uncompressed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PoolsSummary {
    /// Capacity of the uncompressed pool in pages.
    pub raw_capacity_pages: u64,
    /// Capacity of the compressed pool in bytes.
    pub compressed_capacity_bytes: u64,
    /// Number of touched pages that were in the uncompressed pool.
    pub raw_hits: u64,
    /// Number of touched pages that were in the compressed pool.
    pub compressed_hits: u64,
    /// Number of pages compressed, successfully or not.
    pub compressions: u64,
    /// Time spent on compression.
    pub compress_ns: u64,
    /// Time spent on decompression.
    pub restore_ns: u64,
    /// Number of uncompressed pages in the cache at the end of the run.
    pub raw_pages: u64,
    /// Number of compressed pages in the cache at the end of the run.
    pub compressed_pages: u64,
    /// Size of the compressed pages at the end of the run, in bytes.
    pub compressed_bytes: u64,
    /// Raw bytes per compressed byte; `None` without compressed pages.
    pub ratio: Option<f64>,
    /// Counts of pages moved between the pools.
    pub transitions: Transitions,
}

/// Running totals of the cache's work. Results of the measured phase are differences between two such totals.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub counters: WriteBackCounters,
    pub transitions: Transitions,
    pub requests: u64,
    pub served: u64,
    /// Number of pages touched for the first time.
    pub first_touched: u64,
}

impl Totals {
    /// Returns the number of touched pages.
    pub fn touched(&self) -> u64 {
        self.counters.read_pages + self.counters.written_pages
    }
}

impl Sub for Totals {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            counters: self.counters - before.counters,
            transitions: self.transitions - before.transitions,
            requests: self.requests - before.requests,
            served: self.served - before.served,
            first_touched: self.first_touched - before.first_touched,
        }
    }
}
