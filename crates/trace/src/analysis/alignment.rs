//! What addresses and sizes are multiples of.

use super::{ByKind, KINDS};
use crate::Request;

/// The largest alignment told apart is 2^this bytes.
const LARGEST: u32 = 20;

#[derive(Clone, Debug, Default)]
pub(super) struct Alignment {
    addresses: [ByKind; LARGEST as usize + 1],
    wholes: [ByKind; LARGEST as usize + 1],
}

/// Requests of one alignment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AlignmentCount {
    /// A power of two, at most 1 MiB, which stands for all larger ones too.
    pub bytes: u64,
    /// Requests whose address has it as its largest power of two.
    pub addresses: ByKind,
    /// Requests whose address and size, taken together, have it as their largest power of two.
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

    /// The alignments that occur, from the smallest on.
    pub fn rows(&self) -> Vec<AlignmentCount> {
        let both = self.addresses.iter().zip(&self.wholes).enumerate();
        let rows = both.map(|(power, (&addresses, &wholes))| AlignmentCount { bytes: 1 << power, addresses, wholes });
        rows.filter(|row| (row.addresses, row.wholes) != ([0; KINDS], [0; KINDS])).collect()
    }
}
