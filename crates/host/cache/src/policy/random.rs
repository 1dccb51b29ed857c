//! Random: evicts a uniformly random item.
//!
//! ```text
//! hit(x):   nothing
//! miss(x):  while x does not fit: evict the item at a random position; the last item takes its position
//!           append x
//! ```
//! Source: Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems Journal 5(2), 1966.

use ssdlab_core::{Parameter, Rng, Unit};

use super::{Policy, PolicyInfo, PolicyRules, make_room};
use crate::Access;
use crate::bag::Bag;

pub(super) static SEED: Parameter =
    Parameter::new("seed", Unit::Count("number"), 1, [0, u64::MAX], "Seed of the random numbers.");

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "random",
    help: "Evicts a random item.",
    source: "Belady 1966",
    parameters: &[SEED],
    role: PolicyRules::any_size(&|settings, capacity, items| {
        let rng = Rng::named(settings.get("seed"), "random replacement");
        Box::new(Random { cached: Bag::new(items, capacity), capacity, rng })
    }),
};

#[derive(Debug)]
struct Random {
    cached: Bag,
    capacity: u64,
    rng: Rng,
}

impl Policy for Random {
    fn access(&mut self, Access { item, size, .. }: Access, evicted: &mut Vec<u32>) -> bool {
        if self.cached.has(item) {
            return true;
        }
        make_room(self, size, evicted);
        self.cached.push(item, size);
        false
    }

    fn victim(&mut self) -> Option<u32> {
        let victim = self.cached.draw(&mut self.rng)?;
        self.cached.remove(victim);
        Some(victim)
    }

    super::held!(cached);
}
