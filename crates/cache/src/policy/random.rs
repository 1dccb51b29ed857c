//! Random: any cached item gives way, each with the same chance.
//!
//! ```text
//! hit(x):   nothing
//! miss(x):  while x does not fit: the item at a random position gives way, and the last takes its position
//!           x takes a position behind the last
//! ```
//! Source: Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems Journal 5(2), 1966.

use ssdlab_core::mem::prefetch;
use ssdlab_core::{HugeVec, Parameter, Rng, Unit};

use super::{Policy, PolicyInfo};
use crate::Access;
use crate::lists::{grow, reserve};

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "random",
    help: "Evicts any cached item, by chance.",
    parameters: &[Parameter {
        name: "seed",
        unit: Unit::Count("number"),
        default: 1,
        min: 0,
        max: u64::MAX,
        example: None,
        help: "Seed of the random numbers.",
    }],
    sizes: true,
    needs_future: false,
    largest: u64::MAX,
    one_pass: None,
    build: |settings, capacity, items| {
        let mut policy = Random {
            cached: Vec::new(),
            place: HugeVec::filled(ABSENT, 0),
            used: 0,
            capacity,
            rng: Rng::named(settings.get("seed"), "random replacement"),
        };
        policy.grow(items);
        Box::new(policy)
    },
};

#[derive(Clone, Copy, Debug)]
struct Place {
    at: u32,
    size: u32,
}

const ABSENT: Place = Place { at: u32::MAX, size: 0 };

#[derive(Debug)]
struct Random {
    cached: Vec<u32>,
    place: HugeVec<Place>,
    used: u64,
    capacity: u64,
    rng: Rng,
}

impl Policy for Random {
    fn access(&mut self, Access { item, size, .. }: Access, evicted: &mut Vec<u32>) -> bool {
        if self.contains(item) {
            return true;
        }
        while self.used + u64::from(size) > self.capacity {
            evicted.extend(self.victim());
        }
        self.place[item as usize] = Place { at: self.cached.len() as u32, size };
        self.cached.push(item);
        self.used += u64::from(size);
        false
    }

    fn victim(&mut self) -> Option<u32> {
        if self.cached.is_empty() {
            return None;
        }
        let victim = self.cached[self.rng.below(self.cached.len() as u64) as usize];
        self.remove(victim);
        Some(victim)
    }

    fn remove(&mut self, item: u32) {
        if self.contains(item) {
            let Place { at, size } = std::mem::replace(&mut self.place[item as usize], ABSENT);
            self.used -= u64::from(size);
            self.cached.swap_remove(at as usize);
            if let Some(&moved) = self.cached.get(at as usize) {
                self.place[moved as usize].at = at;
            }
        }
    }

    fn contains(&self, item: u32) -> bool {
        self.place[item as usize].size > 0
    }

    fn used(&self) -> u64 {
        self.used
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn grow(&mut self, items: u32) {
        grow(&mut self.place, ABSENT, items as usize);
        reserve(&mut self.cached, self.place.len(), self.capacity);
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.place) + self.cached.capacity() * size_of::<u32>()
    }

    #[inline]
    fn prefetch(&self, item: u32) {
        prefetch(&self.place, item as usize);
    }
}
