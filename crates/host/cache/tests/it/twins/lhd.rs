//! LHD: sums every hit density from its definition.

use std::collections::BTreeMap;

use ssdlab_core::Rng;

use super::{List, Twin, union};

const ONE: u64 = 1 << 20;

#[derive(Clone, Copy)]
struct Tag {
    since: u64,
    /// Last two ages at which the item was hit.
    hits: [u64; 2],
    explorer: bool,
}

/// Events by class and age.
type Events = BTreeMap<(u64, u64), u64>;

pub struct Lhd {
    /// Cached items; the last item takes the position of a removed item.
    list: List,
    tags: BTreeMap<u32, Tag>,
    hits: Events,
    evictions: Events,
    /// Hits and evictions at the end of the last period, which define the densities.
    learnt: Option<(Events, Events)>,
    suspects: Vec<u32>,
    /// Number of suspects so far.
    suspected: usize,
    mean_rank: f64,
    /// The last age, which includes all higher ages.
    last_age: u64,
    explored: i64,
    explored_most: i64,
    most_items: u64,
    period: u64,
    now: u64,
    rng: Rng,
    capacity: u64,
}

impl Lhd {
    pub fn new(capacity: u64, get: &dyn Fn(&str) -> u64) -> Self {
        let (list, tags, hits, evictions, suspects) = Default::default();
        Self {
            list,
            tags,
            hits,
            evictions,
            learnt: None,
            suspects,
            suspected: 0,
            mean_rank: 0.0,
            last_age: (capacity / 4).clamp(64, 4096).next_power_of_two() - 1,
            explored: 0,
            explored_most: (capacity * get("explore") / 100) as i64,
            most_items: 0,
            period: get("period"),
            now: 0,
            rng: Rng::named(get("seed"), "LHD"),
            capacity,
        }
    }

    /// Returns the number of accesses per unit of age.
    fn unit(&self) -> u64 {
        self.most_items.div_ceil((self.last_age + 1) / 32).max(1).next_power_of_two()
    }

    fn age(&self, item: u32) -> u64 {
        ((self.now - self.tags[&item].since) / self.unit()).min(self.last_age)
    }

    /// Returns the class of an item: the number of doublings after which the sum of its ages is out of range. For a sum
    /// of 0, returns one more than the maximum.
    fn class(&self, item: u32) -> u64 {
        let sum: u64 = self.tags[&item].hits.iter().sum();
        let doublings = (0..).find(|doublings| sum.max(1) << doublings > self.last_age).unwrap();
        if sum == 0 { doublings + 1 } else { doublings }
    }

    fn size(&self, item: u32) -> u64 {
        self.list.0.iter().find(|entry| entry.0 == item).unwrap().1
    }

    fn density(&self, class: u64, age: u64) -> f64 {
        let Some((hits, evictions)) = &self.learnt else { return (class + 1) as f64 / (age + 1) as f64 };
        let later = |events: &Events| -> Vec<(u64, u64)> {
            events.iter().filter(|((c, a), _)| *c == class && *a >= age).map(|((_, a), n)| (*a, *n)).collect()
        };
        let expected: u64 = later(hits).iter().map(|(_, n)| n).sum();
        let all = later(hits).into_iter().chain(later(evictions));
        let to_come: u128 = all.map(|(a, n)| u128::from(n) * u128::from(a - age + 1)).sum();
        if to_come == 0 { 0.0 } else { expected as f64 / to_come as f64 }
    }

    fn rank(&self, item: u32) -> f64 {
        if self.age(item) == self.last_age {
            return -1.0;
        }
        let density = self.density(self.class(item), self.age(item)) / self.size(item) as f64;
        density + if self.tags[&item].explorer { 1.0 } else { 0.0 }
    }

    fn give_back(&mut self, item: u32) {
        if self.tags[&item].explorer {
            self.explored -= self.size(item) as i64;
        }
    }

    fn evict(&mut self) {
        let drawn = (0..32).map(|_| self.list.0[self.rng.below(self.list.0.len() as u64) as usize].0);
        let mut candidates: Vec<u32> = drawn.collect();
        candidates.extend(self.suspects.iter().filter(|&&item| self.list.has(item)));
        let victim = candidates.into_iter().reduce(|a, b| if self.rank(b) < self.rank(a) { b } else { a }).unwrap();
        self.mean_rank = 0.9 * self.mean_rank + 0.1 * self.rank(victim);
        *self.evictions.entry((self.class(victim), self.age(victim))).or_insert(0) += ONE;
        self.remove(victim);
    }

    /// Doubles the unit of age, which merges pairs of ages.
    fn fit(&mut self) {
        let before = self.unit();
        self.most_items = self.most_items.max(self.list.0.len() as u64);
        if self.unit() == before {
            return;
        }
        for events in [&mut self.hits, &mut self.evictions] {
            let mut merged = Events::new();
            events.iter().for_each(|(&(class, age), n)| *merged.entry((class, age / 2)).or_insert(0) += n);
            *events = merged;
        }
        if self.learnt.is_some() {
            self.learnt = Some((self.hits.clone(), self.evictions.clone()));
        }
    }
}

impl Twin for Lhd {
    fn access(&mut self, item: u32, size: u64, _: u32) -> bool {
        self.now += 1;
        let hit = self.list.has(item);
        let mut hits = [0, self.last_age + 1];
        if hit {
            *self.hits.entry((self.class(item), self.age(item))).or_insert(0) += ONE;
            self.give_back(item);
            hits = [self.age(item), self.tags[&item].hits[0]];
        } else {
            while self.list.units() + size > self.capacity {
                self.evict();
            }
            self.list.push(item, size);
            self.fit();
        }
        let explorer = self.rng.below(32) == 0 && self.explored < self.explored_most;
        self.tags.insert(item, Tag { since: self.now, hits, explorer });
        if explorer {
            self.explored += self.size(item) as i64;
        } else if !hit && self.rank(item) < self.mean_rank {
            // Ring buffer of eight suspects.
            if self.suspects.len() < 8 {
                self.suspects.push(item);
            } else {
                self.suspects[self.suspected % 8] = item;
            }
            self.suspected += 1;
        }
        if self.now.is_multiple_of(self.period) {
            for events in [&mut self.hits, &mut self.evictions] {
                events.values_mut().for_each(|n| *n = *n * 9 / 10);
            }
            self.learnt = Some((self.hits.clone(), self.evictions.clone()));
        }
        hit
    }

    fn remove(&mut self, item: u32) {
        let at = self.list.items().position(|other| other == item);
        if let Some(at) = at {
            self.give_back(item);
            self.list.0.swap_remove(at);
        }
    }

    fn cached(&self) -> Vec<u32> {
        union(&[&self.list])
    }
}
