//! FIFO: evicts the item inserted first.
//!
//! ```text
//! hit(x):   nothing
//! miss(x):  while x does not fit: evict the oldest;  x becomes the newest
//! ```
//! Source: Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems Journal 5(2), 1966.

use super::{Policy, PolicyInfo, PolicyRules};
use crate::Access;
use crate::lists::Lists;

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "fifo",
    help: "Evicts the item inserted first.",
    source: "Belady 1966",
    parameters: &[],
    role: PolicyRules::any_size(&|_, capacity, items| Box::new(Fifo { queue: Lists::new(items), capacity })),
};

#[derive(Debug)]
struct Fifo {
    queue: Lists<1>,
    capacity: u64,
}

impl Policy for Fifo {
    fn access(&mut self, access: Access, evicted: &mut Vec<u32>) -> bool {
        if self.queue.has(access.item) {
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
