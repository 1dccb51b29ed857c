//! Finds the limits of throughput, most likely first.
//!
//! If the drive keeps up, arrivals are the limit; otherwise the limit is a resource that is busy most of the time. If
//! no resource is busy most of the time, several causes are possible: long waits of requests, think time, or too few
//! outstanding requests. Only runs with what-if changes can show which cause costs most. A cache, which works on one
//! page at a time, counts as a resource.

use ssdlab_nand::backend::parallel::{CAUSES, StallCause};

use super::{cached, inputs};
use crate::observe::activity::{DriveSummary, Spread};
use crate::observe::breakdown::{LatencyBreakdown, PARTS, Part, ResponseSummary};
use crate::observe::finding::{Finding, Subject};
use crate::observe::latency::TimeSummary;
use crate::observe::summary::Summary;
use crate::run::Outcome;
use crate::setup::drive::{CommandTimes, DriveOptions, Front, WriteBuffer};
use crate::setup::host::Replay;
use crate::setup::what_if::WhatIf;
use crate::setup::{Clock, Setup};

/// Minimum utilisation at which a resource counts as the limit of throughput. Below 100 %, the resource is idle at
/// times because requests arrive unevenly.
const SATURATED: f64 = 0.7;

/// The load of several resources counts as uneven if the maximum is this many times the mean.
const UNEVEN: f64 = 2.0;

/// If the outstanding requests together have fewer pages than this on average, they cannot be spread over the dies.
const SPREADABLE: f64 = 1.5;

/// Minimum number of outstanding requests per die that keeps the drive busy.
const ENOUGH: f64 = 2.0;

/// A cause of low throughput is reported if it takes at least this share of the time between requests. Removing such a
/// cause could raise throughput by at least a third.
const NOTABLE: f64 = 0.25;

/// A cause that takes at least this share of the time between requests suffices to explain low throughput. The
/// diagnosis then omits the finding that too few requests are outstanding.
const PREVAILING: f64 = 0.5;

const NANOS_PER_SECOND: f64 = 1e9;

/// Returns the limits of throughput, most likely first. Empty without an event-driven drive, or for a single request.
pub(super) fn limits(setup: &Setup, outcome: &Outcome) -> Vec<Finding> {
    let summary = &outcome.summary;
    let (Clock::Event(_, options), Some(time), Some(drive)) = (setup.clock, &summary.time, &summary.drive) else {
        return Vec::new();
    };
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
    let findings = if is_open(setup) && inputs::behind_ns(summary).is_none() {
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
    let with_evidence = |finding: Finding| {
        busy.iter()
            .fold(finding, |finding, &(name, share, _)| finding.with(name, share))
            .with_any("cache", cache.map(|waits| waits.utilisation))
            .with("outstanding", drive.queue_depth_mean)
    };
    findings.into_iter().map(with_evidence).collect()
}

/// Returns the causes of low throughput if no resource is saturated, sorted by their share of the time between
/// requests.
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
    let mut causes: Vec<(f64, Finding)> = waits.into_iter().map(|(share, wait)| (answering * share, wait)).collect();
    causes.push((thinking, thinks(setup, thinking)));
    causes.retain(|(share, _)| *share >= NOTABLE);
    let outstanding = if drive.queue_depth_mean >= ENOUGH * f64::from(drive.dies) {
        by_use(summary, drive, busiest)
    } else {
        host(setup, drive, busiest.1)
    };
    if causes.iter().all(|(share, cause)| *share < PREVAILING && cause.name != outstanding.name) {
        causes.push((answering * served, outstanding));
    }
    // The sort is stable: causes with equal shares stay in the order in which they were added.
    causes.sort_by(|a, b| b.0.total_cmp(&a.0));
    causes.into_iter().map(|(_, cause)| cause).collect()
}

/// Returns the largest share of the latencies that a single part takes, ignoring the parts that [`waiting`] reports.
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

/// A resource: its name, its utilisation, and the change that relieves it.
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
    resources.iter().fold(resources[0], |most, resource| if resource.1 > most.1 { *resource } else { most })
}

/// Returns the finding for the resource with the highest utilisation.
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

/// Returns the busiest resource of a saturated drive, and the changes that relieve the resource. No other change
/// shortens the wait for this resource.
pub(super) fn saturated(setup: &Setup, summary: &Summary) -> Option<(&'static str, Vec<WhatIf>)> {
    let (Clock::Event(_, options), Some(time), Some(drive)) = (setup.clock, &summary.time, &summary.drive) else {
        return None;
    };
    let busiest = busiest(&resources(summary, &options, time, drive));
    (busiest.1 >= SATURATED).then(|| (busiest.0, by_use(summary, drive, busiest).what_ifs))
}

/// Returns the utilisation of the controller's processors or of its DRAM, whichever is higher.
fn controller(summary: &Summary, options: &DriveOptions, time: &TimeSummary) -> f64 {
    let (host, controller) = (&summary.host, &options.front.controller);
    let others = host.write_requests + host.trim_requests + host.flush_requests;
    let work_ns = |times: &CommandTimes| (times.submission.work.0 + times.completion.work.0) as f64;
    let busy_ns = host.read_requests as f64 * work_ns(&controller.read)
        + others as f64 * work_ns(&controller.write)
        + (host.pages_read + host.pages_written) as f64 * controller.page_work.0 as f64;
    let dram_ns = options
        .front
        .dram_bytes_per_s
        .map_or(0.0, |rate| 2.0 * (host.bytes_read + host.bytes_written) as f64 / rate as f64 * NANOS_PER_SECOND);
    (busy_ns / f64::from(controller.processors)).max(dram_ns) / time.elapsed_ns as f64
}

/// Returns the utilisation of the link, in the busier direction.
fn link(summary: &Summary, front: &Front, time: &TimeSummary) -> f64 {
    let Some(rate) = front.link_bytes_per_s else { return 0.0 };
    let busy =
        |bytes: u64| front.packets.on_link(bytes) as f64 / rate as f64 * NANOS_PER_SECOND / time.elapsed_ns as f64;
    let (out, inward) = (busy(summary.host.bytes_read), busy(summary.host.bytes_written));
    if front.full_duplex { out.max(inward) } else { out + inward }
}

/// A type of die work: its stall cause, its name, and the what-if changes that reduce it.
type Work = (StallCause, &'static str, &'static [WhatIf]);

fn work(summary: &Summary) -> [Work; 5] {
    let internal = match summary.log {
        // For merges, faster cells are proposed first, because they always help. More log blocks help only for some
        // workloads.
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

/// Returns the finding for the type of work that occupies the dies longest.
fn at_work(summary: &Summary, drive: &DriveSummary, utilisation: f64) -> Finding {
    let Some(response) = &drive.response else {
        return Finding::new(Subject::Throughput, "dies", utilisation).tried_by(&[WhatIf::Dies]);
    };
    let kinds = work(summary);
    let cells_ns: u64 = kinds.iter().map(|(kind, ..)| response.dies_ns[*kind as usize]).sum();
    let share = |kind: StallCause| response.dies_ns[kind as usize] as f64 / cells_ns.max(1) as f64;
    let largest = kinds.iter().fold(&kinds[0], |most, kind| if share(kind.0) > share(most.0) { kind } else { most });
    let finding = Finding::new(Subject::Throughput, largest.1, utilisation * share(largest.0)).tried_by(largest.2);
    kinds.iter().fold(finding, |finding, (kind, name, _)| finding.with(of_cells(name), share(*kind)))
}

/// Returns true if a larger write buffer would help: the buffer fills up only in bursts, or it is too small to keep the
/// dies busy.
pub(super) fn a_larger_buffer_helps(setup: &Setup, summary: &Summary) -> bool {
    let (Clock::Event(_, options), Some(drive)) = (setup.clock, &summary.drive) else {
        return false;
    };
    let keeps_up = is_open(setup) && inputs::behind_ns(summary).is_none();
    let is_small = options.buffer.is_some_and(|buffer| is_small(&buffer, drive));
    drive.die_utilisation.mean < SATURATED && (keeps_up || is_small)
}

/// Returns true if a write buffer holds too few pages to keep all dies busy.
fn is_small(buffer: &WriteBuffer, drive: &DriveSummary) -> bool {
    f64::from(buffer.pages) < ENOUGH * f64::from(drive.dies)
}

/// Returns the name of the metric that shows how much of the cells' busy time a type of work takes.
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

/// For each type of wait, returns its share of all latency, and a finding that lists the changes that would shorten
/// the wait.
fn waiting(
    setup: &Setup,
    options: &DriveOptions,
    summary: &Summary,
    drive: &DriveSummary,
    response: &ResponseSummary,
) -> Vec<(f64, Finding)> {
    let all = &response.all.all;
    // Writes that wait for buffer space count as waiting for the flash, whatever work the dies do.
    let buffer = options.buffer.filter(|buffer| is_small(buffer, drive)).and(response.write).map(|write| {
        let room_ns: u128 = write.all.parts_ns[..CAUSES].iter().sum();
        room_ns as f64 / all.sum_ns.max(1) as f64
    });
    let is_full = buffer.is_some_and(|share| share >= NOTABLE);
    let mut waits = Vec::new();
    let mut add = |wait: Finding| waits.push((wait.share, wait));
    if let Some(share) = buffer {
        add(Finding::new(Subject::Throughput, "full_buffer", share).tried_by(&[WhatIf::Buffer]));
    }
    // Requests wait for earlier work on their own die, or for work on another die that must come first.
    for (kind, name, what_ifs) in work(summary) {
        let is_behind = is_full || matches!(kind, StallCause::Collection | StallCause::Map);
        let behind = if is_behind { all.share(kind as usize) } else { 0.0 };
        let share = behind + all.share(StallCause::Dependency as usize) * response.share_of_work(kind);
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
        waits.push((all.share(StallCause::Bus as usize), channels.tried_by(&[WhatIf::Channels])));
    }
    waits
}

/// Returns the changes that shorten waits above the drive: more slots of the drive or of the block layer. If both have
/// free slots, the scheduler itself holds back requests.
pub(super) fn above_drive(setup: &Setup, summary: &Summary, parts: &LatencyBreakdown) -> &'static [WhatIf] {
    if is_drive_full(parts) {
        &[WhatIf::Slots]
    } else if slots_taken(setup, summary).is_some_and(|share| share >= SATURATED) {
        &[WhatIf::NoBlockLayer, WhatIf::Slots]
    } else {
        &[WhatIf::NoBlockLayer]
    }
}

/// Returns true if dispatched requests wait most of their time for a slot of the drive.
fn is_drive_full(parts: &LatencyBreakdown) -> bool {
    2 * parts.parts_ns[Part::HostQueue as usize] >= parts.sum_ns - parts.parts_ns[Part::BlockLayer as usize]
}

/// Returns the mean share of the block layer's slots that are occupied, by Little's law.
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

/// Returns the finding that the host issues too few requests.
fn host(setup: &Setup, drive: &DriveSummary, busiest: f64) -> Finding {
    let name = if is_open(setup) { "arrivals" } else { "host_depth" };
    Finding::new(Subject::Throughput, name, 1.0 - busiest)
        .with("dies_count", f64::from(drive.dies))
        .tried_by(&[WhatIf::Depth])
}

/// Returns the finding that think time limits the host.
fn thinks(setup: &Setup, share: f64) -> Finding {
    Finding::new(Subject::Throughput, "think_time", share)
        .with("think_ns", setup.replay.think().0 as f64)
        .tried_by(&[WhatIf::NoThink, WhatIf::Depth])
}
