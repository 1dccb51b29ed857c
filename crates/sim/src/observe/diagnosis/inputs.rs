//! Whether a run says what it seems to say: inputs that make figures tell something else.

use super::{Finding, Subject};
use crate::observe::summary::{Summary, TimeSummary};
use crate::setup::Setup;
use crate::setup::host::Replay;
use crate::setup::what_if::WhatIf;

/// Share of the simulated time by which a drive may finish after the last arrival.
const BEHIND: f64 = 0.1;

/// A cache that misses more often than this holds too little of what the trace uses.
const MISSES: f64 = 0.5;

/// How long a drive went on after the last arrival, where it did not keep up with them.
pub(super) fn behind_ns(time: &TimeSummary) -> Option<u64> {
    time.behind_ns.filter(|&behind_ns| behind_ns as f64 > BEHIND * time.elapsed_ns as f64)
}

/// Suspicious inputs.
pub(super) fn findings(setup: &Setup, summary: &Summary, trace_ns: u64) -> Vec<Finding> {
    let mut found = Vec::new();
    let new = |name, share| Finding::new(Subject::Input, name, share);
    let (host, device) = (&summary.host, &summary.device);

    // What a warm-up wrote and erased is not counted.
    if host.pages_written > 0 && summary.flash.0.erased() == 0 && setup.warmup_requests == 0 {
        let before = summary.precondition.host_pages_written;
        let written = before + host.pages_written;
        found.push(
            new("never_full", 1.0 - (written as f64 / device.physical_pages as f64).min(1.0))
                .with("pages_written", written as f64)
                .with("physical_pages", device.physical_pages as f64),
        );
    }
    let written = summary.repeat.as_ref().map_or(summary.capacities_written, |repeat| repeat.capacities_written);
    let until_steady = summary.repeat.as_ref().is_some_and(|repeat| repeat.steady.is_some());
    let by_trace = summary.precondition.replays.is_some();
    if written > 0.0 && written < 1.0 && !until_steady && !by_trace {
        found.push(new("too_short", 1.0 - written).with("capacities_written", written));
    }
    if trace_ns > 0 && !matches!(setup.replay, Replay::Open { .. }) {
        // Nothing says how wrong that is.
        let elapsed_ns = summary.time.as_ref().map(|time| time.elapsed_ns as f64);
        found.push(new("times_ignored", 0.0).with("trace_ns", trace_ns as f64).with_any("elapsed_ns", elapsed_ns));
    }
    if let Some(time) = &summary.time
        && let Some(behind_ns) = behind_ns(time)
    {
        found.push(new("queue_grows", behind_ns as f64 / time.elapsed_ns as f64).with("behind_ns", behind_ns as f64));
    }
    if let Some(miss_ratio) = summary.map.and_then(|map| map.all.hit_ratio).map(|hits| 1.0 - hits)
        && miss_ratio > MISSES
    {
        found.push(new("map_cache_too_small", miss_ratio).with("miss_ratio", miss_ratio).tried_by(&[WhatIf::Map]));
    }
    if let Some(miss_ratio) = summary.cache.as_ref().and_then(|cache| cache.miss_ratio)
        && miss_ratio > MISSES
    {
        found.push(new("cache_too_small", miss_ratio).with("miss_ratio", miss_ratio).tried_by(&[WhatIf::Cache]));
    }
    found
}
