//! What a cache above the drive reports.

use std::ops::Sub;

use serde::Serialize;
use ssdlab_cache::{Transitions, WriteBackCounters};

use crate::observe::summary::LatencyByOp;

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
    /// Misses of pages that were touched before, as far as pages left for want of room: a cache with room for all would
    /// have them.
    #[serde(skip)]
    pub missed_again: u64,
    /// Dirty pages written below.
    pub written_back: u64,
    /// Pages dirty at the end.
    pub dirty_pages: u64,
    /// What was done.
    pub counters: WriteBackCounters,
    /// What was where.
    pub pools: PoolsSummary,
    /// Time that requests spent in the cache: pages copied, restored and compressed, with waiting for others'.
    pub cache_ns: u64,
    /// Mean time of a request of the host, from its issue to its completion; above a serial drive its time in the
    /// cache, and the requests below that it causes one after the other. None where time is not modelled.
    pub mean_ns: Option<f64>,
    /// What the times of requests of the host are made of beside `cache_ns`; none unless the cache is at work in time.
    pub waits: Option<WaitSummary>,
    /// Rates and response times of the requests that it sent below; none where those of the run are these, or where
    /// time is not modelled.
    pub below: Option<BelowSummary>,
}

/// What requests of the host wait for outside the cache, all together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WaitSummary {
    /// Time until what they need from below was there.
    pub drive_ns: u128,
    /// Time until fewer pages were dirty.
    pub limit_ns: u128,
    /// Share of the time in which the cache worked on pages.
    pub utilisation: f64,
}

/// Requests that a cache sends below, for the host or to write back.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BelowSummary {
    /// Requests completed per second; none, as the rates below, if no time passed.
    pub iops: Option<f64>,
    /// Bytes read per second.
    pub bytes_read_per_s: Option<f64>,
    /// Bytes written per second.
    pub bytes_written_per_s: Option<f64>,
    /// Response times.
    pub latency: LatencyByOp,
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
pub(super) struct Totals {
    pub counters: WriteBackCounters,
    pub transitions: Transitions,
    pub requests: u64,
    pub served: u64,
    /// Pages touched for the first time.
    pub first_touched: u64,
}

impl Totals {
    /// Pages touched.
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
