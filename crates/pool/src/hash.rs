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
