//! Policies with several queues of fixed shares.

use std::collections::BTreeMap;

use super::{List, Twin, union};

pub struct TwoQ {
    a1_in: List,
    a1_out: List,
    am: List,
    kin: u64,
    kout: u64,
    capacity: u64,
}

impl TwoQ {
    pub fn new(capacity: u64, kin: u64, kout: u64) -> Self {
        let (kin, kout) = (capacity * kin / 100, capacity * kout / 100);
        Self { a1_in: List::default(), a1_out: List::default(), am: List::default(), kin, kout, capacity }
    }

    fn reclaim_for(&mut self, size: u64) {
        while self.a1_in.units() + self.am.units() + size > self.capacity {
            if self.a1_in.units() > self.kin || self.am.0.is_empty() {
                let (item, size) = self.a1_in.pop_oldest();
                self.a1_out.push(item, size);
                self.a1_out.forget_above(self.kout);
            } else {
                self.am.pop_oldest();
            }
        }
    }
}

impl Twin for TwoQ {
    fn access(&mut self, item: u32, size: u64, _: u32) -> bool {
        if self.am.has(item) {
            self.am.renew(item);
            true
        } else if self.a1_in.has(item) {
            true
        } else if self.a1_out.take(item).is_some() {
            self.reclaim_for(size);
            self.am.push(item, size);
            false
        } else {
            self.reclaim_for(size);
            self.a1_in.push(item, size);
            false
        }
    }

    fn remove(&mut self, item: u32) {
        [&mut self.a1_in, &mut self.a1_out, &mut self.am].into_iter().for_each(|list| list.forget(item));
    }

    fn cached(&self) -> Vec<u32> {
        union(&[&self.a1_in, &self.am])
    }
}

pub struct Slru {
    probation: List,
    protection: List,
    protected: u64,
    capacity: u64,
}

impl Slru {
    pub fn new(capacity: u64, protected: u64) -> Self {
        let protected = capacity * protected / 100;
        Self { probation: List::default(), protection: List::default(), protected, capacity }
    }
}

impl Twin for Slru {
    fn access(&mut self, item: u32, size: u64, _: u32) -> bool {
        if let Some(size) = self.probation.take(item).or(self.protection.take(item)) {
            self.protection.push(item, size);
            while self.protection.units() > self.protected {
                let (item, size) = self.protection.pop_oldest();
                self.probation.push(item, size);
            }
            return true;
        }
        while self.probation.units() + self.protection.units() + size > self.capacity {
            let weaker = if self.probation.0.is_empty() { &mut self.protection } else { &mut self.probation };
            weaker.pop_oldest();
        }
        self.probation.push(item, size);
        false
    }

    fn remove(&mut self, item: u32) {
        [&mut self.probation, &mut self.protection].into_iter().for_each(|list| list.forget(item));
    }

    fn cached(&self) -> Vec<u32> {
        union(&[&self.probation, &self.protection])
    }
}

/// The three queues of S3-FIFO.
#[derive(Default)]
struct Queues {
    s: List,
    m: List,
    g: List,
    freq: BTreeMap<u32, u32>,
}

impl Queues {
    fn hit(&mut self, item: u32) -> bool {
        let hit = self.s.has(item) || self.m.has(item);
        if hit {
            let freq = self.freq.get_mut(&item).unwrap();
            *freq = (*freq + 1).min(3);
        }
        hit
    }

    fn evict_m(&mut self) {
        loop {
            let (item, size) = self.m.pop_oldest();
            if self.freq[&item] == 0 {
                return;
            }
            self.m.push(item, size);
            *self.freq.get_mut(&item).unwrap() -= 1;
        }
    }

    fn remove(&mut self, item: u32) {
        [&mut self.s, &mut self.m, &mut self.g].into_iter().for_each(|list| list.forget(item));
    }
}

/// S3-FIFO according to algorithm 1 of the paper. Compares shares in percent of the capacity to avoid rounding.
pub struct S3Fifo {
    queues: Queues,
    small_percent: u64,
    capacity: u64,
}

impl S3Fifo {
    pub fn new(capacity: u64, small_percent: u64) -> Self {
        Self { queues: Queues::default(), small_percent, capacity }
    }

    fn main_is_above(&self, units: u64) -> bool {
        units * 100 > self.capacity * (100 - self.small_percent)
    }

    fn evict(&mut self) {
        if self.queues.s.units() * 100 >= self.capacity * self.small_percent || self.queues.m.0.is_empty() {
            self.evict_s();
        } else {
            self.queues.evict_m();
        }
    }

    fn evict_s(&mut self) {
        let mut evicted = false;
        while !evicted && !self.queues.s.0.is_empty() {
            let (item, size) = self.queues.s.pop_oldest();
            if self.queues.freq[&item] > 1 {
                self.queues.m.push(item, size);
                if self.main_is_above(self.queues.m.units()) {
                    self.queues.evict_m();
                }
            } else {
                self.queues.g.push(item, size);
                while self.main_is_above(self.queues.g.units()) {
                    self.queues.g.pop_oldest();
                }
                evicted = true;
            }
        }
    }
}

impl Twin for S3Fifo {
    fn access(&mut self, item: u32, size: u64, _: u32) -> bool {
        if self.queues.hit(item) {
            return true;
        }
        while self.queues.s.units() + self.queues.m.units() + size > self.capacity {
            self.evict();
        }
        let came_back = self.queues.g.take(item).is_some();
        let list = if came_back { &mut self.queues.m } else { &mut self.queues.s };
        list.push(item, size);
        self.queues.freq.insert(item, 0);
        false
    }

    fn remove(&mut self, item: u32) {
        self.queues.remove(item);
    }

    fn cached(&self) -> Vec<u32> {
        union(&[&self.queues.s, &self.queues.m])
    }
}

/// S3-FIFO according to libCacheSim; the policy's file states these rules.
pub struct S3Simulated {
    queues: Queues,
    small: u64,
    ghost: u64,
    has_evicted: bool,
    capacity: u64,
}

impl S3Simulated {
    pub fn new(capacity: u64, small_percent: u64) -> Self {
        let (small, ghost) = (capacity * small_percent / 100, capacity * (100 - small_percent) / 100);
        Self { queues: Queues::default(), small, ghost, has_evicted: false, capacity }
    }

    fn evict(&mut self) {
        self.has_evicted = true;
        if self.queues.m.units() > self.capacity - self.small || self.queues.s.0.is_empty() {
            return self.queues.evict_m();
        }
        while !self.queues.s.0.is_empty() {
            let (item, size) = self.queues.s.pop_oldest();
            if self.queues.freq[&item] < 2 {
                self.queues.g.push(item, size);
                self.queues.g.forget_above(self.ghost);
                return;
            }
            self.queues.m.push(item, size);
            self.queues.freq.insert(item, 0);
        }
    }
}

impl Twin for S3Simulated {
    fn access(&mut self, item: u32, size: u64, _: u32) -> bool {
        if self.queues.hit(item) {
            return true;
        }
        let came_back = self.queues.g.take(item).is_some();
        while self.queues.s.units() + self.queues.m.units() + size > self.capacity {
            self.evict();
        }
        let overflow = !self.has_evicted && self.queues.s.units() >= self.small;
        let list = if came_back || overflow { &mut self.queues.m } else { &mut self.queues.s };
        list.push(item, size);
        self.queues.freq.insert(item, 0);
        false
    }

    fn remove(&mut self, item: u32) {
        self.queues.remove(item);
    }

    fn cached(&self) -> Vec<u32> {
        union(&[&self.queues.s, &self.queues.m])
    }
}
