//! The note of safe programs: records which page programs a power loss can no longer damage. The note is stored
//! separately from the flash and the log.
//!
//! ```text
//! two copies, 32 KiB apart, written in turn:
//! 0 checksum of the rest (8)   8 serial number (8)   16 below (8)   24 count (8)   32 torn (8 each)
//! ```
//! Every program with a sequence number less than `below` is safe, except the `torn` programs, which earlier power
//! losses interrupted. The note is written after a sync, so it is true even if other data is lost. It distinguishes a
//! page lost by the flash from an interrupted program where the log cannot: between an erase and the next record, when
//! a block is marked as bad, and without a log. Numbers are little-endian; the checksum is XXH3.

use twox_hash::XxHash3_64;

use crate::backend::{Backend, Fault, Slot};
use crate::bits::u64_at;

const COPY_BYTES: u64 = 32 << 10;
pub(crate) const NOTE_BYTES: u64 = 2 * COPY_BYTES;
const HEAD_BYTES: usize = 32;
/// Maximum number of torn pages that one copy of the note can list.
const MOST_TORN: usize = (COPY_BYTES as usize - HEAD_BYTES) / 8;

#[derive(Clone, Debug, Default)]
pub(crate) struct SafeNote {
    serial: u64,
    /// Sequence number below which every program is safe, except the programs listed in `torn`.
    pub below: u64,
    torn: Vec<u64>,
}

impl SafeNote {
    /// Reads the newest complete copy of the note. Without a copy, no program is known to be safe.
    pub fn load<B: Backend>(backend: &B) -> Result<Self, Fault> {
        let [first, second] = [Self::read(backend, 0)?, Self::read(backend, 1)?];
        Ok(first.into_iter().chain(second).max_by_key(|note| note.serial).unwrap_or_default())
    }

    fn read<B: Backend>(backend: &B, serial: u64) -> Result<Option<Self>, Fault> {
        let at = place_of(serial);
        let mut head = [0; HEAD_BYTES];
        backend.read_log(Slot::Safe, at, &mut head)?;
        let [checksum, serial, below, count] = [0, 8, 16, 24].map(|at| u64_at(&head, at));
        if count > MOST_TORN as u64 {
            return Ok(None);
        }
        let mut torn = vec![0; 8 * count as usize];
        backend.read_log(Slot::Safe, at + HEAD_BYTES as u64, &mut torn)?;
        let is_whole = serial > 0 && XxHash3_64::oneshot(&[&head[8..], &torn].concat()) == checksum;
        let torn = torn.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        Ok(is_whole.then_some(Self { serial, below, torn }))
    }

    /// Replaces the list of torn pages in this note; the next copy on the flash will contain the new list.
    pub fn set_torn(&mut self, torn: Vec<u64>) {
        // If the note cannot list all torn pages, `u64::MAX` prevents further writes, so the copies on the flash stay
        // unchanged.
        if torn.len() <= MOST_TORN {
            self.torn = torn;
        } else {
            (self.below, self.torn) = (u64::MAX, Vec::new());
        }
    }

    /// Returns true if the program with this sequence number is known to be safe.
    pub fn covers(&self, sequence: u64) -> bool {
        sequence < self.below && !self.torn.contains(&sequence)
    }

    /// Records that all programs with sequence numbers below `below` are safe.
    pub fn write<B: Backend>(&mut self, backend: &mut B, below: u64) -> Result<(), Fault> {
        if below <= self.below {
            return Ok(());
        }
        (self.serial, self.below) = (self.serial + 1, below);
        let head = [self.serial, below, self.torn.len() as u64];
        let rest: Vec<u8> = head.iter().chain(&self.torn).flat_map(|number| number.to_le_bytes()).collect();
        let checksum = XxHash3_64::oneshot(&rest).to_le_bytes();
        backend.write_log(Slot::Safe, place_of(self.serial), &[&checksum[..], &rest].concat())
    }
}

fn place_of(serial: u64) -> u64 {
    serial % 2 * COPY_BYTES
}

#[cfg(test)]
mod tests {
    use ssdlab_nand::Geometry;

    use super::*;
    use crate::MemoryBackend;

    fn flash() -> MemoryBackend {
        MemoryBackend::new(Geometry::single_plane(16, 2, 2))
    }

    /// Goal: the note is read back; if the newest copy is damaged, the previous note is read. Method: damages each byte
    /// of the newest copy in turn, and loads the note.
    #[test]
    fn the_previous_copy_replaces_a_damaged_one() {
        let mut flash = flash();
        assert!(!SafeNote::load(&flash).unwrap().covers(0));
        let mut note = SafeNote::default();
        note.write(&mut flash, 5).unwrap();
        note.set_torn(vec![7, 3]);
        note.write(&mut flash, 9).unwrap();
        let note = SafeNote::load(&flash).unwrap();
        assert_eq!((0..12).filter(|&sequence| note.covers(sequence)).collect::<Vec<_>>(), [0, 1, 2, 4, 5, 6, 8]);
        for byte in 0..HEAD_BYTES as u64 + 16 {
            let mut damaged = flash.clone();
            let mut was = [0];
            damaged.read_log(Slot::Safe, place_of(2) + byte, &mut was).unwrap();
            damaged.write_log(Slot::Safe, place_of(2) + byte, &[was[0] ^ 0x10]).unwrap();
            assert_eq!(SafeNote::load(&damaged).unwrap().below, 5, "byte {byte}");
        }
    }

    /// Checks that the previous note remains unchanged if there are more torn pages than fit in a copy.
    #[test]
    fn too_many_torn_pages_leave_the_note_unchanged() {
        let mut flash = flash();
        let mut note = SafeNote::default();
        note.write(&mut flash, 5).unwrap();
        note.set_torn(vec![6; MOST_TORN + 1]);
        note.write(&mut flash, 9).unwrap();
        assert_eq!(SafeNote::load(&flash).unwrap().below, 5);
    }
}
