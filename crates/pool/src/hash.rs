//! Spreads page numbers, which come in runs and strides, over buckets and shards.

use crate::PageId;

/// A hash of which any bits may be used: the finaliser of MurmurHash3.
#[inline]
pub fn hash(id: PageId) -> u64 {
    let mut h = id;
    h = (h ^ (h >> 33)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    h = (h ^ (h >> 33)).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    h ^ (h >> 33)
}

/// Buckets in a line of the processor's caches, where each is the number of its first entry.
const NEIGHBOURS: u64 = 16;

/// The bucket of a page in a table of so many, a power of two. Pages in a row have theirs side by side, so that whoever
/// reads them in turn waits for memory once in that many; strides are spread all the same.
#[inline]
pub fn bucket(id: PageId, buckets: usize) -> usize {
    (hash(id / NEIGHBOURS) ^ (id % NEIGHBOURS)) as usize & (buckets - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::collections::BTreeSet;

    const BUCKETS: usize = 4096;

    /// As many pages as buckets, at random, find 63 % of these.
    #[test]
    fn strides_of_pages_are_spread_over_buckets() {
        for stride in (1..=64).chain([100, 4096, 1 << 20]) {
            let used: BTreeSet<usize> = (0..BUCKETS as u64).map(|number| bucket(number * stride, BUCKETS)).collect();
            assert!(used.len() > BUCKETS * 55 / 100, "stride {stride}: {} buckets", used.len());
        }
    }

    #[test]
    fn pages_in_a_row_have_buckets_of_their_own_side_by_side() {
        for first in (0..1 << 20).step_by(16 * 1001) {
            let used: BTreeSet<usize> = (first..first + 16).map(|id| bucket(id, BUCKETS)).collect();
            assert_eq!(used.len(), 16);
            assert!(used.last().unwrap() - used.first().unwrap() == 15);
        }
    }
}
