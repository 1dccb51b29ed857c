//! Checkpoints: what the spare areas say, which pages are trimmed, how often blocks were erased.
//!
//! ```text
//! header:  magic (8), generation (8), bytes of the body (8), checksum of the body (8), checksum of all that (8)
//! body:    the next sequence number
//!          a block each:  erases, state (0 erased, 1 written, 2 closed), and of its pages if it is not erased:
//!                         state (0 erased, 1 damaged, 2 and on: 2 + role), logical page, sequence and version
//!          trimmed pages: how many runs, and of each the distance from the one before and its length
//! ```
//! Numbers of the body take seven bits a byte. Logical page and sequence are written as the difference from one more than
//! that of the page before, the version as the difference from the sequence: five bytes or so for a page.
//!
//! The body is written first and the header when the body is safe, to the slot that is not in use: until then the log in
//! the other slot is complete.

use std::collections::BTreeSet;

use ssdlab_core::{BlockId, Lpn, Ppn};
use ssdlab_nand::{Geometry, Oob, Trimmed};
use twox_hash::XxHash3_64;

use super::stream::{Reader, Writer};
use crate::backend::{Backend, Fault, Slot};
use crate::spare::{Content, ROLES, SPARE_BYTES, Spare, SpareBytes};
use crate::table::PageTable;

const MAGIC: [u8; 8] = *b"ssdchkpt";
/// Bytes before the body.
pub(super) const HEADER_BYTES: u64 = 40;

/// What a checkpoint is made of beside the spare areas.
pub(crate) struct Facts<'a> {
    /// Number of programs and trims so far.
    pub sequence: u64,
    /// Erases of every block.
    pub erases: &'a [u32],
    /// Blocks whose erased pages must not be programmed.
    pub closed: &'a [bool],
    /// Whether the data of a page was found damaged.
    pub is_damaged: &'a dyn Fn(Ppn) -> bool,
    /// Whether a logical page is written.
    pub is_written: &'a dyn Fn(Lpn) -> bool,
    /// Logical pages.
    pub logical_pages: u32,
}

/// A checkpoint as it was read.
pub(super) struct Checkpoint {
    pub generation: u64,
    /// Bytes of header and body.
    pub bytes: u64,
    pub sequence: u64,
    pub table: PageTable,
    pub closed: Vec<bool>,
    pub damaged: BTreeSet<Ppn>,
    pub trims: Vec<Trimmed>,
}

/// The header in a slot: generation, bytes and checksum of the body.
pub(super) fn header<B: Backend>(backend: &B, slot: Slot) -> Result<Option<(u64, u64, u64)>, Fault> {
    let mut bytes = [0; HEADER_BYTES as usize];
    backend.read_log(slot, 0, &mut bytes)?;
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    let sound = bytes[..8] == MAGIC && number(32) == XxHash3_64::oneshot(&bytes[..32]);
    Ok(sound.then(|| (number(8), number(16), number(24))))
}

/// Writes a checkpoint; returns the bytes of header and body.
pub(super) fn write<B: Backend>(backend: &mut B, slot: Slot, generation: u64, facts: &Facts<'_>) -> Result<u64, Fault> {
    let mut writer = Writer::new(backend, slot, HEADER_BYTES, generation);
    writer.number(facts.sequence)?;
    let trimmed = write_blocks(&mut writer, facts)?;
    write_trims(&mut writer, &trimmed)?;
    let (end, checksum) = writer.finish()?;
    backend.sync()?;
    let mut header = [0; HEADER_BYTES as usize];
    header[..8].copy_from_slice(&MAGIC);
    header[8..16].copy_from_slice(&generation.to_le_bytes());
    header[16..24].copy_from_slice(&(end - HEADER_BYTES).to_le_bytes());
    header[24..32].copy_from_slice(&checksum.to_le_bytes());
    let own = XxHash3_64::oneshot(&header[..32]);
    header[32..].copy_from_slice(&own.to_le_bytes());
    backend.write_log(slot, 0, &header)?;
    backend.sync()?;
    Ok(end)
}

/// Writes what the spare areas say; returns the trimmed pages of which there are still copies, in ascending order.
fn write_blocks<B: Backend>(writer: &mut Writer<'_, B>, facts: &Facts<'_>) -> Result<Vec<u32>, Fault> {
    let Geometry { pages_per_block, blocks, .. } = *writer.backend().geometry();
    let mut spares = vec![0; pages_per_block as usize * SPARE_BYTES];
    let mut trimmed = vec![false; facts.logical_pages as usize];
    for block in (0..blocks).map(BlockId) {
        writer.number(facts.erases[block.index()].into())?;
        writer.backend().read_spares(block, &mut spares)?;
        let closed = facts.closed[block.index()];
        if !closed && spares.iter().all(|&byte| byte == 0) {
            writer.byte(0)?;
            continue;
        }
        writer.byte(if closed { 2 } else { 1 })?;
        let (mut next_lpn, mut next_sequence) = (0, 0);
        for (ppn, spare) in (block.0 * pages_per_block..).map(Ppn).zip(spares.chunks_exact(SPARE_BYTES)) {
            let spare: &SpareBytes = spare.try_into().expect("a spare area");
            match Content::decode(ppn, spare) {
                Content::Erased => writer.byte(0)?,
                Content::Programmed(Spare { oob, version, .. }) if !(facts.is_damaged)(ppn) => {
                    writer.byte(2 + oob.role as u8)?;
                    writer.difference(i64::from(oob.lpn.0) - next_lpn)?;
                    writer.difference(oob.sequence as i64 - next_sequence)?;
                    writer.difference(oob.sequence as i64 - version as i64)?;
                    (next_lpn, next_sequence) = (i64::from(oob.lpn.0) + 1, oob.sequence as i64 + 1);
                    if oob.lpn.0 < facts.logical_pages && !(facts.is_written)(oob.lpn) {
                        trimmed[oob.lpn.index()] = true;
                    }
                }
                Content::Damaged | Content::Programmed(_) => writer.byte(1)?,
            }
        }
    }
    Ok((0..facts.logical_pages).filter(|&lpn| trimmed[lpn as usize]).collect())
}

fn write_trims<B: Backend>(writer: &mut Writer<'_, B>, trimmed: &[u32]) -> Result<(), Fault> {
    let runs = || trimmed.chunk_by(|before, next| before + 1 == *next);
    writer.number(runs().count() as u64)?;
    let mut behind = 0;
    for run in runs() {
        writer.number((run[0] - behind).into())?;
        writer.number(run.len() as u64)?;
        behind = run[0] + run.len() as u32;
    }
    Ok(())
}

/// Reads the checkpoint in a slot; none if it is not whole.
pub(super) fn read<B: Backend>(backend: &B, slot: Slot) -> Result<Option<Checkpoint>, Fault> {
    let Some((generation, length, checksum)) = header(backend, slot)? else { return Ok(None) };
    let mut bytes = vec![0; length as usize];
    backend.read_log(slot, HEADER_BYTES, &mut bytes)?;
    if XxHash3_64::oneshot_with_seed(generation, &bytes) != checksum {
        return Ok(None);
    }
    let parsed = parse(&mut Reader(&bytes), backend.geometry());
    Ok(parsed.map(|checkpoint| Checkpoint { generation, bytes: HEADER_BYTES + length, ..checkpoint }))
}

fn parse(reader: &mut Reader<'_>, geometry: &Geometry) -> Option<Checkpoint> {
    let Geometry { pages_per_block, blocks, .. } = *geometry;
    let sequence = reader.number()?;
    let mut damaged = BTreeSet::new();
    let mut table = PageTable::new(geometry.pages(), blocks);
    let mut closed = vec![false; blocks as usize];
    for block in 0..blocks {
        table.erases[block as usize] = reader.number()? as u32;
        let state = reader.byte()?;
        closed[block as usize] = state == 2;
        let (mut next_lpn, mut next_sequence) = (0, 0);
        let pages = if state == 0 { 0 } else { pages_per_block };
        for ppn in (block * pages_per_block..).take(pages as usize).map(Ppn) {
            let content = match reader.byte()? {
                0 if state == 2 => Content::Damaged,
                0 => continue,
                1 => {
                    damaged.insert(ppn);
                    Content::Damaged
                }
                role => {
                    let role = *ROLES.get(usize::from(role) - 2)?;
                    let lpn = reader.difference()? + next_lpn;
                    let sequence = reader.difference()? + next_sequence;
                    let version = (sequence - reader.difference()?) as u64;
                    (next_lpn, next_sequence) = (lpn + 1, sequence + 1);
                    let oob = Oob { lpn: Lpn(lpn as u32), sequence: sequence as u64, role };
                    Content::Programmed(Spare { oob, version, lost: false })
                }
            };
            table.set(ppn, content);
        }
    }
    let mut trims = Vec::new();
    let mut lpn = 0;
    for _ in 0..reader.number()? {
        lpn += reader.number()? as u32;
        let count = reader.number()? as u32;
        trims.push(Trimmed { lpn: Lpn(lpn), count, sequence });
        lpn += count;
    }
    Some(Checkpoint { generation: 0, bytes: 0, sequence, table, closed, damaged, trims })
}
