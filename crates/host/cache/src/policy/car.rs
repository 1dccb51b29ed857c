//! CAR: ARC with clocks in place of the LRU lists, so that a hit only sets a bit.
//!
//! ```text
//! T1, T2: clocks of cached items;  B1, B2: ghosts of T1 and T2;  p: target size of T1, initially 0
//! hit(x):   the bit of x is set
//! miss(x):  T1 and T2 full:
//!               REPLACE
//!               x in neither B1 nor B2:  |T1| + |B1| = c: forget the oldest of B1
//!                                        else all four = 2c: forget the oldest of B2
//!           x in B1:  p = min(p + max(1, |B2| / |B1|), c);  x goes to the tail of T2, bit clear
//!           x in B2:  p = max(p - max(1, |B1| / |B2|), 0);  x goes to the tail of T2, bit clear
//!           else:     x goes to the tail of T1, bit clear
//! REPLACE, until one was evicted:
//!           |T1| >= max(1, p):  head of T1:  bit clear: evict it to B1;  else clear the bit, to the tail of T2
//!           else:               head of T2:  bit clear: evict it to B2;  else clear the bit, to the tail of T2
//! ```
//! p is a real number. Source: Bansal, Modha, "CAR: clock with adaptive replacement", FAST 2004, figure 2.

use super::arc::{self, B1, B2, T1, T2};
use super::{Policy, PolicyInfo, PolicyRules};
use crate::Access;
use crate::lists::Lists;

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "car",
    help: "ARC with clocks in place of the LRU lists.",
    source: "Bansal, Modha, FAST 2004",
    parameters: &[],
    role: PolicyRules::one_size(&|_, capacity, items| {
        Box::new(Car { lists: Lists::new(items), target: 0.0, capacity })
    }),
};

#[derive(Debug)]
struct Car {
    lists: Lists<4>,
    /// Target size of T1 in units: p in the paper.
    target: f64,
    capacity: u64,
}

impl Policy for Car {
    fn access(&mut self, Access { item, .. }: Access, evicted: &mut Vec<u32>) -> bool {
        let list = self.lists.list(item);
        if list == T1 || list == T2 {
            self.lists.set_mark(item, 1);
            return true;
        }
        let came_back = list == B1 || list == B2;
        if self.used() == self.capacity {
            evicted.extend(self.victim());
        }
        if !came_back {
            // Moving an evicted item to a ghost list changes neither |T1| + |B1| nor the total size of the four lists.
            // If the cache is not full, these sums can reach their limits only after items were removed.
            arc::forget(&mut self.lists, self.capacity);
        }
        self.lists.set_mark(item, 0);
        if !came_back {
            self.lists.push(T1, item, 1);
            return false;
        }
        self.target = arc::adapted(self.target, list, &self.lists, self.capacity);
        self.lists.move_to(T2, item);
        false
    }

    /// Runs REPLACE of the CAR paper; its choice does not depend on the newcomer.
    fn victim(&mut self) -> Option<u32> {
        loop {
            let once = self.lists.units(T1);
            // T2 may be empty because its items were removed.
            let first = once as f64 >= self.target.max(1.0) || self.lists.units(T2) == 0;
            let (from, to) = if first { (T1, B1) } else { (T2, B2) };
            let item = self.lists.oldest(from)?;
            if self.lists.mark(item) == 0 {
                self.lists.move_to(to, item);
                return Some(item);
            }
            self.lists.set_mark(item, 0);
            self.lists.move_to(T2, item);
        }
    }

    super::listed!(lists, 2);
}
