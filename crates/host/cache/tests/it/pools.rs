//! Uncompressed and compressed pools: transitions of pages, and their counters.

use std::collections::BTreeSet;

use proptest::prelude::*;
use ssdlab_cache::{
    Access, CacheError, CompressedPool, POLICIES, PageSizes, Place, Policy, PolicyInfo, Transitions, WriteBackCache,
    WriteBackOptions, WriteMode, build_policy,
};
use ssdlab_core::Rng;
use ssdlab_trace::{Op, Request};

use crate::twins::{Twin, twin};

const PAGE: u32 = 2048;
/// Number of pages in short traces.
const PAGES: u64 = 40;

/// Generates small compressed pools.
pub fn pools() -> impl Strategy<Value = CompressedPool> {
    let supported: Vec<_> =
        POLICIES.iter().copied().filter(|info| info.role.sizes && !info.role.needs_future).collect();
    let incompressible = prop_oneof![2 => Just(0.0), 1 => 0.0..1.0, 1 => Just(1.0)];
    let sizes =
        (1.0..6.0, 0.0..=1.0, incompressible, 0.0..=1.0).prop_map(|(ratio, spread, incompressible, max_stored)| {
            PageSizes { ratio, spread, incompressible, max_stored }
        });
    (proptest::sample::select(supported), prop_oneof![1..4_u64, 300..20_000_u64], sizes, any::<u64>())
        .prop_map(|(policy, bytes, sizes, seed)| CompressedPool { policy, bytes, sizes, seed })
}

fn options(raw_pages: u64) -> WriteBackOptions {
    WriteBackOptions {
        page_bytes: PAGE,
        capacity_pages: raw_pages,
        writes: WriteMode::Back,
        background_percent: 100,
        hard_percent: 100,
    }
}

/// Access to a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Read,
    WritePart,
    WriteWhole,
    Trim,
}

impl Step {
    fn request(self, page: u64) -> Request {
        let op = match self {
            Self::Read => Op::Read,
            Self::WritePart | Self::WriteWhole => Op::Write,
            Self::Trim => Op::Trim,
        };
        let bytes = if self == Self::WritePart { PAGE / 4 } else { PAGE };
        Request { time_ns: 0, offset: page * u64::from(PAGE), bytes, op, flags: 0, stream: 0 }
    }
}

fn steps() -> impl Strategy<Value = Vec<(Step, u64)>> {
    let step = prop_oneof![
        6 => Just(Step::Read),
        1 => Just(Step::WritePart),
        2 => Just(Step::WriteWhole),
        1 => Just(Step::Trim)
    ];
    prop::collection::vec((step, prop_oneof![2 => 0..8_u64, 3 => 0..PAGES]), 1..300)
}

/// Reference implementation of the two pools. It uses the raw policy itself, not its twin, because only the policy
/// returns simultaneous evictions in order.
struct TwoPools {
    raw: Box<dyn Policy>,
    compressed: Option<(Box<dyn Twin>, CompressedPool)>,
    /// Page of each item; items are numbered in order of appearance.
    pages: Vec<u64>,
    counts: Transitions,
}

impl TwoPools {
    fn new(raw: &PolicyInfo, raw_pages: u64, pool: Option<CompressedPool>) -> Self {
        let compressed = pool.map(|pool| {
            let get =
                |name: &str| pool.policy.parameters.iter().find(|parameter| parameter.name == name).unwrap().default;
            (twin(pool.policy.name, &get, pool.bytes), pool)
        });
        let mut raw = build_policy(raw, &[], raw_pages, 0, true).unwrap();
        raw.grow(PAGES as u32);
        Self { raw, compressed, pages: Vec::new(), counts: Transitions::default() }
    }

    fn raw(&self) -> BTreeSet<u32> {
        (0..PAGES as u32).filter(|&item| self.raw.contains(item)).collect()
    }

    fn compressed(&self) -> BTreeSet<u32> {
        self.compressed.as_ref().map_or_else(BTreeSet::new, |pool| pool.0.cached().into_iter().collect())
    }

    fn step(&mut self, step: Step, page: u64) {
        let item = match self.pages.iter().position(|&known| known == page) {
            Some(item) => item as u32,
            // A trim of an untouched page has no effect.
            None if step == Step::Trim => return,
            None => {
                self.pages.push(page);
                self.pages.len() as u32 - 1
            }
        };
        let (raw, compressed) = (self.raw().contains(&item), self.compressed().contains(&item));
        assert!(!(raw && compressed), "page {page} is in both pools");
        let counts = &mut self.counts;
        if step == Step::Trim {
            counts.raw_trimmed += u64::from(raw);
            counts.compressed_trimmed += u64::from(compressed);
            self.raw.remove(item);
            if let Some((pool, _)) = &mut self.compressed {
                pool.remove(item);
            }
            return;
        }
        *match (step == Step::Read, raw, compressed) {
            (true, true, _) => &mut counts.raw_hits,
            (true, _, true) => &mut counts.compressed_hits,
            (true, ..) => &mut counts.misses,
            (false, true, _) => &mut counts.raw_overwritten,
            (false, _, true) => &mut counts.compressed_overwritten,
            (false, ..) => &mut counts.created,
        } += 1;
        if step != Step::WriteWhole && !raw {
            *(if compressed { &mut counts.restored } else { &mut counts.loaded }) += 1;
        }
        if compressed && let Some((pool, _)) = &mut self.compressed {
            pool.remove(item);
        }
        let mut victims = Vec::new();
        self.raw.access(Access::new(item, 1), &mut victims);
        for victim in victims {
            let Some((pool, options)) = &mut self.compressed else {
                self.counts.raw_dropped += 1;
                continue;
            };
            let Some(bytes) = options.sizes.stored_bytes(self.pages[victim as usize], PAGE, options.seed) else {
                self.counts.incompressible_dropped += 1;
                continue;
            };
            if u64::from(bytes) > options.bytes {
                self.counts.raw_dropped += 1;
                continue;
            }
            let before = pool.cached().len() as u64;
            pool.access(victim, u64::from(bytes), 0);
            self.counts.compressed += 1;
            self.counts.compressed_dropped += before + 1 - pool.cached().len() as u64;
        }
    }
}

/// Asserts that every page that entered a pool has left it or is still there.
fn assert_conserved(counts: Transitions, raw_pages: u64, compressed_pages: u64) {
    let entered = counts.compressed_hits + counts.misses + counts.compressed_overwritten + counts.created;
    assert_eq!(entered, counts.demoted() + counts.raw_trimmed + raw_pages, "{counts:?}");
    let left =
        counts.compressed_hits + counts.compressed_overwritten + counts.compressed_dropped + counts.compressed_trimmed;
    assert_eq!(counts.compressed, left + compressed_pages, "{counts:?}");
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(100))]

    /// Compares with the reference implementation for any two policies; checks conservation and the capacities after
    /// every access.
    #[test]
    fn two_pools_match_their_twin(
        steps in steps(),
        raw_pages in prop_oneof![1..4_u64, 4..30_u64],
        pool in prop::option::of(pools()),
    ) {
        for info in POLICIES.iter().filter(|info| !info.role.needs_future) {
            let mut stage = WriteBackCache::new(info, &[], options(raw_pages)).unwrap();
            if let Some(pool) = pool {
                stage = stage.compressing(pool).unwrap();
            }
            let mut twin = TwoPools::new(info, raw_pages, pool);
            let mut touched = 0;
            for (at, &(step, page)) in steps.iter().enumerate() {
                stage.submit(&step.request(page), &mut |_, _| {}).unwrap();
                twin.step(step, page);
                touched += u64::from(step != Step::Trim);
                let place = format!("{} {pool:?}, step {at}: {step:?} {page}", info.name);
                prop_assert_eq!(stage.transitions(), twin.counts, "{}", place);
                let of = |items: BTreeSet<u32>| items.into_iter().map(|item| twin.pages[item as usize]).collect();
                let (raw, compressed): (BTreeSet<u64>, BTreeSet<u64>) = (of(twin.raw()), of(twin.compressed()));
                for page in 0..PAGES {
                    let expected = match (raw.contains(&page), compressed.contains(&page)) {
                        (true, _) => Place::Raw,
                        (_, true) => Place::Compressed,
                        _ => Place::Below,
                    };
                    prop_assert_eq!(stage.state(page).0, expected, "{} is {}", place, page);
                }
                let bytes = |page: &u64| pool.unwrap().sizes.stored_bytes(*page, PAGE, pool.unwrap().seed).unwrap();
                let held = compressed.iter().map(|page| u64::from(bytes(page))).sum::<u64>();
                prop_assert_eq!(stage.compressed_pages(), (compressed.len() as u64, held), "{}", place);
                prop_assert!(stage.raw_pages() <= raw_pages && held <= pool.map_or(0, |pool| pool.bytes));
                let (counts, count) = (stage.transitions(), stage.counters());
                prop_assert_eq!(counts.raw_hits + counts.compressed_hits, count.read_hits);
                prop_assert_eq!(counts.raw_overwritten + counts.compressed_overwritten, count.write_hits);
                prop_assert_eq!(counts.loaded, count.read_pages - count.read_hits + count.filled);
                let pages = count.read_hits + count.write_hits + counts.misses + counts.created;
                prop_assert_eq!(pages, touched);
                assert_conserved(counts, stage.raw_pages(), compressed.len() as u64);
            }
        }
    }
}

/// Makes every page transition happen in a pool of two uncompressed pages and a pool of two compressed pages.
#[test]
fn pages_take_each_transition_of_the_flowchart() {
    let sizes = PageSizes { ratio: 2.0, spread: 0.0, incompressible: 0.0, max_stored: 0.5 };
    let fifo = POLICIES.get("fifo").unwrap();
    let pool = CompressedPool { policy: fifo, bytes: u64::from(PAGE), sizes, seed: 1 };
    let mut stage =
        WriteBackCache::new(POLICIES.get("lru").unwrap(), &[], options(2)).unwrap().compressing(pool).unwrap();
    let mut seen = Vec::new();
    let mut go = |step: Step, page: u64| {
        let mut below = Vec::new();
        let mut note = |request: Request, _| below.push((request.op, request.offset / u64::from(PAGE)));
        stage.submit(&step.request(page), &mut note).unwrap();
        seen.push(below);
        (0..5).map(|page| stage.state(page).0).collect::<Vec<_>>()
    };
    use Place::{Below, Compressed, Raw};
    go(Step::WriteWhole, 0);
    assert_eq!(go(Step::Read, 1), [Raw, Raw, Below, Below, Below]);
    assert_eq!(go(Step::Read, 2), [Compressed, Raw, Raw, Below, Below]);
    assert_eq!(go(Step::Read, 3), [Compressed, Compressed, Raw, Raw, Below]);
    // Page 0 is decompressed; page 2 is compressed.
    assert_eq!(go(Step::Read, 0), [Raw, Compressed, Compressed, Raw, Below]);
    // Page 1 is fully written, so it is not decompressed.
    assert_eq!(go(Step::WriteWhole, 1), [Raw, Raw, Compressed, Compressed, Below]);
    // Page 4 evicts page 0 to the compressed pool, where page 0 evicts page 2.
    assert_eq!(go(Step::Read, 4), [Compressed, Raw, Below, Compressed, Raw]);
    assert_eq!(go(Step::WritePart, 3), [Compressed, Compressed, Below, Raw, Raw]);
    assert_eq!(go(Step::Trim, 0), [Below, Compressed, Below, Raw, Raw]);
    // Dirty pages are written back when they leave the uncompressed pool, and only then.
    let read = |page| (Op::Read, page);
    let (first, second) = (vec![(Op::Write, 0), read(2)], vec![(Op::Write, 1)]);
    assert_eq!(
        seen,
        [vec![], vec![read(1)], first, vec![read(3)], vec![], vec![], vec![read(4)], second, vec![(Op::Trim, 0)]]
    );
    let counts = Transitions {
        compressed_hits: 1,
        misses: 4,
        compressed_overwritten: 2,
        created: 1,
        restored: 2,
        loaded: 4,
        compressed: 6,
        compressed_dropped: 1,
        compressed_trimmed: 1,
        ..Transitions::default()
    };
    assert_eq!((stage.transitions(), counts.demoted()), (counts, 6));
}

/// A compressed page may fill the pool, but not exceed it.
#[test]
fn a_pool_holds_a_page_of_its_own_size() {
    let sizes = PageSizes { ratio: 2.0, spread: 0.0, incompressible: 0.0, max_stored: 0.5 };
    for (bytes, place) in [(PAGE / 2, Place::Compressed), (PAGE / 2 - 1, Place::Below)] {
        let pool = CompressedPool { policy: POLICIES.get("fifo").unwrap(), bytes: bytes.into(), sizes, seed: 1 };
        let mut stage =
            WriteBackCache::new(POLICIES.get("lru").unwrap(), &[], options(1)).unwrap().compressing(pool).unwrap();
        for page in [0, 1] {
            stage.submit(&Step::Read.request(page), &mut |_, _| {}).unwrap();
        }
        assert_eq!((stage.state(0).0, stage.transitions().raw_dropped), (place, u64::from(place == Place::Below)));
    }
}

/// With uniform requests, hit ratios match the closed formula.
#[test]
fn uniform_requests_match_the_plan() {
    use ssdlab_cache::plan::{Compressor, Memory, Plan, Popularity};
    const DATA_PAGES: u64 = 20_000;
    const MEMORY_PAGES: u64 = 2_000;
    const REQUESTS: u64 = 400_000;
    let sizes = PageSizes { ratio: 2.13, spread: 0.5, incompressible: 0.0, max_stored: 0.75 };
    let bytes = |pages: u64| (pages * u64::from(PAGE)) as f64;
    let memory = Memory {
        budget_bytes: bytes(MEMORY_PAGES),
        data_bytes: bytes(DATA_PAGES),
        page_bytes: f64::from(PAGE),
        device_us: 110.0,
        popularity: Popularity::even(),
    };
    let compressor = Compressor { ratio: 2.13, compress_us: 2.0, decompress_us: 1.0, shrinking: 1.0 };
    let plan = Plan::new(memory, compressor).unwrap();
    for percent in [0_u64, 25, 50, 75] {
        let compressed = MEMORY_PAGES * percent / 100;
        let mut stage =
            WriteBackCache::new(POLICIES.get("lru").unwrap(), &[], options(MEMORY_PAGES - compressed)).unwrap();
        if compressed > 0 {
            let bytes = compressed * u64::from(PAGE);
            let pool = CompressedPool { policy: POLICIES.get("fifo").unwrap(), bytes, sizes, seed: 1 };
            stage = stage.compressing(pool).unwrap();
        }
        let mut rng = Rng::named(7, "even");
        let mut read = |count| {
            for _ in 0..count {
                stage.submit(&Step::Read.request(rng.below(DATA_PAGES)), &mut |_, _| {}).unwrap();
            }
            stage.transitions()
        };
        let warm = read(REQUESTS / 4);
        let counts = read(REQUESTS) - warm;
        let share = |hits: u64| hits as f64 / REQUESTS as f64;
        let expected = plan.point(percent as f64 / 100.0, &[]).unwrap();
        for (measured, expected) in [
            (share(counts.raw_hits + counts.compressed_hits), expected.hit_ratio),
            (share(counts.compressed_hits), expected.compressed_hit_ratio),
        ] {
            // Five standard deviations of independent hits, and three of the mean size of 20,000 pages; a page size has
            // a relative standard deviation of 0.29.
            let error = 5.0 * (expected * (1.0 - expected) / REQUESTS as f64).sqrt() + 0.006 * expected;
            assert!((measured - expected).abs() <= error, "{percent} %: {measured} {expected} {error}");
        }
    }
}

#[test]
fn invalid_pools_are_named() {
    let sizes = PageSizes { ratio: 2.0, spread: 0.0, incompressible: 0.0, max_stored: 0.75 };
    let pool = |name: &str, bytes| CompressedPool { policy: POLICIES.get(name).unwrap(), bytes, sizes, seed: 1 };
    let error = |pool| {
        let stage = WriteBackCache::new(POLICIES.get("arc").unwrap(), &[], options(4)).unwrap();
        stage.compressing(pool).map(drop).expect_err("the pool is invalid")
    };
    assert!(error(pool("arc", 100)).to_string().contains("one of fifo"), "{}", error(pool("arc", 100)));
    assert_eq!(error(pool("fifo", 0)), CacheError::NoCapacity);
    assert_eq!(error(pool("belady", 9)), CacheError::NeedsFuture { policy: "belady" });
    let invalid_ratio = CompressedPool { sizes: PageSizes { ratio: 0.0, ..sizes }, ..pool("fifo", 9) };
    assert!(matches!(error(invalid_ratio), CacheError::PageSizes { field: "ratio", .. }));
}
