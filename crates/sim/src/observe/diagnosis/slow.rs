//! What slow requests are made of.

use super::{Finding, Subject};
use crate::observe::summary::{LatencySummary, Summary};
use crate::observe::waits::{PART_NAMES, PARTS, PartsByPercentile};
use crate::setup::what_if::WhatIf;

/// The largest part of slow reads and of slow writes, those that take longer first; none unless waits are watched. They
/// are watched below a cache.
pub(super) fn requests(summary: &Summary) -> Vec<Finding> {
    let (Some(latency), Some(response)) =
        (&summary.latency, summary.drive.as_ref().and_then(|drive| drive.response.as_ref()))
    else {
        return Vec::new();
    };
    let (latency, reads, writes) = match summary.cache.as_ref().and_then(|cache| cache.below.as_ref()) {
        None => (latency, Subject::SlowReads, Subject::SlowWrites),
        Some(below) => (&below.latency, Subject::SlowReadsBelow, Subject::SlowWritesBelow),
    };
    let mut found: Vec<(u64, Finding)> =
        [(reads, latency.read, response.read), (writes, latency.write, response.write)]
            .into_iter()
            .filter_map(|(about, latency, parts)| Some((latency?.p99_ns, largest(about, latency?, &parts?)?)))
            .collect();
    found.sort_by_key(|(p99_ns, _)| std::cmp::Reverse(*p99_ns));
    found.into_iter().map(|(_, found)| found).collect()
}

fn largest(about: Subject, latency: LatencySummary, parts: &PartsByPercentile) -> Option<Finding> {
    if parts.p99.sum_ns == 0 {
        return None;
    }
    let part = (0..PARTS).fold(0, |most, part| if parts.p99.share(part) > parts.p99.share(most) { part } else { most });
    let found = Finding::new(about, PART_NAMES[part], parts.p99.share(part))
        .with("p50_share", parts.p50.share(part))
        .with("p99_9_share", parts.p99_9.share(part))
        .with("p50_ns", latency.p50_ns as f64)
        .with("p99_ns", latency.p99_ns as f64)
        .with("p99_9_ns", latency.p99_9_ns as f64);
    let what_if = match PART_NAMES[part] {
        "collection" => WhatIf::Spare,
        "map" => WhatIf::Map,
        "bus" => WhatIf::Channels,
        "controller" => WhatIf::Controller,
        "link" => WhatIf::Link,
        "full_buffer" => WhatIf::Buffer,
        "flush" => WhatIf::Protected,
        "host_queue" => WhatIf::Slots,
        _ => WhatIf::Dies,
    };
    Some(found.tried_by(&[what_if]))
}
