//! LRU: the item used longest ago gives way.

use super::CachePolicy;
use ssdlab_core::list::Queue;

/// For help texts.
pub const HELP: &str = "the one used longest ago";

pub(super) struct Lru {
    /// Cached items, used longest ago first.
    order: Queue,
    free: u32,
}

impl Lru {
    pub fn new(items: u32, capacity: u32) -> Self {
        Self { order: Queue::new(items), free: capacity }
    }
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
}
