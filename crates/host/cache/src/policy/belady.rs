//! Belady's MIN: evicts the item with the farthest next use. If all items have the same size, no policy has fewer
//! misses.
//!
//! ```text
//! hit(x):   update the next use of x
//! miss(x):  if bypass = 1, x does not fit, and no item has a farther next use than x: reject x
//!           while x does not fit: evict the item with the farthest next use, or none
//!           insert x with its next use
//! ```
//! Newcomers are always inserted, as in demand paging, unless `bypass` = 1. With bypass, not even policies that reject
//! items have fewer misses. With items of different sizes the rule is only a heuristic. Source: Belady, "A study of
//! replacement algorithms for a virtual-storage computer", IBM Systems Journal 5(2), 1966. It is a stack algorithm:
//! Mattson et al., IBM Systems Journal 9(2), 1970.

use std::cmp::Reverse;

use ssdlab_core::Parameter;

use super::{Policy, PolicyInfo, PolicyRules, make_room};
use crate::Access;
use crate::curve::exact;
use crate::heap::Heap;

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "belady",
    help: "Offline: evicts the item with the farthest next use; optimal if items have equal size and are not rejected.",
    source: "Belady 1966",
    parameters: &[Parameter::switch(
        "bypass",
        false,
        "True (1) to reject a new item that does not fit, if no cached item has a farther next use.",
    )],
    role: PolicyRules {
        needs_future: true,
        one_pass: Some(exact::belady),
        ..PolicyRules::any_size(&|settings, capacity, items| {
            Box::new(Belady { heap: Heap::new(items, capacity), bypass: settings.is_set("bypass"), capacity })
        })
    },
};

#[derive(Debug)]
struct Belady {
    /// Cached items, keyed by the position of their next use: farthest use on top; on ties, the lowest item number.
    heap: Heap<(Reverse<u32>, u32)>,
    bypass: bool,
    capacity: u64,
}

impl Belady {
    /// True if an item of this size does not fit into the cache without an eviction.
    fn is_full(&self, size: u32) -> bool {
        self.heap.units() + u64::from(size) > self.capacity
    }
}

impl Policy for Belady {
    fn access(&mut self, access: Access, evicted: &mut Vec<u32>) -> bool {
        if self.heap.has(access.item) {
            self.heap.set(access.item, (Reverse(access.next), access.item));
            return true;
        }
        let key = (Reverse(access.next), access.item);
        if self.bypass && self.is_full(access.size) && self.heap.least().is_some_and(|(least, _)| key <= least) {
            evicted.push(access.item);
            return false;
        }
        make_room(self, access.size, evicted);
        self.heap.push(access.item, access.size, key);
        false
    }

    fn victim(&mut self) -> Option<u32> {
        self.heap.pop()
    }

    super::held!(heap);
}
