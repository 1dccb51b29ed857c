//! Theoretical properties of policies, on any trace.

use std::collections::BTreeMap;

use proptest::prelude::*;
use ssdlab_cache::{Access, AccessTrace, CacheError, Counts, POLICIES, PolicyInfo, build_policy};
use ssdlab_core::Rng;

use crate::twin::{changes, in_units, traces};

fn trace(items: impl IntoIterator<Item = u32>) -> AccessTrace {
    let accesses: Vec<Access> = items.into_iter().map(|item| Access::new(item, 1)).collect();
    let items = accesses.iter().map(|access| access.item + 1).max().unwrap_or(0);
    AccessTrace::from_accesses(accesses, items).unwrap()
}

fn misses(trace: &AccessTrace, info: &PolicyInfo, capacity: u64) -> u64 {
    trace.simulate(info, &[], capacity).unwrap().misses
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(200))]

    /// Source: Belady 1966; proof in Mattson et al. 1970.
    #[test]
    fn no_policy_misses_less_than_belady(accesses in traces(), capacity in 1_u64..20) {
        let trace = AccessTrace::from_accesses(in_units(&accesses), 40).unwrap();
        let belady = POLICIES.get("belady").unwrap();
        let bypass = [("bypass".to_owned(), 1)];
        let least = trace.simulate(belady, &bypass, capacity).unwrap().misses;
        for info in POLICIES.iter() {
            // Only TinyLFU may reject newcomers.
            let least = if info.name == "tinylfu" { least } else { misses(&trace, belady, capacity) };
            prop_assert!(misses(&trace, info, capacity) >= least, "{} beats Belady", info.name);
        }
        prop_assert!(misses(&trace, belady, capacity) >= least);
    }

    /// Larger caches of stack algorithms always hold the content of smaller ones, and one-pass curves match simulations
    /// of every size.
    #[test]
    fn stack_algorithms_have_the_inclusion_property(accesses in traces()) {
        let accesses: Vec<Access> = in_units(&accesses).into_iter().filter(|access| !access.is_drop()).collect();
        let trace = AccessTrace::from_accesses(accesses, 40).unwrap();
        for info in POLICIES.iter() {
            let Some(one_pass) = info.role.one_pass else { continue };
            let curve = one_pass(&trace, 40).unwrap();
            let simulated: Vec<u64> = (1..=40).map(|capacity| misses(&trace, info, capacity)).collect();
            prop_assert_eq!(curve.misses(), &simulated, "{}", info.name);
            prop_assert_eq!(curve.accesses(), trace.accesses().len() as u64);
            let short = one_pass(&trace, 7).unwrap();
            prop_assert_eq!(short.misses(), &simulated[..7], "{}", info.name);

            let mut caches: Vec<_> = (1..12).map(|capacity| build_policy(info, &[], capacity, 40, true).unwrap()).collect();
            for access in trace.accesses() {
                caches.iter_mut().for_each(|cache| { cache.access(*access, &mut Vec::new()); });
                for pair in caches.windows(2) {
                    let held = (0..40).all(|item| !pair[0].contains(item) || pair[1].contains(item));
                    // Belady may keep any of the items never used again, so inclusion need not hold for these items.
                    prop_assert!(held || info.role.needs_future, "{}", info.name);
                }
            }
        }
    }
}

/// Uses enough items to fill several groups of the stack-distance bitmap and to forget items.
#[test]
fn one_pass_of_lru_is_exact_for_many_items() {
    let mut rng = Rng::named(1, "many items");
    let items = (0..600_000).map(|_| if rng.below(3) == 0 { rng.below(100_000) } else { rng.below(9_000) } as u32);
    let trace = trace(items);
    let lru = POLICIES.get("lru").unwrap();
    for most in [trace.items(), 30_000] {
        let curve = lru.role.one_pass.unwrap()(&trace, most).unwrap();
        for capacity in [1, 4096, 29_999, 30_000, 70_001, 99_999].into_iter().filter(|&size| size <= u64::from(most)) {
            assert_eq!(curve.misses()[capacity as usize - 1], misses(&trace, lru, capacity), "{capacity} of {most}");
        }
    }
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(300))]

    /// Evicts between accesses and removals, and tracks the cached items.
    #[test]
    fn a_victim_leaves_the_cache(
        accesses in traces(),
        ahead in prop::collection::vec(prop::bool::weighted(0.3), 300),
        draws in prop::array::uniform4(prop_oneof![2 => Just(0), 1 => any::<u64>()]),
        capacity in prop_oneof![Just(1_u64), 2..12_u64, 12..30_u64, Just(100)],
    ) {
        for (info, one_size) in POLICIES.iter().flat_map(|&info| [(info, true), (info, false)]) {
            if !one_size && !info.role.sizes {
                continue;
            }
            let accesses = if one_size { in_units(&accesses) } else { accesses.clone() };
            let trace = AccessTrace::from_accesses(accesses, 40).unwrap();
            let mut policy = build_policy(info, &changes(info, &draws), capacity, 40, one_size).unwrap();
            let (mut cached, mut evicted) = (BTreeMap::new(), Vec::new());
            let bytes = policy.bytes();
            for (access, &ahead) in trace.accesses().iter().zip(&ahead) {
                if ahead {
                    match policy.victim() {
                        Some(item) => prop_assert!(cached.remove(&item).is_some(), "{}: {}", info.name, item),
                        None => prop_assert!(cached.is_empty(), "{}", info.name),
                    }
                } else if access.is_drop() {
                    policy.remove(access.item);
                    cached.remove(&access.item);
                } else if u64::from(access.size) <= capacity || cached.contains_key(&access.item) {
                    let hit = policy.access(*access, &mut evicted);
                    prop_assert_eq!(hit, cached.contains_key(&access.item), "{}", info.name);
                    cached.entry(access.item).or_insert(access.size);
                    for item in evicted.drain(..) {
                        prop_assert!(cached.remove(&item).is_some(), "{}: {}", info.name, item);
                    }
                }
                prop_assert!((0..40).all(|item| policy.contains(item) == cached.contains_key(&item)), "{}", info.name);
                prop_assert_eq!(policy.used(), cached.values().map(|&size| u64::from(size)).sum::<u64>());
                prop_assert!(policy.used() <= capacity, "{}", info.name);
            }
            // All remaining items can be evicted.
            while let Some(item) = policy.victim() {
                prop_assert!(cached.remove(&item).is_some(), "{}: {}", info.name, item);
            }
            prop_assert!(cached.is_empty(), "{}", info.name);
            prop_assert_eq!(policy.bytes(), bytes, "{}", info.name);
        }
    }

    /// If the choice of a victim does not depend on a new item, choosing it before the item arrives changes nothing.
    /// Compares two caches with the same past and future.
    #[test]
    fn eviction_ahead_of_a_new_item_changes_nothing(
        past in traces(),
        future in traces(),
        draws in prop::array::uniform4(prop_oneof![2 => Just(0), 1 => any::<u64>()]),
        capacity in 1_u64..20,
    ) {
        // In these policies, the choice of a victim depends on the new item. TinyLFU compares the newcomer's uses,
        // which it has already recorded. EVICT-S may evict several items. CACHEUS may draw a learning rate before the
        // victim.
        let depends = ["tinylfu", "w-tinylfu", "qd-lp", "s3-fifo", "s3-fifo-d", "cacheus"];
        for info in POLICIES.iter().filter(|info| !depends.contains(&info.name)) {
            // Belady may reject newcomers if `bypass` is set.
            let changes = if info.role.needs_future { Vec::new() } else { changes(info, &draws) };
            let run = |ahead: bool| {
                let mut policy = build_policy(info, &changes, capacity, 41, true).unwrap();
                let mut evicted = Vec::new();
                let mut access = |policy: &mut Box<dyn ssdlab_cache::Policy>, access: Access| {
                    if access.is_drop() { policy.remove(access.item) } else { policy.access(access, &mut evicted); }
                };
                in_units(&past).into_iter().for_each(|step| access(&mut policy, step));
                let is_full = policy.used() == capacity;
                if ahead && is_full {
                    policy.victim();
                }
                access(&mut policy, Access::new(40, 1));
                let held = |policy: &dyn ssdlab_cache::Policy| (0..41).filter(|&item| policy.contains(item)).collect();
                let mut contents: Vec<Vec<u32>> = vec![held(&*policy)];
                for step in in_units(&future) {
                    access(&mut policy, step);
                    contents.push(held(&*policy));
                }
                contents
            };
            prop_assert_eq!(run(true), run(false), "{}", info.name);
        }
    }
}

/// A loop over one item more than the cache holds: LRU, FIFO and CLOCK never hit; MRU and LIFO miss one or two per
/// round.
#[test]
fn a_loop_larger_than_the_cache() {
    let (items, rounds, capacity) = (11, 100, 10);
    let looped = trace((0..items * rounds).map(|at| at % items));
    let all = u64::from(items * rounds);
    for name in ["fifo", "lru", "clock", "sieve"] {
        assert_eq!(misses(&looped, POLICIES.get(name).unwrap(), capacity), all, "{name}");
    }
    // The first round misses all items; later, the last two items evict each other.
    assert_eq!(misses(&looped, POLICIES.get("lifo").unwrap(), capacity), 11 + 2 * 99);
    // Belady and MRU lack one item, which shifts by one position at each miss: one miss in ten accesses.
    for name in ["mru", "belady"] {
        assert_eq!(misses(&looped, POLICIES.get(name).unwrap(), capacity), 11 + (all - 11) / 10, "{name}");
    }
    // With one HIR item, LIRS keeps nine items and misses the others.
    assert_eq!(misses(&looped, POLICIES.get("lirs").unwrap(), capacity), 11 + 2 * 99);
}

#[test]
fn every_policy_hits_a_repeated_item_and_misses_new_ones() {
    for info in POLICIES.iter() {
        for capacity in [1, 2, 7, 100, 1000] {
            assert_eq!(misses(&trace([3; 500]), info, capacity), 1, "{} of {capacity}", info.name);
            assert_eq!(misses(&trace(0..500), info, capacity), 500, "{} of {capacity}", info.name);
            // If all items fit, only first uses miss.
            let few = trace((0..5000).map(|at| at * at % 97));
            let distinct = (0..97_u32).map(|at| at * at % 97).collect::<std::collections::BTreeSet<_>>().len();
            if capacity >= 97 {
                assert_eq!(misses(&few, info, capacity), distinct as u64, "{} of {capacity}", info.name);
            }
        }
    }
}

/// libCacheSim's W-TinyLFU never hits in caches below 100 items, because it rounds the window size down to 0.
#[test]
fn small_w_tinylfu_caches_work() {
    let mut rng = Rng::named(1, "skewed");
    let skewed = trace((0..20_000).map(|_| rng.below(1 + rng.clone().below(500)) as u32));
    for capacity in [1, 2, 3, 10, 49, 99] {
        let [lru, tiny] = ["lru", "w-tinylfu"].map(|name| misses(&skewed, POLICIES.get(name).unwrap(), capacity));
        assert!(tiny <= lru, "of {capacity}: {tiny}, LRU {lru}");
    }
}

#[test]
fn related_policies_coincide() {
    let mut rng = Rng::named(1, "any");
    let any = trace((0..5000).map(|_| rng.below(60) as u32));
    let with = |name: &str, changes: &[(&str, u64)], capacity: u64| -> Counts {
        let changes: Vec<(String, u64)> = changes.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        any.simulate(POLICIES.get(name).unwrap(), &changes, capacity).unwrap()
    };
    for capacity in [1, 2, 9, 30] {
        let lru = with("lru", &[], capacity);
        assert_eq!(with("lru-k", &[("k", 1)], capacity), lru);
        // With items of one size, the least value belongs to the least recently used item.
        assert_eq!(with("gds", &[], capacity), lru);
        assert_eq!(with("gdsf", &[], capacity), with("lfu-da", &[], capacity));
        assert_eq!(with("slru", &[("protected", 100)], capacity).accesses, lru.accesses);
        // With only the window, W-TinyLFU is LRU.
        assert_eq!(with("w-tinylfu", &[("window", 100)], capacity), lru);
        // With a probationary segment only, a hit makes an item the newest.
        assert_eq!(with("slru", &[("protected", 0)], capacity), lru);
    }
}

/// If every use is correlated and no history is kept, LRU-K is LRU. Evictions that scan all protected items would take
/// hours here.
#[test]
fn protected_items_are_evicted_in_logarithmic_time() {
    let (items, capacity) = (50_000, 20_000);
    let mut rng = Rng::named(7, "protected");
    let trace = trace((0..400_000).map(|_| rng.below(items) as u32));
    let lru = trace.simulate(POLICIES.get("lru").unwrap(), &[], capacity).unwrap();
    let changes = [("correlated".to_owned(), u64::MAX), ("retained".to_owned(), 0)];
    assert_eq!(trace.simulate(POLICIES.get("lru-k").unwrap(), &changes, capacity).unwrap(), lru);
    assert!(lru.evictions > 200_000);
}

#[test]
fn items_larger_than_the_cache_are_not_admitted() {
    for info in POLICIES.iter().filter(|info| info.role.sizes) {
        let sizes = [(0, 6), (1, 11), (0, 20), (1, 11), (2, 5), (1, 3), (1, 11)];
        let accesses = sizes.map(|(item, size)| Access::new(item, size)).to_vec();
        let trace = AccessTrace::from_accesses(accesses, 3).unwrap();
        let counts = trace.simulate(info, &[], 10).unwrap();
        assert_eq!((counts.too_large, counts.accesses, counts.units), (2, 7, 67), "{}", info.name);
        // Items 0 and 1 hit although the later accesses are larger; the missing units count as missed.
        assert_eq!(
            (counts.misses, counts.outgrown, counts.outgrown_units, counts.missed_units, counts.evictions),
            (5, 2, 14 + 8, 6 + 11 + 14 + 11 + 5 + 3 + 8, 1),
            "{}",
            info.name
        );
    }
}

#[test]
fn errors_name_the_invalid_value() {
    let name = |name: &str, value| [(name.to_owned(), value)];
    let lru = POLICIES.get("lru").unwrap();
    let message = |error: CacheError| error.to_string();
    assert!(message(POLICIES.get("lur").unwrap_err().into()).contains("`lur`; choose one of fifo, lifo, lru"));
    assert_eq!(build_policy(lru, &[], 0, 1, true).unwrap_err(), CacheError::NoCapacity);
    assert!(
        message(build_policy(lru, &name("k", 2), 9, 1, true).unwrap_err())
            .contains("no parameter `k`; available: none")
    );
    let k = build_policy(POLICIES.get("lru-k").unwrap(), &name("k", 0), 9, 1, true).unwrap_err();
    assert!(message(k).contains("`k` of policy `lru-k` is 0, but must be from 1 to 16"));
    let sizes = build_policy(POLICIES.get("arc").unwrap(), &[], 9, 1, false).unwrap_err();
    assert!(message(sizes).contains("`arc` supports only items of equal size"));
    let large = build_policy(POLICIES.get("tinylfu").unwrap(), &[], 1 << 40, 1, true).unwrap_err();
    assert!(message(large).contains("1099511627776"));
    let dropped = AccessTrace::from_accesses(vec![Access::new(0, 1), Access::drop(0)], 1).unwrap();
    let curve = lru.role.one_pass.unwrap()(&dropped, 1).unwrap_err();
    assert!(message(curve).contains("trims"));
}

#[test]
fn help_and_defaults_of_the_table_are_valid() {
    for info in POLICIES.iter() {
        assert_eq!(POLICIES.get(info.name).unwrap().help, info.help);
        assert!(info.help.ends_with('.'), "{}", info.name);
        for parameter in info.parameters {
            assert!(
                (parameter.min..=parameter.largest()).contains(&parameter.default),
                "{} {}",
                info.name,
                parameter.name
            );
            assert!(parameter.help.ends_with('.'), "{} {}", info.name, parameter.name);
        }
    }
}
