//! LRU: evicts the least recently used item.

use super::{CachePolicy, CachePolicyInfo};
use ssdlab_core::list::Queue;
use ssdlab_core::{Archive, Archived};

/// Registry entry of this map cache policy.
pub static INFO: CachePolicyInfo = CachePolicyInfo {
    name: "lru",
    help: "evicts the least recently used entry",
    source: "",
    parameters: &[],
    role: |items, capacity| Box::new(Lru { order: Queue::new(items), free: capacity }),
};

struct Lru {
    /// Cached items, least recently used first.
    order: Queue,
    free: u32,
}

impl CachePolicy for Lru {
    fn hit(&mut self, item: u32) {
        self.order.renew(item);
    }

    fn admit(&mut self, item: u32) -> Option<u32> {
        let victim = if self.free > 0 { None } else { self.order.oldest() };
        match victim {
            Some(victim) => self.order.remove(victim),
            None => self.free -= 1,
        }
        self.order.push(item);
        victim
    }

    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        let Self { order, free } = self;
        archive.value(order)?;
        archive.value(free)
    }
}
