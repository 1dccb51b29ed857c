//! Records of the journal in the log.
//!
//! ```text
//! 0 kind (4)   4 first (4)   8 count (4)   12 checksum (4)   16 sequence (8)
//! ```
//! The checksum is XXH3, seeded with the generation of the checkpoint, the number of mounts since, and the number of
//! the record. Remains of an older journal, or from before the last mount, are therefore not read as records. A single
//! wrong bit is corrected.

use ssdlab_core::{BlockId, Lpn, Ppn};
use ssdlab_nand::Trimmed;
use twox_hash::XxHash3_64;

use crate::bits::{corrected, u32_at, u64_at};

pub(super) const RECORD_BYTES: usize = 24;

/// Erase of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Erase {
    pub block: BlockId,
    /// Number of programs and trims before the erase.
    pub sequence: u64,
    /// Sequence number below which every program is safe; less than `sequence` while program units are incomplete.
    pub below: u64,
}

/// A change since the checkpoint that the spare areas do not show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Record {
    /// The block is about to be programmed.
    Opened(BlockId),
    /// The block is about to be erased.
    Erased(Erase),
    /// Like `Erased`, but during a recovery, which may discard copies in the block. The originals of these copies then
    /// become valid again, although they are marked as outdated.
    GivenUp(Erase),
    /// The erase that the previous record announces may be incomplete, or may not have begun.
    Interrupted(BlockId),
    Trimmed(Trimmed),
    /// All writes with a lower sequence number are safe from a power loss and need no further check, as after a
    /// checkpoint.
    Synced(u64),
    /// A page has damaged data although its spare area is intact.
    Damaged(Ppn),
    Mounted {
        /// True if the drive was shut down before this mount.
        clean: bool,
    },
    /// The drive is permanently read-only, because too many blocks have failed.
    WornOut,
}

impl Erase {
    /// Returns the number of programs and trims before the erase that may not be safe yet. It fits in 32 bits, because
    /// a checkpoint is written long before it could grow so large.
    fn gathered(&self) -> u32 {
        (self.sequence - self.below) as u32
    }
}

impl Record {
    /// Encodes the record. `seed` depends on the position of the record in the log.
    pub fn encode(self, seed: u64) -> [u8; RECORD_BYTES] {
        let (kind, first, count, sequence) = match self {
            Self::Opened(block) => (1_u32, block.0, 0_u32, 0_u64),
            Self::Erased(erase) => (2, erase.block.0, erase.gathered(), erase.sequence),
            Self::Trimmed(Trimmed { lpn, count, sequence }) => (3, lpn.0, count, sequence),
            Self::Synced(sequence) => (4, 0, 0, sequence),
            Self::Damaged(ppn) => (5, ppn.0, 0, 0),
            Self::Interrupted(block) => (6, block.0, 0, 0),
            Self::GivenUp(erase) => (7, erase.block.0, erase.gathered(), erase.sequence),
            Self::Mounted { clean } => (8, clean.into(), 0, 0),
            Self::WornOut => (9, 0, 0, 0),
        };
        let mut bytes = [0; RECORD_BYTES];
        bytes[0..4].copy_from_slice(&kind.to_le_bytes());
        bytes[4..8].copy_from_slice(&first.to_le_bytes());
        bytes[8..12].copy_from_slice(&count.to_le_bytes());
        bytes[16..24].copy_from_slice(&sequence.to_le_bytes());
        let check = checksum(seed, &bytes);
        bytes[12..16].copy_from_slice(&check);
        bytes
    }

    /// Decodes a record, correcting a single wrong bit; None if the bytes are not a record.
    pub fn decode(bytes: &[u8; RECORD_BYTES], seed: u64) -> Option<Self> {
        if *bytes == [0; RECORD_BYTES] {
            return None;
        }
        Self::as_is(&corrected(bytes, |bytes| Self::as_is(bytes, seed).is_some())?, seed)
    }

    /// Decodes a record without correction; None if the bytes are damaged or not a record.
    pub fn as_is(bytes: &[u8; RECORD_BYTES], seed: u64) -> Option<Self> {
        let half = |at: usize| u32_at(bytes, at);
        let mut unsigned = *bytes;
        unsigned[12..16].fill(0);
        if bytes[12..16] != checksum(seed, &unsigned) {
            return None;
        }
        let sequence = u64_at(bytes, 16);
        let erase = || Erase { block: BlockId(half(4)), sequence, below: sequence.saturating_sub(half(8).into()) };
        match half(0) {
            1 => Some(Self::Opened(BlockId(half(4)))),
            2 => Some(Self::Erased(erase())),
            3 => Some(Self::Trimmed(Trimmed { lpn: Lpn(half(4)), count: half(8), sequence })),
            4 => Some(Self::Synced(sequence)),
            5 => Some(Self::Damaged(Ppn(half(4)))),
            6 => Some(Self::Interrupted(BlockId(half(4)))),
            7 => Some(Self::GivenUp(erase())),
            8 => Some(Self::Mounted { clean: half(4) != 0 }),
            9 => Some(Self::WornOut),
            _ => None,
        }
    }
}

fn checksum(seed: u64, bytes: &[u8; RECORD_BYTES]) -> [u8; 4] {
    (XxHash3_64::oneshot_with_seed(seed, bytes) as u32).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: one wrong bit in a record is corrected, and more wrong bits end the journal. Method: flips every bit of a
    /// record alone, and together with another bit.
    #[test]
    fn records_are_decoded_and_damage_ends_the_journal() {
        let trim = Trimmed { lpn: Lpn(4), count: 9, sequence: 77 };
        let all = [
            Record::Opened(BlockId(3)),
            Record::Erased(Erase { block: BlockId(8), sequence: 1 << 40, below: (1 << 40) - 7 }),
            Record::Trimmed(trim),
            Record::Synced(1 << 50),
            Record::Damaged(Ppn(6)),
            Record::Interrupted(BlockId(7)),
            Record::GivenUp(Erase { block: BlockId(9), sequence: 3, below: 3 }),
            Record::Mounted { clean: true },
            Record::Mounted { clean: false },
            Record::WornOut,
        ];
        for record in all {
            let bytes = record.encode(5);
            assert_eq!(Record::decode(&bytes, 5), Some(record));
            assert_eq!(Record::decode(&bytes, 6), None);
            let flip = |bytes: &mut [u8; RECORD_BYTES], bit: usize| bytes[bit / 8] ^= 1 << (bit % 8);
            for bit in 0..8 * RECORD_BYTES {
                let mut damaged = bytes;
                flip(&mut damaged, bit);
                assert_eq!(Record::decode(&damaged, 5), Some(record), "bit {bit}");
                assert_eq!(Record::as_is(&damaged, 5), None, "{record:?}, bit {bit}");
                flip(&mut damaged, (bit + 50) % (8 * RECORD_BYTES));
                assert_eq!(Record::decode(&damaged, 5), None, "{record:?}, bit {bit} and another");
            }
        }
        assert_eq!(Record::decode(&[0; RECORD_BYTES], 1), None);
    }
}
