//! A replacement policy: decides which item leaves a full cache.

use ssdlab::NameTaken;
use ssdlab::cache_policy::{self, Access, Lists, Policy, PolicyInfo, PolicyRules};

/// Adds the policy to ssdlab. The setting `cache.policy=mine` or `ssdlab cache sim --policy mine` then selects it.
pub fn register() -> Result<(), NameTaken> {
    cache_policy::register(&MINE)
}

/// Registry entry of the policy: name, help text, parameters and constructor.
static MINE: PolicyInfo = PolicyInfo {
    name: "mine",
    help: "Evicts the least recently used item.",
    // The paper that describes the policy.
    source: "",
    // Each parameter that is added here becomes a setting; see `ssdlab::Parameter::new`.
    parameters: &[],
    role: PolicyRules {
        // True if items may have different sizes.
        sizes: true,
        // True if the policy reads `Access::next`, the position of the next access to the item.
        needs_future: false,
        // Largest capacity that the policy supports.
        largest: u64::MAX,
        // Optional function that simulates all cache sizes in one pass.
        one_pass: None,
        // Builds an empty cache for items 0 to `items` - 1; `grow` adds items.
        build: &|_settings, capacity, items| Box::new(Mine { order: Lists::new(items), capacity }),
    },
};

/// Cached items with their sizes, ordered by last use.
#[derive(Debug)]
struct Mine {
    /// Cached items. `Lists<1>` has a single list, number 0.
    order: Lists<1>,
    capacity: u64,
}

impl Policy for Mine {
    /// Returns true if the item was cached. Otherwise makes room, appends the evicted items to `evicted`, and caches
    /// the item.
    fn access(&mut self, access: Access, evicted: &mut Vec<u32>) -> bool {
        let Access { item, size, .. } = access;
        if self.order.has(item) {
            self.order.renew(item);
            return true;
        }
        while self.order.units(0) + u64::from(size) > self.capacity {
            evicted.extend(self.victim());
        }
        self.order.push(0, item, size);
        false
    }

    /// Evicts an item and returns it. Called before the next access is known.
    fn victim(&mut self) -> Option<u32> {
        self.order.pop_oldest(0)
    }

    /// Removes an item that was trimmed.
    fn remove(&mut self, item: u32) {
        if self.order.has(item) {
            self.order.remove(item);
        }
    }

    fn contains(&self, item: u32) -> bool {
        self.order.has(item)
    }

    fn size(&self, item: u32) -> u32 {
        self.order.size(item)
    }

    fn used(&self) -> u64 {
        self.order.units(0)
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn grow(&mut self, items: u32) {
        self.order.grow(items);
    }

    fn bytes(&self) -> usize {
        self.order.bytes()
    }

    /// Prefetches the memory of an item that will be accessed soon. Results do not depend on this call.
    fn prefetch(&self, item: u32) {
        self.order.prefetch(item);
    }
}

#[cfg(test)]
mod tests {
    use super::MINE;
    use ssdlab::Settings;
    use ssdlab::cache_policy::Access;

    /// Computed by hand: of items 1, 2 and 3, item 2 was used longest ago when item 4 arrives.
    #[test]
    fn the_item_used_longest_ago_leaves() {
        let mut cache = (MINE.role.build)(&Settings::defaults(MINE.parameters), 3, 10);
        let mut evicted = Vec::new();
        let hits = [1, 2, 3, 1, 4].map(|item| cache.access(Access::new(item, 1), &mut evicted));
        assert_eq!((hits, evicted), ([false, false, false, true, false], vec![2]));
    }
}

/// Runs the policy on small random inputs. An input that breaks a rule is reduced to few operations.
#[cfg(test)]
mod conformance {
    use ssdlab::Settings;
    use ssdlab::cache_policy::Access;
    use ssdlab_conformance::cache_policy::Twin;

    ssdlab_conformance::cache_policy!(super::MINE, twin = Slow);

    /// A slow but simple implementation of the policy, for comparison.
    struct Slow {
        /// Items with their sizes, least recently used first.
        items: Vec<(u32, u64)>,
        capacity: u64,
    }

    impl Twin for Slow {
        fn new(_settings: &Settings, capacity: u64) -> Self {
            Self { items: Vec::new(), capacity }
        }

        fn access(&mut self, access: Access) -> bool {
            let size = access.size.into();
            if let Some(at) = self.items.iter().position(|&(item, _)| item == access.item) {
                let item = self.items.remove(at);
                self.items.push(item);
                return true;
            }
            while self.items.iter().map(|&(_, size)| size).sum::<u64>() + size > self.capacity {
                self.items.remove(0);
            }
            self.items.push((access.item, size));
            false
        }

        fn remove(&mut self, item: u32) {
            self.items.retain(|&(other, _)| other != item);
        }

        fn contains(&self, item: u32) -> bool {
            self.items.iter().any(|&(other, _)| other == item)
        }
    }
}
