//! ARC: one LRU list of items used once and one of items used again; ghost hits adapt the sizes of the lists.
//!
//! ```text
//! T1, T2: cached, used once and more often;  B1, B2: ghosts of T1 and T2;  p: target size of T1, initially 0
//! I    x in T1 or T2:  x becomes the newest of T2
//! II   x in B1:        p = min(p + max(|B2| / |B1|, 1), c);  REPLACE;  x becomes the newest of T2
//! III  x in B2:        p = max(p - max(|B1| / |B2|, 1), 0);  REPLACE;  x becomes the newest of T2
//! IV   else:  |T1| + |B1| = c:  |T1| < c: forget the oldest of B1, REPLACE
//!                               else evict the oldest of T1, without a ghost
//!             else, all four >= c:  all four = 2c: forget the oldest of B2;  REPLACE
//!             x becomes the newest of T1
//! REPLACE:  T1 not empty and (|T1| > p, or |T1| = p and x in B2): evict the oldest of T1 to B1
//!           else evict the oldest of T2 to B2
//! ```
//! p is a real number, as in the paper. If removals have emptied T2, REPLACE takes from T1; with enough room it evicts
//! nothing. Source: Megiddo, Modha, "ARC: a self-tuning, low overhead replacement cache", FAST 2003, figure 4.

use super::{Policy, PolicyInfo, PolicyRules};
use crate::Access;
use crate::lists::{Lists, NOWHERE};

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "arc",
    help: "Two LRU lists, for items used once and items used again; ghost hits adapt their sizes.",
    source: "Megiddo, Modha, FAST 2003",
    parameters: &[],
    role: PolicyRules::one_size(&|_, capacity, items| {
        Box::new(Arc { lists: Lists::new(items), target: 0.0, capacity })
    }),
};

pub(super) const T1: u8 = 0;
pub(super) const T2: u8 = 1;
pub(super) const B1: u8 = 2;
pub(super) const B2: u8 = 3;

#[derive(Debug)]
struct Arc {
    lists: Lists<4>,
    /// Target size of T1 in units: p in the paper.
    target: f64,
    capacity: u64,
}

impl Arc {
    fn replace(&mut self, came_back_from: u8) -> Option<u32> {
        let once = self.lists.units(T1);
        let above = once as f64 > self.target || (came_back_from == B2 && once as f64 == self.target);
        let (from, to) = if once > 0 && (above || self.lists.units(T2) == 0) { (T1, B1) } else { (T2, B2) };
        self.lists.move_oldest(from, to)
    }
}

/// Drops ghosts as in case IV of the ARC paper; returns true if the oldest item of T1 must be evicted without becoming
/// a ghost.
pub(super) fn forget(lists: &mut Lists<4>, capacity: u64) -> bool {
    let [t1, t2, b1, b2] = [T1, T2, B1, B2].map(|list| lists.units(list));
    if t1 + b1 >= capacity {
        return lists.pop_oldest(B1).is_none();
    }
    if t1 + t2 + b1 + b2 >= 2 * capacity {
        lists.pop_oldest(B2);
    }
    false
}

/// Returns the target size of T1 after a hit in the ghost list `hit`, which is B1 or B2.
pub(super) fn adapted(target: f64, hit: u8, lists: &Lists<4>, capacity: u64) -> f64 {
    let [b1, b2] = [B1, B2].map(|list| lists.units(list) as f64);
    if hit == B1 { (target + (b2 / b1).max(1.0)).min(capacity as f64) } else { (target - (b1 / b2).max(1.0)).max(0.0) }
}

impl Policy for Arc {
    fn access(&mut self, Access { item, .. }: Access, evicted: &mut Vec<u32>) -> bool {
        let list = self.lists.list(item);
        if list == T1 || list == T2 {
            self.lists.move_to(T2, item);
            return true;
        }
        let is_full = self.used() == self.capacity;
        if list == B1 || list == B2 {
            self.target = adapted(self.target, list, &self.lists, self.capacity);
            if is_full {
                evicted.extend(self.replace(list));
            }
            self.lists.move_to(T2, item);
            return false;
        }
        if is_full {
            evicted.extend(self.victim());
        } else {
            forget(&mut self.lists, self.capacity);
        }
        self.lists.push(T1, item, 1);
        false
    }

    /// Evicts an item as in case IV of the ARC paper. If the access is a ghost hit, p is adapted only after this
    /// eviction.
    fn victim(&mut self) -> Option<u32> {
        if forget(&mut self.lists, self.capacity) { self.lists.pop_oldest(T1) } else { self.replace(NOWHERE) }
    }

    super::listed!(lists, 2);
}
