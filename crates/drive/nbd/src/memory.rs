//! Export in memory, for tests, benchmarks and the example.

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
        for piece in pieces(offset, bytes) {
            let mut chunk = self.written(piece.chunk);
            match &mut *chunk {
                Some(_) if piece.bytes == CHUNK as usize && !no_hole => *chunk = None,
                Some(held) => held[piece.start..][..piece.bytes].fill(0),
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

/// The part of a byte range that lies in one chunk.
struct Piece {
    chunk: usize,
    start: usize,
    bytes: usize,
}

fn pieces(mut offset: u64, bytes: u64) -> impl Iterator<Item = Piece> {
    let end = offset + bytes;
    std::iter::from_fn(move || {
        let start = offset % CHUNK;
        let bytes = (CHUNK - start).min(end - offset);
        let piece = Piece { chunk: (offset / CHUNK) as usize, start: start as usize, bytes: bytes as usize };
        offset += bytes;
        (bytes > 0).then_some(piece)
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
        for piece in pieces(offset, buffer.len() as u64) {
            let (part, rest) = buffer.split_at_mut(piece.bytes);
            match &*self.shared(piece.chunk) {
                Some(held) => part.copy_from_slice(&held[piece.start..][..piece.bytes]),
                None => part.fill(0),
            }
            buffer = rest;
        }
        Ok(ReplyTime::Now)
    }

    fn write(&self, offset: u64, mut data: &[u8], _fua: bool) -> ExportResult {
        for piece in pieces(offset, data.len() as u64) {
            let (part, rest) = data.split_at(piece.bytes);
            let mut chunk = self.written(piece.chunk);
            chunk.get_or_insert_with(empty)[piece.start..][..piece.bytes].copy_from_slice(part);
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
        let hole = |piece: &Piece| self.shared(piece.chunk).is_none();
        let mut run = pieces(offset, bytes);
        let first = run.next().ok_or(Errno::Inval)?;
        let is_hole = hole(&first);
        let rest: usize = run.take_while(|piece| hole(piece) == is_hole).map(|piece| piece.bytes).sum();
        Ok(Extent { bytes: (first.bytes + rest) as u64, hole: is_hole, zero: is_hole })
    }
}
