//! Buffered writer of a checkpoint's bytes, with their checksum.

use std::hash::Hasher;

use twox_hash::XxHash3_64;

use crate::backend::{Backend, Fault, Slot};

const CHUNK_BYTES: usize = 256 << 10;

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

    pub fn bytes(&mut self, mut bytes: &[u8]) -> Result<(), Fault> {
        while self.chunk.len() + bytes.len() > CHUNK_BYTES {
            let (now, later) = bytes.split_at(CHUNK_BYTES - self.chunk.len());
            self.chunk.extend_from_slice(now);
            self.write_chunk()?;
            bytes = later;
        }
        self.chunk.extend_from_slice(bytes);
        Ok(())
    }

    /// Writes the bytes that are still buffered. Returns the end offset in the log and the checksum of all bytes.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::MemoryBackend;
    use ssdlab_nand::Geometry;

    /// Goal: the stream writes all bytes in order, with their checksum. Method: writes pieces shorter and longer than a
    /// chunk, and reads them back.
    #[test]
    fn bytes_of_any_length_arrive_with_their_checksum() {
        let geometry = Geometry::single_plane(512, 2, 2);
        let mut backend = MemoryBackend::new(geometry);
        let all: Vec<u8> = (0..5 * CHUNK_BYTES as u32 / 2).map(|at| (at % 251) as u8).collect();
        let mut writer = Writer::new(&mut backend, Slot::B, 3, 9);
        let (first, rest) = all.split_at(1);
        let (long, rest) = rest.split_at(2 * CHUNK_BYTES);
        for piece in [first, long, &[], rest] {
            writer.bytes(piece).expect("memory takes it");
        }
        let (end, checksum) = writer.finish().expect("memory takes it");
        let mut bytes = vec![0; end as usize - 3];
        backend.read_log(Slot::B, 3, &mut bytes).expect("it is there");
        assert!(bytes == all);
        assert_eq!(checksum, XxHash3_64::oneshot_with_seed(9, &bytes));
    }
}
