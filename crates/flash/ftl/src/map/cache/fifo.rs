//! FIFO: evicts the item that was cached first.

use std::collections::VecDeque;

use super::{CachePolicy, CachePolicyInfo};
use ssdlab_core::{Archive, Archived};

/// Registry entry of this map cache policy.
pub static INFO: CachePolicyInfo = CachePolicyInfo {
    name: "fifo",
    help: "evicts the entry that was cached first",
    source: "",
    parameters: &[],
    role: |_, capacity| Box::new(Fifo { order: VecDeque::new(), capacity: capacity as usize }),
};

struct Fifo {
    /// Cached items, oldest first.
    order: VecDeque<u32>,
    capacity: usize,
}

impl CachePolicy for Fifo {
    fn hit(&mut self, _item: u32) {}

    fn admit(&mut self, item: u32) -> Option<u32> {
        let victim = if self.order.len() < self.capacity { None } else { self.order.pop_front() };
        self.order.push_back(item);
        victim
    }

    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        let Self { order, capacity: _ } = self;
        archive.value(order)
    }
}
