//! The spare area of a page: what a mount reads instead of the page.
//!
//! ```text
//! 0 logical page (4)   4 role (1)   5 marks (1)   6 zero (2)   8 version (8)   16 sequence (8)
//! 24 checksum of the page (4)   28 checksum of the 28 bytes before (4)
//! ```
//! Numbers are little-endian. Both checksums are XXH3, seeded with the number of the physical page, so that a page that
//! was written to the wrong place is damaged too. One of the marks says that the page has none, for flash that keeps pages
//! as they are. An erased spare area is all zeros.

use ssdlab_core::{BlockId, Lpn, Ppn};
use ssdlab_nand::{Oob, Role};
use twox_hash::XxHash3_64;

/// Bytes of a spare area.
pub const SPARE_BYTES: usize = 32;

/// A spare area as flash stores it.
pub type SpareBytes = [u8; SPARE_BYTES];

const ERASED: SpareBytes = [0; SPARE_BYTES];
const WRITTEN: u8 = 1;
const LOST: u8 = 2;
const UNCHECKED: u8 = 4;
pub(crate) const ROLES: [Role; 6] =
    [Role::Data, Role::Log, Role::SequentialLog, Role::Isolation, Role::Map, Role::Checkpoint];

/// What a spare area says of its page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spare {
    /// What the FTL wrote.
    pub oob: Oob,
    /// Tells the newest of several copies; see [`Oob`].
    pub version: u64,
    /// Whether the data was lost before it came here: it was copied from a page that could not be read.
    pub lost: bool,
}

/// What a page reads as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content {
    /// Nothing was programmed since the erase.
    Erased,
    /// It was programmed.
    Programmed(Spare),
    /// Its spare area is damaged: the program was interrupted or failed.
    Damaged,
}

impl Spare {
    /// The bytes to program at `ppn`, with a checksum of `page` unless that is not given.
    pub fn encode(&self, ppn: Ppn, page: Option<&[u8]>) -> SpareBytes {
        let mut bytes = ERASED;
        bytes[0..4].copy_from_slice(&self.oob.lpn.0.to_le_bytes());
        bytes[4] = self.oob.role as u8;
        let mark = |set: bool, mark: u8| if set { mark } else { 0 };
        bytes[5] = WRITTEN | mark(self.lost, LOST) | mark(page.is_none(), UNCHECKED);
        bytes[8..16].copy_from_slice(&self.version.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.oob.sequence.to_le_bytes());
        bytes[24..28].copy_from_slice(&page.map_or(0, |page| checksum(ppn, page)).to_le_bytes());
        let own = checksum(ppn, &bytes[..28]);
        bytes[28..32].copy_from_slice(&own.to_le_bytes());
        bytes
    }
}

impl Content {
    /// What the spare area of `ppn` says.
    pub fn decode(ppn: Ppn, bytes: &SpareBytes) -> Self {
        if *bytes == ERASED {
            return Self::Erased;
        }
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let half = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        match ROLES.get(usize::from(bytes[4])) {
            Some(&role) if bytes[5] & WRITTEN != 0 && half(28) == checksum(ppn, &bytes[..28]) => {
                let oob = Oob { lpn: Lpn(half(0)), sequence: number(16), role };
                Self::Programmed(Spare { oob, version: number(8), lost: bytes[5] & LOST != 0 })
            }
            _ => Self::Damaged,
        }
    }
}

/// What the spare areas of a block say.
pub(crate) fn decode_block(block: BlockId, spares: &[u8], contents: &mut Vec<Content>) {
    let (spares, _) = spares.as_chunks::<SPARE_BYTES>();
    let pages = (block.0 * spares.len() as u32..).map(Ppn).zip(spares);
    contents.clear();
    contents.extend(pages.map(|(ppn, spare)| Content::decode(ppn, spare)));
}

/// Whether `page` is the one that the spare area of `ppn`, which is sound, was written with, as far as it tells.
pub fn belongs(ppn: Ppn, page: &[u8], spare: &SpareBytes) -> bool {
    spare[5] & UNCHECKED != 0 || spare[24..28] == checksum(ppn, page).to_le_bytes()
}

fn checksum(ppn: Ppn, bytes: &[u8]) -> u32 {
    XxHash3_64::oneshot_with_seed(ppn.0.into(), bytes) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPARE: Spare =
        Spare { oob: Oob { lpn: Lpn(7), sequence: 1 << 40, role: Role::Isolation }, version: 12, lost: true };

    #[test]
    fn what_was_encoded_is_decoded() {
        let bytes = SPARE.encode(Ppn(3), Some(b"page"));
        assert_eq!(Content::decode(Ppn(3), &bytes), Content::Programmed(SPARE));
        assert!(belongs(Ppn(3), b"page", &bytes));
        assert_eq!(Content::decode(Ppn(3), &ERASED), Content::Erased);
    }

    /// Goal: no damage goes unnoticed. Method: every bit flipped, another place, another page.
    #[test]
    fn damage_is_noticed() {
        let bytes = SPARE.encode(Ppn(3), Some(b"page"));
        for bit in 0..8 * SPARE_BYTES {
            let mut damaged = bytes;
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Content::decode(Ppn(3), &damaged), Content::Damaged, "bit {bit}");
        }
        assert_eq!(Content::decode(Ppn(4), &bytes), Content::Damaged);
        assert!(!belongs(Ppn(3), b"pagE", &bytes) && !belongs(Ppn(4), b"page", &bytes));
    }

    /// Its spare area has one all the same.
    #[test]
    fn a_page_without_a_checksum_is_what_was_written() {
        let bytes = SPARE.encode(Ppn(3), None);
        assert_eq!(Content::decode(Ppn(3), &bytes), Content::Programmed(SPARE));
        assert!(belongs(Ppn(3), b"any", &bytes));
        let mut checked = bytes;
        checked[5] &= !UNCHECKED;
        assert_eq!(Content::decode(Ppn(3), &checked), Content::Damaged);
    }
}
