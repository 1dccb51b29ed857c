//! Policies that compare use counts or times; they scan all items for the victim.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use ssdlab_cache::{Sketch, SketchOptions};

use super::{List, Twin, union};

pub struct Belady {
    /// Size and next use of each item.
    items: BTreeMap<u32, (u64, u32)>,
    bypass: bool,
    capacity: u64,
}

impl Belady {
    pub fn new(capacity: u64, bypass: u64) -> Self {
        Self { items: BTreeMap::new(), bypass: bypass == 1, capacity }
    }
}

impl Twin for Belady {
    fn access(&mut self, item: u32, size: u64, next: u32) -> bool {
        if let Some(entry) = self.items.get_mut(&item) {
            entry.1 = next;
            return true;
        }
        let is_full =
            |items: &BTreeMap<u32, (u64, u32)>| items.values().map(|entry| entry.0).sum::<u64>() + size > self.capacity;
        // Among items that are never used again, the item with the lowest number is evicted.
        let farthest =
            |items: &BTreeMap<u32, (u64, u32)>| items.iter().map(|(item, entry)| (entry.1, Reverse(*item))).max();
        if self.bypass
            && is_full(&self.items)
            && farthest(&self.items).is_some_and(|last| (next, Reverse(item)) >= last)
        {
            return false;
        }
        while is_full(&self.items) {
            let (_, Reverse(victim)) = farthest(&self.items).unwrap();
            self.items.remove(&victim);
        }
        self.items.insert(item, (size, next));
        false
    }

    fn remove(&mut self, item: u32) {
        self.items.remove(&item);
    }

    fn cached(&self) -> Vec<u32> {
        self.items.keys().copied().collect()
    }
}

pub struct Lfu {
    /// Cached items by recency, oldest first.
    list: List,
    uses: BTreeMap<u32, u64>,
    capacity: u64,
}

impl Lfu {
    pub fn new(capacity: u64) -> Self {
        Self { list: List::default(), uses: BTreeMap::new(), capacity }
    }
}

impl Twin for Lfu {
    fn access(&mut self, item: u32, size: u64, _: u32) -> bool {
        if self.list.has(item) {
            self.list.renew(item);
            *self.uses.get_mut(&item).unwrap() += 1;
            return true;
        }
        while self.list.units() + size > self.capacity {
            // On ties, the least recently used item is evicted.
            let victim = self.list.items().min_by_key(|item| self.uses[item]).unwrap();
            self.list.take(victim);
        }
        self.list.push(item, size);
        self.uses.insert(item, 1);
        false
    }

    fn remove(&mut self, item: u32) {
        self.list.take(item);
    }

    fn cached(&self) -> Vec<u32> {
        union(&[&self.list])
    }
}

/// LRU-K according to figure 2.1 of the paper; times begin at 1.
pub struct LruK {
    now: u64,
    k: usize,
    correlated: u64,
    retained: u64,
    capacity: u64,
    sizes: BTreeMap<u32, u64>,
    hist: BTreeMap<u32, Vec<u64>>,
    last: BTreeMap<u32, u64>,
}

impl LruK {
    pub fn new(capacity: u64, k: u64, correlated: u64, retained: u64) -> Self {
        let (sizes, hist, last) = Default::default();
        Self { now: 0, k: k as usize, correlated, retained, capacity, sizes, hist, last }
    }
}

impl Twin for LruK {
    fn access(&mut self, item: u32, size: u64, _: u32) -> bool {
        self.now += 1;
        let t = self.now;
        if self.sizes.contains_key(&item) {
            let (hist, last) = (self.hist.get_mut(&item).unwrap(), self.last.get_mut(&item).unwrap());
            if t - *last > self.correlated {
                let period = *last - hist[0];
                // Time 0 means that there was no such use.
                hist.iter_mut().filter(|time| **time > 0).for_each(|time| *time += period);
                hist.insert(0, t);
                hist.truncate(self.k);
            }
            *last = t;
            return true;
        }
        while self.sizes.values().sum::<u64>() + size > self.capacity {
            let order = |&item: &u32| (self.hist[&item][self.k - 1], self.last[&item]);
            let may_go = |&item: &u32| t - self.last[&item] > self.correlated;
            let victim = self.sizes.keys().copied().filter(may_go).min_by_key(order);
            let victim = victim.or(self.sizes.keys().copied().min_by_key(order)).unwrap();
            self.sizes.remove(&victim);
        }
        let forgotten = self.last.get(&item).is_none_or(|last| t - last > self.retained);
        let mut hist = if forgotten { vec![0; self.k] } else { self.hist[&item].clone() };
        hist.insert(0, t);
        hist.truncate(self.k);
        self.hist.insert(item, hist);
        self.last.insert(item, t);
        self.sizes.insert(item, size);
        false
    }

    fn remove(&mut self, item: u32) {
        self.sizes.remove(&item);
        self.hist.remove(&item);
        self.last.remove(&item);
    }

    fn cached(&self) -> Vec<u32> {
        self.sizes.keys().copied().collect()
    }
}

/// Frequency estimates from plain counters, at the positions that the sketch assigns to an item.
struct Estimator {
    places: Sketch,
    counters: BTreeMap<usize, u32>,
    bits: Option<BTreeSet<u64>>,
    records: u64,
    sample: u64,
}

impl Estimator {
    fn new(capacity: u64, sample: u64, doorkeeper: u64) -> Self {
        let doorkeeper = doorkeeper == 1;
        Self {
            places: Sketch::new(SketchOptions { capacity, sample, doorkeeper }),
            counters: BTreeMap::new(),
            bits: doorkeeper.then(BTreeSet::new),
            records: 0,
            sample: capacity * sample,
        }
    }

    fn counter(&self, at: usize) -> u32 {
        self.counters.get(&at).copied().unwrap_or(0)
    }

    fn least(&self, item: u32) -> u32 {
        self.places.counters_of(item).map(|at| self.counter(at)).into_iter().min().unwrap()
    }

    fn seen(&self, item: u32) -> bool {
        self.bits.as_ref().is_some_and(|bits| self.places.bits_of(item).iter().all(|bit| bits.contains(bit)))
    }

    fn estimate(&self, item: u32) -> u32 {
        self.least(item) + u32::from(self.seen(item))
    }

    fn record(&mut self, item: u32) {
        let least = self.least(item);
        if self.bits.is_none() || self.seen(item) {
            for at in self.places.counters_of(item) {
                if self.counter(at) == least {
                    self.counters.insert(at, (least + 1).min(15));
                }
            }
        } else if let Some(bits) = &mut self.bits {
            bits.extend(self.places.bits_of(item));
        }
        self.records += 1;
        if self.records == self.sample {
            self.records /= 2;
            self.counters.values_mut().for_each(|counter| *counter /= 2);
            self.bits = self.bits.take().map(|_| BTreeSet::new());
        }
    }
}

pub struct TinyLfu {
    list: List,
    estimator: Estimator,
    capacity: u64,
}

impl TinyLfu {
    pub fn new(capacity: u64, sample: u64, doorkeeper: u64) -> Self {
        Self { list: List::default(), estimator: Estimator::new(capacity, sample, doorkeeper), capacity }
    }
}

impl Twin for TinyLfu {
    fn access(&mut self, item: u32, _: u64, _: u32) -> bool {
        self.estimator.record(item);
        if self.list.has(item) {
            self.list.renew(item);
            return true;
        }
        if self.list.units() < self.capacity {
            self.list.push(item, 1);
        } else {
            let victim = self.list.0[0].0;
            if self.estimator.estimate(item) > self.estimator.estimate(victim) {
                self.list.take(victim);
                self.list.push(item, 1);
            }
        }
        false
    }

    fn remove(&mut self, item: u32) {
        self.list.take(item);
    }

    fn cached(&self) -> Vec<u32> {
        union(&[&self.list])
    }
}

pub struct WTinyLfu {
    window: List,
    probation: List,
    protection: List,
    window_most: u64,
    protected_most: u64,
    main_most: u64,
    estimator: Estimator,
}

impl WTinyLfu {
    pub fn new(capacity: u64, get: &dyn Fn(&str) -> u64) -> Self {
        let window_most = (capacity * get("window") / 100).max(1);
        let main_most = capacity - window_most;
        Self {
            window: List::default(),
            probation: List::default(),
            protection: List::default(),
            window_most,
            protected_most: main_most * get("protected") / 100,
            main_most,
            estimator: Estimator::new(capacity, get("sample"), get("doorkeeper")),
        }
    }
}

impl Twin for WTinyLfu {
    fn access(&mut self, item: u32, _: u64, _: u32) -> bool {
        self.estimator.record(item);
        if self.window.has(item) {
            self.window.renew(item);
            return true;
        }
        if self.probation.take(item).or(self.protection.take(item)).is_some() {
            self.protection.push(item, 1);
            while self.protection.units() > self.protected_most {
                let (demoted, _) = self.protection.pop_oldest();
                self.probation.push(demoted, 1);
            }
            return true;
        }
        self.window.push(item, 1);
        if self.window.units() <= self.window_most {
            return false;
        }
        let (candidate, _) = self.window.pop_oldest();
        if self.probation.units() + self.protection.units() < self.main_most {
            self.probation.push(candidate, 1);
            return false;
        }
        let weaker = if self.probation.0.is_empty() { &mut self.protection } else { &mut self.probation };
        if let Some(&(victim, _)) = weaker.0.first()
            && self.estimator.estimate(candidate) > self.estimator.estimate(victim)
        {
            weaker.take(victim);
            self.probation.push(candidate, 1);
        }
        false
    }

    fn remove(&mut self, item: u32) {
        [&mut self.window, &mut self.probation, &mut self.protection].into_iter().for_each(|list| list.forget(item));
    }

    fn cached(&self) -> Vec<u32> {
        union(&[&self.window, &self.probation, &self.protection])
    }
}
