//! Goal: a cache above an event-driven drive takes the time of its parts, and measures requests of the host. Method: caches
//! without effect, times by hand, Little's law, counters of the untimed cache, random stacks with a data check.

use proptest::prelude::*;
use ssdlab_cache::WriteMode;
use ssdlab_core::{Nanos, Rng};
use ssdlab_sched::SCHEDULERS;
use ssdlab_sim::{
    CacheOptions, CacheSummary, Clock, Finding, HostCounters, LatencyByOp, LatencySummary, Outcome, Overwrite,
    Precondition, Replay, Setup, Subject, Summary, block_options, run,
};
use ssdlab_testkit::drives::{array, drive_setup, on_any_drive};
use ssdlab_testkit::strategies::requests;
use ssdlab_trace::{Op, Request, SliceSource};

use crate::cache::caches;

/// Time to copy a page.
const COPY_NS: u64 = 10;

/// Time of a drive with one die to read a page, cells and bus, and to program one.
const READ_NS: u64 = 120;
const PROGRAM_NS: u64 = 1_020;

/// Returns a write-back cache of raw 4 KiB pages without background write-back.
pub fn lru(pages: u64, dirty_percent: u32) -> CacheOptions {
    CacheOptions {
        policy: ssdlab_cache::POLICIES.get("lru").expect("a registered policy"),
        parameters: Vec::new(),
        page_bytes: 4096,
        capacity_pages: pages,
        compressed: None,
        writes: WriteMode::Back,
        dirty_percent,
        background_percent: 100,
        copy: Nanos(COPY_NS),
    }
}

/// A full drive with one die.
fn one_die(cache: Option<CacheOptions>, replay: Replay) -> Setup {
    let precondition = Precondition { fill: 1.0, overwrite: Overwrite::None };
    Setup { cache, replay, precondition, check: true, ..drive_setup(array(1, 1, 1, 1), 16, 8, 1) }
}

fn at(time_ns: u64, op: Op, page: u64) -> Request {
    Request { time_ns, offset: page * 4096, bytes: 4096, op, flags: 0, stream: 0 }
}

fn replay(setup: &Setup, requests: &[Request]) -> Outcome {
    run(setup, &mut SliceSource::new(requests), &mut ()).expect("the data check finds nothing")
}

/// Returns the results of the cache, and the elapsed time.
fn timed(setup: &Setup, requests: &[Request]) -> (CacheSummary, u64) {
    let summary = replay(setup, requests).summary;
    (summary.cache.expect("there is a cache"), summary.time.expect("timed").elapsed_ns)
}

#[test]
fn a_cache_that_misses_everything_adds_its_copies_and_nothing_else() {
    let requests: Vec<_> =
        [Op::Write, Op::Read].iter().flat_map(|&op| (0..50).map(move |page| at(0, op, page))).collect();
    let alone = replay(&one_die(None, Replay::ONE_BY_ONE), &requests).summary;
    for copy_ns in [0, COPY_NS] {
        let cache = CacheOptions { writes: WriteMode::Through, copy: Nanos(copy_ns), ..lru(1, 100) };
        let mut below = replay(&one_die(Some(cache), Replay::ONE_BY_ONE), &requests).summary;
        let cache = below.cache.take().expect("there is a cache");
        let (time, time_alone) = (below.time.expect("timed"), alone.time.expect("timed"));
        assert_eq!((cache.hits, cache.cache_ns), (0, 100 * copy_ns));
        assert_eq!(time.elapsed_ns, time_alone.elapsed_ns + 100 * copy_ns);
        assert_eq!(cache.below.as_ref().map(|below| &below.latency), alone.latency.as_ref());
        let mean_ns = all(&alone).mean_ns;
        assert_eq!((cache.mean_ns, all(&below).mean_ns), (Some(mean_ns + copy_ns as f64), mean_ns + copy_ns as f64));
        assert_eq!(cache.waits.map(|waits| waits.drive_ns), Some(100 * mean_ns as u128));
        if copy_ns == 0 {
            // Findings may speak of the cache.
            below.diagnosis.clone_from(&alone.diagnosis);
            assert_eq!(below, alone);
        }
    }
}

/// Returns the response times of the host.
fn all(summary: &Summary) -> LatencySummary {
    summary.latency.as_ref().and_then(|latency| latency.all).expect("requests")
}

#[test]
fn where_everything_hits_the_host_waits_for_copies_and_nothing_else() {
    let requests: Vec<_> =
        (0..500).map(|n| at(0, if n < 4 || n % 5 == 0 { Op::Write } else { Op::Read }, n % 4)).collect();
    for depth in [1, 4] {
        let replayed = Replay::Closed { depth, per_stream: false, think: Nanos::ZERO };
        let setup = Setup { attribution: true, ..one_die(Some(lru(4, 100)), replayed) };
        let summary = replay(&setup, &requests).summary;
        // The first of those outstanding at once have fewer before them.
        let longest_ns = u64::from(depth) * COPY_NS;
        let latency = summary.latency.as_ref().expect("timed");
        for times in [latency.all, latency.read, latency.write].map(|times| times.expect("requests")) {
            let LatencySummary { p50_ns, p99_ns, max_ns, .. } = times;
            assert_eq!([p50_ns, p99_ns, max_ns], [longest_ns; 3]);
        }
        let counts = [latency.all, latency.read, latency.write].map(|times| times.map(|times| times.count));
        let writes = requests.iter().filter(|request| request.op == Op::Write).count() as u64;
        assert_eq!(counts, [Some(500), Some(500 - writes), Some(writes)]);
        let time = summary.time.expect("timed");
        let seconds = 500.0 * COPY_NS as f64 / 1e9;
        assert_eq!((time.elapsed_ns, time.iops), (500 * COPY_NS, Some(500.0 / seconds)));
        assert_eq!(time.bytes_written_per_s, Some((writes * 4096) as f64 / seconds));
        let cache = summary.cache.expect("there is a cache");
        let (waits, below) = (cache.waits.expect("in time"), cache.below.expect("in time"));
        assert_eq!((waits.drive_ns, waits.limit_ns, waits.utilisation), (0, 0, 1.0));
        let nothing = LatencyByOp { all: None, read: None, write: None, trim: None, flush: None };
        assert_eq!((below.iops, below.bytes_written_per_s, below.latency), (Some(0.0), Some(0.0), nothing));
        let found: Vec<_> =
            summary.diagnosis[..2].iter().map(|one: &Finding| (one.about, one.name, one.share)).collect();
        assert_eq!(found, [(Subject::Throughput, "cache", 1.0), (Subject::Host, "cache", 1.0)]);
    }
}

/// With some hits, misses that wait for the die, and writers at the limit.
#[test]
fn as_many_requests_of_the_host_are_under_way_as_it_keeps_outstanding() {
    let mut rng = Rng::named(1, "requests");
    for (reads, depth) in [(10, 1), (10, 7), (5, 1), (5, 7), (0, 7)] {
        let op = |rng: &mut Rng| if rng.below(10) < reads { Op::Read } else { Op::Write };
        let requests: Vec<_> = (0..2_000).map(|_| at(0, op(&mut rng), rng.below(96))).collect();
        let replayed = Replay::Closed { depth, per_stream: false, think: Nanos::ZERO };
        let summary = replay(&one_die(Some(lru(20, 50)), replayed), &requests).summary;
        let (all, time) = (all(&summary), summary.time.as_ref().expect("timed"));
        assert_eq!(all.count, 2_000);
        let cache = summary.cache.expect("there is a cache");
        assert!(cache.hits > 100 && cache.misses > 1_000);
        // At the end there are none left to issue, and pages are still written back: 10 may be dirty at the limit, each
        // with collection.
        let last_ns = all.max_ns + if reads == 10 { 0 } else { 10 * 20 * PROGRAM_NS };
        let under_way = all.mean_ns * 2_000.0 / time.elapsed_ns as f64;
        let least = f64::from(depth) * (1.0 - last_ns as f64 / time.elapsed_ns as f64);
        assert!((least..=f64::from(depth) + 1e-9).contains(&under_way), "{under_way} of {depth}");
        assert!(least > 0.5 * f64::from(depth), "{least}");
        let by_law = f64::from(depth) / all.mean_ns * 1e9;
        let rate = time.iops.expect("time passed");
        assert!((least / f64::from(depth) * by_law..=by_law * (1.0 + 1e-9)).contains(&rate), "{rate} of {by_law}");
        let waits = cache.waits.expect("in time");
        let sum_ns = waits.drive_ns + waits.limit_ns + u128::from(cache.cache_ns);
        assert_eq!((all.mean_ns * 2_000.0).round() as u128, sum_ns);
        assert_eq!(waits.limit_ns > 0, reads < 10);
    }
}

/// Write-back waits for the drive; requests of the host do not.
#[test]
fn times_below_are_those_of_the_drive() {
    let requests: Vec<_> = (0..400).map(|page| at(0, Op::Write, page % 96)).collect();
    let setup = Setup { attribution: true, ..one_die(Some(lru(50, 100)), Replay::ONE_BY_ONE) };
    let summary = replay(&setup, &requests).summary;
    let (cache, drive) = (summary.cache.expect("a cache"), summary.drive.expect("in time"));
    let below = cache.below.expect("in time");
    let (write, all) = (below.latency.write.expect("writes"), below.latency.all.expect("writes"));
    assert_eq!((write.count, all.count), (cache.counters.writes_below, cache.counters.writes_below));
    let (waiting, service) = (drive.waiting.write.expect("writes"), drive.service.write.expect("writes"));
    assert!((waiting.mean_ns + service.mean_ns - write.mean_ns).abs() < 1e-3);
    let response = drive.response.expect("watched");
    assert_eq!(response.all.all.requests, write.count);
    let subjects: Vec<_> = summary.diagnosis.iter().map(|finding| finding.about).collect();
    assert!(subjects.contains(&Subject::SlowWritesBelow) && !subjects.contains(&Subject::SlowWrites));
    let slow = &summary.diagnosis[subjects.iter().position(|&about| about == Subject::SlowWritesBelow).expect("found")];
    assert_eq!(slow.evidence["p99_ns"], write.p99_ns as f64);
    let host = summary.latency.and_then(|latency| latency.all).expect("requests");
    let of_host = summary.diagnosis.iter().find(|finding| finding.about == Subject::Host).expect("found");
    assert_eq!((of_host.evidence["mean_ns"], of_host.evidence["p99_ns"]), (host.mean_ns, host.p99_ns as f64));
}

#[test]
fn hits_complete_after_their_copies_one_after_the_other() {
    let (cache, elapsed_ns) = timed(
        &one_die(Some(lru(4, 100)), Replay::ONE_BY_ONE),
        &[at(0, Op::Write, 0), at(0, Op::Read, 0), at(0, Op::Read, 0)],
    );
    assert_eq!((elapsed_ns, cache.mean_ns, cache.cache_ns), (30, Some(10.0), 30));
    // At 0, 0 and 5: done at 10, 20 and 30.
    let (cache, elapsed_ns) = timed(
        &one_die(Some(lru(4, 100)), Replay::AS_TRACED),
        &[at(0, Op::Write, 0), at(0, Op::Read, 0), at(5, Op::Read, 0)],
    );
    assert_eq!((elapsed_ns, cache.mean_ns, cache.cache_ns), (30, Some(55.0 / 3.0), 55));
}

#[test]
fn who_hits_a_page_on_its_way_waits_for_it_and_others_do_not() {
    let requests = [at(0, Op::Write, 1), at(20, Op::Read, 0), at(50, Op::Read, 0), at(60, Op::Read, 1)];
    let (cache, elapsed_ns) = timed(&one_die(Some(lru(4, 100)), Replay::AS_TRACED), &requests);
    // The page arrives at 140 and is copied twice; meanwhile the other hit takes its copy.
    assert_eq!((cache.counters.reads_below, cache.hits, elapsed_ns), (1, 2, 20 + READ_NS + 20));
    assert_eq!(cache.mean_ns, Some((10 + (READ_NS + 10) + (READ_NS - 30 + 20) + 10) as f64 / 4.0));
}

#[test]
fn a_writer_waits_at_the_dirty_limit() {
    let writes: Vec<_> = (0..4).map(|page| at(0, Op::Write, page)).collect();
    let (cache, elapsed_ns) = timed(&one_die(Some(lru(4, 50)), Replay::ONE_BY_ONE), &writes);
    // Two pages may be dirty: the third write waits for the first page to be programmed, the fourth for the second.
    assert_eq!(elapsed_ns, 2 * COPY_NS + 2 * PROGRAM_NS);
    assert_eq!(cache.mean_ns, Some((2 * COPY_NS + 2 * PROGRAM_NS) as f64 / 4.0));
    // The program of an earlier page begins as soon as a page is dirty, while that is copied.
    let waits = cache.waits.as_ref().expect("in time");
    assert_eq!((waits.drive_ns, waits.limit_ns), (0, u128::from(2 * (PROGRAM_NS - COPY_NS))));
    assert_eq!((cache.counters.limited, cache.dirty_pages), (2, 2));
    // Four at once: both that are above the limit wait, for one page each.
    let together = Replay::Closed { depth: 4, per_stream: false, think: Nanos::ZERO };
    let (cache, elapsed_ns) = timed(&one_die(Some(lru(4, 50)), together), &writes);
    assert_eq!((cache.counters.limited, elapsed_ns), (2, 2 * PROGRAM_NS));
    assert_eq!(cache.mean_ns, Some((10 + 20 + PROGRAM_NS + 2 * PROGRAM_NS) as f64 / 4.0));
}

#[test]
fn what_gives_way_is_written_while_nobody_waits() {
    let requests = [at(0, Op::Write, 0), at(0, Op::Read, 1), at(0, Op::Read, 1)];
    let (cache, elapsed_ns) = timed(&one_die(Some(lru(1, 100)), Replay::ONE_BY_ONE), &requests);
    // The read of page 1 drives page 0 out; it is done after the program, on one die, and the hit just after.
    assert_eq!((cache.counters.evicted, cache.hits), (1, 1));
    assert_eq!(elapsed_ns, COPY_NS + PROGRAM_NS + READ_NS + 2 * COPY_NS);
    // A write goes on at once.
    let requests = [at(0, Op::Read, 1), at(0, Op::Write, 0), at(0, Op::Read, 1), at(0, Op::Write, 2)];
    let (cache, _) = timed(&one_die(Some(lru(2, 50)), Replay::ONE_BY_ONE), &requests);
    let waits_ns = PROGRAM_NS;
    assert_eq!(cache.mean_ns, Some((READ_NS + COPY_NS + COPY_NS + COPY_NS + waits_ns) as f64 / 4.0));
}

/// The trim takes no time. Reads that waited for it are plugged by processes that have already slept.
#[test]
fn what_a_trim_of_no_time_lets_go_is_unplugged_as_well() {
    let trim = Request { bytes: 4 * 4096, ..at(0, Op::Trim, 0) };
    let requests: Vec<_> = std::iter::once(trim).chain((0..4).map(|page| at(0, Op::Read, page))).collect();
    let together = Replay::Closed { depth: 8, per_stream: false, think: Nanos::ZERO };
    for scheduler in SCHEDULERS.iter() {
        let block = Some(block_options(scheduler.name));
        let (cache, _) = timed(&Setup { block, ..one_die(Some(lru(8, 100)), together) }, &requests);
        assert_eq!((cache.counters.reads_below, cache.requests), (4, 5), "{}", scheduler.name);
    }
}

#[test]
fn background_writes_begin_above_their_limit_and_count_until_they_end() {
    let cache = CacheOptions { background_percent: 25, ..lru(4, 50) };
    let writes: Vec<_> = (0..3).map(|page| at(0, Op::Write, page)).collect();
    let (cache, elapsed_ns) = timed(&one_die(Some(cache), Replay::ONE_BY_ONE), &writes);
    // The second write starts the program of the first page at 10; the third one, at 20, waits for its end at 1,030.
    assert_eq!((cache.counters.background, cache.counters.limited), (2, 0));
    assert_eq!(cache.mean_ns, Some((10 + 10 + (PROGRAM_NS + 10 - 20)) as f64 / 3.0));
    assert_eq!(elapsed_ns, 10 + 2 * PROGRAM_NS);
}

#[test]
fn a_flush_waits_for_what_is_dirty_or_on_its_way() {
    let cache = CacheOptions { background_percent: 0, ..lru(4, 100) };
    let requests = [at(0, Op::Write, 0), Request { bytes: 0, ..at(0, Op::Flush, 0) }, at(0, Op::Read, 0)];
    for cache in [cache, lru(4, 100)] {
        let (summary, elapsed_ns) = timed(&one_die(Some(cache.clone()), Replay::ONE_BY_ONE), &requests);
        let ahead_ns = if cache.background_percent == 0 { 0 } else { COPY_NS };
        assert_eq!(elapsed_ns, ahead_ns + PROGRAM_NS + COPY_NS, "{:?}", summary.counters);
    }
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(500))]

    #[test]
    fn one_by_one_it_counts_what_the_untimed_cache_counts(
        setup in on_any_drive(),
        cache in caches(),
        requests in requests(200),
        warmup_requests in 0_u64..100,
    ) {
        let cache = CacheOptions { background_percent: 100, ..cache };
        let timed = Setup { cache: Some(cache), replay: Replay::ONE_BY_ONE, warmup_requests, ..setup.clone() };
        let (mut timed, untimed) = (
            replay(&timed, &requests).summary,
            replay(&Setup { clock: Clock::Count, ..timed.clone() }, &requests).summary,
        );
        // A page that is in the write buffer of the drive and nowhere else is not mapped yet.
        let of_host = |host: HostCounters| HostCounters { unmapped_pages_read: 0, ..host };
        prop_assert_eq!(of_host(timed.host), of_host(untimed.host));
        let cache = timed.cache.as_mut().expect("there is a cache");
        prop_assert_eq!(cache.mean_ns.take().is_some(), cache.requests > 0);
        prop_assert!(cache.waits.take().is_some() && cache.below.take().is_some());
        prop_assert_eq!(timed.cache, untimed.cache);
    }

    #[test]
    fn any_stack_serves_every_request_the_same_each_time(
        setup in on_any_drive(),
        cache in caches(),
        requests in requests(300),
        number in prop::option::of(0..SCHEDULERS.len()),
        flags in prop::collection::vec(0_u8..32, 300),
    ) {
        let marked = |(at, request): (usize, &Request)| Request { flags: flags[at], stream: at as u16 % 3, ..*request };
        let requests: Vec<_> = requests.iter().enumerate().map(marked).collect();
        let block = number.map(|number| block_options(SCHEDULERS[number].name));
        let setup = Setup { cache: Some(cache), block, ..setup.clone() };
        let outcome = replay(&setup, &requests);
        let (cache, latency) = (outcome.summary.cache.as_ref().expect("a cache"), outcome.summary.latency.as_ref().expect("timed"));
        prop_assert_eq!(cache.requests, requests.len() as u64);
        let count = |times: Option<LatencySummary>| times.map_or(0, |times| times.count);
        let of_host = |op| requests.iter().filter(|request| request.op == op).count() as u64;
        let LatencyByOp { all, read, write, trim, flush } = latency;
        prop_assert_eq!([read, write, trim, flush].map(|&times| count(times)), Op::ALL.map(of_host));
        let (counters, below) = (cache.counters, &cache.below.as_ref().expect("in time").latency);
        prop_assert_eq!((count(below.read), count(below.write)), (counters.reads_below, counters.writes_below));
        let waits = cache.waits.as_ref().expect("in time");
        let sum_ns = waits.drive_ns + waits.limit_ns + u128::from(cache.cache_ns);
        prop_assert_eq!(all.map_or(0.0, |all| all.mean_ns * all.count as f64).round() as u128, sum_ns);
        let again = replay(&setup, &requests).summary;
        prop_assert_eq!(serde_json::to_string(&outcome.summary).ok(), serde_json::to_string(&again).ok());
    }
}
