//! A slab of items with stable numbers. Once an item has been removed, its number may be reused.

use std::ops::{Index, IndexMut};

/// Items with stable numbers; the number freed last is reused first.
#[derive(Debug)]
pub struct Slab<T> {
    items: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { items: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Returns the number of items in the slab.
    pub fn len(&self) -> usize {
        self.items.len() - self.free.len()
    }

    /// True if the slab holds no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds an item to the slab and returns its number.
    #[inline]
    pub fn insert(&mut self, item: T) -> u32 {
        if let Some(number) = self.free.pop() {
            self.items[number as usize] = item;
            number
        } else {
            self.items.push(item);
            self.items.len() as u32 - 1
        }
    }

    /// Removes an item and frees its number. The item can still be read until its number is reused.
    #[inline]
    pub fn remove(&mut self, number: u32) {
        self.free.push(number);
    }
}

impl<T> Index<u32> for Slab<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, number: u32) -> &T {
        &self.items[number as usize]
    }
}

impl<T> IndexMut<u32> for Slab<T> {
    #[inline(always)]
    fn index_mut(&mut self, number: u32) -> &mut T {
        &mut self.items[number as usize]
    }
}

/// Returns element `number` of a vector; extends the vector with defaults if necessary.
#[inline(always)]
pub fn numbered<T: Copy + Default>(items: &mut Vec<T>, number: u32) -> &mut T {
    if items.len() <= number as usize {
        fill(items, number);
    }
    &mut items[number as usize]
}

#[cold]
#[inline(never)]
fn fill<T: Copy + Default>(items: &mut Vec<T>, number: u32) {
    items.resize(number as usize + 1, T::default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_freed_last_is_reused_first() {
        let mut slab = Slab::default();
        assert!(slab.is_empty());
        assert_eq!(["a", "b", "c"].map(|item| slab.insert(item)), [0, 1, 2]);
        slab.remove(0);
        slab.remove(2);
        assert_eq!((slab.len(), slab[2], slab[1]), (1, "c", "b"));
        assert_eq!(["d", "e", "f"].map(|item| slab.insert(item)), [2, 0, 3]);
        slab[1] = "g";
        assert_eq!([0, 1, 2, 3].map(|number| slab[number]), ["e", "g", "d", "f"]);
    }
}
