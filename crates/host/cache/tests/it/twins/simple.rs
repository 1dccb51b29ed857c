//! Policies with one queue.

use std::collections::BTreeMap;

use ssdlab_core::Rng;

use super::{List, Twin, union};

macro_rules! one_list {
    () => {
        fn remove(&mut self, item: u32) {
            self.list.take(item);
        }

        fn cached(&self) -> Vec<u32> {
            union(&[&self.list])
        }
    };
}

macro_rules! simple {
    ($name:ident, renews: $renews:expr, newest_goes: $newest_goes:expr) => {
        pub struct $name {
            list: List,
            capacity: u64,
        }

        impl $name {
            pub fn new(capacity: u64) -> Self {
                Self { list: List::default(), capacity }
            }
        }

        impl Twin for $name {
            fn access(&mut self, item: u32, size: u64, _: u32) -> bool {
                if self.list.has(item) {
                    if $renews {
                        self.list.renew(item);
                    }
                    return true;
                }
                while self.list.units() + size > self.capacity {
                    let at = if $newest_goes { self.list.0.len() - 1 } else { 0 };
                    self.list.0.remove(at);
                }
                self.list.push(item, size);
                false
            }

            one_list!();
        }
    };
}

simple!(Fifo, renews: false, newest_goes: false);
simple!(Lifo, renews: false, newest_goes: true);
simple!(Lru, renews: true, newest_goes: false);
simple!(Mru, renews: true, newest_goes: true);

pub struct Random {
    list: List,
    capacity: u64,
    rng: Rng,
}

impl Random {
    pub fn new(capacity: u64, seed: u64) -> Self {
        Self { list: List::default(), capacity, rng: Rng::named(seed, "random replacement") }
    }
}

impl Twin for Random {
    fn access(&mut self, item: u32, size: u64, _: u32) -> bool {
        if self.list.has(item) {
            return true;
        }
        while self.list.units() + size > self.capacity {
            let at = self.rng.below(self.list.0.len() as u64) as usize;
            self.list.0.swap_remove(at);
        }
        self.list.push(item, size);
        false
    }

    fn remove(&mut self, item: u32) {
        let at = self.list.items().position(|other| other == item);
        if let Some(at) = at {
            self.list.0.swap_remove(at);
        }
    }

    fn cached(&self) -> Vec<u32> {
        union(&[&self.list])
    }
}

/// CLOCK as a circle, with an index as the hand; newcomers are inserted just behind it.
pub struct Clock {
    circle: Vec<(u32, u64, u64)>,
    hand: usize,
    most: u64,
    capacity: u64,
}

impl Clock {
    pub fn new(capacity: u64, bits: u64) -> Self {
        Self { circle: Vec::new(), hand: 0, most: (1 << bits) - 1, capacity }
    }

    fn take_at(&mut self, at: usize) {
        self.circle.remove(at);
        if at < self.hand {
            self.hand -= 1;
        }
        if self.hand == self.circle.len() {
            self.hand = 0;
        }
    }
}

impl Twin for Clock {
    fn access(&mut self, item: u32, size: u64, _: u32) -> bool {
        if let Some(entry) = self.circle.iter_mut().find(|entry| entry.0 == item) {
            entry.2 = (entry.2 + 1).min(self.most);
            return true;
        }
        while self.circle.iter().map(|entry| entry.1).sum::<u64>() + size > self.capacity {
            if self.circle[self.hand].2 == 0 {
                self.take_at(self.hand);
            } else {
                self.circle[self.hand].2 -= 1;
                self.hand = (self.hand + 1) % self.circle.len();
            }
        }
        self.circle.insert(self.hand, (item, size, 0));
        self.hand = (self.hand + 1) % self.circle.len();
        false
    }

    fn remove(&mut self, item: u32) {
        if let Some(at) = self.circle.iter().position(|entry| entry.0 == item) {
            self.take_at(at);
        }
    }

    fn cached(&self) -> Vec<u32> {
        self.circle.iter().map(|entry| entry.0).collect()
    }
}

pub struct Sieve {
    list: List,
    visited: BTreeMap<u32, bool>,
    /// Position of the hand.
    hand: Option<usize>,
    capacity: u64,
}

impl Sieve {
    pub fn new(capacity: u64) -> Self {
        Self { list: List::default(), visited: BTreeMap::new(), hand: None, capacity }
    }
}

impl Twin for Sieve {
    fn access(&mut self, item: u32, size: u64, _: u32) -> bool {
        if self.list.has(item) {
            self.visited.insert(item, true);
            return true;
        }
        while self.list.units() + size > self.capacity {
            let mut at = self.hand.unwrap_or(0);
            while self.visited[&self.list.0[at].0] {
                self.visited.insert(self.list.0[at].0, false);
                at = (at + 1) % self.list.0.len();
            }
            // The next newer item moves to the victim's position. If the victim is the newest item, the hand points
            // nowhere.
            self.list.0.remove(at);
            self.hand = (at < self.list.0.len()).then_some(at);
        }
        self.list.push(item, size);
        self.visited.insert(item, false);
        false
    }

    fn remove(&mut self, item: u32) {
        let at = self.list.items().position(|other| other == item);
        if let Some(at) = at {
            self.list.0.remove(at);
            self.hand = self.hand.map(|hand| if at < hand { hand - 1 } else { hand });
            self.hand = self.hand.filter(|&hand| hand < self.list.0.len());
        }
    }

    fn cached(&self) -> Vec<u32> {
        union(&[&self.list])
    }
}
