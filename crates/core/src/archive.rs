//! State that is written down and taken up again.
//!
//! Whatever has state names each field once; the archive either writes the field or replaces it by what was written. So
//! saving and loading cannot disagree about order or number of fields. To forget none, take the whole apart first:
//!
//! ```
//! use ssdlab_core::archive::{Archive, Archived};
//!
//! struct Clock { capacity: usize, circle: Vec<u32>, hand: usize }
//!
//! fn archive(clock: &mut Clock, archive: &mut Archive<'_>) -> Archived {
//!     // Without `..`: a field added later does not compile until it is named here.
//!     let Clock { capacity: _, circle, hand } = clock;
//!     archive.value(circle)?;
//!     archive.value(hand)
//! }
//! ```
//! What a configuration fixes is not written; what is loaded was built from the same configuration.

use std::io::{self, BufRead, Error, ErrorKind, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Where state goes to or comes from.
pub enum Archive<'a> {
    /// Fields are written.
    Save(&'a mut dyn Write),
    /// Fields are replaced.
    Load(&'a mut dyn BufRead),
}

/// Whether a field could be written or replaced.
pub type Archived = io::Result<()>;

/// Bytes converted at a time: they stay in a core's own cache.
const CHUNK_BYTES: usize = 32 << 10;

/// A number of a large array; little-endian in archives.
pub trait Plain: Copy {
    /// Writes numbers as bytes, as many as there are.
    fn to_bytes(numbers: &[Self], bytes: &mut [u8]);

    /// Reads numbers from bytes, as many as there are.
    fn from_bytes(bytes: &[u8], numbers: &mut [Self]);
}

macro_rules! plain {
    ($($number:ty),+) => {$(
        impl Plain for $number {
            fn to_bytes(numbers: &[Self], bytes: &mut [u8]) {
                for (number, bytes) in numbers.iter().zip(bytes.chunks_exact_mut(size_of::<Self>())) {
                    bytes.copy_from_slice(&number.to_le_bytes());
                }
            }

            fn from_bytes(bytes: &[u8], numbers: &mut [Self]) {
                for (number, bytes) in numbers.iter_mut().zip(bytes.chunks_exact(size_of::<Self>())) {
                    *number = Self::from_le_bytes(bytes.try_into().expect("bytes of one number"));
                }
            }
        }
    )+};
}

plain!(u16, u32, u64);

impl Archive<'_> {
    /// A field that is small.
    ///
    /// # Errors
    /// If it cannot be written, or what was written is no such value.
    pub fn value<T: Serialize + DeserializeOwned>(&mut self, value: &mut T) -> Archived {
        match self {
            Self::Save(to) => {
                let bytes = postcard::to_allocvec(value).map_err(Error::other)?;
                to.write_all(&(bytes.len() as u64).to_le_bytes())?;
                to.write_all(&bytes)
            }
            Self::Load(from) => {
                let mut bytes = Vec::new();
                let length = length(from)?;
                // Reads as it goes: a wrong length is found at the end of the input, not by running out of memory.
                from.take(length).read_to_end(&mut bytes)?;
                *value = postcard::from_bytes(&bytes).map_err(|error| Error::new(ErrorKind::InvalidData, error))?;
                Ok(())
            }
        }
    }

    /// A field that is a large array, whose length the configuration fixes.
    ///
    /// # Errors
    /// If it cannot be written, or what was written is of another length.
    pub fn array<T: Plain>(&mut self, numbers: &mut [T]) -> Archived {
        match self {
            Self::Save(to) => {
                to.write_all(&(numbers.len() as u64).to_le_bytes())?;
                let mut chunk = vec![0; CHUNK_BYTES];
                for numbers in numbers.chunks(CHUNK_BYTES / size_of::<T>()) {
                    let bytes = &mut chunk[..size_of_val(numbers)];
                    T::to_bytes(numbers, bytes);
                    to.write_all(bytes)?;
                }
                Ok(())
            }
            Self::Load(from) => {
                let written = length(from)?;
                if written != numbers.len() as u64 {
                    let message = format!("{written} numbers where {} are expected", numbers.len());
                    return Err(Error::new(ErrorKind::InvalidData, message));
                }
                load(*from, numbers)
            }
        }
    }
}

fn length(from: &mut dyn BufRead) -> io::Result<u64> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// Reads numbers straight from the reader's buffer; only one that the buffer cuts in two is put together elsewhere.
fn load<T: Plain>(from: &mut dyn BufRead, mut numbers: &mut [T]) -> Archived {
    while !numbers.is_empty() {
        let buffer = from.fill_buf()?;
        let whole = (buffer.len() / size_of::<T>()).min(numbers.len());
        if whole == 0 {
            let mut cut = [0; 8];
            let bytes = &mut cut[..size_of::<T>()];
            from.read_exact(bytes)?;
            T::from_bytes(bytes, &mut numbers[..1]);
            numbers = &mut numbers[1..];
            continue;
        }
        let bytes = whole * size_of::<T>();
        let (now, later) = numbers.split_at_mut(whole);
        T::from_bytes(&buffer[..bytes], now);
        from.consume(bytes);
        numbers = later;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    #[derive(Debug, PartialEq, Clone)]
    struct Part {
        count: u64,
        names: Vec<Option<u8>>,
        map: Vec<u32>,
        clocks: Vec<u64>,
        kept: Vec<u16>,
    }

    fn archive(part: &mut Part, archive: &mut Archive<'_>) -> Archived {
        let Part { count, names, map, clocks, kept } = part;
        archive.value(count)?;
        archive.array(map)?;
        archive.value(names)?;
        archive.array(clocks)?;
        archive.array(kept)
    }

    fn part(length: usize) -> Part {
        let number = |n: usize| (n as u64).wrapping_mul(0x0102_0304_0506_0708);
        Part {
            count: 7,
            names: vec![None, Some(3)],
            map: (0..length).map(|n| number(n) as u32).collect(),
            clocks: (0..length).map(number).collect(),
            kept: (0..length).map(|n| number(n) as u16).collect(),
        }
    }

    fn saved(part: &mut Part) -> Vec<u8> {
        let mut bytes = Vec::new();
        archive(part, &mut Archive::Save(&mut bytes)).expect("memory takes it");
        bytes
    }

    /// Whatever the reader's buffer holds at a time: numbers lie across its ends.
    #[test]
    fn what_was_saved_is_loaded() {
        for (length, buffer_bytes) in [(0, 16), (3, 9), (1_000, 13), (40_000, 64 << 10)] {
            let mut before = part(length);
            let bytes = saved(&mut before);
            let mut after = Part { count: 0, names: vec![], ..part(length) };
            after.map.fill(0);
            after.clocks.fill(0);
            after.kept.fill(0);
            let mut reader = BufReader::with_capacity(buffer_bytes, &bytes[..]);
            archive(&mut after, &mut Archive::Load(&mut reader)).expect("it is whole");
            assert_eq!(after, before);
        }
    }

    #[test]
    fn numbers_are_little_endian() {
        let mut bytes = Vec::new();
        Archive::Save(&mut bytes).array(&mut [0x0403_0201_u32]).expect("memory takes it");
        assert_eq!(bytes, [1, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4]);
    }

    #[test]
    fn another_length_and_an_early_end_are_errors() {
        let bytes = saved(&mut part(5));
        let load = |bytes: &[u8], into: &mut Part| archive(into, &mut Archive::Load(&mut &bytes[..]));
        let message = load(&bytes, &mut part(6)).expect_err("one too many").to_string();
        assert_eq!(message, "5 numbers where 6 are expected");
        for end in 0..bytes.len() {
            assert!(load(&bytes[..end], &mut part(5)).is_err(), "{end} of {} bytes suffice", bytes.len());
        }
    }
}
