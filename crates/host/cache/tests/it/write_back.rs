//! The write-back cache: backing requests keep data correct, and dirty pages are written back exactly once.

use std::collections::BTreeSet;

use proptest::prelude::*;
use ssdlab_cache::{CacheError, POLICIES, Place, Why, WriteBackCache, WriteBackCounters, WriteBackOptions, WriteMode};
use ssdlab_trace::{Op, Request, flag};

/// Page size in bytes: four sectors.
const PAGE: u32 = 2048;
const SECTOR: u64 = 512;
const SECTORS: u64 = 4 * 24;

fn request(op: Op, sector: u64, sectors: u64, flags: u8) -> Request {
    let bytes = (sectors * SECTOR) as u32;
    Request { time_ns: 7, offset: sector * SECTOR, bytes, op, flags, stream: 3 }
}

fn requests() -> impl Strategy<Value = Vec<Request>> {
    let op = prop_oneof![4 => Just(Op::Read), 6 => Just(Op::Write), 1 => Just(Op::Trim), 1 => Just(Op::Flush)];
    let flags = prop_oneof![12 => Just(0), 1 => Just(flag::FUA), 1 => Just(flag::PREFLUSH | flag::SYNC)];
    let step = (op, 0..SECTORS, prop_oneof![5 => 1..9_u64, 1 => 9..60_u64], flags);
    prop::collection::vec(step, 1..120).prop_map(|steps| {
        let request = |(op, sector, sectors, flags): (Op, u64, u64, u8)| match op {
            Op::Flush => request(op, 0, 0, 0),
            _ => request(op, sector, sectors.min(SECTORS - sector), flags),
        };
        steps.into_iter().map(request).collect()
    })
}

/// Versions of sectors, as written last by the host and in the backing store.
struct Oracle {
    /// Version of each sector as written last by the host; 0 for sectors never written, or trimmed.
    truth: [u64; SECTORS as usize],
    below: [u64; SECTORS as usize],
    /// Pages written by the host and not yet written back, as the cache should track them.
    dirty: BTreeSet<u64>,
    seen: Vec<(Request, Why)>,
    /// Numbers of pages written back, read for misses, and read for fills.
    pages: [u64; 3],
}

impl Oracle {
    fn sectors(request: &Request) -> std::ops::Range<usize> {
        (request.offset / SECTOR) as usize..(request.end() / SECTOR) as usize
    }

    /// Applies a backing request; `cause` is the host's current request.
    fn arrives(&mut self, request: Request, why: Why, cause: &Request) {
        assert_eq!((request.time_ns, request.stream), (7, cause.stream));
        let own = if cause.op == Op::Write { Self::sectors(cause) } else { 0..0 };
        match (request.op, why) {
            (Op::Read, Why::Miss | Why::Fill) => {
                for sector in Self::sectors(&request).filter(|sector| !own.contains(sector)) {
                    assert_eq!(self.below[sector], self.truth[sector], "stale sector {sector}: {why:?}");
                }
                self.pages[if why == Why::Miss { 1 } else { 2 }] += u64::from(request.bytes / PAGE);
            }
            (Op::Write, _) => {
                for sector in Self::sectors(&request) {
                    self.below[sector] = self.truth[sector];
                }
                if why != Why::Through {
                    assert!(request.offset.is_multiple_of(u64::from(PAGE)) && request.bytes.is_multiple_of(PAGE));
                    for page in request.offset / u64::from(PAGE)..request.end() / u64::from(PAGE) {
                        assert!(self.dirty.remove(&page), "page {page} is clean but written back");
                        self.pages[0] += 1;
                        // The current write may still make the page dirty later.
                        if (page * 4..page * 4 + 4).any(|sector| own.contains(&(sector as usize))) {
                            self.dirty.insert(page);
                        }
                    }
                }
            }
            (Op::Trim, Why::Trim) => {
                for sector in Self::sectors(&request) {
                    self.below[sector] = 0;
                }
            }
            (Op::Flush, Why::Flush) => assert_eq!(self.dirty.len(), 0, "a flush leaves dirty pages"),
            other => panic!("unexpected backing request {other:?}"),
        }
        self.seen.push((request, why));
    }
}

/// Replays requests through a cache and checks it after each; returns its counters.
fn replay(
    stage: &mut WriteBackCache,
    options: WriteBackOptions,
    requests: &[Request],
    background: bool,
) -> WriteBackCounters {
    let (truth, below) = ([0; SECTORS as usize], [0; SECTORS as usize]);
    let mut oracle = Oracle { truth, below, dirty: BTreeSet::new(), seen: Vec::new(), pages: [0; 3] };
    let mut version = 0;
    for request in requests {
        if request.op == Op::Write {
            version += 1;
            Oracle::sectors(request).for_each(|sector| oracle.truth[sector] = version);
        }
        if request.op == Op::Trim {
            Oracle::sectors(request).for_each(|sector| oracle.truth[sector] = 0);
        }
        let through = options.writes == WriteMode::Through || request.flags & flag::FUA != 0;
        let touched = request.offset / u64::from(PAGE)..request.end().div_ceil(u64::from(PAGE));
        if request.op == Op::Write && request.flags & flag::PREFLUSH == 0 && !through {
            oracle.dirty.extend(touched.clone());
        }
        let mut below = Vec::new();
        stage.submit(request, &mut |request, why| below.push((request, why))).unwrap();
        if request.flags & flag::PREFLUSH != 0 && request.op == Op::Write {
            let flush = below.iter().position(|(request, _)| request.op == Op::Flush).expect("PREFLUSH flushes first");
            below.drain(..=flush).for_each(|(backing, why)| {
                oracle.arrives(backing, why, &Request { op: Op::Flush, offset: 0, bytes: 0, ..*request });
            });
            if !through {
                oracle.dirty.extend(touched.clone());
            }
        }
        below.into_iter().for_each(|(backing, why)| oracle.arrives(backing, why, request));
        if background {
            let mut below = Vec::new();
            stage.background(3, 7, &mut |request, why| below.push((request, why)));
            let cause = Request { op: Op::Flush, offset: 0, bytes: 0, stream: 0, ..*request };
            below.into_iter().for_each(|(backing, why)| oracle.arrives(backing, why, &cause));
        }
        // Dirty pages are those that the host wrote and that were not written back; clean pages match the backing
        // store.
        for page in 0..SECTORS / 4 {
            let (place, dirty) = stage.state(page);
            assert!(place == Place::Raw || !dirty, "page {page} is dirty but not raw");
            if dirty {
                assert!(oracle.dirty.contains(&page), "page {page} is dirty but was not written");
            } else {
                for sector in page as usize * 4..page as usize * 4 + 4 {
                    assert_eq!(oracle.below[sector], oracle.truth[sector], "sector {sector} is lost");
                }
                oracle.dirty.remove(&page);
            }
        }
        assert!(stage.raw_pages() <= options.capacity_pages);
        assert!(stage.dirty_pages() <= options.capacity_pages * u64::from(options.hard_percent) / 100);
    }
    let counters = stage.counters();
    assert_eq!(
        counters.dirtied,
        counters.written_back() + counters.overwritten + counters.discarded + stage.dirty_pages(),
        "{counters:?}"
    );
    assert_eq!(counters.written_back(), oracle.pages[0]);
    assert_eq!(counters.read_pages - counters.read_hits, oracle.pages[1]);
    assert_eq!(counters.filled, oracle.pages[2]);
    let sent = |op| oracle.seen.iter().filter(|(request, _)| request.op == op).count() as u64;
    assert_eq!((counters.reads_below, counters.writes_below), (sent(Op::Read), sent(Op::Write)));
    counters
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(300))]

    /// Tracks the version of every sector: backing reads return the last version written, and every dirty page is
    /// written back once before it is dropped, unless it is trimmed or overwritten.
    #[test]
    fn data_is_correct_and_dirty_pages_are_conserved(
        requests in requests(),
        policy in 0..POLICIES.len(),
        capacity_pages in prop_oneof![1..4_u64, 4..12_u64, Just(100)],
        limits in (0..=100_u32, 0..=100_u32),
        pool in prop::option::of(crate::pools::pools()),
        through in prop::bool::weighted(0.2),
        background in any::<bool>(),
    ) {
        let writes = if through { WriteMode::Through } else { WriteMode::Back };
        let (background_percent, hard_percent) = (limits.0.min(limits.1), limits.0.max(limits.1));
        let options = WriteBackOptions { page_bytes: PAGE, capacity_pages, writes, background_percent, hard_percent };
        let stage = WriteBackCache::new(POLICIES[policy], &[], options);
        match stage.and_then(|stage| match pool {
            Some(pool) => stage.compressing(pool),
            None => Ok(stage),
        }) {
            Ok(mut stage) => drop(replay(&mut stage, options, &requests, background)),
            Err(error) => prop_assert_eq!(error, CacheError::NeedsFuture { policy: "belady" }),
        }
    }
}

const BACK: WriteBackOptions = WriteBackOptions {
    page_bytes: PAGE,
    capacity_pages: 8,
    writes: WriteMode::Back,
    background_percent: 25,
    hard_percent: 50,
};

/// Returns the backing requests in sectors: operation, first sector, count, reason.
fn below(stage: &mut WriteBackCache, request: &Request) -> Vec<(Op, u64, u64, Why)> {
    let mut seen = Vec::new();
    let mut sink = |request: Request, why| {
        seen.push((request.op, request.offset / SECTOR, u64::from(request.bytes) / SECTOR, why));
    };
    stage.submit(request, &mut sink).unwrap();
    seen
}

#[test]
fn adjacent_pages_are_merged() {
    let mut stage =
        WriteBackCache::new(POLICIES.get("lru").unwrap(), &[], WriteBackOptions { hard_percent: 100, ..BACK }).unwrap();
    assert_eq!(below(&mut stage, &request(Op::Read, 8, 4, 0)), [(Op::Read, 8, 4, Why::Miss)]);
    // Page 2 is cached, which splits the read.
    let around = [(Op::Read, 4, 4, Why::Miss), (Op::Read, 12, 4, Why::Miss)];
    assert_eq!(below(&mut stage, &request(Op::Read, 5, 10, 0)), around);
    // Partial writes at both ends; page 1 is cached, page 4 is not.
    assert_eq!(below(&mut stage, &request(Op::Write, 7, 10, 0)), [(Op::Read, 16, 4, Why::Fill)]);
    assert_eq!(stage.dirty_pages(), 4);
    let flushed = [(Op::Write, 4, 16, Why::Flush), (Op::Flush, 0, 0, Why::Flush)];
    assert_eq!(below(&mut stage, &request(Op::Flush, 0, 0, 0)), flushed);
    assert_eq!(below(&mut stage, &request(Op::Flush, 0, 0, 0)), flushed[1..]);
    // Dirty pages are evicted by eight reads: writes precede reads.
    assert_eq!(below(&mut stage, &request(Op::Write, 4, 16, 0)), []);
    let moved = [(Op::Write, 4, 16, Why::Evicted), (Op::Read, 40, 32, Why::Miss)];
    assert_eq!(below(&mut stage, &request(Op::Read, 40, 32, 0)), moved);
}

#[test]
fn limits_hold_and_the_oldest_dirty_pages_are_written_first() {
    let mut stage = WriteBackCache::new(POLICIES.get("lru").unwrap(), &[], BACK).unwrap();
    assert_eq!(below(&mut stage, &request(Op::Write, 0, 16, 0)), []);
    // The limit is four dirty pages; pages 0 and 1 became dirty first.
    assert_eq!(below(&mut stage, &request(Op::Write, 40, 8, 0)), [(Op::Write, 0, 8, Why::Limit)]);
    let mut seen = Vec::new();
    assert_eq!(
        stage.background(100, 7, &mut |request, why| seen.push((request.offset / SECTOR, request.bytes, why))),
        2
    );
    assert_eq!(seen, [(8, 2 * PAGE, Why::Background)]);
    for (why, waited) in [(Why::Background, false), (Why::Limit, false), (Why::Evicted, false), (Why::Fill, true)] {
        assert_eq!(why.is_waited_for(), waited, "{why:?}");
    }
    assert_eq!((stage.dirty_pages(), stage.raw_pages(), stage.state(10)), (2, 6, (Place::Raw, true)));
}

/// A page filled and written back by the same request is read before it is written; other pages are read after the
/// write-back.
#[test]
fn a_fill_precedes_the_write_back_of_its_page() {
    let options = WriteBackOptions { background_percent: 0, hard_percent: 0, ..BACK };
    let mut stage = WriteBackCache::new(POLICIES.get("lru").unwrap(), &[], options).unwrap();
    let both = [(Op::Read, 0, 4, Why::Fill), (Op::Write, 0, 4, Why::Limit)];
    assert_eq!(below(&mut stage, &request(Op::Write, 1, 2, 0)), both);
    // Page 0 is cached; pages 1 and 2 are fully written.
    assert_eq!(below(&mut stage, &request(Op::Write, 3, 9, 0)), [(Op::Write, 0, 12, Why::Limit)]);
    let options = WriteBackOptions { capacity_pages: 1, background_percent: 100, hard_percent: 100, ..BACK };
    let mut stage = WriteBackCache::new(POLICIES.get("lru").unwrap(), &[], options).unwrap();
    let fills_last = [(Op::Read, 0, 4, Why::Fill), (Op::Write, 0, 8, Why::Evicted), (Op::Read, 8, 4, Why::Fill)];
    assert_eq!(below(&mut stage, &request(Op::Write, 2, 8, 0)), fills_last);
    // Page 2 is dirty: page 1 evicts it before the write reaches it, so it is read again.
    let again = [(Op::Write, 4, 8, Why::Evicted), (Op::Read, 8, 4, Why::Fill)];
    assert_eq!(below(&mut stage, &request(Op::Write, 4, 6, 0)), again);
}

#[test]
fn fua_writes_go_through_and_trims_drop_pages() {
    let mut stage = WriteBackCache::new(POLICIES.get("lru").unwrap(), &[], BACK).unwrap();
    assert_eq!(below(&mut stage, &request(Op::Write, 0, 8, 0)), []);
    // Page 0 is fully written. Page 1 is written only in part, so it stays dirty.
    let fua = request(Op::Write, 0, 6, flag::FUA);
    assert_eq!(below(&mut stage, &fua), [(Op::Write, 0, 6, Why::Through)]);
    assert_eq!((stage.state(0), stage.state(1)), ((Place::Raw, false), (Place::Raw, true)));
    assert_eq!((stage.counters().written_through, stage.counters().written_pages), (2, 4));
    // The trim covers page 1 and a part of page 2.
    assert_eq!(below(&mut stage, &request(Op::Trim, 4, 6, 0)), [(Op::Trim, 4, 6, Why::Trim)]);
    assert_eq!((stage.state(1), stage.counters().discarded), ((Place::Below, false), 1));
    let through = WriteBackOptions { writes: WriteMode::Through, ..BACK };
    let mut stage = WriteBackCache::new(POLICIES.get("lru").unwrap(), &[], through).unwrap();
    let filled = [(Op::Read, 0, 4, Why::Fill), (Op::Write, 1, 7, Why::Through)];
    assert_eq!(below(&mut stage, &request(Op::Write, 1, 7, 0)), filled);
    assert_eq!((stage.dirty_pages(), below(&mut stage, &request(Op::Read, 0, 8, 0))), (0, vec![]));
}

#[test]
fn invalid_limits_and_page_sizes_are_rejected() {
    let new = |options| WriteBackCache::new(POLICIES.get("lru").unwrap(), &[], options).map(drop);
    let invalid = WriteBackOptions { background_percent: 51, ..BACK };
    assert_eq!(new(invalid), Err(CacheError::DirtyLimits { background: 51, hard: 50 }));
    assert_eq!(new(WriteBackOptions { page_bytes: 1000, ..BACK }), Err(CacheError::PageBytes { page_bytes: 1000 }));
    assert_eq!(new(WriteBackOptions { capacity_pages: 0, ..BACK }), Err(CacheError::NoCapacity));
}
