//! FIFO: evicts the page that was inserted first.

use super::links::{Links, List};
use super::{Policy, PoolPolicyInfo};
use crate::PageId;

pub(crate) static INFO: PoolPolicyInfo = PoolPolicyInfo {
    name: "fifo",
    help: "Evicts pages in the order of arrival.",
    source: "",
    parameters: &[],
    role: |_| Box::new(Fifo::default()),
};

#[derive(Default)]
struct Fifo {
    links: Links,
    list: List,
}

impl Policy for Fifo {
    fn grow(&mut self, slots: usize) {
        self.links.grow(slots);
    }

    fn insert(&mut self, slot: u32, _: PageId) {
        self.links.push(&mut self.list, slot);
    }

    fn hit(&self, _: u32) {}

    fn remove(&mut self, slot: u32) {
        self.links.remove(&mut self.list, slot);
    }

    fn victim(&mut self, evictable: &mut dyn FnMut(u32) -> bool) -> Option<u32> {
        for _ in 0..self.list.len {
            let slot = self.links.pop_oldest(&mut self.list)?;
            if evictable(slot) {
                return Some(slot);
            }
            self.links.push(&mut self.list, slot);
        }
        None
    }

    fn bytes(&self) -> usize {
        self.links.bytes()
    }
}
