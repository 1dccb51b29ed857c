//! Goal: a cache above any drive loses no data and counts correctly. Method: random small devices, caches and requests
//! with the data check; compares the cache's counts of backing requests with the requests that the drive received.

use std::sync::Arc;

use proptest::prelude::*;
use ssdlab_cache::{AccessTrace, Granularity, POLICIES, PageSizes, Trims, WriteMode};
use ssdlab_core::Nanos;
use ssdlab_sim::{
    CacheChoice, CacheOptions, Clock, CompressedOptions, Control, Setup, one_pass_points, run, simulate_cache,
};
use ssdlab_testkit::drives::on_any_drive;
use ssdlab_testkit::small_setup;
use ssdlab_testkit::strategies::{requests, setups};
use ssdlab_trace::{Op, Request, SliceSource};

/// Generates caches for a small device.
pub fn caches() -> impl Strategy<Value = CacheOptions> {
    let able: Vec<_> = POLICIES.iter().copied().filter(|info| !info.role.needs_future).collect();
    let writes = prop_oneof![3 => Just(WriteMode::Back), 1 => Just(WriteMode::Through)];
    let pool = prop::option::of(pools());
    (proptest::sample::select(able), 1_u64..40, pool, writes, (0_u32..=100, 0_u32..=100)).prop_map(
        |(policy, raw_pages, compressed, writes, (dirty_percent, background_percent))| CacheOptions {
            policy,
            parameters: Vec::new(),
            page_bytes: 512,
            capacity_pages: raw_pages + compressed.map_or(0, |pool| pool.room_pages),
            compressed,
            writes,
            dirty_percent,
            background_percent,
            copy: Nanos(1_000),
        },
    )
}

fn pools() -> impl Strategy<Value = CompressedOptions> {
    let able: Vec<_> = POLICIES.iter().copied().filter(|info| info.role.sizes && !info.role.needs_future).collect();
    let sizes = (1.0..5.0, 0.0..=1.0, prop_oneof![Just(0.0), 0.0..=1.0])
        .prop_map(|(ratio, spread, incompressible)| PageSizes { ratio, spread, incompressible, max_stored: 0.75 });
    (proptest::sample::select(able), 1_u64..40, sizes).prop_map(|(policy, room_pages, sizes)| CompressedOptions {
        policy,
        room_pages,
        sizes,
        compress: Nanos(100),
        restore: Nanos(10),
    })
}

/// Returns the number of pages of 512 bytes that requests with operation `op` touch.
fn touched(requests: &[Request], op: Op) -> u64 {
    let of_kind = requests.iter().filter(|request| request.op == op);
    of_kind.map(|request| request.end().div_ceil(512) - request.offset / 512).sum()
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(1_000))]

    #[test]
    fn the_drive_receives_the_backing_requests_of_the_cache(
        setup in prop_oneof![setups(), on_any_drive()],
        cache in caches(),
        requests in requests(300),
    ) {
        let setup = Setup { cache: Some(cache), ..setup.clone() };
        let outcome = run(&setup, &mut SliceSource::new(&requests), &mut ()).expect("the data check finds nothing");
        let (host, cache) = (outcome.summary.host, outcome.summary.cache.expect("there is a cache"));
        let counters = cache.counters;
        prop_assert_eq!(cache.requests, requests.len() as u64);
        prop_assert_eq!(counters.read_pages, touched(&requests, Op::Read));
        prop_assert_eq!(counters.written_pages, touched(&requests, Op::Write));
        prop_assert_eq!(cache.hits + cache.misses, counters.read_pages + counters.written_pages);
        prop_assert_eq!((host.read_requests, host.write_requests), (counters.reads_below, counters.writes_below));
        prop_assert_eq!(host.bytes_read, 512 * (counters.read_pages - counters.read_hits + counters.filled));
        if setup.cache.clone().is_some_and(|cache| cache.writes == WriteMode::Back) {
            prop_assert_eq!((host.bytes_written, counters.written_through), (512 * cache.written_back, 0));
            let cleaned = cache.written_back + counters.discarded + counters.overwritten;
            prop_assert_eq!(counters.dirtied, cleaned + cache.dirty_pages);
        } else {
            let written: u64 = requests.iter().filter(|one| one.op == Op::Write).map(|one| u64::from(one.bytes)).sum();
            prop_assert_eq!((host.bytes_written, cache.dirty_pages), (written, 0));
            prop_assert_eq!(counters.written_through, counters.written_pages);
        }
        let (pools, moved) = (&cache.pools, cache.pools.transitions);
        prop_assert_eq!(pools.raw_hits + pools.compressed_hits, cache.hits);
        prop_assert!(pools.raw_pages <= pools.raw_capacity_pages);
        prop_assert!(pools.compressed_bytes <= pools.compressed_capacity_bytes);
        let came = moved.compressed_hits + moved.compressed_overwritten + moved.misses + moved.created;
        prop_assert_eq!(came, moved.demoted() + moved.raw_trimmed + pools.raw_pages);
        prop_assert_eq!(pools.compressions, if setup.cache.is_some_and(|cache| cache.compressed.is_some()) { moved.demoted() } else { 0 });
        prop_assert_eq!((pools.compress_ns, pools.restore_ns), (100 * pools.compressions, 10 * moved.restored));
        let work_ns = 1_000 * (cache.hits + cache.misses) + pools.compress_ns + pools.restore_ns;
        if matches!(setup.clock, Clock::Event(..)) {
            // Several requests in the cache wait for each other.
            prop_assert!(cache.cache_ns >= work_ns);
        } else {
            prop_assert_eq!(cache.cache_ns, work_ns);
        }
    }
}

#[test]
fn a_page_size_that_does_not_divide_the_drive_is_an_error_with_a_remedy() {
    let cache = CacheOptions {
        policy: POLICIES.get("lru").expect("a registered policy"),
        parameters: Vec::new(),
        page_bytes: 65_536,
        capacity_pages: 4,
        compressed: None,
        writes: WriteMode::Back,
        dirty_percent: 20,
        background_percent: 10,
        copy: Nanos(1_000),
    };
    // 6 blocks of 4 pages of 4 KiB.
    let setup = Setup { cache: Some(cache), ..small_setup(10, 4, 2) };
    assert_eq!(setup.capacity_bytes(), 6 * 16_384);
    let error = run(&setup, &mut SliceSource::new(&[]), &mut ()).expect_err("96 KiB is not a multiple of 64 KiB");
    assert_eq!(
        error.to_string(),
        "cache.page: 64KiB does not divide the drive's capacity of 96KiB; lower it to 32KiB or less"
    );
}

fn trace() -> Arc<AccessTrace> {
    let request = |at: u64| Request {
        time_ns: 0,
        offset: (at * at % 301) * 4096,
        bytes: 4096,
        op: Op::Read,
        flags: 0,
        stream: 0,
    };
    let requests: Vec<Request> = (0..50_000).map(request).collect();
    let pages = Granularity::Pages { page_bytes: 4096 };
    Arc::new(AccessTrace::new(&requests, pages, Trims::Ignore).expect("few pages"))
}

fn choices() -> Vec<CacheChoice> {
    let sizes = |info| [1, 10, 100].map(|capacity| CacheChoice { info, changes: Vec::new(), capacity });
    POLICIES.iter().copied().flat_map(sizes).collect()
}

#[test]
fn a_watched_simulation_equals_a_direct_simulation() {
    let trace = trace();
    let go_on = &mut || Control::Continue;
    let alone: Vec<_> =
        choices().iter().map(|cache| trace.simulate(cache.info, &[], cache.capacity).expect("possible")).collect();
    for (cache, alone) in choices().into_iter().zip(&alone) {
        assert_eq!(simulate_cache(&trace, cache, go_on), Ok(Some(*alone)));
    }
    let curve = one_pass_points(&trace, POLICIES.get("lru").expect("lru"), vec![1, 10, 100], go_on);
    let lru = choices().iter().position(|cache| cache.info.name == "lru").expect("lru");
    let curve = curve.expect("a stack").expect("not stopped");
    let ratios: Vec<f64> = curve.iter().map(|one| one.miss_ratio).collect();
    assert_eq!(ratios, alone[lru..lru + 3].iter().map(ssdlab_cache::Counts::miss_ratio).collect::<Vec<_>>());
}

#[test]
fn a_cache_without_capacity_is_an_error() {
    let none = CacheChoice { capacity: 0, ..choices().remove(4) };
    let error = simulate_cache(&trace(), none, &mut || Control::Continue).expect_err("no capacity");
    assert_eq!(error, ssdlab_cache::CacheError::NoCapacity);
}
