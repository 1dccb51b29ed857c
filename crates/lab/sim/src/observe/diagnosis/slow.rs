//! Finds the largest parts of the response times of slow requests.

use ssdlab_nand::backend::parallel::{CAUSES, StallCause};

use super::throughput;
use crate::observe::breakdown::{BreakdownByPercentile, LatencyBreakdown, PART_NAMES, PARTS, Part};
use crate::observe::finding::{Finding, Subject};
use crate::observe::latency::LatencySummary;
use crate::observe::summary::Summary;
use crate::setup::what_if::WhatIf;
use crate::setup::{Clock, Setup};

/// Returns findings for slow reads and for slow writes, the slower operation first. Each finding names the largest part
/// of the response times. Returns no findings without latency attribution. With a cache, only backing requests count.
pub(super) fn requests(setup: &Setup, summary: &Summary) -> Vec<Finding> {
    let (Some(latency), Some(response)) =
        (&summary.latency, summary.drive.as_ref().and_then(|drive| drive.response.as_ref()))
    else {
        return Vec::new();
    };
    let (latency, reads, writes) = match summary.cache.as_ref().and_then(|cache| cache.below.as_ref()) {
        None => (latency, Subject::SlowReads, Subject::SlowWrites),
        Some(below) => (&below.latency, Subject::SlowReadsBelow, Subject::SlowWritesBelow),
    };
    let mut slow: Vec<(u64, Finding)> = [(reads, latency.read, response.read), (writes, latency.write, response.write)]
        .into_iter()
        .filter_map(|(about, latency, parts)| {
            let (latency, parts) = (latency?, parts?);
            let finding = largest(setup, summary, (about, latency, &parts))?;
            Some((latency.p99_ns, finding))
        })
        .collect();
    slow.sort_by_key(|(p99_ns, _)| std::cmp::Reverse(*p99_ns));
    slow.into_iter().map(|(_, finding)| finding).collect()
}

fn largest(
    setup: &Setup,
    summary: &Summary,
    (about, latency, parts): (Subject, LatencySummary, &BreakdownByPercentile),
) -> Option<Finding> {
    if parts.p99.sum_ns == 0 {
        return None;
    }
    let part = (0..PARTS).fold(0, |most, part| if parts.p99.share(part) > parts.p99.share(most) { part } else { most });
    // With a write buffer, a write waits for the flash only while the buffer has no space for the write.
    let buffer = match setup.clock {
        Clock::Event(_, options) if matches!(about, Subject::SlowWrites | Subject::SlowWritesBelow) => options.buffer,
        _ => None,
    };
    let room_share = buffer.map(|_| (0..CAUSES).map(|part| parts.p99.share(part)).sum());
    let by_room = part < CAUSES && buffer.is_some() && throughput::a_larger_buffer_helps(setup, summary);
    let larger: &[WhatIf] = if by_room { &[WhatIf::Buffer] } else { &[] };
    let relieving = relief(setup, summary, part, &parts.p99);
    let finding = Finding::new(about, PART_NAMES[part], parts.p99.share(part))
        .with("p50_share", parts.p50.share(part))
        .with("p99_9_share", parts.p99_9.share(part))
        .with_any("room_share", room_share)
        .with("p50_ns", latency.p50_ns as f64)
        .with("p99_ns", latency.p99_ns as f64)
        .with("p99_9_ns", latency.p99_9_ns as f64);
    Some(finding.tried_by(&[larger, &relieving].concat()))
}

/// Returns the what-if changes that shorten the given part of the latencies.
fn relief(setup: &Setup, summary: &Summary, part: usize, parts: &LatencyBreakdown) -> Vec<WhatIf> {
    const OWN: usize = StallCause::Service as usize;
    const COLLECTION: usize = StallCause::Collection as usize;
    const MAP: usize = StallCause::Map as usize;
    const BUS: usize = StallCause::Bus as usize;
    const CONTROLLER: usize = Part::Controller as usize;
    const LINK: usize = Part::Link as usize;
    const FLUSH: usize = Part::Flush as usize;
    const BLOCK_LAYER: usize = Part::BlockLayer as usize;
    const HOST_QUEUE: usize = Part::HostQueue as usize;
    match (part, throughput::saturated(setup, summary)) {
        (COLLECTION, _) if summary.log.is_none() => vec![WhatIf::Spare],
        (MAP, _) => vec![WhatIf::Map],
        (BUS, _) => vec![WhatIf::Channels],
        (CONTROLLER, _) => vec![WhatIf::Controller],
        (LINK, _) => vec![WhatIf::Link],
        (FLUSH, _) => vec![WhatIf::Protected],
        // Sending more requests to a saturated drive does not make it faster.
        (BLOCK_LAYER | HOST_QUEUE, Some((_, changes))) => changes,
        (BLOCK_LAYER, None) => above_drive(setup, summary, parts),
        (HOST_QUEUE, None) => vec![WhatIf::Slots],
        // A flash operation occupies its die even while it waits for another resource.
        (part, Some((busiest, changes))) if busiest != "dies" && part != OWN => {
            [&changes[..], &[WhatIf::Dies]].concat()
        }
        _ => vec![WhatIf::Dies],
    }
}

/// Returns the changes that shorten waits above the drive. If all request slots are occupied, also suggests a faster
/// drive, because the number of slots cannot always be raised.
fn above_drive(setup: &Setup, summary: &Summary, parts: &LatencyBreakdown) -> Vec<WhatIf> {
    let mut changes = throughput::above_drive(setup, summary, parts).to_vec();
    if changes.contains(&WhatIf::Slots) {
        let below = (0..PARTS).filter(|&part| part != Part::BlockLayer as usize);
        let longest =
            below.max_by_key(|&part| parts.parts_ns[part]).expect("a latency has parts other than the block layer");
        let others = relief(setup, summary, longest, parts);
        changes.extend(others.into_iter().filter(|change| *change != WhatIf::Slots));
    }
    changes
}
