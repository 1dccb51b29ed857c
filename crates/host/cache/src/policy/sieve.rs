//! SIEVE: FIFO with a hand that evicts items not used since its last pass, and leaves used items in place.
//!
//! ```text
//! hit(x):    x is marked visited
//! miss(x):   while x does not fit:
//!                o = the item under the hand, the oldest if it is nowhere
//!                while o is visited: clear the mark, go to the next newer, from the newest to the oldest
//!                the hand goes to the next newer of o, or nowhere if o is the newest;  evict o
//!            x becomes the newest, not visited
//! ```
//! Source: Zhang, Yang, Yue, Vigfusson, Rashmi, "SIEVE is simpler than LRU: an efficient turn-key eviction algorithm
//! for web caches", NSDI 2024, algorithm 1.

use super::{Policy, PolicyInfo, PolicyRules, make_room};
use crate::Access;
use crate::lists::Lists;

pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "sieve",
    help: "FIFO with a hand that evicts items not used since its last pass, and leaves used items in place.",
    source: "Zhang et al., NSDI 2024",
    parameters: &[],
    role: PolicyRules::any_size(&|_, capacity, items| {
        Box::new(Sieve { queue: Lists::new(items), hand: None, capacity })
    }),
};

#[derive(Debug)]
struct Sieve {
    /// FIFO of the cached items; mark 1 means visited.
    queue: Lists<1>,
    hand: Option<u32>,
    capacity: u64,
}

impl Policy for Sieve {
    fn access(&mut self, Access { item, size, .. }: Access, evicted: &mut Vec<u32>) -> bool {
        if self.queue.has(item) {
            self.queue.set_mark(item, 1);
            return true;
        }
        make_room(self, size, evicted);
        self.queue.set_mark(item, 0);
        self.queue.push(0, item, size);
        false
    }

    fn victim(&mut self) -> Option<u32> {
        let mut at = self.hand.or(self.queue.oldest(0))?;
        while self.queue.mark(at) == 1 {
            self.queue.set_mark(at, 0);
            at = self.queue.newer(at).or(self.queue.oldest(0))?;
        }
        self.hand = self.queue.newer(at);
        self.queue.remove(at);
        Some(at)
    }

    fn remove(&mut self, item: u32) {
        if self.queue.has(item) {
            if self.hand == Some(item) {
                self.hand = self.queue.newer(item);
            }
            self.queue.remove(item);
        }
    }

    super::listed!(queue, 1, only);
    super::tables!(queue);
}
