//! Checkpoints: what the spare areas say, which pages are trimmed, how often blocks were erased.
//!
//! ```text
//! header:  magic (8), generation (8), bytes of the body (8), checksum of the body (8), checksum of all that (8)
//! body:    the next sequence number (8), what the drive counts over its life (8 each)
//!          erases of every block (4 each)
//!          a block each:  state (1: 0 erased, 1 written, 2 closed), and if it is not erased its pages as in `table.rs`
//!          trimmed pages: how many runs (4), and of each its first page (4) and its length (4)
//! ```
//! Numbers are little-endian. Blocks written in one go take a few bytes, others six to ten for a page. Copies that are
//! not the newest are marked, so that a mount compares none of them with another.
//!
//! The body is written first and the header when the body is safe, to the slot that is not in use: until then the log
//! in the other slot is complete. When the header is safe the other one is wiped out, but for the new generation. One
//! wrong bit of a header is put right.

use std::collections::BTreeSet;

use ssdlab_core::{BlockId, HugeVec, Lpn, Ppn};
use ssdlab_nand::{Found, Geometry, Trimmed};
use twox_hash::XxHash3_64;

use super::stream::Writer;
use crate::backend::{Backend, Fault, Slot};
use crate::bits::put_right;
use crate::life::{Life, NUMBERS};
use crate::spare::{SPARE_BYTES, decode_block};
use crate::table::{BlockPages, PageTable, Written};

const MAGIC: [u8; 8] = *b"ssdchkpt";
/// Bytes before the body.
pub(super) const HEADER_BYTES: u64 = 40;

type Header = [u8; HEADER_BYTES as usize];

/// States of a block.
const ERASED: u8 = 0;
const WRITTEN: u8 = 1;
const CLOSED: u8 = 2;

/// What a checkpoint is made of beside the spare areas.
pub(crate) struct Facts<'a> {
    /// Number of programs and trims so far.
    pub sequence: u64,
    /// What is counted since the drive was made.
    pub life: Life,
    /// Erases of every block.
    pub erases: &'a [u32],
    /// Blocks whose erased pages must not be programmed.
    pub closed: &'a [bool],
    /// Whether the data of a page was found damaged.
    pub is_damaged: &'a dyn Fn(Ppn) -> bool,
    /// Where the newest copy of a logical page is.
    pub newest: &'a dyn Fn(Lpn) -> Option<Ppn>,
    /// Logical pages.
    pub logical_pages: u32,
    /// Whether the drive is shut down. If not, a first record says so: it is there with the checkpoint or not at all.
    pub ends: bool,
    /// A block as it was surveyed, of which no copy is trimmed, if it has not changed since.
    pub surveyed: &'a dyn Fn(BlockId) -> Option<&'a [u8]>,
}

/// A checkpoint as it was read.
pub(super) struct Checkpoint {
    pub generation: u64,
    /// Bytes of header and body.
    pub bytes: u64,
    pub sequence: u64,
    pub life: Life,
    pub table: PageTable,
    pub closed: Vec<bool>,
    pub damaged: BTreeSet<Ppn>,
    pub trims: Vec<Trimmed>,
}

/// The header in a slot: generation, bytes and checksum of the body.
pub(super) fn header<B: Backend>(backend: &B, slot: Slot) -> Result<Option<(u64, u64, u64)>, Fault> {
    let mut bytes = [0; HEADER_BYTES as usize];
    backend.read_log(slot, 0, &mut bytes)?;
    let is_whole = |bytes: &Header| bytes[..8] == MAGIC && number(bytes, 32) == XxHash3_64::oneshot(&bytes[..32]);
    let sound = put_right(&bytes, is_whole);
    Ok(sound.map(|bytes| (number(&bytes, 8), number(&bytes, 16), number(&bytes, 24))))
}

/// The generation that a slot names, be its header sound or not: of its log, or of the one that outdated it.
pub(super) fn generation<B: Backend>(backend: &B, slot: Slot) -> Result<u64, Fault> {
    if let Some((generation, ..)) = header(backend, slot)? {
        return Ok(generation);
    }
    let mut bytes = [0; HEADER_BYTES as usize];
    backend.read_log(slot, 0, &mut bytes)?;
    Ok(number(&bytes, 8))
}

/// No log in this slot counts any more: that of this generation does, in the other. If the header of that is ever
/// damaged, it is not taken for an older one, and its generation is still known.
pub(super) fn outdate<B: Backend>(backend: &mut B, slot: Slot, generation: u64) -> Result<(), Fault> {
    let mut header = [0; HEADER_BYTES as usize];
    header[8..16].copy_from_slice(&generation.to_le_bytes());
    backend.write_log(slot, 0, &header)
}

fn number(header: &Header, at: usize) -> u64 {
    u64::from_le_bytes(header[at..at + 8].try_into().expect("eight bytes"))
}

/// A body that has been written, and counts once its header is there.
pub(super) struct Body {
    /// Where it ends.
    pub end: u64,
    checksum: u64,
}

/// Writes the body of a checkpoint.
pub(super) fn write<B: Backend>(
    backend: &mut B,
    slot: Slot,
    generation: u64,
    facts: &Facts<'_>,
) -> Result<Body, Fault> {
    let mut writer = Writer::new(backend, slot, HEADER_BYTES, generation);
    writer.bytes(&facts.sequence.to_le_bytes())?;
    facts.life.numbers().iter().try_for_each(|number| writer.bytes(&number.to_le_bytes()))?;
    facts.erases.iter().try_for_each(|erases| writer.bytes(&erases.to_le_bytes()))?;
    let trimmed = write_blocks(&mut writer, facts)?;
    write_trims(&mut writer, &trimmed)?;
    let (end, checksum) = writer.finish()?;
    Ok(Body { end, checksum })
}

impl Body {
    /// Writes its header: from now on it is the checkpoint, with what lies behind it.
    pub fn seal<B: Backend>(self, backend: &mut B, slot: Slot, generation: u64) -> Result<(), Fault> {
        backend.sync()?;
        let mut header = [0; HEADER_BYTES as usize];
        header[..8].copy_from_slice(&MAGIC);
        header[8..16].copy_from_slice(&generation.to_le_bytes());
        header[16..24].copy_from_slice(&(self.end - HEADER_BYTES).to_le_bytes());
        header[24..32].copy_from_slice(&self.checksum.to_le_bytes());
        let own = XxHash3_64::oneshot(&header[..32]);
        header[32..].copy_from_slice(&own.to_le_bytes());
        backend.write_log(slot, 0, &header)?;
        backend.sync()?;
        outdate(backend, slot.other(), generation)
    }
}

/// Writes what the spare areas say; returns the trimmed pages of which there are still copies, in ascending order.
fn write_blocks<B: Backend>(writer: &mut Writer<'_, B>, facts: &Facts<'_>) -> Result<Vec<u32>, Fault> {
    let Geometry { pages_per_block, blocks, .. } = *writer.backend().geometry();
    let mut spares = vec![0; pages_per_block as usize * SPARE_BYTES];
    let (mut pages, mut bytes) = (Vec::with_capacity(pages_per_block as usize), Vec::new());
    let mut trimmed = vec![false; facts.logical_pages as usize];
    for block in (0..blocks).map(BlockId) {
        let closed = facts.closed[block.index()];
        if let Some(surveyed) = (facts.surveyed)(block) {
            writer.bytes(&[if closed { CLOSED } else { WRITTEN }])?;
            writer.bytes(surveyed)?;
            continue;
        }
        writer.backend().read_spares(block, &mut spares)?;
        if !closed && spares.iter().all(|&byte| byte == 0) {
            writer.bytes(&[ERASED])?;
            continue;
        }
        writer.bytes(&[if closed { CLOSED } else { WRITTEN }])?;
        pages.clear();
        pages.extend(decode_block(block, &spares).map(|(ppn, content)| match content.found() {
            Found::Programmed { .. } if (facts.is_damaged)(ppn) => Found::Unreadable,
            Found::Programmed { oob, version, .. } if oob.lpn.0 < facts.logical_pages => {
                let newest = (facts.newest)(oob.lpn);
                trimmed[oob.lpn.index()] |= newest.is_none();
                Found::Programmed { oob, version, outdated: newest != Some(ppn) }
            }
            found => found,
        }));
        bytes.clear();
        BlockPages::encode(&pages, &mut bytes);
        writer.bytes(&bytes)?;
    }
    Ok((0..facts.logical_pages).filter(|&lpn| trimmed[lpn as usize]).collect())
}

fn write_trims<B: Backend>(writer: &mut Writer<'_, B>, trimmed: &[u32]) -> Result<(), Fault> {
    let runs = || trimmed.chunk_by(|before, next| before + 1 == *next);
    writer.bytes(&(runs().count() as u32).to_le_bytes())?;
    for run in runs() {
        writer.bytes(&run[0].to_le_bytes())?;
        writer.bytes(&(run.len() as u32).to_le_bytes())?;
    }
    Ok(())
}

/// Reads the checkpoint in a slot; none if it is not whole.
pub(super) fn read<B: Backend>(backend: &B, slot: Slot) -> Result<Option<Checkpoint>, Fault> {
    let Some((generation, length, checksum)) = header(backend, slot)? else { return Ok(None) };
    let mut bytes = HugeVec::zeros(length as usize);
    backend.read_log(slot, HEADER_BYTES, &mut bytes)?;
    if XxHash3_64::oneshot_with_seed(generation, &bytes) != checksum {
        return Ok(None);
    }
    let parsed = parse(bytes, backend.geometry());
    Ok(parsed.map(|checkpoint| Checkpoint { generation, bytes: HEADER_BYTES + length, ..checkpoint }))
}

/// What a body says, whose checksum was right; none if it is not one.
fn parse(bytes: HugeVec<u8>, geometry: &Geometry) -> Option<Checkpoint> {
    let Geometry { pages_per_block, blocks, .. } = *geometry;
    let mut rest = &bytes[..];
    let sequence = u64::from_le_bytes(*take(&mut rest)?);
    let mut life = [0; NUMBERS];
    for number in &mut life {
        *number = u64::from_le_bytes(*take(&mut rest)?);
    }
    let life = Life::of(life);
    let mut numbers = || Some(u32::from_le_bytes(*take(&mut rest)?));
    let erases = (0..blocks).map(|_| numbers()).collect::<Option<Vec<u32>>>()?;
    let mut damaged = BTreeSet::new();
    let mut written = Vec::with_capacity(blocks as usize);
    for block in 0..blocks {
        let &[state] = take(&mut rest)?;
        if state == ERASED {
            written.push(None);
            continue;
        }
        let (at, widths) = (bytes.len() - rest.len(), *rest.first_chunk()?);
        written.push(Some(Written { part: 0, at, widths, closed: state == CLOSED }));
        let pages = BlockPages::take(pages_per_block as usize, &mut rest)?.damaged(pages_per_block as usize)?;
        damaged.extend(pages.into_iter().map(|page| Ppn(block * pages_per_block + page)));
    }
    let mut numbers = || Some(u32::from_le_bytes(*take(&mut rest)?));
    let runs = numbers()?;
    let trim = |_| Some(Trimmed { lpn: Lpn(numbers()?), count: numbers()?, sequence });
    let trims = (0..runs).map(trim).collect::<Option<Vec<Trimmed>>>()?;
    let closed = written.iter().map(|block: &Option<Written>| block.is_some_and(|block| block.closed)).collect();
    let table = PageTable::of(geometry, bytes, written, sequence, erases);
    Some(Checkpoint { generation: 0, bytes: 0, sequence, life, table, closed, damaged, trims })
}

fn take<'a, const BYTES: usize>(rest: &mut &'a [u8]) -> Option<&'a [u8; BYTES]> {
    let (first, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(first)
}
