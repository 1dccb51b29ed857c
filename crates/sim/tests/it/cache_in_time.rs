//! Goal: a cache above a drive in time takes the time that its parts take. Method: caches that change nothing, times counted by
//! hand, the counters of the untimed cache, random stacks with the data checked.

use proptest::prelude::*;
use ssdlab_cache::WriteMode;
use ssdlab_core::Nanos;
use ssdlab_sched::SCHEDULERS;
use ssdlab_sim::{
    BlockOptions, CacheOptions, CacheSummary, Clock, HostCounters, MOST_PARAMETERS, Outcome, Overwrite, Precondition,
    Replay, Setup, run,
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

/// A write-back cache of raw pages of 4 KiB that writes nothing ahead of need.
fn lru(pages: u64, dirty_percent: u32) -> CacheOptions {
    CacheOptions {
        policy: "lru",
        parameters: [None; MOST_PARAMETERS],
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

/// The cache, and the time that everything took.
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
        assert_eq!(below.latency, alone.latency);
        let mean_ns = alone.latency.as_ref().and_then(|latency| latency.all.as_ref()).expect("requests").mean_ns;
        assert_eq!(cache.mean_ns, Some(mean_ns + copy_ns as f64));
        if copy_ns == 0 {
            // Findings may speak of the cache.
            below.diagnosis.clone_from(&alone.diagnosis);
            assert_eq!(below, alone);
        }
    }
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
        let (summary, elapsed_ns) = timed(&one_die(Some(cache), Replay::ONE_BY_ONE), &requests);
        let ahead_ns = if cache.background_percent == 0 { 0 } else { COPY_NS };
        assert_eq!(elapsed_ns, ahead_ns + PROGRAM_NS + COPY_NS, "{:?}", summary.counters);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn one_by_one_it_counts_what_the_untimed_cache_counts(
        setup in on_any_drive(),
        cache in caches(),
        requests in requests(200),
        warmup_requests in 0_u64..100,
    ) {
        let cache = CacheOptions { background_percent: 100, ..cache };
        let timed = Setup { cache: Some(cache), replay: Replay::ONE_BY_ONE, warmup_requests, ..setup };
        let (mut timed, untimed) = (
            replay(&timed, &requests).summary,
            replay(&Setup { clock: Clock::Count, ..timed }, &requests).summary,
        );
        // A page that is in the write buffer of the drive and nowhere else is not mapped yet.
        let of_host = |host: HostCounters| HostCounters { unmapped_pages_read: 0, ..host };
        prop_assert_eq!(of_host(timed.host), of_host(untimed.host));
        let cache = timed.cache.as_mut().expect("there is a cache");
        prop_assert_eq!(cache.mean_ns.take().is_some(), cache.requests > 0);
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
        let block = number.map(|number| BlockOptions::of(SCHEDULERS[number].name));
        let setup = Setup { cache: Some(cache), block, ..setup };
        let outcome = replay(&setup, &requests);
        let (cache, latency) = (outcome.summary.cache.as_ref().expect("a cache"), outcome.summary.latency.as_ref().expect("timed"));
        prop_assert_eq!(cache.requests, requests.len() as u64);
        let counters = cache.counters;
        prop_assert_eq!(latency.read.as_ref().map_or(0, |read| read.count), counters.reads_below);
        prop_assert_eq!(latency.write.as_ref().map_or(0, |write| write.count), counters.writes_below);
        let again = replay(&setup, &requests).summary;
        prop_assert_eq!(serde_json::to_string(&outcome.summary).ok(), serde_json::to_string(&again).ok());
    }
}
