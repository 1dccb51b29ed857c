//! Hash functions for page numbers, suited to access patterns with runs and strides.

use crate::PageId;

/// Returns a hash in which all bits are well mixed: the finaliser of MurmurHash3.
#[inline]
pub fn hash(id: PageId) -> u64 {
    let mut h = id;
    h = (h ^ (h >> 33)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    h = (h ^ (h >> 33)).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    h ^ (h >> 33)
}

/// Number of buckets per cache line. Each bucket is a 4-byte slot number.
const NEIGHBOURS: u64 = 16;

/// Returns the bucket of a page; `buckets` must be a power of two. Consecutive pages have adjacent buckets, so that a
/// sequential read misses the processor's cache only once per cache line. Pages at larger strides are still spread over
/// the table.
#[inline]
pub fn bucket(id: PageId, buckets: usize) -> usize {
    (hash(id / NEIGHBOURS) ^ (id % NEIGHBOURS)) as usize & (buckets - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::collections::BTreeSet;

    const BUCKETS: usize = 4096;

    /// As many random pages as there are buckets would use 63 % of the buckets.
    #[test]
    fn strides_of_pages_are_spread_over_buckets() {
        for stride in (1..=64).chain([100, 4096, 1 << 20]) {
            let used: BTreeSet<usize> = (0..BUCKETS as u64).map(|number| bucket(number * stride, BUCKETS)).collect();
            assert!(used.len() > BUCKETS * 55 / 100, "stride {stride}: {} buckets", used.len());
        }
    }

    #[test]
    fn consecutive_pages_have_adjacent_buckets() {
        for first in (0..1 << 20).step_by(16 * 1001) {
            let used: BTreeSet<usize> = (first..first + 16).map(|id| bucket(id, BUCKETS)).collect();
            assert_eq!(used.len(), 16);
            assert!(used.last().unwrap() - used.first().unwrap() == 15);
        }
    }
}
