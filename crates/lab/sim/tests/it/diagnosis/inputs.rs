//! Goal: findings warn of inputs that make results misleading.

use super::*;

#[test]
fn misleading_inputs_are_found() {
    let mut setup = full(array(2, 1, 1, 1), 4, TIMING, PLAIN);
    let writes = random(&setup, Op::Write);
    // An empty drive that the trace does not fill.
    setup.precondition.fill = 0.0;
    let few = &writes[..100];
    let summary = diagnosed(&setup, few);
    named(&summary, Subject::Input, "never_full");
    named(&summary, Subject::Input, "too_short");
    without(&summary, "times_ignored");
    // A run that measures only reads has no write amplification, although its warm-up writes.
    let read_back: Vec<Request> = few.iter().copied().chain(random(&setup, Op::Read)).collect();
    let summary = diagnosed(&Setup { warmup_requests: 100, ..setup.clone() }, &read_back);
    without(&summary, "too_short");
    // A drive that was overwritten at random and by a long trace has no such finding.
    setup.precondition = Precondition { fill: 1.0, overwrite: Overwrite::Passes(1.0) };
    let summary = diagnosed(&setup, &writes);
    ["never_full", "too_short", "unsettled", "times_ignored", "queue_grows"]
        .iter()
        .for_each(|name| without(&summary, name));
    // A closed loop ignores the timestamps of the trace; in an open loop, the drive may not keep up.
    let hasty: Vec<Request> = (0..).zip(&writes).map(|(n, write)| Request { time_ns: n * 10, ..*write }).collect();
    named(&diagnosed(&setup, &hasty), Subject::Input, "times_ignored");
    let open = Setup { replay: Replay::AS_TRACED, ..setup.clone() };
    let summary = diagnosed(&open, &hasty);
    named(&summary, Subject::Input, "queue_grows");
    without(&summary, "times_ignored");
    // A map cache of four entries is too small.
    setup.ftl = FtlChoice::Page(SMALL_OPTIONS, dftl::INFO.set(&[("cmt", 4)]).expect("in range"));
    setup.geometry.blocks += 24;
    named(&diagnosed(&setup, &writes), Subject::Input, "map_cache_too_small");
}

/// Goal: only repeated misses make a cache too small, not first uses or trimmed pages. Method: passes over all pages,
/// with caches for all pages and for a quarter of the pages.
#[test]
fn only_repeated_misses_make_a_cache_too_small() {
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
    // On a full drive, a map cache for all entries would hit always.
    for (fill, share) in [(0.0, None), (1.0, Some(1.0))] {
        let mut setup = plain.clone();
        setup.precondition.fill = fill;
        setup.ftl = FtlChoice::Page(SMALL_OPTIONS, dftl::INFO.set(&[("cmt", 4)]).expect("in range"));
        setup.geometry.blocks += 24;
        let (found, (_, hit_ratio)) = told(&setup, &once(Op::Write), "map_cache_too_small");
        assert_eq!((found, hit_ratio), (share, Some(0.0)), "{fill}");
    }
}

/// Goal: lifetime and findings agree on whether a drive keeps up. Method: the same writes with different gaps, also
/// with a write buffer that holds a tenth of the writes at the end.
#[test]
fn lifetime_uses_the_rate_of_the_trace_unless_a_queue_grows() {
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

/// Goal: the diagnosis distinguishes an unsettled from a settled drive. Method: overwrites at random, and then only a
/// tenth of the pages, so that blocks of only cold pages form.
#[test]
fn an_unsettled_drive_is_found() {
    let shared = drive_setup(array(2, 1, 1, 1), 64, 32, 8);
    let mut setup = WhatIf::Placement.applied_to(&shared).expect("GC shares the host's open block");
    setup.precondition = Precondition { fill: 1.0, overwrite: Overwrite::Passes(3.0) };
    let mut tenth = random(&setup, Op::Write).repeat(5);
    tenth.iter_mut().for_each(|write| write.offset %= u64::from(setup.logical_pages) / 10 * PAGE);
    let summary = diagnosed(&setup, &tenth);
    let found = named(&summary, Subject::Input, "unsettled");
    let (whole, latest) = (found.evidence["write_amplification_before"], found.evidence["write_amplification_then"]);
    assert_eq!(Some(whole), summary.write_amplification);
    // Measures only the last part, with all earlier requests as a warm-up.
    let last = tenth.len() - setup.geometry.pages() as usize;
    let alone = diagnosed(&Setup { warmup_requests: last as u64, ..setup.clone() }, &tenth).write_amplification;
    assert!((latest / alone.expect("written") - 1.0).abs() < 0.02, "{latest} {alone:?}");
    // With repeated replays, the diagnosis compares replays, not parts of the last replay.
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

/// All requests wait equally long behind a queue that exists from the start. The mean latency is then the time from the
/// last arrival to the last completion.
#[test]
fn a_queue_that_never_empties_is_reported() {
    for clock in [Clock::Event(TIMING, PLAIN), Clock::Serial(TIMING)] {
        let setup = Setup { clock, ..full(array(2, 1, 1, 1), 4, TIMING, PLAIN) };
        let reads = random(&setup, Op::Read);
        let closed = diagnosed(&setup, &reads).time.expect("timed");
        let gap_ns = closed.elapsed_ns / reads.len() as u64;
        let open = Setup { replay: Replay::AS_TRACED, ..setup.clone() };
        for (queued, grows) in [(0, false), (reads.len() as u64 / 4, true)] {
            // The queue builds up at the start; later requests arrive as fast as the drive serves them.
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

/// Without long pauses between writes, idle collection collects nothing; with long pauses, it does all collection.
#[test]
fn idle_collection_is_reported_if_it_does_nothing_or_everything() {
    let idle = Collect::Idle { after: Nanos(1_000_000), goal: CollectGoal { blocks: 2, step: 8 } };
    let setup = |collect| Setup {
        replay: Replay::AS_TRACED,
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
    // Other runs have no such finding.
    for (collect, requests) in [(idle, &dense), (Collect::Foreground, &dense), (Collect::Foreground, &sparse)] {
        let summary = diagnosed(&setup(collect), requests);
        without(&summary, "idle_collects_all");
        assert_eq!(summary.diagnosis.iter().any(|finding| finding.name == "idle_never_collects"), collect == idle);
    }
}
