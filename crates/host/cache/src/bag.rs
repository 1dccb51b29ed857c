//! An unordered set of numbered items that supports random draws.

use ssdlab_core::Rng;

use crate::per_item::{PerItem, reserve};

#[derive(Clone, Copy, Debug)]
struct Place {
    at: u32,
    size: u32,
}

const ABSENT: Place = Place { at: u32::MAX, size: 0 };

#[derive(Debug)]
pub(crate) struct Bag {
    items: Vec<u32>,
    place: PerItem<Place>,
    units: u64,
    /// Maximum number of items in the bag.
    capacity: u64,
}

impl Bag {
    /// Creates an empty bag for items `0..items`. The bag holds at most `capacity` items.
    pub fn new(items: u32, capacity: u64) -> Self {
        let mut bag = Self { items: Vec::new(), place: PerItem::new(ABSENT, 0), units: 0, capacity };
        bag.grow(items);
        bag
    }

    pub fn grow(&mut self, items: u32) {
        self.place.grow(items);
        reserve(&mut self.items, self.place.len(), self.capacity);
    }

    pub fn bytes(&self) -> usize {
        self.place.bytes() + self.items.capacity() * size_of::<u32>()
    }

    #[inline]
    pub fn prefetch(&self, item: u32) {
        self.place.prefetch(item);
    }

    #[inline]
    pub fn has(&self, item: u32) -> bool {
        self.place[item].size > 0
    }

    /// Returns the size of an item in the bag, in units.
    #[inline]
    pub fn size(&self, item: u32) -> u32 {
        self.place[item].size
    }

    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns the total size in units of all items in the bag.
    pub fn units(&self) -> u64 {
        self.units
    }

    /// Draws an item of the bag uniformly at random; None if the bag is empty.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> Option<u32> {
        (!self.items.is_empty()).then(|| self.items[rng.below(self.items.len() as u64) as usize])
    }

    /// Adds an item that is not in the bag yet.
    pub fn push(&mut self, item: u32, size: u32) {
        self.place[item] = Place { at: self.items.len() as u32, size };
        self.items.push(item);
        self.units += u64::from(size);
    }

    /// Removes an item; the last item of the array moves into the gap.
    pub fn remove(&mut self, item: u32) {
        let Place { at, size } = std::mem::replace(&mut self.place[item], ABSENT);
        self.units -= u64::from(size);
        self.items.swap_remove(at as usize);
        if let Some(&moved) = self.items.get(at as usize) {
            self.place[moved].at = at;
        }
    }

    /// Removes an item, if the bag holds it; returns true if it did.
    pub fn discard(&mut self, item: u32) -> bool {
        let has = self.has(item);
        if has {
            self.remove(item);
        }
        has
    }
}
