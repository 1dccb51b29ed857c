//! Goal: a diagnosis finds planted causes. One file for each group of findings.

mod amplification;
mod inputs;
mod slow;
mod throughput;

use ssdlab_cache::WriteMode;
use ssdlab_core::{Nanos, Rng};
use ssdlab_ftl::map::{dftl, ram};
use ssdlab_ftl::page::{PageOptions, Trigger};
use ssdlab_ftl::{FtlChoice, log, placement};
use ssdlab_nand::{Cause, PageTimes, Parallelism, Timing};
use ssdlab_sim::{
    BlockOptions, CacheOptions, Clock, Collect, CollectGoal, Controller, DriveOptions, Finding, FlushPolicy, Front,
    Overwrite, Part, Precondition, Protocol, Repeat, Replay, Setup, Subject, Summary, WhatIf, WriteBuffer, WriteRate,
    block_options, run,
};
use ssdlab_testkit::SMALL_OPTIONS;
use ssdlab_testkit::drives::{PLAIN, TIMING, array, drive_setup};
use ssdlab_trace::{Op, Request, SliceSource};

const PAGE: u64 = 4096;
const REQUESTS: u64 = 2_000;

fn diagnosed(setup: &Setup, requests: &[Request]) -> Summary {
    let setup = Setup { attribution: true, ..setup.clone() };
    run(&setup, &mut SliceSource::new(requests), &mut ()).expect("runs").summary
}

fn iops(summary: &Summary) -> f64 {
    summary.time.expect("timed").iops.expect("time passed")
}

/// Returns requests of one page each at random addresses.
fn random(setup: &Setup, op: Op) -> Vec<Request> {
    let mut rng = Rng::named(7, "diagnosis");
    let mut page = || rng.below(setup.logical_pages.into());
    (0..REQUESTS).map(|_| at(op, page() * PAGE, PAGE as u32)).collect()
}

fn at(op: Op, offset: u64, bytes: u32) -> Request {
    Request { time_ns: 0, offset, bytes, op, flags: 0, stream: 0 }
}

/// Returns a full drive.
fn full(parallelism: Parallelism, depth: u32, timing: Timing, drive: DriveOptions) -> Setup {
    let mut setup = drive_setup(parallelism, 24, 16, depth);
    setup.precondition.fill = 1.0;
    Setup { clock: Clock::Event(timing, drive), ..setup.clone() }
}

fn in_front(front: Front) -> DriveOptions {
    DriveOptions { front, ..PLAIN }
}

fn buffered(pages: u32) -> DriveOptions {
    DriveOptions { buffer: Some(WriteBuffer { pages, flush: FlushPolicy::Eager, protected: false }), ..PLAIN }
}

fn causes(summary: &Summary) -> Vec<&'static str> {
    let causes = summary.diagnosis.iter().filter(|finding| finding.about == Subject::Throughput);
    causes.map(|finding| finding.name).collect()
}

fn named(summary: &Summary, about: Subject, name: &str) -> Finding {
    let found = summary.diagnosis.iter().find(|finding| finding.about == about && finding.name == name);
    found.unwrap_or_else(|| panic!("{name}: {:#?}", summary.diagnosis)).clone()
}

fn without(summary: &Summary, name: &str) {
    assert!(summary.diagnosis.iter().all(|finding| finding.name != name), "{name}: {:#?}", summary.diagnosis);
}

fn slow_write_ns(summary: &Summary) -> f64 {
    summary.latency.as_ref().and_then(|latency| latency.write).expect("writes").p99_ns as f64
}

/// Applying a what-if change twice changes nothing more.
#[test]
fn a_what_if_change_applies_only_once() {
    let setup = full(array(2, 1, 1, 1), 4, TIMING, PLAIN);
    let applies = |what_if: &WhatIf| what_if.applied_to(&setup).is_some();
    let some: Vec<WhatIf> = WhatIf::ALL.into_iter().filter(applies).collect();
    // The drive has no link, controller, buffer, slots, block layer, map in flash or cache to change.
    assert_eq!(some, [WhatIf::Dies, WhatIf::Channels, WhatIf::Depth, WhatIf::Spare, WhatIf::Placement]);
    let more = WhatIf::Spare.applied_to(&setup).expect("spare");
    let spare = |setup: &Setup| {
        let reserve = u64::from(setup.reserve_blocks() * setup.geometry.pages_per_block);
        setup.geometry.pages() - u64::from(setup.logical_pages) - reserve
    };
    assert_eq!(spare(&more), 2 * spare(&setup));
    assert!(WhatIf::Placement.applied_to(&WhatIf::Placement.applied_to(&setup).expect("shared")).is_none());
}
