//! Ghost entries of recently evicted pages: hashes stored in small buckets, in which new entries overwrite the oldest.

use crate::PageId;
use crate::hash::hash;

const WAYS: usize = 4;

/// Recently evicted pages. The age of a page is the number of evictions after the page's own eviction.
pub struct Ghosts {
    /// Buckets of entries: the page's tag and the sequence number of its eviction. Number 0 marks an empty entry.
    buckets: Box<[[(u32, u32); WAYS]]>,
    evictions: u32,
}

impl Ghosts {
    /// Creates a table for about `pages` evictions. It has twice as many entries, so that few entries are overwritten
    /// early.
    pub fn new(pages: usize) -> Self {
        let buckets = (2 * pages).next_power_of_two().div_ceil(WAYS);
        Self { buckets: vec![[(0, 0); WAYS]; buckets].into(), evictions: 0 }
    }

    fn bucket(&mut self, id: PageId) -> (&mut [(u32, u32); WAYS], u32) {
        let hash = hash(id);
        let mask = self.buckets.len() - 1;
        (&mut self.buckets[(hash >> 32) as usize & mask], hash as u32)
    }

    pub fn insert(&mut self, id: PageId) {
        // Eviction number 0 marks an empty table entry, so the counter skips 0 when it wraps around.
        self.evictions = self.evictions.checked_add(1).unwrap_or(1);
        let eviction = self.evictions;
        let (bucket, tag) = self.bucket(id);
        let oldest = (0..WAYS).min_by_key(|&way| bucket[way].1).unwrap_or(0);
        let way = bucket.iter().position(|ghost| ghost.0 == tag).unwrap_or(oldest);
        bucket[way] = (tag, eviction);
    }

    /// Removes page `id` and returns the number of evictions since this page was evicted; `None` if the page is
    /// unknown.
    pub fn take(&mut self, id: PageId) -> Option<u32> {
        let evictions = self.evictions;
        let (bucket, tag) = self.bucket(id);
        let ghost = bucket.iter_mut().find(|ghost| ghost.1 > 0 && ghost.0 == tag)?;
        let eviction = std::mem::take(ghost).1;
        Some(evictions.wrapping_sub(eviction))
    }

    pub fn bytes(&self) -> usize {
        size_of_val(&*self.buckets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evictions_after_a_page_are_counted() {
        let mut ghosts = Ghosts::new(1 << 16);
        (0..10).for_each(|id| ghosts.insert(id));
        assert_eq!((ghosts.take(9), ghosts.take(0), ghosts.take(10)), (Some(0), Some(9), None));
        assert_eq!(ghosts.take(9), None);
        ghosts.insert(9);
        assert_eq!(ghosts.take(9), Some(0));
    }
}
