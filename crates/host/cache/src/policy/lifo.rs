//! LIFO: evicts the item inserted last.
//!
//! ```text
//! hit(x):   nothing
//! miss(x):  while x does not fit: evict the newest;  x becomes the newest
//! ```
//! The first items stay forever; a loop just larger than the cache misses little. Source: Coffman, Denning, "Operating
//! systems theory", Prentice-Hall 1973, section 6.2.

use super::{Policy, PolicyInfo, PolicyRules};
use crate::Access;
use crate::lists::Lists;

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "lifo",
    help: "Evicts the item inserted last.",
    source: "Coffman, Denning 1973",
    parameters: &[],
    role: PolicyRules::any_size(&|_, capacity, items| Box::new(Lifo { pile: Lists::new(items), capacity })),
};

#[derive(Debug)]
struct Lifo {
    pile: Lists<1>,
    capacity: u64,
}

impl Policy for Lifo {
    fn access(&mut self, access: Access, evicted: &mut Vec<u32>) -> bool {
        if self.pile.has(access.item) {
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
