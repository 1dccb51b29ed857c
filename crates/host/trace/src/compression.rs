//! Decompression of gzip and zstd files, recognized by magic number.
//!
//! A file may consist of several compressed members, one after the other (as `cat` produces). Each member is decoded
//! separately, so that stray bytes between members are reported with their offset.

use std::io::{self, BufReader, Chain, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::GzDecoder;
use zstd::stream::read::Decoder;

/// Number of bytes needed to recognize the format of compressed data.
const MAGIC_BYTES: u64 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    Gzip,
    Zstd,
}

impl Compression {
    /// Returns the compression of data that begins with `head`; `None` for uncompressed data.
    pub fn of(head: &[u8]) -> Option<Self> {
        match head {
            [0x1F, 0x8B, ..] => Some(Self::Gzip),
            // A frame with data, or a skippable frame.
            [0x28, 0xB5, 0x2F, 0xFD] | [0x50..=0x5F, 0x2A, 0x4D, 0x18] => Some(Self::Zstd),
            _ => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }

    fn member(self, head: Vec<u8>, file: BufReader<Counted>) -> io::Result<Box<dyn Member>> {
        let source = Cursor::new(head).chain(file);
        Ok(match self {
            Self::Gzip => Box::new(GzDecoder::new(source)),
            Self::Zstd => Box::new(Decoder::with_buffer(source)?.single_frame()),
        })
    }
}

/// Reader of the file as stored (before decompression) that counts the bytes read.
pub(crate) struct Counted {
    pub inner: Box<dyn Read + Send>,
    pub count: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.inner.read(buffer)?;
        self.count.fetch_add(got as u64, Ordering::Relaxed);
        Ok(got)
    }
}

/// Reads the first bytes of a file, enough to recognize its compression; fewer at the end of the file.
pub(crate) fn head_of(file: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    file.take(MAGIC_BYTES).read_to_end(&mut head)?;
    Ok(head)
}

/// Decoder of a compressed member, which stops at the end of the member.
trait Member: Read + Send {
    /// Returns the file, positioned at the first byte after the compressed member.
    fn into_rest(self: Box<Self>) -> BufReader<Counted>;
}

/// Source of a compressed member: first the bytes that were already read, all of which belong to the member, then the
/// rest of the file.
type Source = Chain<Cursor<Vec<u8>>, BufReader<Counted>>;

impl Member for GzDecoder<Source> {
    fn into_rest(self: Box<Self>) -> BufReader<Counted> {
        self.into_inner().into_inner().1
    }
}

impl Member for Decoder<'static, Source> {
    fn into_rest(self: Box<Self>) -> BufReader<Counted> {
        self.finish().into_inner().1
    }
}

/// Error: bytes that are not compressed data follow a compressed member.
#[derive(Debug, thiserror::Error)]
#[error("the bytes from {at} on are not compressed data")]
pub(crate) struct Foreign {
    /// Offset in the file of the first byte that is not compressed data.
    pub at: u64,
}

/// Reader of all compressed members of a file.
pub(crate) struct Members {
    compression: Compression,
    /// Decoder of the current member; `None` after the last member.
    member: Option<Box<dyn Member>>,
}

impl Members {
    pub fn new(compression: Compression, head: Vec<u8>, file: BufReader<Counted>) -> io::Result<Self> {
        Ok(Self { compression, member: Some(compression.member(head, file)?) })
    }

    fn next(&self, mut file: BufReader<Counted>) -> io::Result<Option<Box<dyn Member>>> {
        let head = head_of(&mut file)?;
        if head.is_empty() {
            return Ok(None);
        }
        if Compression::of(&head) != Some(self.compression) {
            let read = file.get_ref().count.load(Ordering::Relaxed);
            let at = read - file.buffer().len() as u64 - head.len() as u64;
            return Err(io::Error::new(io::ErrorKind::InvalidData, Foreign { at }));
        }
        self.compression.member(head, file).map(Some)
    }
}

impl Read for Members {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(mut member) = self.member.take() {
            let got = member.read(buffer);
            self.member = match got {
                Ok(0) => self.next(member.into_rest())?,
                _ => Some(member),
            };
            if !matches!(got, Ok(0)) {
                return got;
            }
        }
        Ok(0)
    }
}
