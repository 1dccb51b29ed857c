//! Hyperbolic caching: evicts the item with the fewest uses per unit of time and size, from a random sample.
//!
//! ```text
//! hit(x):   increment uses(x)
//! miss(x):  while x does not fit: of `sample` random items, evict the one with the least
//!               uses / (size * accesses since insertion); the first drawn on ties
//!           insert x with one use
//! ```
//! Source: Blankstein, Sen, Freedman, "Hyperbolic caching: flexible caching for web applications", USENIX ATC 2017,
//! section 2; items are drawn with replacement, and every cost is 1. Time is counted in accesses.

use ssdlab_core::{Parameter, Rng, Unit};

use super::{Policy, PolicyInfo, PolicyRules, make_room, random};
use crate::Access;
use crate::bag::Bag;
use crate::per_item::PerItem;

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "hyperbolic",
    help: "Evicts the item with the fewest uses per unit of size and time since insertion, from a random sample.",
    source: "Blankstein et al., USENIX ATC 2017",
    parameters: &[
        Parameter::new("sample", Unit::Count("items"), 64, [1, 1024], "Number of items sampled per eviction."),
        random::SEED,
    ],
    role: PolicyRules::any_size(&|settings, capacity, items| {
        Box::new(Hyperbolic {
            cached: Bag::new(items, capacity),
            uses: PerItem::new(ABSENT, items),
            now: 1,
            sample: settings.get("sample"),
            rng: Rng::named(settings.get("seed"), "hyperbolic caching"),
            capacity,
        })
    }),
};

/// Number of uses of an item since it was inserted, and the time of its insertion.
#[derive(Clone, Copy, Debug)]
struct Uses {
    count: u64,
    since: u64,
}

const ABSENT: Uses = Uses { count: 0, since: 0 };

#[derive(Debug)]
struct Hyperbolic {
    cached: Bag,
    uses: PerItem<Uses>,
    /// Time of the current or the next access: one more than the number of accesses before it.
    now: u64,
    sample: u64,
    rng: Rng,
    capacity: u64,
}

impl Policy for Hyperbolic {
    fn access(&mut self, Access { item, size, .. }: Access, evicted: &mut Vec<u32>) -> bool {
        let hit = self.cached.has(item);
        if hit {
            self.uses[item].count += 1;
        } else {
            make_room(self, size, evicted);
            self.uses[item] = Uses { count: 1, since: self.now };
            self.cached.push(item, size);
        }
        self.now += 1;
        hit
    }

    fn victim(&mut self) -> Option<u32> {
        let mut least = f64::INFINITY;
        let mut victim = None;
        for _ in 0..self.sample {
            let item = self.cached.draw(&mut self.rng)?;
            let Uses { count, since } = self.uses[item];
            let priority = count as f64 / (f64::from(self.cached.size(item)) * (self.now - since) as f64);
            if priority < least {
                (least, victim) = (priority, Some(item));
            }
        }
        victim.into_iter().for_each(|item| self.cached.remove(item));
        victim
    }

    fn remove(&mut self, item: u32) {
        self.cached.discard(item);
    }

    super::held!(cached, only);
    super::tables!(cached; uses);
}
