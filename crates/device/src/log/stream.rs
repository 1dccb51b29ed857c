//! Bytes of a checkpoint on their way to and from a log, with the checksum of them all.

use std::hash::Hasher;

use twox_hash::XxHash3_64;

use crate::backend::{Backend, Fault, Slot};

/// Bytes written or read at a time.
const CHUNK_BYTES: usize = 256 << 10;

/// Writes numbers to a log.
pub(super) struct Writer<'a, B> {
    backend: &'a mut B,
    slot: Slot,
    at: u64,
    chunk: Vec<u8>,
    hash: XxHash3_64,
}

impl<'a, B: Backend> Writer<'a, B> {
    pub fn new(backend: &'a mut B, slot: Slot, at: u64, seed: u64) -> Self {
        Self { backend, slot, at, chunk: Vec::with_capacity(CHUNK_BYTES), hash: XxHash3_64::with_seed(seed) }
    }

    pub fn backend(&self) -> &B {
        self.backend
    }

    pub fn byte(&mut self, byte: u8) -> Result<(), Fault> {
        if self.chunk.len() == CHUNK_BYTES {
            self.write_chunk()?;
        }
        self.chunk.push(byte);
        Ok(())
    }

    /// Seven bits a byte, the lowest first.
    pub fn number(&mut self, mut number: u64) -> Result<(), Fault> {
        while number >= 0x80 {
            self.byte(number as u8 | 0x80)?;
            number >>= 7;
        }
        self.byte(number as u8)
    }

    /// A difference, small if it is near zero on either side.
    pub fn difference(&mut self, difference: i64) -> Result<(), Fault> {
        self.number((difference << 1 ^ difference >> 63) as u64)
    }

    /// Writes what is left: where the bytes end, and their checksum.
    pub fn finish(mut self) -> Result<(u64, u64), Fault> {
        self.write_chunk()?;
        Ok((self.at, self.hash.finish()))
    }

    fn write_chunk(&mut self) -> Result<(), Fault> {
        if !self.chunk.is_empty() {
            self.hash.write(&self.chunk);
            self.backend.write_log(self.slot, self.at, &self.chunk)?;
            self.at += self.chunk.len() as u64;
            self.chunk.clear();
        }
        Ok(())
    }
}

/// Reads numbers from bytes whose checksum was right.
pub(super) struct Reader<'a>(pub &'a [u8]);

impl Reader<'_> {
    pub fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    #[inline]
    pub fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    #[inline]
    pub fn difference(&mut self) -> Option<i64> {
        let folded = self.number()?;
        Some((folded >> 1) as i64 ^ -((folded & 1) as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::MemoryBackend;
    use ssdlab_nand::{Geometry, Parallelism, ProgramOrder};

    #[test]
    fn numbers_come_back_and_an_early_end_is_noticed() {
        let geometry = Geometry {
            page_bytes: 512,
            pages_per_block: 2,
            blocks: 2,
            order: ProgramOrder::Ascending,
            parallelism: Parallelism::SINGLE,
        };
        let mut backend = MemoryBackend::new(geometry);
        let mut writer = Writer::new(&mut backend, Slot::B, 3, 9);
        for number in [0, 127, 128, u64::MAX] {
            writer.number(number).expect("memory takes it");
        }
        for difference in [0, -1, 1, i64::MIN, i64::MAX] {
            writer.difference(difference).expect("memory takes it");
        }
        let (end, checksum) = writer.finish().expect("memory takes it");
        let mut bytes = vec![0; end as usize - 3];
        backend.read_log(Slot::B, 3, &mut bytes).expect("it is there");
        assert_eq!(checksum, XxHash3_64::oneshot_with_seed(9, &bytes));
        let mut reader = Reader(&bytes);
        assert_eq!([0; 4].map(|_| reader.number().unwrap()), [0, 127, 128, u64::MAX]);
        assert_eq!([0; 5].map(|_| reader.difference().unwrap()), [0, -1, 1, i64::MIN, i64::MAX]);
        assert_eq!((reader.byte(), Reader(&bytes[4..6]).number()), (None, None));
    }
}
