//! Goal: a cache above an event-driven drive takes the time of its parts, and measures host requests. Method: caches
//! without effect, times by hand, Little's law, comparison with counters of the untimed cache, and random stacks with a
//! data check.

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

/// Time in which a drive with one die reads a page (cells and bus), and time to program a page.
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

/// Returns a full drive with one die.
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
fn a_cache_without_hits_adds_only_its_copies() {
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
            // Findings may mention the cache.
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
fn if_all_requests_hit_the_host_waits_only_for_copies() {
    let requests: Vec<_> =
        (0..500).map(|n| at(0, if n < 4 || n % 5 == 0 { Op::Write } else { Op::Read }, n % 4)).collect();
    for depth in [1, 4] {
        let replayed = Replay::Closed { depth, per_stream: false, think: Nanos::ZERO };
        let setup = Setup { attribution: true, ..one_die(Some(lru(4, 100)), replayed) };
        let summary = replay(&setup, &requests).summary;
        // The first requests have fewer requests before them, so they wait less.
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

/// Little's law, with some hits, misses that wait for the die, and writers at the dirty limit.
#[test]
fn the_mean_number_of_host_requests_is_the_queue_depth() {
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
        // At the end, no requests are left to issue, but pages are still written back: up to 10 dirty pages, each with
        // garbage collection.
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

/// Write-back waits for the drive; host requests do not.
#[test]
fn times_of_backing_requests_equal_times_of_the_drive() {
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
fn hits_are_copied_and_completed_one_after_the_other() {
    let (cache, elapsed_ns) = timed(
        &one_die(Some(lru(4, 100)), Replay::ONE_BY_ONE),
        &[at(0, Op::Write, 0), at(0, Op::Read, 0), at(0, Op::Read, 0)],
    );
    assert_eq!((elapsed_ns, cache.mean_ns, cache.cache_ns), (30, Some(10.0), 30));
    // Requests at 0, 0 and 5 ns complete at 10, 20 and 30 ns.
    let (cache, elapsed_ns) = timed(
        &one_die(Some(lru(4, 100)), Replay::AS_TRACED),
        &[at(0, Op::Write, 0), at(0, Op::Read, 0), at(5, Op::Read, 0)],
    );
    assert_eq!((elapsed_ns, cache.mean_ns, cache.cache_ns), (30, Some(55.0 / 3.0), 55));
}

#[test]
fn only_hits_on_a_page_being_read_wait_for_the_read() {
    let requests = [at(0, Op::Write, 1), at(20, Op::Read, 0), at(50, Op::Read, 0), at(60, Op::Read, 1)];
    let (cache, elapsed_ns) = timed(&one_die(Some(lru(4, 100)), Replay::AS_TRACED), &requests);
    // Page 0 arrives at 140 ns and is copied twice. The hit on page 1 is copied earlier.
    assert_eq!((cache.counters.reads_below, cache.hits, elapsed_ns), (1, 2, 20 + READ_NS + 20));
    assert_eq!(cache.mean_ns, Some((10 + (READ_NS + 10) + (READ_NS - 30 + 20) + 10) as f64 / 4.0));
}

#[test]
fn a_writer_waits_at_the_dirty_limit() {
    let writes: Vec<_> = (0..4).map(|page| at(0, Op::Write, page)).collect();
    let (cache, elapsed_ns) = timed(&one_die(Some(lru(4, 50)), Replay::ONE_BY_ONE), &writes);
    // Two pages may be dirty. The third write waits until the first page is programmed, the fourth write until the
    // second page is programmed.
    assert_eq!(elapsed_ns, 2 * COPY_NS + 2 * PROGRAM_NS);
    assert_eq!(cache.mean_ns, Some((2 * COPY_NS + 2 * PROGRAM_NS) as f64 / 4.0));
    // The program of an earlier page starts when a further page becomes dirty, while that page is copied.
    let waits = cache.waits.as_ref().expect("in time");
    assert_eq!((waits.drive_ns, waits.limit_ns), (0, u128::from(2 * (PROGRAM_NS - COPY_NS))));
    assert_eq!((cache.counters.limited, cache.dirty_pages), (2, 2));
    // Four writes at once: the two writes above the limit wait for one page each.
    let together = Replay::Closed { depth: 4, per_stream: false, think: Nanos::ZERO };
    let (cache, elapsed_ns) = timed(&one_die(Some(lru(4, 50)), together), &writes);
    assert_eq!((cache.counters.limited, elapsed_ns), (2, 2 * PROGRAM_NS));
    assert_eq!(cache.mean_ns, Some((10 + 20 + PROGRAM_NS + 2 * PROGRAM_NS) as f64 / 4.0));
}

#[test]
fn nobody_waits_for_the_write_back_of_an_evicted_page() {
    let requests = [at(0, Op::Write, 0), at(0, Op::Read, 1), at(0, Op::Read, 1)];
    let (cache, elapsed_ns) = timed(&one_die(Some(lru(1, 100)), Replay::ONE_BY_ONE), &requests);
    // The read of page 1 evicts page 0. On the only die, the read follows the program of page 0; the hit on page 1
    // follows the read.
    assert_eq!((cache.counters.evicted, cache.hits), (1, 1));
    assert_eq!(elapsed_ns, COPY_NS + PROGRAM_NS + READ_NS + 2 * COPY_NS);
    // A write that evicts a page continues at once.
    let requests = [at(0, Op::Read, 1), at(0, Op::Write, 0), at(0, Op::Read, 1), at(0, Op::Write, 2)];
    let (cache, _) = timed(&one_die(Some(lru(2, 50)), Replay::ONE_BY_ONE), &requests);
    let waits_ns = PROGRAM_NS;
    assert_eq!(cache.mean_ns, Some((READ_NS + COPY_NS + COPY_NS + COPY_NS + waits_ns) as f64 / 4.0));
}

/// The trim takes no time. The reads that waited for the trim are plugged although their processes already sleep.
#[test]
fn reads_released_by_an_instant_trim_are_unplugged() {
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
fn background_writes_start_above_their_limit_and_pages_are_dirty_until_they_end() {
    let cache = CacheOptions { background_percent: 25, ..lru(4, 50) };
    let writes: Vec<_> = (0..3).map(|page| at(0, Op::Write, page)).collect();
    let (cache, elapsed_ns) = timed(&one_die(Some(cache), Replay::ONE_BY_ONE), &writes);
    // At 10 ns, the second write starts the program of the first page. The third write, at 20 ns, waits for the end of
    // the program at 1,030 ns.
    assert_eq!((cache.counters.background, cache.counters.limited), (2, 0));
    assert_eq!(cache.mean_ns, Some((10 + 10 + (PROGRAM_NS + 10 - 20)) as f64 / 3.0));
    assert_eq!(elapsed_ns, 10 + 2 * PROGRAM_NS);
}

#[test]
fn a_flush_waits_for_dirty_pages_and_for_pages_being_written() {
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
    fn with_one_request_at_a_time_counts_equal_those_of_the_untimed_cache(
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
        // A page that is only in the drive's write buffer is not mapped yet.
        let of_host = |host: HostCounters| HostCounters { unmapped_pages_read: 0, ..host };
        prop_assert_eq!(of_host(timed.host), of_host(untimed.host));
        let cache = timed.cache.as_mut().expect("there is a cache");
        prop_assert_eq!(cache.mean_ns.take().is_some(), cache.requests > 0);
        prop_assert!(cache.waits.take().is_some() && cache.below.take().is_some());
        prop_assert_eq!(timed.cache, untimed.cache);
    }

    #[test]
    fn every_stack_gives_the_same_results_each_time(
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
