//! A byte stream divided into frames with checksums. A reader gets exactly the bytes that were written, or an error.
//!
//! ```text
//! frame:  length (4 bytes, little-endian), XXH3 of the bytes (8), the bytes
//! end:    an empty frame
//! ```
//! The number of a frame is the seed of its checksum, so that swapped frames are detected.

use std::io::{self, Error, ErrorKind, Read, Write};

use twox_hash::XxHash3_64;

/// Size of a full frame in bytes. A frame of this size fits the cache of a processor core.
const FRAME_BYTES: usize = 256 << 10;

/// Divides bytes into frames and writes the frames to a stream.
pub(super) fn write(bytes: &[u8], to: &mut impl Write) -> io::Result<()> {
    for (number, frame) in (0..).zip(bytes.chunks(FRAME_BYTES).chain([&[][..]])) {
        to.write_all(&(frame.len() as u32).to_le_bytes())?;
        to.write_all(&XxHash3_64::oneshot_with_seed(number, frame).to_le_bytes())?;
        to.write_all(frame)?;
    }
    Ok(())
}

/// Reads the bytes of all frames from a stream.
///
/// # Errors
/// Fails if the bytes cannot be read, or differ from the written bytes.
pub(super) fn read(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut number = 0;
    loop {
        let (mut length, mut checksum) = ([0; 4], [0; 8]);
        from.read_exact(&mut length)?;
        from.read_exact(&mut checksum)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > FRAME_BYTES {
            return Err(damaged());
        }
        let begin = bytes.len();
        bytes.resize(begin + length, 0);
        from.read_exact(&mut bytes[begin..])?;
        if XxHash3_64::oneshot_with_seed(number, &bytes[begin..]) != u64::from_le_bytes(checksum) {
            return Err(damaged());
        }
        if length == 0 {
            return Ok(bytes);
        }
        number += 1;
    }
}

pub(super) fn damaged() -> Error {
    Error::new(ErrorKind::InvalidData, "the file has a wrong checksum")
}

#[cfg(test)]
mod tests {
    use ssdlab_core::Rng;

    use super::*;

    fn framed(bytes: &[u8]) -> Vec<u8> {
        let mut framed = Vec::new();
        write(bytes, &mut framed).expect("memory suffices");
        framed
    }

    fn unframed(framed: &[u8]) -> io::Result<Vec<u8>> {
        read(&mut &*framed)
    }

    #[test]
    fn frames_return_the_bytes_written() {
        let mut rng = Rng::named(1, "frames");
        for length in [0, 1, FRAME_BYTES - 1, FRAME_BYTES, FRAME_BYTES + 1, 3 * FRAME_BYTES] {
            let bytes: Vec<u8> = (0..length).map(|_| rng.next_u64() as u8).collect();
            assert_eq!(unframed(&framed(&bytes)).expect("the frames are whole"), bytes);
        }
    }

    /// Goal: all damage is detected. Method: reads a small stream after flipping each bit, cutting off each possible
    /// end, or swapping frames.
    #[test]
    fn damage_is_an_error() {
        let whole = framed(b"a drive that was aged");
        for bit in 0..whole.len() * 8 {
            let mut damaged = whole.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(unframed(&damaged).is_err(), "bit {bit}");
        }
        assert!((0..whole.len()).all(|end| unframed(&whole[..end]).is_err()));
        let two = framed(&[7; 2 * FRAME_BYTES]);
        let frame = 12 + FRAME_BYTES;
        let swapped = [&two[frame..2 * frame], &two[..frame], &two[2 * frame..]].concat();
        assert_eq!((two.len(), unframed(&swapped).is_err()), (2 * frame + 12, true));
    }
}
