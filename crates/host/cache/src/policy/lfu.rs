//! LFU: evicts the item with the fewest uses since its insertion; the least recently used on ties.
//!
//! ```text
//! hit(x):   increment uses(x)
//! miss(x):  while x does not fit: evict the item with the fewest uses, the least recently used on ties
//!           insert x with one use
//! ```
//! Eviction resets the uses of an item. Source: Coffman, Denning, "Operating systems theory", Prentice-Hall 1973,
//! section 6.2; the tie-break follows most implementations.

use super::{Policy, PolicyInfo, PolicyRules, make_room};
use crate::Access;
use crate::heap::Heap;

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "lfu",
    help: "Evicts the item with the fewest uses since its insertion.",
    source: "Coffman, Denning 1973",
    parameters: &[],
    role: PolicyRules::any_size(&|_, capacity, items| {
        Box::new(Lfu { heap: Heap::new(items, capacity), now: 0, capacity })
    }),
};

#[derive(Debug)]
struct Lfu {
    /// Cached items by number of uses and time of the last use.
    heap: Heap<(u64, u64)>,
    /// Number of accesses to the cache so far, which is the policy's clock.
    now: u64,
    capacity: u64,
}

impl Policy for Lfu {
    fn access(&mut self, access: Access, evicted: &mut Vec<u32>) -> bool {
        self.now += 1;
        if self.heap.has(access.item) {
            let (uses, _) = self.heap.key(access.item);
            self.heap.set(access.item, (uses + 1, self.now));
            return true;
        }
        make_room(self, access.size, evicted);
        self.heap.push(access.item, access.size, (1, self.now));
        false
    }

    fn victim(&mut self) -> Option<u32> {
        self.heap.pop()
    }

    super::held!(heap);
}
