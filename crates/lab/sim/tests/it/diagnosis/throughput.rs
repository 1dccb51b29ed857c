//! Goal: the first finding is the bottleneck of the drive. Method: drives with one bottleneck each; relieving the
//! bottleneck makes the drive faster.

use super::*;

/// Name of the first finding, drive, requests, and the change that confirms it with its minimum gain.
type Planted = (&'static str, Setup, Vec<Request>, Option<(WhatIf, f64)>);

fn planted() -> Vec<Planted> {
    let eight = array(4, 2, 1, 1);
    let front = PLAIN.front;
    let mut found = Vec::new();
    let mut plant = |name, setup: Setup, requests, confirmed| found.push((name, setup, requests, confirmed));

    let setup = full(eight, 16, TIMING, in_front(Front { controller: Controller::serial(Nanos(1_000)), ..front }));
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
    // Merges run one after the other, so few of eight dies work at once, however many requests wait.
    for choice in [&log::bast::INFO, &log::fast::INFO, &log::faster::INFO, &log::sbfast::INFO] {
        for drive in [PLAIN, DriveOptions { backlog: 1, ..PLAIN }, buffered(128)] {
            let mut setup = full(eight, 32, TIMING, drive);
            setup.ftl = FtlChoice::Log(choice.defaults(), 8);
            plant("merges", setup.clone(), random(&setup, Op::Write)[..600].to_vec(), Some((WhatIf::Dies, 1.5)));
        }
    }
    let mut setup = full(array(2, 2, 1, 1), 32, TIMING, PLAIN);
    // The map has many pages, spread over the dies, and free blocks suffice without collection. Each write loads a map
    // page and writes another map page back.
    setup.ftl = FtlChoice::Page(SMALL_OPTIONS, dftl::INFO.set(&[("cmt", 4), ("entry", 64)]).expect("in range"));
    setup.geometry.blocks += 112;
    plant("map", setup.clone(), random(&setup, Op::Write)[..800].to_vec(), Some((WhatIf::Map, 1.5)));
    // Entries are loaded one after the other, and each load delays all later operations: most requests wait for another
    // die.
    let mut setup =
        full(array(4, 4, 1, 1), 32, TIMING, in_front(Front { controller: Controller::serial(Nanos(10)), ..front }));
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
    // The block layer sends more requests than the drive takes.
    let setup = Setup { block: Some(block_options("none")), ..full(eight, 32, TIMING, in_front(one_slot)) };
    plant("queue_slots", setup.clone(), random(&setup, Op::Read), Some((WhatIf::Slots, 1.5)));
    let setup = full(eight, 16, TIMING, PLAIN);
    let on_one_die =
        random(&setup, Op::Read).into_iter().map(|read| Request { offset: read.offset / PAGE / 8 * 8 * PAGE, ..read });
    plant("uneven_dies", setup, on_one_die.collect(), Some((WhatIf::Dies, 1.5)));
    let setup = full(eight, 1, TIMING, PLAIN);
    plant("host_depth", setup.clone(), random(&setup, Op::Read), Some((WhatIf::Depth, 1.6)));
    // If the think time exceeds the response times, the host limits throughput.
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
    // The same holds for many thinking processes, even if several requests wait for one die.
    let setup = thinking(Setup { replay: full(eight, 128, TIMING, PLAIN).replay, ..collecting.clone() }, 200_000);
    plant("think_time", setup.clone(), random(&setup, Op::Write), Some((WhatIf::NoThink, 1.5)));
    // If the think time is short, the drive limits throughput.
    plant("collection", thinking(collecting, 1_000), random(&idle, Op::Write), Some((WhatIf::Dies, 1.5)));
    let setup = thinking(full(eight, 32, TIMING, in_front(one_slot)), 1_000);
    plant("queue_slots", setup.clone(), random(&setup, Op::Read), Some((WhatIf::Slots, 1.3)));
    let setup = Setup { replay: Replay::AS_TRACED, ..full(eight, 1, TIMING, PLAIN) };
    let sparse = (0..).zip(random(&setup, Op::Read)).map(|(n, read)| Request { time_ns: n * 10_000, ..read });
    plant("arrivals", setup, sparse.collect(), None);
    found
}

#[test]
fn the_first_finding_is_the_bottleneck_and_its_change_confirms_it() {
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

/// Goal: some finding proposes the most helpful change. Method: a buffer of two pages is full because each partial
/// write reads the rest of its page, which takes most of the time.
#[test]
fn a_full_buffer_does_not_hide_slow_cells() {
    let slow_cells = Timing { read: PageTimes::uniform(Nanos(4_000)), ..TIMING };
    let mut setup = full(array(4, 2, 1, 1), 16, slow_cells, buffered(2));
    // The drive has enough blocks that nothing is collected.
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

/// Goal: the block layer is a finding even if requests wait there for slightly less than half of their time. Method:
/// the block layer dispatches one page at a time, which takes 120 ns (cells 100 ns, bus 20 ns). With two outstanding
/// requests, each request except the first waits 120 ns: 239,880 ns of 479,880 ns, 49.99 %. With one request, nothing
/// waits; with three, most requests wait for two others.
#[test]
fn the_block_layer_is_found_below_and_above_half_of_the_time() {
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
            // Twice as many requests only wait for each other; without the block layer, two dies work at once.
            let (more, without) = (iops_with(WhatIf::Depth), iops_with(WhatIf::NoBlockLayer));
            assert!(without > 1.5 * iops(&summary) && more < 1.01 * iops(&summary), "{without} {more}");
        }
    }
}

/// Bursts of writes wait for buffer slots, and the dies are idle between bursts. A larger buffer makes requests faster,
/// but not more frequent.
#[test]
fn waits_do_not_limit_throughput_if_the_trace_sets_the_rate() {
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

/// The throughput of a single request has no meaning.
#[test]
fn a_single_request_gives_no_throughput_finding() {
    let setup = full(array(4, 2, 1, 1), 16, TIMING, PLAIN);
    let reads = random(&setup, Op::Read);
    let subjects = |requests| -> Vec<Subject> {
        diagnosed(&setup, &reads[..requests]).diagnosis.into_iter().map(|finding| finding.about).collect()
    };
    assert_eq!(subjects(1), [Subject::SlowReads]);
    assert_eq!(subjects(2), [Subject::Throughput, Subject::SlowReads]);
}

/// Single-page requests at depth 1 cannot load the dies unevenly.
#[test]
fn requests_one_at_a_time_are_not_uneven() {
    let eight = array(4, 2, 1, 1);
    for (depth, name) in [(1, "host_depth"), (16, "uneven_dies")] {
        let setup = full(eight, depth, TIMING, PLAIN);
        let same = vec![at(Op::Read, 0, PAGE as u32); REQUESTS as usize];
        assert_eq!(diagnosed(&setup, &same).diagnosis[0].name, name);
    }
}
