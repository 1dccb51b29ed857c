//! Saving and loading of simulator state.
//!
//! A stateful type names each field once, and the archive either writes it or overwrites it with the saved value. So
//! saving and loading cannot disagree about the fields. Destructure the type first, so that none can be forgotten:
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
//! Fields that the configuration determines are not saved: state is loaded into a value of the same configuration.

use std::io::{self, BufRead, BufReader, Error, ErrorKind, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::mem::{HugeVec, Mapping, Plain, bytes_of, bytes_of_mut};

/// An archive that either saves state to a stream or loads state from one.
pub enum Archive<'a> {
    /// Saves state: writes fields to the stream.
    Save(&'a mut dyn Output),
    /// Loads state: overwrites fields with values from the stream.
    Load(&'a mut dyn Input),
}

/// Result of saving or loading a field.
pub type Archived = io::Result<()>;

/// A stream to which state is written. It may store arrays separately from other fields.
pub trait Output: Write {
    /// Writes an array to the stream.
    fn save_array(&mut self, bytes: &[u8]) -> Archived {
        self.write_all(bytes)
    }
}

/// A stream from which state is read.
pub trait Input: BufRead {
    /// Reads the next array, whose size must equal the length of `bytes`. Fails if the array is damaged.
    fn load_array(&mut self, bytes: &mut [u8]) -> Archived {
        self.read_exact(bytes)
    }

    /// Memory-maps the next array. Returns None if the stream is not a file; the caller must then read the array.
    fn map_array(&mut self, _bytes: usize) -> io::Result<Option<Mapping>> {
        Ok(None)
    }
}

impl Output for Vec<u8> {}
impl Input for &[u8] {}
impl<R: Read> Input for BufReader<R> {}

/// Access pattern of a large array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// The array is accessed at random, and most of it is accessed soon after loading, so huge pages pay off.
    AtRandom,
    /// The array is accessed in short runs far apart. Parts that are never touched can stay in the file.
    InRuns,
}

impl Archive<'_> {
    /// Saves or loads a small field of the state. Fails if the saved bytes are not a value of this type.
    pub fn value<T: Serialize + DeserializeOwned>(&mut self, value: &mut T) -> Archived {
        match self {
            Self::Save(to) => {
                let bytes = postcard::to_allocvec(value).map_err(Error::other)?;
                to.write_all(&(bytes.len() as u64).to_le_bytes())?;
                to.write_all(&bytes)
            }
            Self::Load(from) => {
                let mut bytes = Vec::new();
                let length = length(*from)?;
                // `read_to_end` allocates memory only as bytes arrive, so a wrong length cannot exhaust memory.
                Read::take(&mut **from, length).read_to_end(&mut bytes)?;
                *value = postcard::from_bytes(&bytes).map_err(|error| Error::new(ErrorKind::InvalidData, error))?;
                Ok(())
            }
        }
    }

    /// Saves or loads an array of fixed length; fails if the saved length differs. Numbers are little-endian.
    pub fn array<T: Plain>(&mut self, numbers: &mut [T]) -> Archived {
        match self {
            Self::Save(to) => {
                to.write_all(&(numbers.len() as u64).to_le_bytes())?;
                if cfg!(target_endian = "little") {
                    return to.save_array(bytes_of(numbers));
                }
                let converted: Vec<T> = numbers.iter().map(|number| number.to_little_endian()).collect();
                to.save_array(bytes_of(&converted))
            }
            Self::Load(from) => {
                expect_length(*from, numbers.len())?;
                read_numbers(*from, numbers)
            }
        }
    }

    /// Saves or loads a large array like [`Self::array`]. When loading, the array may be empty beforehand.
    pub fn huge<T: Plain>(&mut self, numbers: &mut HugeVec<T>, length: usize, access: Access) -> Archived {
        let Self::Load(from) = self else { return self.array(numbers) };
        expect_length(*from, length)?;
        let mapping = match access {
            Access::AtRandom => None,
            Access::InRuns => from.map_array(length * size_of::<T>())?,
        };
        if let Some(mapping) = mapping {
            *numbers = HugeVec::mapped(mapping);
            return Ok(());
        }
        if numbers.len() != length {
            *numbers = HugeVec::zeros(length);
        }
        read_numbers(*from, numbers)
    }
}

fn length(from: &mut dyn Input) -> io::Result<u64> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

fn expect_length(from: &mut dyn Input, expected: usize) -> Archived {
    let written = length(from)?;
    if written == expected as u64 {
        return Ok(());
    }
    Err(Error::new(ErrorKind::InvalidData, format!("the saved array has {written} numbers instead of {expected}")))
}

fn read_numbers<T: Plain>(from: &mut dyn Input, numbers: &mut [T]) -> Archived {
    from.load_array(bytes_of_mut(numbers))?;
    if cfg!(target_endian = "big") {
        numbers.iter_mut().for_each(|number| *number = number.to_little_endian());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
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

    /// The reader's buffer is so small that numbers straddle its end.
    #[test]
    fn loading_restores_the_saved_state() {
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
        assert_eq!(message, "the saved array has 5 numbers instead of 6");
        for end in 0..bytes.len() {
            assert!(load(&bytes[..end], &mut part(5)).is_err(), "{end} of {} bytes suffice", bytes.len());
        }
    }
}
