//! What bounds throughput, the likeliest cause first.
//!
//! Arrivals do if the drive keeps up with them, and so does a resource that is busy for most of the time. Otherwise every
//! notable wait of the requests is a cause, and so is the host, which thinks or keeps too few requests outstanding. Only a
//! run with a change tells which of these costs most. A cache above the drive works on one page after the other, and is a
//! resource.

use ssdlab_nand::backend::parallel::{CAUSES, StallCause};

use super::{Finding, Subject, cached, inputs};
use crate::observe::activity::{DriveSummary, Spread};
use crate::observe::breakdown::{LatencyBreakdown, PARTS, Part, ResponseSummary};
use crate::observe::summary::{Summary, TimeSummary};
use crate::run::Outcome;
use crate::setup::drive::{DriveOptions, Front, WriteBuffer};
use crate::setup::host::Replay;
use crate::setup::what_if::WhatIf;
use crate::setup::{Clock, Setup};

/// A resource that is busy for this share of the time bounds throughput: what is left is lost to requests that come
/// unevenly.
const SATURATED: f64 = 0.7;

/// One of a kind does too much if it does so many times as much as the mean.
const UNEVEN: f64 = 2.0;

/// Fewer pages that are asked for at a time cannot spread.
const SPREADABLE: f64 = 1.5;

/// With so many requests outstanding for each die, it is not the host that keeps a drive from being busy.
const ENOUGH: f64 = 2.0;

/// A cause that takes this share of the time from one request to the next is worth a finding: without it, throughput
/// could rise by a third.
const NOTABLE: f64 = 0.25;

/// With a cause that takes this share of that time, the number of requests outstanding is not another.
const PREVAILING: f64 = 0.5;

const NANOS_PER_SECOND: f64 = 1e9;

/// Causes that bound throughput, the likeliest first. Empty without a drive in time, or if no time passed, or for a
/// single request.
pub(super) fn limits(setup: &Setup, outcome: &Outcome) -> Vec<Finding> {
    let summary = &outcome.summary;
    let (Clock::Event(_, options), Some(time), Some(drive)) = (setup.clock, &summary.time, &summary.drive) else {
        return Vec::new();
    };
    // One request has no others that it could be slower or faster than.
    if time.elapsed_ns == 0 || summary.latency.as_ref().and_then(|latency| latency.all).is_none_or(|all| all.count < 2)
    {
        return Vec::new();
    }
    let busy = resources(summary, &options, time, drive);
    let busiest = busiest(&busy);
    let can_spread = drive.queue_depth_mean * pages_of_a_request(summary) >= SPREADABLE;
    let is_uneven = |of: &Spread| can_spread && of.max >= SATURATED && of.max >= UNEVEN * of.mean;
    let cache = summary.cache.as_ref().and_then(|cache| cache.waits.as_ref());
    let at_cache = cache.map(|waits| waits.utilisation).filter(|&share| share >= SATURATED && share > busiest.1);
    let found = if is_open(setup) && inputs::behind_ns(summary).is_none() {
        vec![host(setup, drive, busiest.1)]
    } else if let Some(share) = at_cache {
        vec![Finding::new(Subject::Throughput, "cache", share)]
    } else if busiest.1 >= SATURATED {
        vec![by_use(summary, drive, busiest)]
    } else if is_uneven(&drive.die_utilisation) {
        vec![uneven("uneven_dies", &drive.die_utilisation).tried_by(&[WhatIf::Dies])]
    } else if is_uneven(&drive.channel_utilisation) {
        vec![uneven("uneven_channels", &drive.channel_utilisation).tried_by(&[WhatIf::Channels])]
    } else {
        causes(setup, &options, outcome, drive, busiest)
    };
    let with_evidence = |found: Finding| {
        busy.iter()
            .fold(found, |found, &(name, share, _)| found.with(name, share))
            .with_any("cache", cache.map(|waits| waits.utilisation))
            .with("outstanding", drive.queue_depth_mean)
    };
    found.into_iter().map(with_evidence).collect()
}

/// Causes where nothing is saturated, by the share of the time from one request to the next that they take.
fn causes(
    setup: &Setup,
    options: &DriveOptions,
    outcome: &Outcome,
    drive: &DriveSummary,
    busiest: Resource,
) -> Vec<Finding> {
    let summary = &outcome.summary;
    let thinking = outcome.thinking_share.unwrap_or(0.0);
    let answering = 1.0 - thinking;
    let (waits, served) = match &drive.response {
        Some(response) if cached::waits_below(summary) => {
            (waiting(setup, options, summary, drive, response), served(&response.all.all))
        }
        _ => (Vec::new(), 1.0),
    };
    let mut found: Vec<(f64, Finding)> = waits.into_iter().map(|(share, wait)| (answering * share, wait)).collect();
    found.push((thinking, thinks(setup, thinking)));
    found.retain(|(share, _)| *share >= NOTABLE);
    let outstanding = if drive.queue_depth_mean >= ENOUGH * f64::from(drive.dies) {
        by_use(summary, drive, busiest)
    } else {
        host(setup, drive, busiest.1)
    };
    if found.iter().all(|(share, cause)| *share < PREVAILING && cause.name != outstanding.name) {
        found.push((answering * served, outstanding));
    }
    // Equal shares stay in this order.
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.into_iter().map(|(_, found)| found).collect()
}

/// The largest part of the response times that is no wait of [`waiting`].
fn served(all: &LatencyBreakdown) -> f64 {
    const WAITED: [usize; 6] = [
        StallCause::Collection as usize,
        StallCause::Map as usize,
        StallCause::Dependency as usize,
        Part::Flush as usize,
        Part::BlockLayer as usize,
        Part::HostQueue as usize,
    ];
    (0..PARTS).filter(|part| !WAITED.contains(part)).map(|part| all.share(part)).fold(0.0, f64::max)
}

/// A resource, for which share of the time it is busy, and the change that relieves it.
type Resource = (&'static str, f64, WhatIf);

fn resources(summary: &Summary, options: &DriveOptions, time: &TimeSummary, drive: &DriveSummary) -> [Resource; 4] {
    [
        ("controller", controller(summary, options, time), WhatIf::Controller),
        ("link", link(summary, &options.front, time), WhatIf::Link),
        ("channels", drive.channel_utilisation.mean, WhatIf::Channels),
        ("dies", drive.die_utilisation.mean, WhatIf::Dies),
    ]
}

fn busiest(resources: &[Resource; 4]) -> Resource {
    resources.iter().fold(resources[0], |most, one| if one.1 > most.1 { *one } else { most })
}

/// What the busiest resource does.
fn by_use(summary: &Summary, drive: &DriveSummary, busiest: Resource) -> Finding {
    match busiest {
        ("dies", utilisation, _) => at_work(summary, drive, utilisation),
        (name, utilisation, relief) => Finding::new(Subject::Throughput, name, utilisation).tried_by(&[relief]),
    }
}

fn pages_of_a_request(summary: &Summary) -> f64 {
    let host = &summary.host;
    let requests = host.read_requests + host.write_requests;
    (host.pages_read + host.pages_written) as f64 / requests.max(1) as f64
}

/// The resource that is busy most and the changes that relieve it, where the drive is saturated; requests that wait
/// above it, or for one that waits, are relieved by nothing else.
pub(super) fn saturated(setup: &Setup, summary: &Summary) -> Option<(&'static str, Vec<WhatIf>)> {
    let (Clock::Event(_, options), Some(time), Some(drive)) = (setup.clock, &summary.time, &summary.drive) else {
        return None;
    };
    let busiest = busiest(&resources(summary, &options, time, drive));
    (busiest.1 >= SATURATED).then(|| (busiest.0, by_use(summary, drive, busiest).what_ifs))
}

fn controller(summary: &Summary, options: &DriveOptions, time: &TimeSummary) -> f64 {
    let host = &summary.host;
    let requests = host.read_requests + host.write_requests + host.trim_requests + host.flush_requests;
    requests as f64 * options.front.command.0 as f64 / time.elapsed_ns as f64
}

/// Of two directions, the busier.
fn link(summary: &Summary, front: &Front, time: &TimeSummary) -> f64 {
    let Some(rate) = front.link_bytes_per_s else { return 0.0 };
    let busy = |bytes: u64| bytes as f64 / rate as f64 * NANOS_PER_SECOND / time.elapsed_ns as f64;
    let (out, inward) = (busy(summary.host.bytes_read), busy(summary.host.bytes_written));
    if front.full_duplex { out.max(inward) } else { out + inward }
}

/// A kind of work of the dies, its name, and the changes that relieve them of it.
type Work = (StallCause, &'static str, &'static [WhatIf]);

fn work(summary: &Summary) -> [Work; 5] {
    let internal = match summary.log {
        // Whether more log blocks spare merges depends on what is written; that cells are faster tells in any case.
        Some(_) => (StallCause::Collection, "merges", &[WhatIf::Dies, WhatIf::Spare][..]),
        None => (StallCause::Collection, "collection", &[WhatIf::Spare, WhatIf::Placement, WhatIf::Dies][..]),
    };
    [
        (StallCause::HostReads, "host_reads", &[WhatIf::Dies]),
        (StallCause::HostWrites, "host_writes", &[WhatIf::Dies]),
        (StallCause::PartialPages, "partial_pages", &[WhatIf::Dies]),
        internal,
        (StallCause::Map, "map", &[WhatIf::Map, WhatIf::Dies]),
    ]
}

/// The work that keeps the dies busy most.
fn at_work(summary: &Summary, drive: &DriveSummary, utilisation: f64) -> Finding {
    let Some(response) = &drive.response else {
        return Finding::new(Subject::Throughput, "dies", utilisation).tried_by(&[WhatIf::Dies]);
    };
    let kinds = work(summary);
    let cells_ns: u64 = kinds.iter().map(|(kind, ..)| response.dies_ns[*kind as usize]).sum();
    let share = |kind: StallCause| response.dies_ns[kind as usize] as f64 / cells_ns.max(1) as f64;
    let largest = kinds.iter().fold(&kinds[0], |most, kind| if share(kind.0) > share(most.0) { kind } else { most });
    let found = Finding::new(Subject::Throughput, largest.1, utilisation * share(largest.0)).tried_by(largest.2);
    kinds.iter().fold(found, |found, (kind, name, _)| found.with(of_cells(name), share(*kind)))
}

/// Whether a write buffer is full because of bursts, between which the dies rest, or as it is too small for them.
pub(super) fn a_larger_buffer_helps(setup: &Setup, summary: &Summary) -> bool {
    let (Clock::Event(_, options), Some(drive)) = (setup.clock, &summary.drive) else {
        return false;
    };
    let keeps_up = is_open(setup) && inputs::behind_ns(summary).is_none();
    let is_small = options.buffer.is_some_and(|buffer| is_small(&buffer, drive));
    drive.die_utilisation.mean < SATURATED && (keeps_up || is_small)
}

/// Whether a write buffer cannot keep the dies busy by itself.
fn is_small(buffer: &WriteBuffer, drive: &DriveSummary) -> bool {
    f64::from(buffer.pages) < ENOUGH * f64::from(drive.dies)
}

/// The name of a share of the cells' work.
fn of_cells(kind: &str) -> &'static str {
    match kind {
        "host_reads" => "cells_host_reads",
        "host_writes" => "cells_host_writes",
        "partial_pages" => "cells_partial_pages",
        "map" => "cells_map",
        _ => "cells_collection",
    }
}

fn uneven(name: &'static str, of: &Spread) -> Finding {
    Finding::new(Subject::Throughput, name, of.max).with("busiest", of.max)
}

/// Waits of requests, each with its share of the response times.
fn waiting(
    setup: &Setup,
    options: &DriveOptions,
    summary: &Summary,
    drive: &DriveSummary,
    response: &ResponseSummary,
) -> Vec<(f64, Finding)> {
    let all = &response.all.all;
    // Writes that wait for room in a buffer wait for whatever the flash does.
    let buffer = options.buffer.filter(|buffer| is_small(buffer, drive)).and(response.write).map(|write| {
        let room_ns: u128 = write.all.parts_ns[..CAUSES].iter().sum();
        room_ns as f64 / all.sum_ns.max(1) as f64
    });
    let is_full = buffer.is_some_and(|share| share >= NOTABLE);
    let mut found = Vec::new();
    let mut add = |wait: Finding| found.push((wait.share, wait));
    if let Some(share) = buffer {
        add(Finding::new(Subject::Throughput, "full_buffer", share).tried_by(&[WhatIf::Buffer]));
    }
    // A few dies at a time work on what all requests wait for: on their own dies or, where these may begin nothing
    // before it, on others.
    for (kind, name, what_ifs) in work(summary) {
        let is_behind = is_full || matches!(kind, StallCause::Collection | StallCause::Map);
        let behind = if is_behind { all.share(kind as usize) } else { 0.0 };
        let share = behind + all.share(StallCause::Dependency as usize) * response.share_of_held(kind);
        let dies = f64::from(drive.dies);
        add(Finding::new(Subject::Throughput, name, share)
            .tried_by(what_ifs)
            .with("dies_count", dies)
            .with("dies_at_work", drive.die_utilisation.mean * dies));
    }
    let queued = all.share(Part::BlockLayer as usize) + all.share(Part::HostQueue as usize);
    let name = if is_drive_full(all) { "queue_slots" } else { "block_layer" };
    add(Finding::new(Subject::Throughput, "flush", all.share(Part::Flush as usize)).tried_by(&[WhatIf::Protected]));
    add(Finding::new(Subject::Throughput, name, queued).tried_by(above_drive(setup, summary, all)));
    if is_full {
        let channels = Finding::new(Subject::Throughput, "channels", drive.channel_utilisation.mean);
        found.push((all.share(StallCause::Bus as usize), channels.tried_by(&[WhatIf::Channels])));
    }
    found
}

/// The changes that relieve requests of waiting above the drive: that for its slots, or for those that the block layer
/// has for it; where neither are taken, the scheduler holds requests back.
pub(super) fn above_drive(setup: &Setup, summary: &Summary, parts: &LatencyBreakdown) -> &'static [WhatIf] {
    if is_drive_full(parts) {
        &[WhatIf::Slots]
    } else if slots_taken(setup, summary).is_some_and(|share| share >= SATURATED) {
        &[WhatIf::NoBlockLayer, WhatIf::Slots]
    } else {
        &[WhatIf::NoBlockLayer]
    }
}

/// Whether those that a block layer has given the drive wait most of their time until it takes them: then the others
/// wait for these.
fn is_drive_full(parts: &LatencyBreakdown) -> bool {
    2 * parts.parts_ns[Part::HostQueue as usize] >= parts.sum_ns - parts.parts_ns[Part::BlockLayer as usize]
}

/// Share of the requests that a block layer may give the drive at a time that is there, mean over time: as many as it
/// gives in the time that one takes below it.
fn slots_taken(setup: &Setup, summary: &Summary) -> Option<f64> {
    let (options, time, drive) = (setup.block.as_ref()?, summary.time.as_ref()?, summary.drive.as_ref()?);
    let (counters, all) = (&drive.block.as_ref()?.counters, &drive.response.as_ref()?.all.all);
    let below_ns = (all.sum_ns - all.parts_ns[Part::BlockLayer as usize]) as f64 / all.requests as f64;
    let given = counters.dispatched_reads + counters.dispatched_writes + counters.dispatched_flushes;
    let slots = f64::from(options.queues) * f64::from(options.slots.min(options.nr_requests));
    Some(given as f64 * below_ns / time.elapsed_ns as f64 / slots)
}

fn is_open(setup: &Setup) -> bool {
    matches!(setup.replay, Replay::Open { .. })
}

/// The host asks for no more.
fn host(setup: &Setup, drive: &DriveSummary, busiest: f64) -> Finding {
    let name = if is_open(setup) { "arrivals" } else { "host_depth" };
    Finding::new(Subject::Throughput, name, 1.0 - busiest)
        .with("dies_count", f64::from(drive.dies))
        .tried_by(&[WhatIf::Depth])
}

/// The host would ask for more if it thought less.
fn thinks(setup: &Setup, share: f64) -> Finding {
    Finding::new(Subject::Throughput, "think_time", share)
        .with("think_ns", setup.replay.think().0 as f64)
        .tried_by(&[WhatIf::NoThink, WhatIf::Depth])
}
