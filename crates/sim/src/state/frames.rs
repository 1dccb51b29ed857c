//! A stream of bytes in frames, each with a checksum: what a reader gets is what was written, or an error.
//!
//! ```text
//! frame:  length (4 bytes, little-endian), XXH3 of the bytes (8), the bytes
//! end:    a frame without bytes
//! ```
//! The number of the frame is the seed of its checksum, so that frames cannot change places.

use std::io::{self, BufRead, Error, ErrorKind, Read, Write};

use twox_hash::XxHash3_64;

/// Bytes of a frame: they stay in a core's own cache while they are checked and taken apart.
const FRAME_BYTES: usize = 256 << 10;

/// Writes frames.
pub(super) struct FrameWriter<W> {
    to: W,
    frame: Vec<u8>,
    number: u64,
}

impl<W: Write> FrameWriter<W> {
    pub fn new(to: W) -> Self {
        Self { to, frame: Vec::with_capacity(FRAME_BYTES), number: 0 }
    }

    /// Writes what is left and the end.
    pub fn finish(mut self) -> io::Result<W> {
        if !self.frame.is_empty() {
            self.write_frame()?;
        }
        self.write_frame()?;
        self.to.flush()?;
        Ok(self.to)
    }

    fn write_frame(&mut self) -> io::Result<()> {
        self.to.write_all(&(self.frame.len() as u32).to_le_bytes())?;
        self.to.write_all(&XxHash3_64::oneshot_with_seed(self.number, &self.frame).to_le_bytes())?;
        self.to.write_all(&self.frame)?;
        self.frame.clear();
        self.number += 1;
        Ok(())
    }
}

impl<W: Write> Write for FrameWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(FRAME_BYTES - self.frame.len());
        self.frame.extend_from_slice(&bytes[..taken]);
        if self.frame.len() == FRAME_BYTES {
            self.write_frame()?;
        }
        Ok(taken)
    }

    /// Frames are written when they are full.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads frames.
pub(super) struct FrameReader<R> {
    from: R,
    frame: Vec<u8>,
    next: usize,
    number: u64,
    ended: bool,
}

impl<R: Read> FrameReader<R> {
    pub fn new(from: R) -> Self {
        Self { from, frame: Vec::new(), next: 0, number: 0, ended: false }
    }

    fn read_frame(&mut self) -> io::Result<()> {
        let (mut length, mut checksum) = ([0; 4], [0; 8]);
        self.from.read_exact(&mut length)?;
        self.from.read_exact(&mut checksum)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > FRAME_BYTES {
            return Err(damaged());
        }
        self.frame.resize(length, 0);
        self.from.read_exact(&mut self.frame)?;
        if XxHash3_64::oneshot_with_seed(self.number, &self.frame) != u64::from_le_bytes(checksum) {
            return Err(damaged());
        }
        self.next = 0;
        self.number += 1;
        self.ended = length == 0;
        Ok(())
    }
}

pub(super) fn damaged() -> Error {
    Error::new(ErrorKind::InvalidData, "its checksum is wrong")
}

impl<R: Read> BufRead for FrameReader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.next == self.frame.len() && !self.ended {
            self.read_frame()?;
        }
        Ok(&self.frame[self.next..])
    }

    fn consume(&mut self, bytes: usize) {
        self.next += bytes;
    }
}

impl<R: Read> Read for FrameReader<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(bytes)?;
        self.consume(count);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_core::Rng;

    use super::*;

    fn framed(bytes: &[u8]) -> Vec<u8> {
        let mut writer = FrameWriter::new(Vec::new());
        writer.write_all(bytes).expect("memory takes it");
        writer.finish().expect("memory takes it")
    }

    fn read(framed: &[u8]) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        FrameReader::new(framed).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    #[test]
    fn what_was_written_is_read() {
        let mut rng = Rng::named(1, "frames");
        for length in [0, 1, FRAME_BYTES - 1, FRAME_BYTES, FRAME_BYTES + 1, 3 * FRAME_BYTES] {
            let bytes: Vec<u8> = (0..length).map(|_| rng.next_u64() as u8).collect();
            assert_eq!(read(&framed(&bytes)).expect("it is whole"), bytes);
        }
    }

    /// Goal: no damage goes unnoticed. Method: every bit of a small stream flipped, every end cut off, frames swapped.
    #[test]
    fn damage_is_an_error() {
        let whole = framed(b"a drive that was aged");
        for bit in 0..whole.len() * 8 {
            let mut damaged = whole.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(read(&damaged).is_err(), "bit {bit}");
        }
        assert!((0..whole.len()).all(|end| read(&whole[..end]).is_err()));
        let two = framed(&[7; 2 * FRAME_BYTES]);
        let frame = 12 + FRAME_BYTES;
        let swapped = [&two[frame..2 * frame], &two[..frame], &two[2 * frame..]].concat();
        assert_eq!((two.len(), read(&swapped).is_err()), (2 * frame + 12, true));
    }
}
