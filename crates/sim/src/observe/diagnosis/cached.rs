//! What the requests of a host wait for that has a cache above the drive: the drive, the limit of dirty pages, the
//! cache. What those below wait for is told of them, many of which write back and have nobody waiting.

use super::{Finding, Subject};
use crate::observe::summary::Summary;
use crate::setup::what_if::WhatIf;

/// Time of the requests of the host for what is below, at the limit of dirty pages, and in the cache; none without a
/// cache in time.
fn parts_ns(summary: &Summary) -> Option<[f64; 3]> {
    let cache = summary.cache.as_ref()?;
    let waits = cache.waits.as_ref()?;
    Some([waits.drive_ns as f64, waits.limit_ns as f64, cache.cache_ns as f64])
}

/// Whether the requests of the host spend half of their time waiting for those below, if a cache comes between.
pub(super) fn waits_below(summary: &Summary) -> bool {
    parts_ns(summary).is_none_or(|[drive, limit, cache]| drive + limit >= cache)
}

/// The largest part of the times of the host's requests; none where they took no time.
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
            .reduce(|most, one| if one.1 > most.1 { one } else { most })?;
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
