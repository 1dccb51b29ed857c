//! MRU: evicts the most recently used item.
//!
//! ```text
//! hit(x):   x becomes the newest
//! miss(x):  while x does not fit: evict the newest;  x becomes the newest
//! ```
//! Optimal for a loop larger than the cache. Source: Chou, DeWitt, "An evaluation of buffer management strategies for
//! relational database systems", VLDB 1985. The order of evictions does not depend on the cache size, so MRU is a stack
//! algorithm (Mattson et al., IBM Systems Journal 9(2), 1970).

use super::{Policy, PolicyInfo, PolicyRules};
use crate::Access;
use crate::curve::exact;
use crate::lists::Lists;

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "mru",
    help: "Evicts the most recently used item.",
    source: "Chou, DeWitt, VLDB 1985",
    parameters: &[],
    role: PolicyRules {
        one_pass: Some(exact::mru),
        ..PolicyRules::any_size(&|_, capacity, items| Box::new(Mru { pile: Lists::new(items), capacity }))
    },
};

#[derive(Debug)]
struct Mru {
    pile: Lists<1>,
    capacity: u64,
}

impl Policy for Mru {
    fn access(&mut self, access: Access, evicted: &mut Vec<u32>) -> bool {
        if self.pile.has(access.item) {
            self.pile.renew(access.item);
            return true;
        }
        while self.pile.units(0) + u64::from(access.size) > self.capacity {
            evicted.extend(self.victim());
        }
        self.pile.push(0, access.item, access.size);
        false
    }

    fn victim(&mut self) -> Option<u32> {
        self.pile.pop_newest(0)
    }

    super::listed!(pile, 1);
}
