//! Inputs that make the results of a run misleading.

use crate::observe::finding::{Finding, Subject};
use crate::observe::series::Series;
use crate::observe::summary::Summary;
use crate::run::Outcome;
use crate::setup::drive::{Collect, DriveOptions};
use crate::setup::host::Replay;
use crate::setup::what_if::WhatIf;
use crate::setup::{Clock, Setup};

/// A cache counts as too small if repeated misses are more than this share of all accesses. First misses do not count,
/// because no cache avoids them.
const MISSES: f64 = 0.5;

/// Number of flash capacities that the host must write before write amplification depends only on the host's requests.
/// By the end of the first capacity, collection has begun; by the end of the second, all blocks have been collected, as
/// in `run/steady.rs`.
const SETTLES_AFTER: f64 = 2.0;

/// Write amplification counts as unsteady if it has changed by more than this fraction: between the whole run and its
/// last part or, after repeated replays, between the last two replays.
const SETTLED: f64 = 0.05;

/// If at least this fraction of garbage collection runs in idle time, the diagnosis treats all collection as hidden
/// from requests.
const ALL: f64 = 0.95;

/// Returns the time from the last arrival to the last completion; `None` unless the drive fell behind.
pub(super) fn behind_ns(summary: &Summary) -> Option<u64> {
    summary.time.as_ref()?.fell_behind_ns(summary.latency.as_ref()?, summary.drive.as_ref().map(|drive| &drive.service))
}

/// Returns how many device capacities the host has written, and how many it must write until write amplification
/// becomes steady. `None` if enough was written, if write amplification became steady over repeated replays, or if the
/// trace preconditioned the drive.
pub(super) fn too_short(outcome: &Outcome) -> Option<(f64, f64)> {
    let summary = &outcome.summary;
    let judged = summary.repeat.as_ref().and_then(|repeat| repeat.steady);
    if judged == Some(true) || summary.precondition.replays.is_some() {
        return None;
    }
    let logical_pages = summary.device.logical_pages as f64;
    let written = replayed(outcome) + summary.precondition.runs_pages_written as f64 / logical_pages;
    let needed = SETTLES_AFTER * summary.device.physical_pages as f64 / logical_pages;
    (written < needed).then_some((written, needed))
}

/// Returns the number of device capacities written by the warm-up and all replays.
fn replayed(outcome: &Outcome) -> f64 {
    let summary = &outcome.summary;
    let replayed = summary.repeat.as_ref().map_or(summary.capacities_written, |repeat| repeat.capacities_written);
    replayed + outcome.warmup_pages as f64 / summary.device.logical_pages as f64
}

/// Returns the findings on inputs that make the results misleading.
pub(super) fn findings(setup: &Setup, outcome: &Outcome) -> Vec<Finding> {
    let Outcome { summary, series, trace_ns, .. } = outcome;
    let mut findings = Vec::new();
    let new = |name, share| Finding::new(Subject::Input, name, share);
    let (host, device) = (&summary.host, &summary.device);
    // A run that was stopped does not reach the end of the trace, so the length of the trace is unknown.
    let whole = !summary.partial;

    // Pages written by preconditioning, warm-ups and earlier replays count too.
    let logical_pages = device.logical_pages as f64;
    let pages_written = summary.precondition.host_pages_written as f64 + replayed(outcome) * logical_pages;
    let physical_pages = device.physical_pages as f64;
    let never_full = summary.flash.0.erased() == 0 && pages_written < physical_pages;
    if whole && host.pages_written > 0 && never_full {
        findings.push(
            new("never_full", 1.0 - pages_written / physical_pages)
                .with("pages_written", pages_written.round())
                .with("physical_pages", physical_pages),
        );
    }
    let judged = summary.repeat.as_ref().is_some_and(|repeat| repeat.steady.is_some());
    // Without writes, write amplification is not reported.
    if whole && host.pages_written > 0 {
        if let Some((written, needed)) = too_short(outcome) {
            findings.push(
                new("too_short", 1.0 - written / needed)
                    .with("capacities_written", written)
                    .with("capacities_needed", needed),
            );
        } else if !judged && summary.precondition.replays.is_none() {
            findings.extend(unsettled(summary, series));
        }
    }
    if whole && *trace_ns > 0 && !matches!(setup.replay, Replay::Open { .. }) {
        // It is unknown how much ignoring the trace's timestamps matters, so this finding has a share of 0.
        let elapsed_ns = summary.time.as_ref().map(|time| time.elapsed_ns as f64);
        findings.push(new("times_ignored", 0.0).with("trace_ns", *trace_ns as f64).with_any("elapsed_ns", elapsed_ns));
    }
    if let Some(time) = &summary.time
        && let Some(behind_ns) = behind_ns(summary)
    {
        findings
            .push(new("queue_grows", behind_ns as f64 / time.elapsed_ns as f64).with("behind_ns", behind_ns as f64));
    }
    findings.extend(idle_collection(setup, outcome));
    let map = summary.map.map(|map| (map.all.count, map.all.count - map.all.hits, map.missed_again));
    let cache = summary.cache.as_ref().map(|cache| (cache.hits + cache.misses, cache.misses, cache.missed_again));
    let too_small = [("map_cache_too_small", map, WhatIf::Map), ("cache_too_small", cache, WhatIf::Cache)];
    for (name, counts, what_if) in too_small {
        let Some((count @ 1.., misses, again)) = counts else { continue };
        let [miss_ratio, share] = [misses, again].map(|missed| missed as f64 / count as f64);
        if share > MISSES {
            findings.push(new(name, share).with("miss_ratio", miss_ratio).tried_by(&[what_if]));
        }
    }
    findings
}

/// Returns a finding if idle-time collection never runs, or does nearly all of the collection.
fn idle_collection(setup: &Setup, outcome: &Outcome) -> Option<Finding> {
    let Clock::Event(_, DriveOptions { collect: Collect::Idle { after, .. }, .. }) = setup.clock else { return None };
    let (all, idle) = (outcome.summary.flash.0.collected(), outcome.collected_ahead);
    let share = idle as f64 / all.max(1) as f64;
    let (name, share) = match idle {
        _ if all == 0 => return None,
        0 => ("idle_never_collects", 1.0),
        _ if share >= ALL => ("idle_collects_all", share),
        _ => return None,
    };
    let finding = Finding::new(Subject::Input, name, share).with("after_ns", after.0 as f64);
    Some(finding.with("collected", all as f64).with("collected_idle", idle as f64))
}

/// Returns a finding if write amplification is not yet steady. After repeated replays, it compares the last two
/// replays; after a single replay, it compares the last part with the whole replay.
fn unsettled(summary: &Summary, series: &Series) -> Option<Finding> {
    let replays = summary.repeat.as_ref().map_or(&[][..], |repeat| &repeat.write_amplification);
    let (name, before, now) = match *replays {
        [.., before, now] => ("unsettled_replays", before?, now?),
        _ => {
            let latest = series.latest(summary.device.physical_pages)?;
            ("unsettled", summary.write_amplification?, latest.amplification()?)
        }
    };
    let change = (now / before - 1.0).abs();
    (change > SETTLED).then(|| {
        Finding::new(Subject::Input, name, change)
            .with("write_amplification_before", before)
            .with("write_amplification_then", now)
    })
}
