//! Shared implementation of FIFO, LIFO, LRU and MRU, which keep all cached items in one list.

use super::{Policy, make_room};
use crate::Access;
use crate::lists::Lists;

/// With `RENEWS`, an item that is used becomes the newest. With `NEWEST`, the newest item is evicted instead of the
/// oldest.
#[derive(Debug)]
pub(super) struct OneList<const RENEWS: bool, const NEWEST: bool> {
    list: Lists<1>,
    capacity: u64,
}

impl<const RENEWS: bool, const NEWEST: bool> OneList<RENEWS, NEWEST> {
    pub fn new(capacity: u64, items: u32) -> Self {
        Self { list: Lists::new(items), capacity }
    }
}

impl<const RENEWS: bool, const NEWEST: bool> Policy for OneList<RENEWS, NEWEST> {
    fn access(&mut self, Access { item, size, .. }: Access, evicted: &mut Vec<u32>) -> bool {
        if self.list.has(item) {
            if RENEWS {
                self.list.renew(item);
            }
            return true;
        }
        make_room(self, size, evicted);
        self.list.push(0, item, size);
        false
    }

    fn victim(&mut self) -> Option<u32> {
        if NEWEST { self.list.pop_newest(0) } else { self.list.pop_oldest(0) }
    }

    super::listed!(list, 1);
}
