//! Compares simulated policies in the pool with a simulated cache of the same capacity.

use ssdlab_cache::{Access, PolicyInfo};
use ssdlab_core::Rng;

use super::storage::{PAGE_BYTES, Storage, audit, options};
use crate::policy::policies;
use crate::{Demotion, Options, PageId, Pool, Share};

/// Returns skewed reads of `pages` pages with periodic scans.
fn reads(pages: u64) -> Vec<PageId> {
    let mut rng = Rng::named(1, "simulated");
    (0..30_000).map(|at| if at % 5000 < 400 { at % pages } else { rng.below(rng.clone().below(pages) + 1) }).collect()
}

/// Returns the hits of a simulated cache of `capacity` pages. With `ahead`, a full cache evicts before it inserts.
fn simulated_hits(info: &PolicyInfo, capacity: u64, reads: &[PageId], ahead: bool) -> u64 {
    let mut policy = ssdlab_cache::build_policy(info, &[], capacity, 0, true).unwrap();
    let mut items = std::collections::BTreeMap::new();
    let mut hits = 0;
    for &id in reads {
        let number = items.len() as u32;
        let item = *items.entry(id).or_insert(number);
        policy.grow(item + 1);
        if ahead && !policy.contains(item) && policy.used() == capacity {
            policy.victim();
        }
        hits += u64::from(policy.access(Access::new(item, 1), &mut Vec::new()));
    }
    hits
}

fn pool_hits(options: Options, reads: &[PageId]) -> (u64, u64) {
    let pool = Pool::new(options, Storage::default()).unwrap();
    let mut out = vec![0; PAGE_BYTES];
    for &id in reads {
        pool.read(id, &mut out).unwrap();
    }
    (pool.transitions().raw_hits, pool.shards()[0].read().raw_limit() as u64)
}

/// Without workers, the pool evicts before it inserts. Its hits must equal the hits of a simulation that does the same.
/// With workers, or compared with the normal simulation, hits must be close.
#[test]
fn hits_match_the_simulation() {
    let reads = reads(260);
    for policy in policies() {
        let info = ssdlab_cache::POLICIES.get(policy.name()).unwrap();
        let options =
            Options { raw_policy: policy.clone(), share: Share::Fixed { percent: 0.0 }, ..options(150 << 10) };
        let (hits, capacity) = pool_hits(options.clone(), &reads);
        let [ahead, plain] = [true, false].map(|ahead| simulated_hits(info, capacity, &reads, ahead));
        if policy.locks() {
            assert_eq!(hits, ahead, "{}", policy.name());
        }
        let near = |hits: u64| (hits as f64 / plain as f64 - 1.0).abs();
        assert!(near(hits) < 0.03, "{}: {hits}, simulated {plain}", policy.name());
        let demotion = Demotion::Background { workers: 1, batch: 4 };
        let (hits, _) = pool_hits(Options { demotion, ..options }, &reads);
        assert!(near(hits) < 0.1, "{}: {hits} with a worker, simulated {plain}", policy.name());
    }
}

/// Uses more pages than there are page numbers, so that numbers are reused.
#[test]
fn memory_stays_constant_for_any_number_of_pages() {
    for policy in policies().filter(|policy| policy.locks()) {
        let name = policy.name().to_owned();
        let options = Options { raw_policy: policy.clone(), compressed_policy: policy, ..options(200 << 10) };
        let pool = Pool::new(options, Storage::default()).unwrap();
        let mut out = vec![0; PAGE_BYTES];
        let mut rng = Rng::named(2, "simulated");
        for at in 0..20_000 {
            let id = if at % 3 == 0 { rng.below(50) } else { at };
            pool.read(id, &mut out).unwrap();
        }
        assert!(pool.transitions().raw_hits > 0, "{name}");
        audit(&pool);
    }
}
