//! Tables with a value for each item.

use std::ops::{Deref, DerefMut, Index, IndexMut};

use ssdlab_core::HugeVec;
use ssdlab_core::mem::prefetch;

/// A value for each item, by item number. A new item has the value `absent`.
#[derive(Clone, Debug)]
pub(crate) struct PerItem<T: Copy> {
    values: HugeVec<T>,
    absent: T,
}

impl<T: Copy> PerItem<T> {
    /// Creates the table for items `0..items`.
    pub fn new(absent: T, items: u32) -> Self {
        Self { values: HugeVec::filled(absent, items as usize), absent }
    }

    /// Enlarges the table, so that it can hold items `0..items`.
    pub fn grow(&mut self, items: u32) {
        grow(&mut self.values, self.absent, items as usize);
    }

    pub fn bytes(&self) -> usize {
        size_of_val(&*self.values)
    }

    #[inline]
    pub fn prefetch(&self, item: u32) {
        prefetch(&self.values, item as usize);
    }
}

impl<T: Copy> Index<u32> for PerItem<T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, item: u32) -> &T {
        &self.values[item as usize]
    }
}

impl<T: Copy> IndexMut<u32> for PerItem<T> {
    #[inline(always)]
    fn index_mut(&mut self, item: u32) -> &mut T {
        &mut self.values[item as usize]
    }
}

impl<T: Copy> Deref for PerItem<T> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.values
    }
}

impl<T: Copy> DerefMut for PerItem<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.values
    }
}

/// Extends `values` to at least `len` entries with copies of `value`; if `values` must grow, its length at least
/// doubles.
pub(crate) fn grow<T: Copy>(values: &mut HugeVec<T>, value: T, len: usize) {
    if len > values.len() {
        let mut larger = HugeVec::filled(value, len.max(values.len() * 2));
        larger[..values.len()].copy_from_slice(values);
        *values = larger;
    }
}

/// Reserves space in `values` for the maximum number of cached items: the smaller of `items` and `capacity`.
pub(crate) fn reserve<T>(values: &mut Vec<T>, items: usize, capacity: u64) {
    let most = usize::try_from(capacity).unwrap_or(usize::MAX).min(items);
    values.reserve_exact(most.saturating_sub(values.len()));
}
