//! Shared implementation of LFU-DA, GreedyDual-Size and GDSF, which evict items by a value that ages.
//!
//! The victim is the item with the lowest value, and its value becomes the age of the cache. The age is added to the
//! values of items used from then on, so unused items fall behind. On ties, the least recently used item is evicted.

use super::{Policy, make_room};
use crate::Access;
use crate::heap::Heap;
use crate::per_item::PerItem;

#[derive(Debug)]
pub(super) struct GreedyDual<const USES: bool, const SIZES: bool> {
    /// Cached items by value (the bits of a non-negative float) and time of the last use.
    heap: Heap<(u64, u64)>,
    /// Number of uses of each item since its insertion; empty unless `USES`.
    uses: PerItem<u32>,
    /// Size of each cached item in units; empty unless `SIZES`.
    sizes: PerItem<u32>,
    age: f64,
    /// Number of accesses to the cache so far, which is the policy's clock.
    now: u64,
    capacity: u64,
}

impl<const USES: bool, const SIZES: bool> GreedyDual<USES, SIZES> {
    pub fn new(capacity: u64, items: u32) -> Self {
        let table = |used| PerItem::new(0, if used { items } else { 0 });
        Self { heap: Heap::new(items, capacity), uses: table(USES), sizes: table(SIZES), age: 0.0, now: 0, capacity }
    }

    fn key(&self, item: u32) -> (u64, u64) {
        let uses = if USES { f64::from(self.uses[item]) } else { 1.0 };
        let worth = if SIZES { uses / f64::from(self.sizes[item]) } else { uses };
        ((self.age + worth).to_bits(), self.now)
    }
}

impl<const USES: bool, const SIZES: bool> Policy for GreedyDual<USES, SIZES> {
    fn access(&mut self, Access { item, size, .. }: Access, evicted: &mut Vec<u32>) -> bool {
        self.now += 1;
        if self.heap.has(item) {
            if USES {
                let uses = &mut self.uses[item];
                *uses = uses.saturating_add(1);
            }
            self.heap.set(item, self.key(item));
            return true;
        }
        make_room(self, size, evicted);
        if USES {
            self.uses[item] = 1;
        }
        if SIZES {
            self.sizes[item] = size;
        }
        self.heap.push(item, size, self.key(item));
        false
    }

    fn victim(&mut self) -> Option<u32> {
        let ((value, _), item) = self.heap.least()?;
        self.age = f64::from_bits(value);
        self.heap.remove(item);
        Some(item)
    }

    fn remove(&mut self, item: u32) {
        self.heap.discard(item);
    }

    fn grow(&mut self, items: u32) {
        self.heap.grow(items);
        if USES {
            self.uses.grow(items);
        }
        if SIZES {
            self.sizes.grow(items);
        }
    }

    fn bytes(&self) -> usize {
        self.heap.bytes() + self.uses.bytes() + self.sizes.bytes()
    }

    #[inline]
    fn prefetch(&self, item: u32) {
        self.heap.prefetch(item);
    }

    super::held!(heap, only);
}
