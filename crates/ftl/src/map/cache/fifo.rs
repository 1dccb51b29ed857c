//! FIFO: the item cached longest ago gives way.

use std::collections::VecDeque;

use super::CachePolicy;

/// For help texts.
pub const HELP: &str = "the one cached longest ago";

pub(super) struct Fifo {
    /// Cached items, oldest first.
    order: VecDeque<u32>,
    capacity: usize,
}

impl Fifo {
    pub fn new(capacity: u32) -> Self {
        Self { order: VecDeque::new(), capacity: capacity as usize }
    }
}

impl CachePolicy for Fifo {
    fn hit(&mut self, _item: u32) {}

    fn admit(&mut self, item: u32) -> Option<u32> {
        let victim = if self.order.len() < self.capacity { None } else { self.order.pop_front() };
        self.order.push_back(item);
        victim
    }
}
