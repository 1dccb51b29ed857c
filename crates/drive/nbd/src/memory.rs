//! Export in memory, for tests, benchmarks and the example.

use std::ops::Range;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::export::{BlockSizes, Errno, Export, ExportResult, Extent, Features, ReplyTime, Zeroing};

/// Size of a chunk, the unit of locking and allocation.
const CHUNK: u64 = 64 << 10;

/// Contents of a chunk; `None` for a hole.
type Chunk = Option<Box<[u8]>>;

/// An export whose bytes are in memory. Each unwritten 64 KiB chunk takes only a few bytes.
#[derive(Debug)]
pub struct Memory {
    chunks: Box<[RwLock<Chunk>]>,
    size: u64,
    block_sizes: BlockSizes,
    features: Features,
}

impl Memory {
    /// Creates an export of `size` zero bytes.
    pub fn new(size: u64) -> Self {
        let chunks = (0..size.div_ceil(CHUNK)).map(|_| RwLock::default()).collect();
        Self { chunks, size, block_sizes: BlockSizes::default(), features: Features::default() }
    }

    /// Sets the request sizes that the export accepts.
    #[must_use]
    pub fn with_block_sizes(self, block_sizes: BlockSizes) -> Self {
        Self { block_sizes, ..self }
    }

    /// Sets the capabilities of the export.
    #[must_use]
    pub fn with_features(self, features: Features) -> Self {
        Self { features, ..self }
    }

    /// Zeroes a byte range; whole chunks become holes unless they must stay allocated.
    fn zero(&self, offset: u64, bytes: u64, no_hole: bool) {
        for (chunk, part) in parts(offset, bytes) {
            let mut chunk = self.written(chunk);
            match &mut *chunk {
                Some(_) if part.len() == CHUNK as usize && !no_hole => *chunk = None,
                Some(held) => held[part].fill(0),
                None if no_hole => *chunk = Some(empty()),
                None => {}
            }
        }
    }

    // Ignores a poisoned lock: any bytes that a panicking thread leaves in a chunk are valid contents.
    fn shared(&self, chunk: usize) -> RwLockReadGuard<'_, Chunk> {
        self.chunks[chunk].read().unwrap_or_else(PoisonError::into_inner)
    }

    fn written(&self, chunk: usize) -> RwLockWriteGuard<'_, Chunk> {
        self.chunks[chunk].write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn empty() -> Box<[u8]> {
    vec![0; CHUNK as usize].into()
}

/// Splits a byte range into parts that each lie in one chunk; returns the number of the chunk and the range in it.
fn parts(mut offset: u64, bytes: u64) -> impl Iterator<Item = (usize, Range<usize>)> {
    let end = offset + bytes;
    std::iter::from_fn(move || {
        let (chunk, start) = (offset / CHUNK, offset % CHUNK);
        let bytes = (CHUNK - start).min(end - offset);
        offset += bytes;
        (bytes > 0).then_some((chunk as usize, start as usize..(start + bytes) as usize))
    })
}

impl Export for Memory {
    fn size(&self) -> u64 {
        self.size
    }

    fn block_sizes(&self) -> BlockSizes {
        self.block_sizes
    }

    fn features(&self) -> Features {
        self.features
    }

    fn description(&self) -> &str {
        "memory; data is lost when the server exits"
    }

    fn read(&self, offset: u64, mut buffer: &mut [u8]) -> ExportResult {
        for (chunk, part) in parts(offset, buffer.len() as u64) {
            let (into, rest) = buffer.split_at_mut(part.len());
            match &*self.shared(chunk) {
                Some(held) => into.copy_from_slice(&held[part]),
                None => into.fill(0),
            }
            buffer = rest;
        }
        Ok(ReplyTime::Now)
    }

    fn write(&self, offset: u64, mut data: &[u8], _fua: bool) -> ExportResult {
        for (chunk, part) in parts(offset, data.len() as u64) {
            let (from, rest) = data.split_at(part.len());
            self.written(chunk).get_or_insert_with(empty)[part].copy_from_slice(from);
            data = rest;
        }
        Ok(ReplyTime::Now)
    }

    fn trim(&self, offset: u64, bytes: u64, _fua: bool) -> ExportResult {
        self.zero(offset, bytes, false);
        Ok(ReplyTime::Now)
    }

    fn write_zeroes(&self, offset: u64, bytes: u64, how: Zeroing) -> ExportResult {
        if how.fast && how.no_hole {
            return Err(Errno::NotSup);
        }
        self.zero(offset, bytes, how.no_hole);
        Ok(ReplyTime::Now)
    }

    fn flush(&self) -> ExportResult {
        Ok(ReplyTime::Now)
    }

    fn cache(&self, _offset: u64, _bytes: u64) -> ExportResult {
        Ok(ReplyTime::Now)
    }

    fn extent(&self, offset: u64, bytes: u64) -> Result<Extent, Errno> {
        let hole = |chunk: usize| self.shared(chunk).is_none();
        let mut run = parts(offset, bytes);
        // Looks at the first chunk only once, because a write may fill a hole meanwhile, and an extent is never empty.
        let (first, part) = run.next().ok_or(Errno::Inval)?;
        let is_hole = hole(first);
        let rest: usize = run.take_while(|&(chunk, _)| hole(chunk) == is_hole).map(|(_, part)| part.len()).sum();
        Ok(Extent { bytes: (part.len() + rest) as u64, hole: is_hole, zero: is_hole })
    }
}
