//! SIEVE: a hand moves over a FIFO from the oldest to the newest page and evicts the first unused page; used pages keep
//! their position.
//!
//! Source: Zhang, Yang, Yue, Vigfusson, Rashmi 2024, "SIEVE is Simpler than LRU", section 3.

use super::links::{Links, List, NONE};
use super::used::Used;
use super::{Policy, PoolPolicyInfo};
use crate::PageId;

pub(crate) static INFO: PoolPolicyInfo = PoolPolicyInfo {
    name: "sieve",
    help: "A hand moves over a FIFO and evicts the first page not used since the hand last passed it.",
    source: "Zhang et al., NSDI 2024",
    parameters: &[],
    role: |_| Box::new(Sieve { links: Links::default(), list: List::default(), hand: NONE, used: Used::default() }),
};

struct Sieve {
    links: Links,
    list: List,
    /// Next page for the hand to examine; with `NONE`, the hand starts at the oldest page.
    hand: u32,
    used: Used,
}

impl Policy for Sieve {
    fn grow(&mut self, slots: usize) {
        self.links.grow(slots);
        self.used.grow(slots);
    }

    fn insert(&mut self, slot: u32, _: PageId) {
        self.used.take(slot);
        self.links.push(&mut self.list, slot);
    }

    #[inline]
    fn hit(&self, slot: u32) {
        self.used.mark(slot);
    }

    fn remove(&mut self, slot: u32) {
        if self.hand == slot {
            self.hand = self.links.newer(slot);
        }
        self.links.remove(&mut self.list, slot);
    }

    fn victim(&mut self, evictable: &mut dyn FnMut(u32) -> bool) -> Option<u32> {
        for _ in 0..2 * self.list.len {
            let slot = if self.hand == NONE { self.links.oldest(&self.list) } else { self.hand };
            self.hand = self.links.newer(slot);
            if !self.used.take(slot) && evictable(slot) {
                self.links.remove(&mut self.list, slot);
                return Some(slot);
            }
        }
        None
    }

    fn bytes(&self) -> usize {
        self.links.bytes() + self.used.bytes()
    }
}
