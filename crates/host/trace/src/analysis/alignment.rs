//! Counts requests by the alignment of their addresses and sizes.

use super::by_kind::{ByKind, KINDS};
use crate::Request;

/// Binary logarithm of the largest alignment in bytes that is counted separately.
const LARGEST: u32 = 20;

#[derive(Clone, Debug, Default)]
pub(super) struct Alignment {
    addresses: [ByKind; LARGEST as usize + 1],
    wholes: [ByKind; LARGEST as usize + 1],
}

/// Request counts for one alignment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AlignmentCount {
    /// Alignment in bytes, a power of two. The entry for 1 MiB includes all larger alignments.
    pub bytes: u64,
    /// Number of requests whose address is a multiple of this alignment, but not of a larger one.
    pub addresses: ByKind,
    /// Number of requests for which this is the largest alignment that divides both address and size.
    pub wholes: ByKind,
}

impl Alignment {
    #[inline]
    pub fn add(&mut self, request: &Request) {
        let kind = request.op as usize;
        let address = request.offset | 1 << LARGEST;
        self.addresses[address.trailing_zeros() as usize][kind] += 1;
        self.wholes[(address | u64::from(request.bytes)).trailing_zeros() as usize][kind] += 1;
    }

    /// Returns a row for each alignment that occurs, in ascending order.
    pub fn rows(&self) -> Vec<AlignmentCount> {
        let both = self.addresses.iter().zip(&self.wholes).enumerate();
        let rows = both.map(|(power, (&addresses, &wholes))| AlignmentCount { bytes: 1 << power, addresses, wholes });
        rows.filter(|row| (row.addresses, row.wholes) != ([0; KINDS], [0; KINDS])).collect()
    }
}
