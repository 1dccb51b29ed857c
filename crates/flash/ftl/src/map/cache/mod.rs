//! Replacement policies of the map cache. Each policy has a file and is registered in [`POLICIES`].

pub mod clock;
pub mod fifo;
pub mod lru;
pub mod two_q;

use ssdlab_core::{Archive, Archived, Info, Registry};

/// A replacement policy over items `0..items`; at most `capacity` items are cached.
pub trait CachePolicy: Send {
    /// Records a use of a cached item.
    fn hit(&mut self, item: u32);

    /// Inserts an item that is not cached; returns the evicted item if the cache was full.
    fn admit(&mut self, item: u32) -> Option<u32>;

    /// Saves or loads the cached items, in eviction order.
    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived;
}

/// Function that creates a policy for a number of items and a capacity in items (at least 1).
pub type NewCachePolicy = fn(u32, u32) -> Box<dyn CachePolicy>;

/// A registered replacement policy without parameters.
pub type CachePolicyInfo = Info<NewCachePolicy>;

/// Every registered replacement policy.
pub static POLICIES: Registry<NewCachePolicy> =
    Registry::new("map-cache policy", &[&lru::INFO, &fifo::INFO, &clock::INFO, &two_q::INFO]);

#[cfg(test)]
mod tests {
    use super::*;
    use ssdlab_core::Rng;

    /// Goal: with every policy, the cache holds the items that were inserted and not evicted, and never exceeds its
    /// capacity. Method: compares the evictions with a set of the cached items.
    #[test]
    fn policies_track_the_cached_items() {
        for info in POLICIES.iter() {
            for capacity in [1, 2, 3, 7] {
                let mut policy = (info.role)(20, capacity);
                let mut cached = std::collections::BTreeSet::new();
                let mut rng = Rng::named(7, info.name);
                for _ in 0..5_000 {
                    let item = (rng.below(20).min(rng.below(20))) as u32;
                    if cached.contains(&item) {
                        policy.hit(item);
                        continue;
                    }
                    if let Some(victim) = policy.admit(item) {
                        assert!(cached.remove(&victim), "{}: evicted item {victim} was not cached", info.name);
                        assert_eq!(
                            cached.len() as u32,
                            capacity - 1,
                            "{}: evicted an item although the cache was not full",
                            info.name
                        );
                    }
                    cached.insert(item);
                    assert!(cached.len() as u32 <= capacity, "{} overflows", info.name);
                }
            }
        }
    }

    fn evicted(info: &CachePolicyInfo, capacity: u32, uses: &[u32]) -> Vec<u32> {
        let mut policy = (info.role)(10, capacity);
        let mut cached = Vec::new();
        let mut out = Vec::new();
        for &item in uses {
            if cached.contains(&item) {
                policy.hit(item);
            } else {
                if let Some(victim) = policy.admit(item) {
                    cached.retain(|&other| other != victim);
                    out.push(victim);
                }
                cached.push(item);
            }
        }
        out
    }

    #[test]
    fn each_policy_evicts_as_worked_by_hand() {
        assert_eq!(evicted(&lru::INFO, 3, &[1, 2, 3, 1, 4, 5]), [2, 3]);
        assert_eq!(evicted(&fifo::INFO, 3, &[1, 2, 3, 1, 4, 5]), [1, 2]);
        // With CLOCK, the hand skips item 1 once because the item was used again, and evicts item 2, then item 3.
        assert_eq!(evicted(&clock::INFO, 3, &[1, 2, 3, 1, 4, 5]), [2, 3]);
        // With 2Q, one of the four places is for new items, and two evicted items are remembered. Item 1 returns while
        // it is remembered, so the new items 3 and 4 are evicted first.
        assert_eq!(evicted(&two_q::INFO, 4, &[1, 2, 3, 4, 5, 1, 6, 7]), [1, 2, 3, 4]);
    }
}
