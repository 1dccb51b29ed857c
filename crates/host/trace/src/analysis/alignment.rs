//! Counts the alignment of addresses and sizes.

use super::by_kind::{ByKind, KINDS};
use crate::Request;

/// Logarithm of the largest alignment counted separately.
const LARGEST: u32 = 20;

#[derive(Clone, Debug, Default)]
pub(super) struct Alignment {
    addresses: [ByKind; LARGEST as usize + 1],
    wholes: [ByKind; LARGEST as usize + 1],
}

/// Requests with a given alignment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AlignmentCount {
    /// Alignment: a power of two; 1 MiB also stands for all larger ones.
    pub bytes: u64,
    /// Requests whose address has this alignment.
    pub addresses: ByKind,
    /// Requests whose address and size together have this alignment.
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

    /// Returns the alignments that occur, in ascending order.
    pub fn rows(&self) -> Vec<AlignmentCount> {
        let both = self.addresses.iter().zip(&self.wholes).enumerate();
        let rows = both.map(|(power, (&addresses, &wholes))| AlignmentCount { bytes: 1 << power, addresses, wholes });
        rows.filter(|row| (row.addresses, row.wholes) != ([0; KINDS], [0; KINDS])).collect()
    }
}
