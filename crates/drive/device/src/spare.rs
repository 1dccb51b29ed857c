//! The spare area of a page, which a mount reads instead of the page.
//!
//! ```text
//! 0 logical page (4)   4 role (1)   5 marks (1)   6 safe (2)   8 version (8)   16 sequence (8)
//! 24 checksum of the page (4)   28 checksum of the 28 bytes before (4)
//! ```
//! Numbers are little-endian. Both checksums are XXH3, seeded with the number of the physical page, so that a page
//! written to the wrong place counts as damaged. One of the marks means that the page has no checksum, because its
//! flash keeps pages unchanged. The field `safe` (number of earlier safe programs) has an eleven-bit number, followed
//! by its shift. An erased spare area is all zeros. A single wrong bit is corrected.

use std::array::from_fn;

use ssdlab_core::{BlockId, Lpn, Ppn};
use ssdlab_nand::{Found, Role, SpareArea};
use twox_hash::XxHash3_64;

use crate::bits::corrected;

/// Number of bytes in a spare area.
pub const SPARE_BYTES: usize = 32;

/// Bytes of a spare area as the flash stores them.
pub type SpareBytes = [u8; SPARE_BYTES];

const ERASED: SpareBytes = [0; SPARE_BYTES];
const WRITTEN: u8 = 1;
const LOST: u8 = 2;
const UNCHECKED: u8 = 4;
pub(crate) const ROLES: [Role; 6] =
    [Role::Data, Role::Log, Role::SequentialLog, Role::Isolation, Role::Map, Role::Padding];

/// Decoded contents of a spare area.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spare {
    /// Spare area as the FTL wrote it.
    pub oob: SpareArea,
    /// Version of the copy in this page; see [`SpareArea`].
    pub version: u64,
    /// True if this page was copied from an unreadable page, so that its data was already lost when it was written.
    pub lost: bool,
    /// Number of consecutive programs and trims directly before this program that are known to be safe from a power
    /// loss. Encoding rounds large numbers down.
    pub safe: u64,
}

/// State of a page according to its spare area.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content {
    /// The page has not been programmed since its block was erased.
    Erased,
    /// The page was programmed, and its spare area is intact.
    Programmed(Spare),
    /// The spare area is damaged: the program was interrupted or failed.
    Damaged,
}

impl Spare {
    /// Returns the bytes to program at `ppn`, with a checksum of `page` if given.
    ///
    /// The bytes are assembled in registers, for speed. If they were stored to memory in pieces and then loaded as a
    /// whole, the load would stall until these stores and those of the previous page are complete. The CPU could then
    /// not overlap the work on consecutive pages.
    #[inline]
    pub fn encode(&self, ppn: Ppn, page: Option<&[u8]>) -> SpareBytes {
        let mark = |set: bool, mark: u8| if set { mark } else { 0 };
        let marks = WRITTEN | mark(self.lost, LOST) | mark(page.is_none(), UNCHECKED);
        let role_and_marks = u64::from(self.oob.role as u8) << 32 | u64::from(marks) << 40;
        let first = u64::from(self.oob.lpn.0) | role_and_marks | u64::from(shortened(self.safe)) << 48;
        let words = [first, self.version, self.oob.sequence];
        let of_page = page.map_or(0, |page| checksum(ppn, page));
        let last = u64::from(of_page) | u64::from(own_checksum(ppn, words, of_page)) << 32;
        let [first, version, sequence] = words;
        let mut bytes = ERASED;
        for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip([first, version, sequence, last]) {
            *bytes = word.to_le_bytes();
        }
        bytes
    }
}

impl Content {
    /// Decodes the spare area of `ppn`.
    #[inline]
    pub fn decode(ppn: Ppn, bytes: &SpareBytes) -> Self {
        match Self::as_is(ppn, bytes) {
            Self::Damaged => repaired(ppn, bytes).map_or(Self::Damaged, |bytes| Self::as_is(ppn, &bytes)),
            content => content,
        }
    }

    /// Returns the state of the page in the form that recovery uses. The page is not marked as outdated.
    #[inline]
    pub(crate) const fn found(self) -> Found {
        match self {
            Self::Erased => Found::Erased,
            Self::Programmed(Spare { oob, version, .. }) => Found::Programmed { oob, version, outdated: false },
            Self::Damaged => Found::Unreadable,
        }
    }

    #[inline]
    fn as_is(ppn: Ppn, bytes: &SpareBytes) -> Self {
        if *bytes == ERASED {
            return Self::Erased;
        }
        let word = |number: usize| u64::from_le_bytes(bytes.as_chunks().0[number]);
        let [first, version, sequence, last] = from_fn(word);
        let (marks, own) = ((first >> 40) as u8, (last >> 32) as u32);
        match ROLES.get((first >> 32) as usize & 0xFF) {
            Some(&role)
                if marks & WRITTEN != 0 && own == own_checksum(ppn, [first, version, sequence], last as u32) =>
            {
                let oob = SpareArea { lpn: Lpn(first as u32), sequence, role };
                let safe = lengthened((first >> 48) as u16);
                Self::Programmed(Spare { oob, version, lost: marks & LOST != 0, safe })
            }
            _ => Self::Damaged,
        }
    }
}

const SHORT_BITS: u32 = 11;

/// Encodes a number up to 2^42 in 16 bits. Rounds down by less than one part in a thousand.
fn shortened(number: u64) -> u16 {
    let number = number.min((1 << (SHORT_BITS + 31)) - 1);
    let shift = (u64::BITS - number.leading_zeros()).saturating_sub(SHORT_BITS);
    (number >> shift) as u16 | (shift as u16) << SHORT_BITS
}

fn lengthened(short: u16) -> u64 {
    u64::from(short % (1 << SHORT_BITS)) << (short >> SHORT_BITS)
}

/// Returns the corrected bytes of a damaged spare area if only one bit is wrong; otherwise None.
#[cold]
fn repaired(ppn: Ppn, bytes: &SpareBytes) -> Option<SpareBytes> {
    corrected(bytes, |bytes| Content::as_is(ppn, bytes) != Content::Damaged)
}

/// Returns all pages of a block with their decoded spare areas.
pub(crate) fn decode_block(block: BlockId, spares: &[u8]) -> impl ExactSizeIterator<Item = (Ppn, Content)> {
    let (spares, _) = spares.as_chunks::<SPARE_BYTES>();
    let first = block.0 * spares.len() as u32;
    spares.iter().enumerate().map(move |(at, spare)| {
        let ppn = Ppn(first + at as u32);
        (ppn, Content::decode(ppn, spare))
    })
}

/// True if `page` is the data that was programmed with the spare area `spare` of `ppn`, according to the checksum. The
/// spare area must be undamaged.
pub fn belongs(ppn: Ppn, page: &[u8], spare: &SpareBytes) -> bool {
    let matches = |spare: &SpareBytes| spare[5] & UNCHECKED != 0 || spare[24..28] == checksum(ppn, page).to_le_bytes();
    match Content::as_is(ppn, spare) {
        Content::Damaged => repaired(ppn, spare).is_some_and(|spare| matches(&spare)),
        _ => matches(spare),
    }
}

fn checksum(ppn: Ppn, bytes: &[u8]) -> u32 {
    XxHash3_64::oneshot_with_seed(ppn.0.into(), bytes) as u32
}

/// Computes [`checksum`] of the first 28 bytes of a spare area from registers: XXH3 of 17 to 32 bytes, with its secret
/// and primes (xxHash, doc/xxhash_spec.md).
#[inline]
fn own_checksum(ppn: Ppn, [first, version, sequence]: [u64; 3], of_page: u32) -> u32 {
    const SECRET: [u64; 4] =
        [0xBE4B_A423_396C_FEB8, 0x1CAD_21F7_2C81_017C, 0xDB97_9083_E96D_D4DE, 0x1F67_B3B7_A4A4_4072];
    const LENGTH: u64 = 28;
    let seed = u64::from(ppn.0);
    let mix = |low: u64, high: u64, secret: &[u64]| {
        let product = u128::from(low ^ secret[0].wrapping_add(seed)) * u128::from(high ^ secret[1].wrapping_sub(seed));
        product as u64 ^ (product >> 64) as u64
    };
    // XXH3 reads the last 16 of the 28 bytes as two words. They begin 12 bytes into the input, in the middle of a word.
    let (low, high) = (version >> 32 | sequence << 32, sequence >> 32 | u64::from(of_page) << 32);
    let mut hash = LENGTH
        .wrapping_mul(0x9E37_79B1_85EB_CA87)
        .wrapping_add(mix(first, version, &SECRET[..2]))
        .wrapping_add(mix(low, high, &SECRET[2..]));
    hash = (hash ^ hash >> 37).wrapping_mul(0x1656_6791_9E37_79F9);
    (hash ^ hash >> 32) as u32
}

#[cfg(test)]
mod tests {
    use ssdlab_core::Rng;

    use super::*;

    const SPARE: Spare = Spare {
        oob: SpareArea { lpn: Lpn(7), sequence: 1 << 40, role: Role::Isolation },
        version: 12,
        lost: true,
        safe: 9,
    };

    #[test]
    fn spare_areas_survive_encoding() {
        let bytes = SPARE.encode(Ppn(3), Some(b"page"));
        assert_eq!(Content::decode(Ppn(3), &bytes), Content::Programmed(SPARE));
        assert!(belongs(Ppn(3), b"page", &bytes));
        assert_eq!(Content::decode(Ppn(3), &ERASED), Content::Erased);
    }

    /// Goal: one wrong bit in a spare area is corrected, and all other damage is detected. Method: flips every bit
    /// alone and together with another bit. Also decodes the spare area at another address, and compares it with
    /// another page.
    #[test]
    fn damage_is_noticed() {
        let bytes = SPARE.encode(Ppn(3), Some(b"page"));
        let flip = |bytes: &mut SpareBytes, bit: usize| bytes[bit / 8] ^= 1 << (bit % 8);
        for bit in 0..8 * SPARE_BYTES {
            let mut damaged = bytes;
            flip(&mut damaged, bit);
            assert_eq!(Content::decode(Ppn(3), &damaged), Content::Programmed(SPARE), "bit {bit}");
            assert!(belongs(Ppn(3), b"page", &damaged) && !belongs(Ppn(3), b"pagE", &damaged), "bit {bit}");
            flip(&mut damaged, (bit + 100) % 256);
            assert_eq!(Content::decode(Ppn(3), &damaged), Content::Damaged, "bit {bit} and another");
            let mut erased = ERASED;
            flip(&mut erased, bit);
            assert_eq!(Content::decode(Ppn(3), &erased), Content::Erased, "bit {bit}");
        }
        assert_eq!(Content::decode(Ppn(4), &bytes), Content::Damaged);
        assert!(!belongs(Ppn(3), b"pagE", &bytes) && !belongs(Ppn(4), b"page", &bytes));
    }

    /// Goal: the checksum computed in registers equals the checksum of the library. Method: compares both for random
    /// bytes.
    #[test]
    fn a_spare_area_has_the_checksum_of_its_bytes() {
        let mut rng = Rng::named(1, "spare areas");
        for _ in 0..1000 {
            let mut bytes = ERASED;
            bytes.iter_mut().for_each(|byte| *byte = rng.below(256) as u8);
            let ppn = Ppn(rng.below(1 << 32) as u32);
            let word = |number: usize| u64::from_le_bytes(bytes.as_chunks().0[number]);
            let own = own_checksum(ppn, [word(0), word(1), word(2)], word(3) as u32);
            assert_eq!(own, checksum(ppn, &bytes[..28]));
        }
    }

    /// Goal: encoding a number of programs loses less than a thousandth and never increases the number. Method: encodes
    /// and decodes numbers around powers of two.
    #[test]
    fn safe_programs_are_rounded_down() {
        for number in (0..64).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit, (1 << bit) + 1, 3 << bit >> 1]) {
            let written = lengthened(shortened(number));
            let most = number.min(1 << 42);
            assert!(written <= number && written >= most - most.div_ceil(1000), "{number}: {written}");
        }
    }

    /// Checks pages without a checksum; their spare areas still have a checksum.
    #[test]
    fn pages_without_a_checksum_are_accepted() {
        let bytes = SPARE.encode(Ppn(3), None);
        assert_eq!(Content::decode(Ppn(3), &bytes), Content::Programmed(SPARE));
        assert!(belongs(Ppn(3), b"any", &bytes));
        let mut checked = bytes;
        checked[5] &= !UNCHECKED;
        assert_eq!(Content::decode(Ppn(3), &checked), Content::Programmed(SPARE), "a single bit must be corrected");
        assert!(belongs(Ppn(3), b"any", &checked));
    }
}
