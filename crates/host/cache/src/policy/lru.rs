//! LRU: evicts the least recently used item.
//!
//! ```text
//! hit(x):   x becomes the newest
//! miss(x):  while x does not fit: evict the oldest;  x becomes the newest
//! ```
//! Source: Mattson, Gecsei, Slutz, Traiger, "Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2),
//! 1970, which shows that LRU is a stack algorithm.

use super::{Policy, PolicyInfo, PolicyRules};
use crate::Access;
use crate::curve::exact;
use crate::lists::Lists;

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "lru",
    help: "Evicts the least recently used item.",
    source: "Mattson et al. 1970",
    parameters: &[],
    role: PolicyRules {
        one_pass: Some(exact::lru),
        ..PolicyRules::any_size(&|_, capacity, items| Box::new(Lru { queue: Lists::new(items), capacity }))
    },
};

#[derive(Debug)]
struct Lru {
    queue: Lists<1>,
    capacity: u64,
}

impl Policy for Lru {
    fn access(&mut self, access: Access, evicted: &mut Vec<u32>) -> bool {
        if self.queue.has(access.item) {
            self.queue.renew(access.item);
            return true;
        }
        while self.queue.units(0) + u64::from(access.size) > self.capacity {
            evicted.extend(self.victim());
        }
        self.queue.push(0, access.item, access.size);
        false
    }

    fn victim(&mut self) -> Option<u32> {
        self.queue.pop_oldest(0)
    }

    super::listed!(queue, 1);
}
