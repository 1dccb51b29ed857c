//! Policies that weigh uses against age or size. To find a victim, these twins compute the value of every item.

use std::collections::BTreeMap;

use ssdlab_core::Rng;

use super::{List, Twin, union};

/// LFU-DA, GreedyDual-Size and GDSF; the list is in order of recency.
pub struct GreedyDual {
    list: List,
    uses: BTreeMap<u32, u64>,
    value: BTreeMap<u32, f64>,
    l: f64,
    by_uses: bool,
    by_size: bool,
    capacity: u64,
}

impl GreedyDual {
    pub fn new(capacity: u64, by_uses: bool, by_size: bool) -> Self {
        let (list, uses, value) = Default::default();
        Self { list, uses, value, l: 0.0, by_uses, by_size, capacity }
    }

    fn use_newest(&mut self) {
        let (item, size) = *self.list.0.last().unwrap();
        let uses = self.uses.entry(item).or_insert(0);
        *uses += 1;
        let worth = if self.by_uses { *uses as f64 } else { 1.0 };
        self.value.insert(item, self.l + if self.by_size { worth / size as f64 } else { worth });
    }
}

impl Twin for GreedyDual {
    fn access(&mut self, item: u32, size: u64, _: u32) -> bool {
        let hit = self.list.has(item);
        if hit {
            self.list.renew(item);
        } else {
            while self.list.units() + size > self.capacity {
                // On ties, the least recently used item is evicted.
                let victim = self.list.items().min_by(|a, b| self.value[a].total_cmp(&self.value[b])).unwrap();
                self.l = self.value[&victim];
                self.remove(victim);
            }
            self.list.push(item, size);
        }
        self.use_newest();
        hit
    }

    fn remove(&mut self, item: u32) {
        self.list.forget(item);
        self.uses.remove(&item);
    }

    fn cached(&self) -> Vec<u32> {
        union(&[&self.list])
    }
}

/// Hyperbolic caching with priorities as fractions; in the list, the last item takes the position of a removed item.
pub struct Hyperbolic {
    list: List,
    /// Number of uses since the insertion of each item, and time of the insertion.
    uses: BTreeMap<u32, (u64, u64)>,
    now: u64,
    sample: u64,
    rng: Rng,
    capacity: u64,
}

impl Hyperbolic {
    pub fn new(capacity: u64, sample: u64, seed: u64) -> Self {
        let (list, uses) = Default::default();
        Self { list, uses, now: 0, sample, rng: Rng::named(seed, "hyperbolic caching"), capacity }
    }

    /// Returns numerator and denominator of an item's priority.
    fn priority(&self, (item, size): (u32, u64)) -> (u64, u64) {
        let (uses, since) = self.uses[&item];
        (uses, size * (self.now - since))
    }
}

impl Twin for Hyperbolic {
    fn access(&mut self, item: u32, size: u64, _: u32) -> bool {
        self.now += 1;
        if self.list.has(item) {
            self.uses.get_mut(&item).unwrap().0 += 1;
            return true;
        }
        while self.list.units() + size > self.capacity {
            let drawn: Vec<usize> =
                (0..self.sample).map(|_| self.rng.below(self.list.0.len() as u64) as usize).collect();
            let below = |a: usize, b: usize| {
                let ((a, of_a), (b, of_b)) = (self.priority(self.list.0[a]), self.priority(self.list.0[b]));
                a * of_b < b * of_a
            };
            let victim = drawn.into_iter().reduce(|least, next| if below(next, least) { next } else { least });
            self.list.0.swap_remove(victim.unwrap());
        }
        self.list.push(item, size);
        self.uses.insert(item, (1, self.now));
        false
    }

    fn remove(&mut self, item: u32) {
        let at = self.list.items().position(|other| other == item);
        at.into_iter().for_each(|at| {
            self.list.0.swap_remove(at);
        });
    }

    fn cached(&self) -> Vec<u32> {
        union(&[&self.list])
    }
}
