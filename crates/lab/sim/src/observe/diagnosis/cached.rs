//! Finds out what host requests wait for if the host has a cache: the drive, the dirty limit or the cache itself.
//!
//! Backing requests have separate findings, because many of them, such as write-backs, do not delay host requests.

use crate::observe::finding::{Finding, Subject};
use crate::observe::summary::Summary;
use crate::setup::what_if::WhatIf;

/// Returns the times that host requests spent below the cache, waiting at the dirty limit, and in the cache. `None`
/// unless there is a cache above an event-driven drive.
fn parts_ns(summary: &Summary) -> Option<[f64; 3]> {
    let cache = summary.cache.as_ref()?;
    let waits = cache.waits.as_ref()?;
    Some([waits.drive_ns as f64, waits.limit_ns as f64, cache.cache_ns as f64])
}

/// Returns true if host requests spend at least half of their time below the cache, or there is no cache.
pub(super) fn waits_below(summary: &Summary) -> bool {
    parts_ns(summary).is_none_or(|[drive, limit, cache]| drive + limit >= cache)
}

/// Returns the finding for the largest part of the latencies of host requests; `None` if the latencies are 0.
pub(super) fn host(summary: &Summary) -> Option<Finding> {
    let parts = parts_ns(summary)?;
    let all = summary.latency.as_ref()?.all?;
    let total: f64 = parts.iter().sum();
    if total == 0.0 {
        return None;
    }
    let [drive, limit, cache] = parts.map(|part| part / total);
    let (name, share, what_ifs) =
        [("drive", drive, &[WhatIf::Cache][..]), ("dirty_limit", limit, &[WhatIf::Cache]), ("cache", cache, &[])]
            .into_iter()
            .reduce(|largest, part| if part.1 > largest.1 { part } else { largest })?;
    Some(
        Finding::new(Subject::Host, name, share)
            .with("drive", drive)
            .with("dirty_limit", limit)
            .with("cache", cache)
            .with("mean_ns", all.mean_ns)
            .with("p99_ns", all.p99_ns as f64)
            .tried_by(what_ifs),
    )
}
