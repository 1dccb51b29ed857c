//! Which pages left lately: their hashes in small buckets, where the latest overwrite the oldest.

use crate::PageId;
use crate::hash::hash;

const WAYS: usize = 4;

/// Remembers about as many departures as it was made for, each with how many came after it.
pub struct Ghosts {
    /// Tag and sequence number of the departure; sequence number 0 is empty.
    buckets: Box<[[(u32, u32); WAYS]]>,
    departures: u32,
}

impl Ghosts {
    /// A memory of about `pages` departures, doubled so that few are overwritten early.
    pub fn new(pages: usize) -> Self {
        let buckets = (2 * pages).next_power_of_two().div_ceil(WAYS);
        Self { buckets: vec![[(0, 0); WAYS]; buckets].into(), departures: 0 }
    }

    fn bucket(&mut self, id: PageId) -> (&mut [(u32, u32); WAYS], u32) {
        let hash = hash(id);
        let mask = self.buckets.len() - 1;
        (&mut self.buckets[(hash >> 32) as usize & mask], hash as u32)
    }

    /// Page `id` leaves.
    pub fn leave(&mut self, id: PageId) {
        // Number 0 is for empty places only.
        self.departures = self.departures.checked_add(1).unwrap_or(1);
        let departure = self.departures;
        let (bucket, tag) = self.bucket(id);
        let oldest = (0..WAYS).min_by_key(|&way| bucket[way].1).unwrap_or(0);
        let way = bucket.iter().position(|ghost| ghost.0 == tag).unwrap_or(oldest);
        bucket[way] = (tag, departure);
    }

    /// Forgets page `id` and says how many left after it, if it was remembered.
    pub fn back(&mut self, id: PageId) -> Option<u32> {
        let departures = self.departures;
        let (bucket, tag) = self.bucket(id);
        let ghost = bucket.iter_mut().find(|ghost| ghost.1 > 0 && ghost.0 == tag)?;
        let departure = std::mem::take(ghost).1;
        Some(departures.wrapping_sub(departure))
    }

    pub fn bytes(&self) -> usize {
        size_of_val(&*self.buckets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn departures_are_counted_from_the_page() {
        let mut ghosts = Ghosts::new(1 << 16);
        (0..10).for_each(|id| ghosts.leave(id));
        assert_eq!((ghosts.back(9), ghosts.back(0), ghosts.back(10)), (Some(0), Some(9), None));
        assert_eq!(ghosts.back(9), None);
        ghosts.leave(9);
        assert_eq!(ghosts.back(9), Some(0));
    }
}
