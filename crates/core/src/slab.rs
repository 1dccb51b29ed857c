//! Things that come and go, each under a number that is its own while it is there.

use std::ops::{Index, IndexMut};

/// Numbered things; the number given up last is given out first.
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
    /// Things there are.
    pub fn len(&self) -> usize {
        self.items.len() - self.free.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a thing; its number.
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

    /// Gives a number up; what it stood for can be read until another gets it.
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
