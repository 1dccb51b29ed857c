//! A min-heap of numbered items whose keys can change.
//!
//! Each node has four children. The tree has half the levels of a binary heap, and the children of a node share a cache
//! line.

use crate::per_item::{PerItem, reserve};

const ABSENT: u32 = u32::MAX;
const CHILDREN: usize = 4;

#[derive(Clone, Copy, Debug)]
struct Entry<K> {
    key: K,
    item: u32,
    size: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Heap<K> {
    entries: Vec<Entry<K>>,
    /// Heap position of each item, or [`ABSENT`].
    at: PerItem<u32>,
    units: u64,
    /// Maximum number of items in the heap.
    capacity: u64,
}

impl<K: Copy + Ord> Heap<K> {
    /// Creates an empty heap for items `0..items`. The heap holds at most `capacity` items.
    pub fn new(items: u32, capacity: u64) -> Self {
        let mut heap = Self { entries: Vec::new(), at: PerItem::new(ABSENT, 0), units: 0, capacity };
        heap.grow(items);
        heap
    }

    pub fn grow(&mut self, items: u32) {
        self.at.grow(items);
        reserve(&mut self.entries, self.at.len(), self.capacity);
    }

    pub fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry<K>>() + self.at.bytes()
    }

    #[inline]
    pub fn prefetch(&self, item: u32) {
        self.at.prefetch(item);
    }

    #[inline]
    pub fn has(&self, item: u32) -> bool {
        self.at[item] != ABSENT
    }

    /// Returns the size in units of an item that is in the heap.
    pub fn size(&self, item: u32) -> u32 {
        self.entries[self.at[item] as usize].size
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the total size of all items, in units.
    pub fn units(&self) -> u64 {
        self.units
    }

    /// Returns the key of an item that is in the heap.
    pub fn key(&self, item: u32) -> K {
        self.entries[self.at[item] as usize].key
    }

    /// Returns the smallest key in the heap, with its item.
    pub fn least(&self) -> Option<(K, u32)> {
        self.entries.first().map(|entry| (entry.key, entry.item))
    }

    /// Adds an item that is not in the heap yet.
    pub fn push(&mut self, item: u32, size: u32, key: K) {
        self.units += u64::from(size);
        self.entries.push(Entry { key, item, size });
        self.up(self.entries.len() - 1);
    }

    /// Changes the key of an item that is in the heap.
    pub fn set(&mut self, item: u32, key: K) {
        let at = self.at[item] as usize;
        self.entries[at].key = key;
        self.settle(at);
    }

    /// Removes an item that is in the heap.
    pub fn remove(&mut self, item: u32) {
        let at = std::mem::replace(&mut self.at[item], ABSENT) as usize;
        self.units -= u64::from(self.entries.swap_remove(at).size);
        if at < self.entries.len() {
            self.settle(at);
        }
    }

    /// Removes an item, if the heap holds it; returns true if it did.
    pub fn discard(&mut self, item: u32) -> bool {
        let has = self.has(item);
        if has {
            self.remove(item);
        }
        has
    }

    /// Removes the item with the smallest key; returns the item.
    pub fn pop(&mut self) -> Option<u32> {
        let (_, item) = self.least()?;
        self.remove(item);
        Some(item)
    }

    fn settle(&mut self, at: usize) {
        let at = self.up(at);
        self.down(at);
    }

    fn up(&mut self, mut at: usize) -> usize {
        let entry = self.entries[at];
        while at > 0 {
            let parent = (at - 1) / CHILDREN;
            if self.entries[parent].key <= entry.key {
                break;
            }
            self.place(at, self.entries[parent]);
            at = parent;
        }
        self.place(at, entry);
        at
    }

    fn down(&mut self, mut at: usize) {
        let entry = self.entries[at];
        loop {
            let first = at * CHILDREN + 1;
            let last = (first + CHILDREN).min(self.entries.len());
            let Some(least) = (first..last).min_by_key(|&child| self.entries[child].key) else { break };
            if entry.key <= self.entries[least].key {
                break;
            }
            self.place(at, self.entries[least]);
            at = least;
        }
        self.place(at, entry);
    }

    #[inline]
    fn place(&mut self, at: usize, entry: Entry<K>) {
        self.entries[at] = entry;
        self.at[entry.item] = at as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #![proptest_config(ssdlab_tiers::cases(256))]

        /// Compares the heap with a `BTreeMap`; keys are made unique.
        #[test]
        fn the_smallest_key_is_on_top(steps in prop::collection::vec((0_u32..30, prop::option::weighted(0.8, 0_u32..50)), 0..300)) {
            let mut heap = Heap::new(0, 30);
            heap.grow(30);
            let mut map = BTreeMap::new();
            for (item, key) in steps {
                match key {
                    Some(key) => {
                        if heap.has(item) {
                            heap.set(item, (key, item));
                        } else {
                            heap.push(item, item + 1, (key, item));
                        }
                        map.insert(item, (key, item));
                    }
                    None if heap.has(item) => {
                        heap.remove(item);
                        map.remove(&item);
                    }
                    None => {}
                }
                prop_assert_eq!(heap.has(item), map.contains_key(&item));
                prop_assert_eq!(heap.units(), map.keys().map(|item| u64::from(item + 1)).sum::<u64>());
                prop_assert_eq!(heap.least(), map.values().min().map(|&key| (key, key.1)));
            }
        }
    }
}
