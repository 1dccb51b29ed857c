//! Admission policies and expiry.

use std::collections::BTreeMap;

use proptest::prelude::*;
use ssdlab_cache::{ADMISSIONS, AccessTrace, Life, Object, POLICIES, build_policy};
use ssdlab_core::Rng;

use crate::twin::{in_units, traces};

/// Returns the parameters that select an admission policy.
fn selecting(name: &str, parameters: &[(&str, u64)]) -> Vec<(String, u64)> {
    let place = ADMISSIONS.iter().position(|info| info.name == name).unwrap() as u64;
    let own = parameters.iter().map(|&(name, value)| (format!("admission.{name}"), value));
    std::iter::once(("admission".to_owned(), place)).chain(own).collect()
}

/// Reference implementation of an admission policy.
enum Reference {
    Probability(u64, Rng),
    Largest(u64),
    /// Items in the current and the previous filter, exact instead of Bloom filters.
    Seen([Vec<u32>; 2], usize),
}

impl Reference {
    fn admits(&mut self, item: u32, size: u32) -> bool {
        match self {
            Self::Probability(percent, rng) => rng.below(100) < *percent,
            Self::Largest(largest) => u64::from(size) <= *largest,
            Self::Seen(seen, most) => {
                if seen.iter().any(|items| items.contains(&item)) {
                    return true;
                }
                seen[0].push(item);
                if seen[0].len() == *most {
                    *seen = [Vec::new(), std::mem::take(&mut seen[0])];
                }
                false
            }
        }
    }
}

/// An admission policy: name, parameters, and constructor of its reference from all drawn values.
type Case<'a> = (&'a str, &'a [(&'a str, u64)], fn(u64, u64, u64, u64) -> Reference);

proptest! {
    #![proptest_config(ssdlab_tiers::cases(100))]

    /// A policy with an admission policy in front behaves like the policy alone on hits, removals and admitted items.
    #[test]
    fn a_policy_sees_only_admitted_items(
        accesses in traces(),
        capacity in 1_u64..30,
        percent in 1_u64..=100,
        largest in 1_u64..6,
        remembered in 100_u64..200,
        seed in any::<u64>(),
    ) {
        let cases: [Case<'_>; 3] = [
            ("probability", &[("percent", percent), ("seed", seed)], |percent, seed, _, _| Reference::Probability(percent, Rng::named(seed, "admission"))),
            ("size", &[("largest", largest)], |_, _, largest, _| Reference::Largest(largest)),
            ("bloom", &[("remembered", remembered)], |_, _, _, remembered| Reference::Seen(Default::default(), remembered as usize)),
        ];
        for (info, one_size) in POLICIES.iter().flat_map(|&info| [(info, true), (info, false)]) {
            if !one_size && !info.role.sizes {
                continue;
            }
            let accesses = if one_size { in_units(&accesses) } else { accesses.clone() };
            let trace = AccessTrace::from_accesses(accesses, 40).unwrap();
            for (name, parameters, reference) in cases {
                let mut reference = reference(percent, seed, largest, remembered);
                let mut guarded = build_policy(info, &selecting(name, parameters), capacity, 40, one_size).unwrap();
                let mut alone = build_policy(info, &[], capacity, 40, one_size).unwrap();
                for access in trace.accesses() {
                    if access.is_drop() {
                        guarded.remove(access.item);
                        alone.remove(access.item);
                    } else if u64::from(access.size) <= capacity || alone.contains(access.item) {
                        let (mut evicted, mut expected) = (Vec::new(), Vec::new());
                        let hit = guarded.access(*access, &mut evicted);
                        if alone.contains(access.item) || reference.admits(access.item, access.size) {
                            prop_assert_eq!(hit, alone.access(*access, &mut expected), "{} {}", name, info.name);
                        } else {
                            prop_assert!(!hit);
                            expected.push(access.item);
                        }
                        prop_assert_eq!(evicted, expected, "{} {}", name, info.name);
                    }
                    prop_assert!((0..40).all(|item| guarded.contains(item) == alone.contains(item)));
                    prop_assert_eq!(guarded.used(), alone.used());
                }
            }
        }
    }

    /// TinyLFU in front of LRU matches the policy `tinylfu`; in front of other policies, the cached items match the
    /// reported insertions and evictions.
    #[test]
    fn tiny_lfu_admission_matches_the_policy_tinylfu(
        accesses in traces(),
        capacity in 1_u64..30,
        sample in 1_u64..12,
        doorkeeper in 0_u64..2,
        ahead in prop::collection::vec(prop::bool::weighted(0.1), 300),
    ) {
        let trace = AccessTrace::from_accesses(in_units(&accesses), 40).unwrap();
        let parameters = [("sample", sample), ("doorkeeper", doorkeeper)];
        let of_policy = parameters.map(|(name, value)| (name.to_owned(), value));
        let changes = selecting("tinylfu", &parameters);
        let lru = trace.simulate(POLICIES.get("lru").unwrap(), &changes, capacity).unwrap();
        prop_assert_eq!(lru, trace.simulate(POLICIES.get("tinylfu").unwrap(), &of_policy, capacity).unwrap());
        for info in POLICIES.iter() {
            let mut policy = build_policy(info, &changes, capacity, 40, true).unwrap();
            let (mut cached, mut evicted, bytes) = (BTreeMap::new(), Vec::new(), policy.bytes());
            for (access, &ahead) in trace.accesses().iter().zip(&ahead) {
                if ahead {
                    match policy.victim() {
                        Some(item) => prop_assert!(cached.remove(&item).is_some(), "{}: {}", info.name, item),
                        None => prop_assert!(cached.is_empty(), "{}", info.name),
                    }
                } else if access.is_drop() {
                    policy.remove(access.item);
                    cached.remove(&access.item);
                } else {
                    let hit = policy.access(*access, &mut evicted);
                    prop_assert_eq!(hit, cached.insert(access.item, ()).is_some(), "{}", info.name);
                    for item in evicted.drain(..) {
                        prop_assert!(cached.remove(&item).is_some(), "{}: {}", info.name, item);
                    }
                }
                prop_assert!((0..40).all(|item| policy.contains(item) == cached.contains_key(&item)), "{}", info.name);
                prop_assert_eq!(policy.used(), cached.len() as u64);
                prop_assert!(policy.used() <= capacity);
            }
            prop_assert_eq!(policy.bytes(), bytes);
        }
    }

    /// Compares expiry with explicit removals before each access to an expired item.
    #[test]
    fn expired_items_are_dropped_on_access(
        accesses in traces(),
        times in prop::collection::vec((0_u32..16, 0_u32..30), 300),
        capacity in 1_u64..40,
    ) {
        let mut time_ns = 0;
        let objects: Vec<Object> = accesses.iter().zip(times).map(|(access, (quarters, ttl_s))| {
            time_ns += u64::from(quarters) * 250_000_000;
            Object { id: 1000 + u64::from(access.item), bytes: access.size, life: Life { time_ns, ttl_s } }
        }).collect();
        for sized in [false, true] {
            let trace = AccessTrace::of_objects(&objects, sized).unwrap();
            // Offline policies are left out, because the explicit removals would change the next uses of items.
            for info in POLICIES.iter().filter(|info| !info.role.needs_future && (info.role.sizes || !sized)) {
                let counts = trace.simulate(info, &[], capacity).unwrap();
                let mut policy = build_policy(info, &[], capacity, trace.items(), !sized).unwrap();
                let mut until_ns = BTreeMap::new();
                let (mut misses, mut expired) = (0, 0);
                for (access, object) in trace.accesses().iter().zip(&objects) {
                    if access.is_drop() {
                        policy.remove(access.item);
                        continue;
                    }
                    let Life { time_ns, ttl_s } = object.life;
                    if policy.contains(access.item) && until_ns.get(&access.item).is_some_and(|&until| until <= time_ns) {
                        policy.remove(access.item);
                        expired += 1;
                    }
                    let fits = u64::from(access.size) <= capacity || policy.contains(access.item);
                    if !fits || !policy.access(*access, &mut Vec::new()) {
                        misses += 1;
                        until_ns.remove(&access.item);
                        if ttl_s > 0 {
                            until_ns.insert(access.item, time_ns + u64::from(ttl_s) * 1_000_000_000);
                        }
                    }
                }
                prop_assert_eq!((counts.misses, counts.expired), (misses, expired), "{}", info.name);
            }
        }
    }
}

#[test]
fn errors_name_the_invalid_admission() {
    let lru = POLICIES.get("lru").unwrap();
    let refused =
        |changes: &[(String, u64)], one_size| build_policy(lru, changes, 9, 1, one_size).unwrap_err().to_string();
    assert_eq!(
        refused(&selecting("size", &[("smallest", 1)]), true),
        "admission `size` has no parameter `smallest`; available: largest"
    );
    assert!(refused(&[("admission".to_owned(), 99)], true).contains("`admission` of policy `lru` is 99"));
    assert!(
        refused(&[("admission.largest".to_owned(), 9)], true).contains("admission `none` has no parameter `largest`")
    );
    assert!(refused(&selecting("tinylfu", &[]), false).contains("use one of none, probability, size, bloom"));
    for info in ADMISSIONS.iter() {
        assert!(
            info.help.ends_with('.') && info.parameters.iter().all(|parameter| parameter.help.ends_with('.')),
            "{}",
            info.name
        );
    }
}
