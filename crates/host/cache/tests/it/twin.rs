//! Comparison of every policy with its twin, a slow reference implementation of the paper, access by access.

use proptest::prelude::*;
use ssdlab_cache::{Access, AccessTrace, POLICIES, PolicyInfo, build_policy};

use crate::twins::twin;

/// Number of items in a short trace.
const ITEMS: u32 = 40;

/// Generates short traces of few items: skewed or loops, with occasional removals.
pub fn traces() -> impl Strategy<Value = Vec<Access>> {
    let near = prop_oneof![3 => 0..8_u32, 2 => 0..ITEMS];
    let random = prop::collection::vec((near, 1..6_u32, prop::bool::weighted(0.03)), 1..300);
    let looped = (1..ITEMS, 1..300_u32)
        .prop_map(|(items, length)| (0..length).map(|at| (at % items, 1 + at % items % 5, false)).collect::<Vec<_>>());
    prop_oneof![6 => random, 1 => looped].prop_map(|steps| {
        let access = |(item, size, drop)| if drop { Access::drop(item) } else { Access::new(item, size) };
        steps.into_iter().map(access).collect()
    })
}

/// Sets the size of each access to one unit; keeps removals.
pub fn in_units(accesses: &[Access]) -> Vec<Access> {
    accesses.iter().map(|access| Access { size: access.size.min(1), ..*access }).collect()
}

/// Returns parameter values near their minimum, which matter for short traces; keeps defaults where the draw is 0.
pub fn changes(info: &PolicyInfo, draws: &[u64; 4]) -> Vec<(String, u64)> {
    let changed = info.parameters.iter().zip(draws).filter(|(_, draw)| **draw > 0);
    let value = |(parameter, draw): (&ssdlab_core::Parameter, &u64)| {
        let most = parameter.largest().min(parameter.min + 100);
        (parameter.name.to_owned(), parameter.min + draw % (most - parameter.min + 1))
    };
    changed.map(value).collect()
}

/// Returns the marked items.
fn listed(marks: &[bool]) -> Vec<usize> {
    (0..marks.len()).filter(|&item| marks[item]).collect()
}

/// Compares a policy with its twin.
fn compare(info: &PolicyInfo, draws: &[u64; 4], capacity: u64, accesses: Vec<Access>, one_size: bool, items: u32) {
    let changes = changes(info, draws);
    let get = |name: &str| {
        let default = || info.parameters.iter().find(|parameter| parameter.name == name).unwrap().default;
        changes.iter().find(|change| change.0 == name).map_or_else(default, |change| change.1)
    };
    // Starts without items, to test that arrays grow.
    let mut policy = build_policy(info, &changes, capacity, 0, one_size).unwrap();
    policy.grow(items);
    let mut twin = twin(info.name, &get, capacity);
    let trace = AccessTrace::from_accesses(accesses, items).unwrap();
    let (mut cached, mut sizes) = (vec![false; items as usize], vec![0_u64; items as usize]);
    let mut misses = 0;
    for (position, access) in trace.accesses().iter().enumerate() {
        let at = || format!("{} of {capacity} with {changes:?}, access {position}: {access:?}", info.name);
        if access.is_drop() {
            policy.remove(access.item);
            twin.remove(access.item);
            cached[access.item as usize] = false;
        } else {
            if u64::from(access.size) > capacity && !cached[access.item as usize] {
                misses += 1;
                continue;
            }
            let mut evicted = Vec::new();
            let hit = policy.access(*access, &mut evicted);
            assert_eq!(hit, twin.access(access.item, u64::from(access.size), access.next), "{}", at());
            assert_eq!(hit, cached[access.item as usize], "{}", at());
            misses += u64::from(!hit);
            if !hit {
                sizes[access.item as usize] = u64::from(access.size);
                cached[access.item as usize] = true;
            }
            for item in evicted {
                assert!(std::mem::take(&mut cached[item as usize]), "{}: {item} is evicted but not cached", at());
            }
        }
        let holds: Vec<bool> = (0..items).map(|item| policy.contains(item)).collect();
        let mismatch = |expected: &[bool]| format!("{}: holds {:?}, not {:?}", at(), listed(&holds), listed(expected));
        assert!(holds == cached, "{}, as insertions and evictions imply", mismatch(&cached));
        let mut twins = vec![false; items as usize];
        twin.cached().into_iter().for_each(|item| twins[item as usize] = true);
        assert!(holds == twins, "{}, as its twin", mismatch(&twins));
        let used: u64 = sizes.iter().zip(&holds).map(|(size, &held)| if held { *size } else { 0 }).sum();
        assert_eq!(policy.used(), used, "{}", at());
        assert!(policy.used() <= capacity, "{}", at());
    }
    assert_eq!(trace.simulate(info, &changes, capacity).unwrap().misses, misses, "{}", info.name);
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(150))]

    #[test]
    fn policies_match_their_twins(
        accesses in traces(),
        draws in prop::array::uniform4(prop_oneof![2 => Just(0), 1 => any::<u64>()]),
        capacity in prop_oneof![Just(1_u64), Just(2), 3..12_u64, 12..30_u64, Just(100), Just(1000)],
    ) {
        for info in POLICIES.iter() {
            compare(info, &draws, capacity, in_units(&accesses), true, ITEMS);
            if info.role.sizes {
                compare(info, &draws, capacity, accesses.clone(), false, ITEMS);
            }
        }
    }
}

/// Number of items in a longer trace of skewed accesses and loops.
const MANY: u32 = 600;

proptest! {
    #![proptest_config(ssdlab_tiers::cases(2))]

    /// Covers behaviour that needs larger caches, such as adaptation in small steps.
    #[test]
    fn policies_match_their_twins_with_many_items(seed in any::<u64>(), capacity in 130_u64..400) {
        let mut rng = ssdlab_core::Rng::named(seed, "many");
        let mut accesses = Vec::new();
        for at in 0..4000_u32 {
            let below = 1 + rng.below(u64::from(MANY));
            let item = if at % 1000 < 700 { rng.below(below) as u32 } else { at % MANY };
            accesses.push(Access::new(item, 1 + item % 3));
        }
        for info in POLICIES.iter() {
            compare(info, &[0; 4], capacity, in_units(&accesses), true, MANY);
            if info.role.sizes {
                compare(info, &[0; 4], capacity, accesses.clone(), false, MANY);
            }
        }
    }
}
