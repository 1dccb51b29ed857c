//! Goal: the first finding names what limits a drive. Method: drives built so that one thing does; relieved of it, they
//! are faster.

use ssdlab_cache::WriteMode;
use ssdlab_core::{Nanos, Rng};
use ssdlab_ftl::map::{dftl, ram};
use ssdlab_ftl::page::{PageOptions, Trigger};
use ssdlab_ftl::{FtlChoice, log, placement};
use ssdlab_nand::{Cause, PageTimes, Parallelism, Timing};
use ssdlab_sim::{
    BlockOptions, CacheOptions, Clock, Collect, CollectGoal, DriveOptions, Finding, FlushPolicy, Front, Overwrite,
    Part, Precondition, Protocol, Repeat, Replay, Setup, Subject, Summary, WhatIf, WriteBuffer, WriteRate,
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

/// Requests of a page each at random pages.
fn random(setup: &Setup, op: Op) -> Vec<Request> {
    let mut rng = Rng::named(7, "diagnosis");
    let mut page = || rng.below(setup.logical_pages.into());
    (0..REQUESTS).map(|_| at(op, page() * PAGE, PAGE as u32)).collect()
}

fn at(op: Op, offset: u64, bytes: u32) -> Request {
    Request { time_ns: 0, offset, bytes, op, flags: 0, stream: 0 }
}

/// A drive with `timing` and `drive`, every page written.
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

/// The name of the first finding, the drive and its requests, and the change that confirms it with the least gain.
type Planted = (&'static str, Setup, Vec<Request>, Option<(WhatIf, f64)>);

fn planted() -> Vec<Planted> {
    let eight = array(4, 2, 1, 1);
    let front = PLAIN.front;
    let mut found = Vec::new();
    let mut plant = |name, setup: Setup, requests, confirmed| found.push((name, setup, requests, confirmed));

    let setup = full(eight, 16, TIMING, in_front(Front { command: Nanos(1_000), ..front }));
    plant("controller", setup.clone(), random(&setup, Op::Read), Some((WhatIf::Controller, 1.8)));
    let slow_link = Front { link_bytes_per_s: Some(2_000_000_000), ..front };
    let setup = full(eight, 16, TIMING, in_front(slow_link));
    plant("link", setup.clone(), random(&setup, Op::Read), Some((WhatIf::Link, 1.8)));
    let slow_bus = Timing { transfer_per_kib: Nanos(250), ..TIMING };
    let setup = full(array(1, 8, 1, 1), 32, slow_bus, PLAIN);
    plant("channels", setup.clone(), random(&setup, Op::Read), Some((WhatIf::Channels, 1.8)));
    let setup = full(array(1, 1, 1, 1), 8, TIMING, PLAIN);
    plant("host_reads", setup.clone(), random(&setup, Op::Read), Some((WhatIf::Dies, 1.5)));
    let mut setup = full(array(2, 1, 1, 1), 8, TIMING, PLAIN);
    setup.precondition.fill = 0.0;
    let fresh = (0..u64::from(setup.logical_pages)).map(|page| at(Op::Write, page * PAGE, PAGE as u32)).collect();
    plant("host_writes", setup, fresh, Some((WhatIf::Dies, 1.8)));
    let mut setup = full(array(2, 1, 1, 1), 16, TIMING, PLAIN);
    setup.precondition.overwrite = Overwrite::Passes(3.0);
    plant("collection", setup.clone(), random(&setup, Op::Write), Some((WhatIf::Spare, 1.3)));
    let mut setup = full(Parallelism::SINGLE, 4, TIMING, PLAIN);
    setup.ftl = FtlChoice::Log(log::fast::INFO.defaults(), 3);
    plant("merges", setup.clone(), random(&setup, Op::Write), Some((WhatIf::Spare, 1.1)));
    // Merges come one after the other: of eight dies, few work at a time, however much is waiting.
    for choice in [&log::bast::INFO, &log::fast::INFO, &log::faster::INFO, &log::sbfast::INFO] {
        for drive in [PLAIN, DriveOptions { backlog: 1, ..PLAIN }, buffered(128)] {
            let mut setup = full(eight, 32, TIMING, drive);
            setup.ftl = FtlChoice::Log(choice.defaults(), 8);
            plant("merges", setup.clone(), random(&setup, Op::Write)[..600].to_vec(), Some((WhatIf::Dies, 1.5)));
        }
    }
    let mut setup = full(array(2, 2, 1, 1), 32, TIMING, PLAIN);
    // Many pages of the map, so that they spread, and writes that collection need not make room for, without the
    // reserve of the map either: each loads an entry and writes another back.
    setup.ftl = FtlChoice::Page(SMALL_OPTIONS, dftl::INFO.set(&[("cmt", 4), ("entry", 64)]).expect("in range"));
    setup.geometry.blocks += 112;
    plant("map", setup.clone(), random(&setup, Op::Write)[..800].to_vec(), Some((WhatIf::Map, 1.5)));
    // Entries are loaded one after the other, each before anything else may begin: most requests wait for another die.
    let mut setup = full(array(4, 4, 1, 1), 32, TIMING, in_front(Front { command: Nanos(10), ..front }));
    setup.ftl = FtlChoice::Page(SMALL_OPTIONS, dftl::INFO.set(&[("cmt", 32)]).expect("in range"));
    setup.geometry.blocks += setup.reserve_blocks();
    let trims = (0..u64::from(setup.logical_pages) / 8).map(|number| at(Op::Trim, number * 8 * PAGE, 8 * PAGE as u32));
    let trims = trims.flat_map(|trim| [trim, at(Op::Flush, 0, 0)]).collect();
    plant("map", setup, trims, Some((WhatIf::Map, 10.0)));
    let slow_reads = Timing { read: PageTimes::uniform(Nanos(4_000)), ..TIMING };
    let mut setup = full(array(2, 1, 1, 1), 16, slow_reads, PLAIN);
    setup.geometry.blocks *= 2;
    let whole = random(&setup, Op::Write);
    let parts = whole.iter().map(|&request| Request { bytes: 512, ..request }).collect();
    plant("partial_pages", setup, parts, Some((WhatIf::Dies, 1.5)));
    let setup = full(eight, 16, TIMING, buffered(2));
    plant("full_buffer", setup.clone(), random(&setup, Op::Write)[..400].to_vec(), Some((WhatIf::Buffer, 1.5)));
    let setup = full(eight, 1, TIMING, buffered(64));
    let flush = at(Op::Flush, 0, 0);
    let synced = random(&setup, Op::Write)[..400].iter().flat_map(|&write| [write, flush]).collect();
    plant("flush", setup, synced, Some((WhatIf::Protected, 1.8)));
    let one_slot = Front { protocol: Protocol::SingleQueue { depth: 1 }, ..front };
    let setup = full(eight, 32, TIMING, in_front(one_slot));
    plant("queue_slots", setup.clone(), random(&setup, Op::Read), Some((WhatIf::Slots, 1.5)));
    let mut setup = full(eight, 32, TIMING, PLAIN);
    setup.block = Some(BlockOptions { slots: 1, ..block_options("none") });
    plant("block_layer", setup.clone(), random(&setup, Op::Read), Some((WhatIf::NoBlockLayer, 2.0)));
    plant("block_layer", setup.clone(), random(&setup, Op::Read), Some((WhatIf::Slots, 1.5)));
    // The block layer gives the drive more than it takes.
    let setup = Setup { block: Some(block_options("none")), ..full(eight, 32, TIMING, in_front(one_slot)) };
    plant("queue_slots", setup.clone(), random(&setup, Op::Read), Some((WhatIf::Slots, 1.5)));
    let setup = full(eight, 16, TIMING, PLAIN);
    let on_one_die =
        random(&setup, Op::Read).into_iter().map(|read| Request { offset: read.offset / PAGE / 8 * 8 * PAGE, ..read });
    plant("uneven_dies", setup, on_one_die.collect(), Some((WhatIf::Dies, 1.5)));
    let setup = full(eight, 1, TIMING, PLAIN);
    plant("host_depth", setup.clone(), random(&setup, Op::Read), Some((WhatIf::Depth, 1.6)));
    // Whatever requests wait for, a host that thinks for longer than they take asks for no more.
    let thinking = |setup: Setup, think| {
        let Replay::Closed { depth, per_stream, .. } = setup.replay else { unreachable!("a closed loop") };
        Setup { replay: Replay::Closed { depth, per_stream, think: Nanos(think) }, ..setup.clone() }
    };
    let idle = full(eight, 4, TIMING, PLAIN);
    let mut collecting = idle.clone();
    collecting.precondition.overwrite = Overwrite::Passes(3.0);
    for (setup, op) in [(idle.clone(), Op::Read), (idle.clone(), Op::Write), (collecting.clone(), Op::Write)] {
        let setup = thinking(setup, 50_000);
        for (what_if, gain) in [(WhatIf::NoThink, 2.0), (WhatIf::Depth, 1.7)] {
            plant("think_time", setup.clone(), random(&setup, op), Some((what_if, gain)));
        }
    }
    let setup = Setup { replay: Replay::Processes { think: Nanos(50_000) }, ..idle.clone() };
    plant("think_time", setup.clone(), random(&setup, Op::Read), Some((WhatIf::NoThink, 2.0)));
    // So do many that think, however many of their requests come to one die at a time.
    let setup = thinking(Setup { replay: full(eight, 128, TIMING, PLAIN).replay, ..collecting.clone() }, 200_000);
    plant("think_time", setup.clone(), random(&setup, Op::Write), Some((WhatIf::NoThink, 1.5)));
    // Thinking is short.
    plant("collection", thinking(collecting, 1_000), random(&idle, Op::Write), Some((WhatIf::Dies, 1.5)));
    let setup = thinking(full(eight, 32, TIMING, in_front(one_slot)), 1_000);
    plant("queue_slots", setup.clone(), random(&setup, Op::Read), Some((WhatIf::Slots, 1.3)));
    let setup = Setup { replay: Replay::AS_TRACED, ..full(eight, 1, TIMING, PLAIN) };
    let sparse = (0..).zip(random(&setup, Op::Read)).map(|(n, read)| Request { time_ns: n * 10_000, ..read });
    plant("arrivals", setup, sparse.collect(), None);
    found
}

#[test]
fn the_first_finding_names_what_limits_a_drive_and_the_change_confirms_it() {
    let mut wrong = Vec::new();
    for (name, setup, requests, confirmed) in planted() {
        let summary = diagnosed(&setup, &requests);
        let first = &summary.diagnosis[0];
        if (first.about, first.name) != (Subject::Throughput, name) {
            wrong.push(format!("{name}: {first:?}"));
        }
        let Some((what_if, gain)) = confirmed else {
            assert_eq!(first.what_ifs, [], "{name}");
            continue;
        };
        let changed = diagnosed(&what_if.applied_to(&setup).expect("a change"), &requests);
        let gained = iops(&changed) / iops(&summary);
        if !first.what_ifs.contains(&what_if) || gained < gain {
            wrong.push(format!("{name}: {what_if:?} gains {gained}, of {:?}", first.what_ifs));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn causes(summary: &Summary) -> Vec<&'static str> {
    let causes = summary.diagnosis.iter().filter(|finding| finding.about == Subject::Throughput);
    causes.map(|finding| finding.name).collect()
}

/// Goal: a change that helps more than the one of the first finding belongs to another finding. Method: a buffer of two
/// pages is full because each write of part of a page reads the rest, which takes most of the time.
#[test]
fn a_full_buffer_hides_no_slow_cells() {
    let slow_cells = Timing { read: PageTimes::uniform(Nanos(4_000)), ..TIMING };
    let mut setup = full(array(4, 2, 1, 1), 16, slow_cells, buffered(2));
    // Room enough that nothing is collected.
    setup.geometry.blocks *= 2;
    let parts: Vec<Request> = random(&setup, Op::Write).iter().map(|&write| Request { bytes: 512, ..write }).collect();
    let summary = diagnosed(&setup, &parts);
    assert_eq!(causes(&summary)[..2], ["full_buffer", "partial_pages"], "{:#?}", summary.diagnosis);
    let found = named(&summary, Subject::Throughput, "partial_pages");
    assert_eq!(found.what_ifs, [WhatIf::Dies]);
    let gain =
        |change: WhatIf| iops(&diagnosed(&change.applied_to(&setup).expect("a change"), &parts)) / iops(&summary);
    let (faster_cells, larger_buffer) = (gain(WhatIf::Dies), gain(WhatIf::Buffer));
    assert!(faster_cells > 1.8 && larger_buffer < 1.7, "{faster_cells} {larger_buffer}");
}

/// Goal: a block layer is not passed over because requests wait there for a little less than half of their time. Method:
/// it hands one page at a time to the drive, which takes 100 ns for the cells and 20 ns for the bus. With two requests
/// outstanding each but the first waits 120 ns: 239,880 ns of 479,880 ns, 49.99 %. With one none waits, with three most
/// wait for two others.
#[test]
fn a_block_layer_is_named_below_and_above_half_of_the_time() {
    let expected =
        [(1, 0, &["host_depth"][..]), (2, 239_880, &["block_layer", "host_depth"]), (3, 479_280, &["block_layer"])];
    for (depth, waited_ns, names) in expected {
        let mut setup = full(array(4, 2, 1, 1), depth, TIMING, PLAIN);
        setup.block = Some(BlockOptions { slots: 1, ..block_options("none") });
        let requests = random(&setup, Op::Read);
        let summary = diagnosed(&setup, &requests);
        let all = summary.drive.as_ref().expect("a drive").response.as_ref().expect("watched").all.all;
        assert_eq!(all.parts_ns[Part::BlockLayer as usize], waited_ns);
        assert_eq!(all.sum_ns, 240_000 + waited_ns);
        assert_eq!(causes(&summary), names, "{depth} outstanding");
        let iops_with = |change: WhatIf| iops(&diagnosed(&change.applied_to(&setup).expect("a change"), &requests));
        if depth == 2 {
            // Twice as many requests only wait for each other; without the block layer two dies work at a time.
            let (more, without) = (iops_with(WhatIf::Depth), iops_with(WhatIf::NoBlockLayer));
            assert!(without > 1.5 * iops(&summary) && more < 1.01 * iops(&summary), "{without} {more}");
        }
    }
}

fn named(summary: &Summary, about: Subject, name: &str) -> Finding {
    let found = summary.diagnosis.iter().find(|finding| finding.about == about && finding.name == name);
    found.unwrap_or_else(|| panic!("{name}: {:#?}", summary.diagnosis)).clone()
}

fn without(summary: &Summary, name: &str) {
    assert!(summary.diagnosis.iter().all(|finding| finding.name != name), "{name}: {:#?}", summary.diagnosis);
}

/// Copies of collection are its share of what is programmed; a victim's valid pages are the pages copied.
#[test]
fn write_amplification_is_explained_by_the_victims() {
    let mut setup = full(array(2, 1, 1, 1), 16, TIMING, PLAIN);
    setup.precondition.overwrite = Overwrite::Passes(3.0);
    let summary = diagnosed(&setup, &random(&setup, Op::Write));
    let found = named(&summary, Subject::WriteAmplification, "collection");
    let amplification = summary.write_amplification.expect("written");
    assert!((found.share - (1.0 - 1.0 / amplification)).abs() < 1e-9);
    // In a steady state a block erased yields its pages less those that were valid: WA = 1 / (1 - valid).
    let valid = found.evidence["valid_share_of_victims"];
    assert!((amplification * (1.0 - valid) - 1.0).abs() < 0.05, "{amplification} with victims {valid} valid");
}

/// Victims are as valid as they were when chosen, however much of one is collected before the run or after it.
#[test]
fn victims_that_are_not_done_with_are_not_more_than_valid() {
    let mut setup = full(array(2, 1, 1, 1), 16, TIMING, PLAIN);
    let options = PageOptions { trigger: Trigger::Partial { low: 4, step: 8 }, ..SMALL_OPTIONS };
    setup.ftl = FtlChoice::Page(options, ram::INFO.defaults());
    setup.geometry.blocks += setup.reserve_blocks();
    setup.precondition.overwrite = Overwrite::Passes(3.0);
    let writes = random(&setup, Op::Write);
    let steady = named(&diagnosed(&setup, &writes), Subject::WriteAmplification, "collection");
    let steady = steady.evidence["valid_share_of_victims"];
    assert!((0.3..0.9).contains(&steady), "{steady}");
    let told: Vec<f64> = (2..40)
        .flat_map(|requests| diagnosed(&setup, &writes[..requests]).diagnosis)
        .filter_map(|finding| finding.evidence.get("valid_share_of_victims").copied())
        .collect();
    assert!(told.len() > 20 && told.iter().all(|valid| (valid - steady).abs() < 0.25), "{steady} of many: {told:?}");
}

/// With room enough in the log no page is merged, and what is copied stays there: that is no merge.
#[test]
fn copies_within_the_log_are_no_copies_of_merges() {
    let mut setup = full(array(1, 1, 1, 1), 1, TIMING, PLAIN);
    setup.ftl = FtlChoice::Log(log::faster::INFO.set(&[("sw", 0)]).expect("in range"), 10);
    setup.geometry.blocks += 12;
    // Hot pages, and among four of them a cold one, which has its second chance.
    let pages = (0..240).map(|number| if number % 4 == 0 { 100 + number / 4 } else { number % 7 });
    let requests: Vec<Request> = pages.map(|page| at(Op::Write, page * PAGE, PAGE as u32)).collect();
    let summary = diagnosed(&setup, &requests);
    let (merges, programs) = (summary.log.as_ref().expect("a log").merges, summary.flash.0.programs);
    assert_eq!((merges.full.count, merges.partial.count, merges.switch.count), (0, 0, 0));
    without(&summary, "merges");
    let found = named(&summary, Subject::WriteAmplification, "log_copies");
    let copied = programs[Cause::SecondChance as usize] + programs[Cause::Isolation as usize];
    assert_eq!(found.share, copied as f64 / summary.flash.0.programmed() as f64);
    assert_eq!(found.evidence["second_chance"], programs[Cause::SecondChance as usize] as f64);
}

/// Pages of an empty drive have no rest to be read.
#[test]
fn pages_written_in_part_are_read_first_only_where_they_hold_something() {
    let setup = full(array(2, 1, 1, 1), 16, TIMING, PLAIN);
    let parts: Vec<Request> = random(&setup, Op::Write).iter().map(|&one| Request { bytes: 512, ..one }).collect();
    for fill in [0.0, 1.0] {
        let setup = Setup { precondition: Precondition { fill, ..setup.precondition }, ..setup.clone() };
        let summary = diagnosed(&setup, &parts[..20]);
        let evidence = named(&summary, Subject::WriteAmplification, "partial_pages").evidence;
        let read = summary.flash.0.reads[Cause::ReadModifyWrite as usize] as f64;
        assert_eq!((evidence["pages"], evidence["read_first"]), (20.0, read));
        assert_eq!(read == 20.0, fill == 1.0, "{read}");
    }
}

/// Reads alone have pages of the map written, to make room in its cache for others, and amplify no writes.
#[test]
fn where_the_host_wrote_nothing_no_writes_are_amplified() {
    let mut setup = full(array(2, 1, 1, 1), 16, TIMING, PLAIN);
    setup.ftl = FtlChoice::Page(SMALL_OPTIONS, dftl::INFO.set(&[("cmt", 4), ("entry", 64)]).expect("in range"));
    setup.geometry.blocks += 112;
    setup.precondition.overwrite = Overwrite::Passes(1.0);
    let summary = diagnosed(&setup, &random(&setup, Op::Read));
    assert!(summary.flash.0.programmed() > 0 && summary.write_amplification.is_none());
    assert!(summary.diagnosis.iter().all(|finding| finding.about != Subject::WriteAmplification));
}

#[test]
fn inputs_that_deceive_are_found() {
    let mut setup = full(array(2, 1, 1, 1), 4, TIMING, PLAIN);
    let writes = random(&setup, Op::Write);
    // A drive that is empty, and a trace that leaves it so.
    setup.precondition.fill = 0.0;
    let few = &writes[..100];
    let summary = diagnosed(&setup, few);
    named(&summary, Subject::Input, "never_full");
    named(&summary, Subject::Input, "too_short");
    without(&summary, "times_ignored");
    // What a warm-up wrote before reads alone were measured has no write amplification that could settle.
    let read_back: Vec<Request> = few.iter().copied().chain(random(&setup, Op::Read)).collect();
    let summary = diagnosed(&Setup { warmup_requests: 100, ..setup.clone() }, &read_back);
    without(&summary, "too_short");
    // Overwritten at random and by the trace for long: nothing is wrong.
    setup.precondition = Precondition { fill: 1.0, overwrite: Overwrite::Passes(1.0) };
    let summary = diagnosed(&setup, &writes);
    ["never_full", "too_short", "unsettled", "times_ignored", "queue_grows"]
        .iter()
        .for_each(|name| without(&summary, name));
    // The trace has times: a closed loop ignores them, an open one may not keep up.
    let hasty: Vec<Request> = (0..).zip(&writes).map(|(n, write)| Request { time_ns: n * 10, ..*write }).collect();
    named(&diagnosed(&setup, &hasty), Subject::Input, "times_ignored");
    let open = Setup { replay: Replay::AS_TRACED, ..setup.clone() };
    let summary = diagnosed(&open, &hasty);
    named(&summary, Subject::Input, "queue_grows");
    without(&summary, "times_ignored");
    // A map cache of four entries.
    setup.ftl = FtlChoice::Page(SMALL_OPTIONS, dftl::INFO.set(&[("cmt", 4)]).expect("in range"));
    setup.geometry.blocks += 24;
    named(&diagnosed(&setup, &writes), Subject::Input, "map_cache_too_small");
}

/// Goal: what is used for the first time, or was trimmed, makes no cache too small; what had to leave it does. Method:
/// passes over all pages, through caches for all of them and for a few.
#[test]
fn only_what_was_there_before_makes_a_cache_too_small() {
    let told = |setup: &Setup, requests: &[Request], name| {
        let summary = diagnosed(setup, requests);
        let ratios =
            (summary.cache.as_ref().and_then(|cache| cache.miss_ratio), summary.map.and_then(|map| map.all.hit_ratio));
        let found = summary.diagnosis.iter().find(|finding| finding.name == name).map(|finding| finding.share);
        (found, ratios)
    };
    let plain = full(array(2, 1, 1, 1), 4, TIMING, PLAIN);
    let pages = u64::from(plain.logical_pages);
    let once = |op| -> Vec<Request> { (0..pages).map(|page| at(op, page * PAGE, PAGE as u32)).collect() };
    let with_cache = |capacity_pages| {
        let cache = CacheOptions {
            policy: ssdlab_cache::POLICIES.get("lru").expect("a registered policy"),
            parameters: Vec::new(),
            page_bytes: PAGE as u32,
            capacity_pages,
            compressed: None,
            writes: WriteMode::Back,
            dirty_percent: 100,
            background_percent: 100,
            copy: Nanos(10),
        };
        Setup { cache: Some(cache), ..plain.clone() }
    };
    let trimmed: Vec<Request> =
        (0..400).flat_map(|page| [Op::Write, Op::Trim].map(|op| at(op, page % 8 * PAGE, PAGE as u32))).collect();
    let reads = once(Op::Read);
    let cases = [
        (pages, &reads, None),
        (pages / 4, &reads, None),
        (pages, &trimmed, None),
        (pages / 4, &reads.repeat(4), Some(0.75)),
    ];
    for (capacity, requests, share) in cases {
        let (found, (miss_ratio, _)) = told(&with_cache(capacity), requests, "cache_too_small");
        assert_eq!((found, miss_ratio), (share, Some(1.0)), "{capacity} of {pages} pages");
    }
    // Of a full drive, a map cache for all entries would have every one.
    for (fill, share) in [(0.0, None), (1.0, Some(1.0))] {
        let mut setup = plain.clone();
        setup.precondition.fill = fill;
        setup.ftl = FtlChoice::Page(SMALL_OPTIONS, dftl::INFO.set(&[("cmt", 4)]).expect("in range"));
        setup.geometry.blocks += 24;
        let (found, (_, hit_ratio)) = told(&setup, &once(Op::Write), "map_cache_too_small");
        assert_eq!((found, hit_ratio), (share, Some(0.0)), "{fill}");
    }
}

/// Goal: a projection and the findings agree on whether a drive keeps up. Method: the same writes at different gaps,
/// also into a buffer that holds a tenth of them at the end.
#[test]
fn a_drive_lives_at_the_rate_of_the_trace_unless_a_queue_grows() {
    let flush = FlushPolicy::Watermark { high: 0.9, low: 0.5 };
    let tenth = WriteBuffer { pages: REQUESTS as u32 / 8, flush, protected: true };
    let mut rates = Vec::new();
    for buffer in [None, Some(tenth)] {
        let setup = full(array(2, 1, 1, 1), 4, TIMING, DriveOptions { buffer, ..PLAIN });
        let setup = Setup { replay: Replay::AS_TRACED, ..setup.clone() };
        for gap_ns in [10, 1_000_000_000] {
            let writes = (0..).zip(random(&setup, Op::Write));
            let writes: Vec<Request> = writes.map(|(n, write)| Request { time_ns: n * gap_ns, ..write }).collect();
            let summary = diagnosed(&setup, &writes);
            let queue_grows = summary.diagnosis.iter().any(|finding| finding.name == "queue_grows");
            let rate = if queue_grows { WriteRate::Drive } else { WriteRate::Trace };
            assert_eq!(summary.lifetime.rate, Some(rate), "{buffer:?} {gap_ns}");
            rates.push(rate);
        }
    }
    assert_eq!(rates, [WriteRate::Drive, WriteRate::Trace].repeat(2));
}

/// Goal: a drive that still changes under its requests is told from one that has settled. Method: overwritten at random
/// and then on a tenth of its pages, which gathers the others in blocks of their own.
#[test]
fn a_drive_that_has_not_settled_is_found() {
    let shared = drive_setup(array(2, 1, 1, 1), 64, 32, 8);
    let mut setup = WhatIf::Placement.applied_to(&shared).expect("survivors have no blocks of their own");
    setup.precondition = Precondition { fill: 1.0, overwrite: Overwrite::Passes(3.0) };
    let mut tenth = random(&setup, Op::Write).repeat(5);
    tenth.iter_mut().for_each(|write| write.offset %= u64::from(setup.logical_pages) / 10 * PAGE);
    let summary = diagnosed(&setup, &tenth);
    let found = named(&summary, Subject::Input, "unsettled");
    let (whole, latest) = (found.evidence["write_amplification_before"], found.evidence["write_amplification_then"]);
    assert_eq!(Some(whole), summary.write_amplification);
    // The last part alone, measured after as many requests as come before it.
    let last = tenth.len() - setup.geometry.pages() as usize;
    let alone = diagnosed(&Setup { warmup_requests: last as u64, ..setup.clone() }, &tenth).write_amplification;
    assert!((latest / alone.expect("written") - 1.0).abs() < 0.02, "{latest} {alone:?}");
    // What replays say goes before what the last of them says.
    setup.repeat = Repeat::Times(2);
    let summary = diagnosed(&setup, &tenth);
    let replays = summary.repeat.as_ref().expect("repeated").write_amplification.clone();
    let [Some(first), Some(second)] = replays[..] else { panic!("{replays:?}") };
    let found = summary.diagnosis.iter().find(|finding| finding.name == "unsettled_replays");
    assert_eq!(found.is_some(), (second / first - 1.0).abs() > 0.05, "{first} {second}");
    without(&summary, "unsettled");
    setup.repeat = Repeat::Times(20);
    ["unsettled", "unsettled_replays"].iter().for_each(|name| without(&diagnosed(&setup, &tenth), name));
}

/// Requests that wait as long from the first to the last, behind a queue that was there from the start, take as long on
/// average as the drive goes on after the last of them arrived.
#[test]
fn a_queue_that_never_empties_is_told_though_it_does_not_grow() {
    for clock in [Clock::Event(TIMING, PLAIN), Clock::Serial(TIMING)] {
        let setup = Setup { clock, ..full(array(2, 1, 1, 1), 4, TIMING, PLAIN) };
        let reads = random(&setup, Op::Read);
        let closed = diagnosed(&setup, &reads).time.expect("timed");
        let gap_ns = closed.elapsed_ns / reads.len() as u64;
        let open = Setup { replay: Replay::AS_TRACED, ..setup.clone() };
        for (queued, grows) in [(0, false), (reads.len() as u64 / 4, true)] {
            // The queue is there at once; then requests come as fast as the drive serves them.
            let at =
                |number: u64| Request { time_ns: number.saturating_sub(queued) * gap_ns, ..reads[number as usize] };
            let summary = diagnosed(&open, &(0..reads.len() as u64).map(at).collect::<Vec<_>>());
            let told = summary.diagnosis.iter().any(|finding| finding.name == "queue_grows");
            assert_eq!(
                told,
                grows,
                "{queued} {:?} {:?}",
                summary.time,
                summary.latency.and_then(|latency| latency.all)
            );
        }
    }
}

/// Bursts of writes wait for room in the buffer, and the dies rest between them: with more room requests would be
/// faster, and no more of them would arrive.
#[test]
fn where_the_trace_sets_the_rate_waiting_bounds_response_times_alone() {
    let mut setup = Setup { replay: Replay::AS_TRACED, ..full(array(4, 2, 1, 1), 1, TIMING, buffered(2)) };
    setup.geometry.blocks *= 4;
    let bursts: Vec<Request> = (0..)
        .zip(random(&setup, Op::Write))
        .map(|(n, write)| Request { time_ns: n / 20 * 1_000_000, ..write })
        .collect();
    let summary = diagnosed(&setup, &bursts);
    let first = &summary.diagnosis[0];
    assert_eq!((first.about, first.name, &first.what_ifs[..]), (Subject::Throughput, "arrivals", &[][..]));
    let slow = named(&summary, Subject::SlowWrites, "host_writes");
    assert!(slow.share > 0.5 && slow.what_ifs.contains(&WhatIf::Buffer), "{slow:?}");
    let changed = diagnosed(&WhatIf::Buffer.applied_to(&setup).expect("a buffer"), &bursts);
    assert!((iops(&changed) / iops(&summary) - 1.0).abs() < 0.01);
    assert!(1.5 * slow_write_ns(&changed) < slow_write_ns(&summary));
}

fn slow_write_ns(summary: &Summary) -> f64 {
    summary.latency.as_ref().and_then(|latency| latency.write).expect("writes").p99_ns as f64
}

/// What fills a write buffer is named, and not that it is full: less of that makes slow writes faster, more room does
/// not.
#[test]
fn slow_writes_are_explained_by_what_fills_the_buffer() {
    let full = full(array(2, 1, 1, 1), 16, TIMING, buffered(64));
    let collected =
        Setup { precondition: Precondition { overwrite: Overwrite::Passes(3.0), ..full.precondition }, ..full.clone() };
    let mut fresh = full;
    fresh.geometry.blocks *= 4;
    for (setup, name, what_if) in [(collected, "collection", WhatIf::Spare), (fresh, "host_writes", WhatIf::Dies)] {
        let writes = random(&setup, Op::Write);
        let summary = diagnosed(&setup, &writes);
        let slow = named(&summary, Subject::SlowWrites, name);
        assert_eq!(slow.what_ifs, [what_if]);
        assert!(slow.share > 0.5 && slow.evidence["room_share"] > 0.99, "{slow:?}");
        let then_ns =
            |what_if: WhatIf| slow_write_ns(&diagnosed(&what_if.applied_to(&setup).expect("a change"), &writes));
        let (now_ns, relieved_ns, larger_ns) = (slow_write_ns(&summary), then_ns(what_if), then_ns(WhatIf::Buffer));
        assert!(1.05 * relieved_ns < now_ns && 1.1 * larger_ns > now_ns, "{name}: {now_ns} {relieved_ns} {larger_ns}");
    }
}

/// Bursts that the drive keeps up with fill a buffer, whatever the dies do meanwhile: with room for one, nobody waits.
#[test]
fn bursts_that_fill_a_buffer_are_taken_by_a_larger_one() {
    let mut setup = full(array(2, 1, 1, 1), 16, TIMING, buffered(64));
    setup.replay = Replay::AS_TRACED;
    setup.precondition.overwrite = Overwrite::Passes(3.0);
    let burst = |(n, write): (u64, Request)| Request { time_ns: n / 100 * 500_000_000, ..write };
    let writes: Vec<Request> = (0..).zip(random(&setup, Op::Write)).map(burst).collect();
    let summary = diagnosed(&setup, &writes);
    let slow = named(&summary, Subject::SlowWrites, "collection");
    assert_eq!(slow.what_ifs, [WhatIf::Buffer, WhatIf::Spare]);
    let larger = diagnosed(&WhatIf::Buffer.applied_to(&setup).expect("a buffer"), &writes);
    assert!(2.0 * slow_write_ns(&larger) < slow_write_ns(&summary));
}

/// One request is as fast as it is; whether requests spread, or how many there could be, it does not tell.
#[test]
fn a_single_request_tells_of_no_throughput() {
    let setup = full(array(4, 2, 1, 1), 16, TIMING, PLAIN);
    let reads = random(&setup, Op::Read);
    let subjects = |requests| -> Vec<Subject> {
        diagnosed(&setup, &reads[..requests]).diagnosis.into_iter().map(|finding| finding.about).collect()
    };
    assert_eq!(subjects(1), [Subject::SlowReads]);
    assert_eq!(subjects(2), [Subject::Throughput, Subject::SlowReads]);
}

/// More slots do not relieve requests that wait for slots of a drive which is as busy as can be.
#[test]
fn a_saturated_drive_needs_no_more_slots() {
    let few_slots = Front { protocol: Protocol::SingleQueue { depth: 32 }, ..PLAIN.front };
    let setup = Setup { replay: Replay::AS_TRACED, ..full(array(2, 1, 1, 1), 1, TIMING, in_front(few_slots)) };
    let reads = random(&setup, Op::Read);
    let summary = diagnosed(&setup, &reads);
    let slow = named(&summary, Subject::SlowReads, "host_queue");
    assert_eq!(slow.what_ifs, [WhatIf::Dies]);
    let faster =
        |what_if: WhatIf| iops(&diagnosed(&what_if.applied_to(&setup).expect("a change"), &reads)) / iops(&summary);
    assert!(faster(WhatIf::Dies) > 1.5 && faster(WhatIf::Slots) < 1.05);
}

/// Goal: what slow requests wait for behind others is relieved by what relieves the resource that all wait for. Method:
/// cells that are done early and held up by one channel; a controller below a block layer.
#[test]
fn slow_requests_of_a_saturated_drive_are_relieved_of_what_saturates_it() {
    let busy_bus = Timing { transfer_per_kib: Nanos(250), read: PageTimes::uniform(Nanos(6_400)), ..TIMING };
    let one_channel = full(array(1, 8, 1, 1), 64, busy_bus, PLAIN);
    let slow_controller = in_front(Front { command: Nanos(1_000), ..PLAIN.front });
    let mut below_block_layer = full(array(4, 2, 1, 1), 64, TIMING, slow_controller);
    below_block_layer.block = Some(BlockOptions { slots: 16, ..block_options("none") });
    let cases = [
        (one_channel, "host_reads", &[WhatIf::Channels, WhatIf::Dies][..]),
        (below_block_layer, "block_layer", &[WhatIf::Controller]),
    ];
    for (setup, name, what_ifs) in cases {
        let reads = random(&setup, Op::Read);
        let summary = diagnosed(&setup, &reads);
        assert_eq!(named(&summary, Subject::SlowReads, name).what_ifs, what_ifs);
        let changed = diagnosed(&what_ifs[0].applied_to(&setup).expect("a change"), &reads);
        assert!(iops(&changed) > 1.1 * iops(&summary), "{name} {} {}", iops(&summary), iops(&changed));
    }
}

/// Requests of a page that come one at a time have nothing to spread, wherever they go.
#[test]
fn requests_one_at_a_time_are_not_uneven() {
    let eight = array(4, 2, 1, 1);
    for (depth, name) in [(1, "host_depth"), (16, "uneven_dies")] {
        let setup = full(eight, depth, TIMING, PLAIN);
        let same = vec![at(Op::Read, 0, PAGE as u32); REQUESTS as usize];
        assert_eq!(diagnosed(&setup, &same).diagnosis[0].name, name);
    }
}

/// Goal: a change that is to tell whether the block layer holds requests back makes a difference. Method: one whose
/// slots are taken, one whose scheduler gives the drive fewer, one whose drive takes fewer.
#[test]
fn slow_requests_are_explained_by_what_holds_them_back() {
    let eight = array(4, 2, 1, 1);
    let few_slots = Front { protocol: Protocol::SingleQueue { depth: 1 }, ..PLAIN.front };
    let one = BlockOptions { slots: 1, ..block_options("none") };
    let cases = [
        // Where neither can be tried, what relieves the one that the others wait for can.
        (one, PLAIN, "block_layer", &[WhatIf::NoBlockLayer, WhatIf::Slots, WhatIf::Dies][..]),
        // Of its one process, which has no others to compete with, it gives four times the quantum of four.
        (block_options("cfq"), PLAIN, "block_layer", &[WhatIf::NoBlockLayer]),
        // Half of the time here, half in the queue of the drive, for which those here wait.
        (block_options("none"), in_front(few_slots), "block_layer", &[WhatIf::Slots]),
    ];
    for (block, drive, name, what_ifs) in cases {
        let setup = Setup { block: Some(block.clone()), ..full(eight, 64, TIMING, drive) };
        let reads = random(&setup, Op::Read);
        let summary = diagnosed(&setup, &reads);
        let slow = named(&summary, Subject::SlowReads, name);
        assert_eq!(slow.what_ifs, what_ifs, "{}", block.scheduler);
        for what_if in what_ifs {
            let changed = diagnosed(&what_if.applied_to(&setup).expect("a change"), &reads);
            assert!(iops(&changed) > 1.1 * iops(&summary), "{what_if:?} {} {}", iops(&summary), iops(&changed));
        }
    }
}

/// A change changes what it says, once, or is none.
#[test]
fn a_change_is_one_or_none() {
    let setup = full(array(2, 1, 1, 1), 4, TIMING, PLAIN);
    let applies = |what_if: &WhatIf| what_if.applied_to(&setup).is_some();
    let some: Vec<WhatIf> = WhatIf::ALL.into_iter().filter(applies).collect();
    // No link, controller, buffer, slots, block layer, map in flash or cache is there to be changed.
    assert_eq!(some, [WhatIf::Dies, WhatIf::Channels, WhatIf::Depth, WhatIf::Spare, WhatIf::Placement]);
    let more = WhatIf::Spare.applied_to(&setup).expect("spare");
    let spare = |setup: &Setup| {
        let reserve = u64::from(setup.reserve_blocks() * setup.geometry.pages_per_block);
        setup.geometry.pages() - u64::from(setup.logical_pages) - reserve
    };
    assert_eq!(spare(&more), 2 * spare(&setup));
    assert!(WhatIf::Placement.applied_to(&WhatIf::Placement.applied_to(&setup).expect("shared")).is_none());
}

/// Writes without a pause longer than an idle drive waits leave it none to collect in; with pauses it does all of it.
#[test]
fn collection_in_idle_time_is_told_where_it_never_acts_or_does_all() {
    let idle = Collect::Idle { after: Nanos(1_000_000), goal: CollectGoal { blocks: 2, step: 8 } };
    let setup = |collect| Setup {
        replay: Replay::Open { time_scale: 1.0 },
        ..full(array(1, 1, 1, 1), 1, TIMING, DriveOptions { collect, ..PLAIN })
    };
    let writes = |gap_ns: u64| -> Vec<Request> {
        let writes = random(&setup(idle), Op::Write).into_iter().zip(0..);
        writes.map(|(request, number)| Request { time_ns: number * gap_ns, ..request }).collect()
    };
    let (dense, sparse) = (writes(900_000), writes(5_000_000));
    let never = diagnosed(&setup(idle), &dense);
    let found = named(&never, Subject::Input, "idle_never_collects");
    assert!(found.evidence["collected"] > 0.0 && found.evidence["collected_idle"] == 0.0, "{found:?}");
    assert_eq!((found.share, found.evidence["after_ns"]), (1.0, 1e6));
    let all = diagnosed(&setup(idle), &sparse);
    let found = named(&all, Subject::Input, "idle_collects_all");
    assert!(found.share >= 0.95 && found.evidence["collected_idle"] <= found.evidence["collected"], "{found:?}");
    // Elsewhere nothing is said of it.
    for (collect, requests) in [(idle, &dense), (Collect::Foreground, &dense), (Collect::Foreground, &sparse)] {
        let summary = diagnosed(&setup(collect), requests);
        without(&summary, "idle_collects_all");
        assert_eq!(summary.diagnosis.iter().any(|finding| finding.name == "idle_never_collects"), collect == idle);
    }
}

/// Nine of ten writes to a tenth of the pages, on one frontier: cold pages are copied again and again. With even
/// writes, or with survivors apart, there is nothing of it.
#[test]
fn hot_data_mixed_with_cold_is_found() {
    let mut setup = drive_setup(array(2, 1, 1, 1), 64, 32, 8);
    setup.logical_pages = setup.logical_pages * 4 / 5;
    setup.precondition = Precondition { fill: 1.0, overwrite: Overwrite::None };
    let FtlChoice::Page(options, map) = setup.ftl else { unreachable!("page mapping") };
    setup.ftl = FtlChoice::Page(PageOptions { placement: &placement::shared::INFO, ..options }, map);
    let pages = u64::from(setup.logical_pages);
    let writes = |hot_of_ten: u64| -> Vec<Request> {
        let mut rng = Rng::named(3, "hot and cold");
        let mut page = || match rng.below(10) < hot_of_ten {
            true => rng.below(pages / 10),
            false => pages / 10 + rng.below(pages - pages / 10),
        };
        (0..12 * pages).map(|_| at(Op::Write, page() * PAGE, PAGE as u32)).collect()
    };
    let (skewed, even) = (writes(9), writes(1));
    let summary = diagnosed(&setup, &skewed);
    let found = named(&summary, Subject::WriteAmplification, "hot_with_cold");
    // 1 / (0.9^2 / 0.1 + 0.1^2 / 0.9) of the pages.
    assert!((found.evidence["written_share"] * 8.111 - 1.0).abs() < 0.02, "{found:?}");
    assert!(found.evidence["valid_share_of_victims"] >= found.evidence["valid_share_evenly"], "{found:?}");
    without(&diagnosed(&setup, &even), "hot_with_cold");
    // Few of these writes meet victims that earlier ones left, whatever they fall on.
    setup.precondition.overwrite = Overwrite::Passes(3.0);
    let short = diagnosed(&setup, &skewed[..skewed.len() / 24]);
    named(&short, Subject::Input, "too_short");
    named(&short, Subject::WriteAmplification, "collection");
    without(&short, "hot_with_cold");
    setup.precondition.overwrite = Overwrite::None;
    // The change that it names confirms it, and takes it away.
    assert_eq!(found.what_ifs, [WhatIf::Placement]);
    let apart = diagnosed(&WhatIf::Placement.applied_to(&setup).expect("shared"), &skewed);
    without(&apart, "hot_with_cold");
    let [mixed, apart] = [&summary, &apart].map(|summary| summary.write_amplification.expect("written"));
    assert!(apart < 0.9 * mixed && found.evidence["write_amplification_apart"] < apart, "{mixed} {apart}");
    // Nobody has asked: nothing is counted.
    let outcome = run(&setup, &mut SliceSource::new(&even), &mut ()).expect("runs");
    assert_eq!(outcome.written_share, None);
}
