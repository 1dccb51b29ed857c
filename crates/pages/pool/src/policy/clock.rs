//! CLOCK: FIFO with a second chance for pages that were used since they were inserted or last passed by the hand
//! (Corbató 1968).

use super::links::{Links, List};
use super::used::Used;
use super::{Policy, PoolPolicyInfo};
use crate::PageId;

pub(crate) static INFO: PoolPolicyInfo = PoolPolicyInfo {
    name: "clock",
    help: "FIFO with a second chance for used pages.",
    source: "Corbato 1968",
    parameters: &[],
    role: |_| Box::new(Clock::default()),
};

#[derive(Default)]
struct Clock {
    links: Links,
    list: List,
    used: Used,
}

impl Policy for Clock {
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
        self.links.remove(&mut self.list, slot);
    }

    fn victim(&mut self, evictable: &mut dyn FnMut(u32) -> bool) -> Option<u32> {
        // The hand may need two rounds: if all pages were used, the first round only clears their flags.
        for _ in 0..2 * self.list.len {
            let slot = self.links.pop_oldest(&mut self.list)?;
            if !self.used.take(slot) && evictable(slot) {
                return Some(slot);
            }
            self.links.push(&mut self.list, slot);
        }
        None
    }

    fn bytes(&self) -> usize {
        self.links.bytes() + self.used.bytes()
    }
}
