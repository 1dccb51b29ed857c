//! Checkpoints: contents of the spare areas, trimmed pages, erase counts.
//!
//! ```text
//! header:  magic (8), generation (8), bytes of the body (8), checksum of the body (8), checksum of the header (8)
//! body:    the next sequence number (8), lifetime counters of the drive (8 each)
//!          erases of every block (4 each)
//!          per block:  state (1: 0 erased, 1 written, 2 closed); unless erased, also its pages as in `table.rs`
//!          trimmed pages: number of runs (4); for each run, its first page (4) and its length (4)
//! ```
//! Numbers are little-endian. Blocks written sequentially take a few bytes, other blocks six to ten bytes per page.
//! Copies that are not the newest are marked, so that a mount does not compare them.
//!
//! The body is written to the unused slot first, and the header once the body is safe. Until then, the log in the other
//! slot remains valid. Once the new header is safe too, the other slot's header is cleared, except that the new
//! generation number is stored in it. A single wrong bit of a header is corrected.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use ssdlab_core::{BlockId, HugeVec, Lpn, PageBits, Ppn};
use ssdlab_ftl::DynFtl;
use ssdlab_nand::{Found, Geometry, Trimmed};
use twox_hash::XxHash3_64;

use super::LogContents;
use super::stream::Writer;
use crate::backend::{Backend, Fault, Slot};
use crate::bits::{corrected, u64_at};
use crate::life::{Life, NUMBERS};
use crate::processors::{readers, share};
use crate::spare::{Content, SPARE_BYTES};
use crate::table::{BlockPages, PageTable, Written};

const MAGIC: [u8; 8] = *b"ssdchkpt";
pub(super) const HEADER_BYTES: u64 = 40;

type Header = [u8; HEADER_BYTES as usize];

/// State of an erased block, as stored in a checkpoint.
const ERASED: u8 = 0;
const WRITTEN: u8 = 1;
const CLOSED: u8 = 2;

/// Contents of a checkpoint, except the spare areas.
pub(crate) struct CheckpointContents<'a> {
    /// Number of programs and trims so far.
    pub sequence: u64,
    pub life: Life,
    pub erases: &'a [u32],
    /// For each block, true if its erased pages must not be programmed.
    pub closed: &'a [bool],
    pub damaged: &'a BTreeSet<Ppn>,
    /// FTL whose map points to the newest copy of each page; None before the first write to the drive.
    pub ftl: Option<&'a dyn DynFtl>,
    pub logical_pages: u32,
    /// True if the drive is being shut down. Otherwise the first record of the journal states that the drive is in use.
    /// That record is valid if and only if the checkpoint is valid.
    pub ends: bool,
}

/// Returns the header in a slot: generation, size and checksum of the body.
pub(super) fn header<B: Backend>(backend: &B, slot: Slot) -> Result<Option<(u64, u64, u64)>, Fault> {
    let mut bytes = [0; HEADER_BYTES as usize];
    backend.read_log(slot, 0, &mut bytes)?;
    let is_whole = |bytes: &Header| bytes[..8] == MAGIC && u64_at(bytes, 32) == XxHash3_64::oneshot(&bytes[..32]);
    let sound = corrected(&bytes, is_whole);
    Ok(sound.map(|bytes| (u64_at(&bytes, 8), u64_at(&bytes, 16), u64_at(&bytes, 24))))
}

/// Returns the generation number in a slot, even if the header is damaged. The number belongs to the log in the slot,
/// or to the newer log that replaced that log.
pub(super) fn generation<B: Backend>(backend: &B, slot: Slot) -> Result<u64, Fault> {
    if let Some((generation, ..)) = header(backend, slot)? {
        return Ok(generation);
    }
    let mut bytes = [0; HEADER_BYTES as usize];
    backend.read_log(slot, 0, &mut bytes)?;
    Ok(u64_at(&bytes, 8))
}

/// Invalidates the log in `slot`, because the other slot holds the newer log with the given generation number. The
/// generation number is stored in this slot too. If the newer header is damaged later, the number is still known, and
/// the older log is not used.
pub(super) fn outdate<B: Backend>(backend: &mut B, slot: Slot, generation: u64) -> Result<(), Fault> {
    let mut header = [0; HEADER_BYTES as usize];
    header[8..16].copy_from_slice(&generation.to_le_bytes());
    backend.write_log(slot, 0, &header)
}

/// Writes the body of a checkpoint, which becomes valid once its header is written. Returns the end offset of the body
/// in the slot, and its checksum.
pub(super) fn write<B: Backend>(
    backend: &mut B,
    slot: Slot,
    generation: u64,
    facts: &CheckpointContents<'_>,
) -> Result<(u64, u64), Fault> {
    let mut writer = Writer::new(backend, slot, HEADER_BYTES, generation);
    writer.bytes(&facts.sequence.to_le_bytes())?;
    facts.life.numbers().iter().try_for_each(|number| writer.bytes(&number.to_le_bytes()))?;
    facts.erases.iter().try_for_each(|erases| writer.bytes(&erases.to_le_bytes()))?;
    let trimmed = write_blocks(&mut writer, facts)?;
    write_trims(&mut writer, &trimmed)?;
    writer.finish()
}

/// Writes the header of a checkpoint, which makes the checkpoint and its journal the current log. The body of the
/// checkpoint ends at offset `end` and has the checksum `checksum`.
pub(super) fn seal<B: Backend>(
    backend: &mut B,
    slot: Slot,
    generation: u64,
    end: u64,
    checksum: u64,
) -> Result<(), Fault> {
    backend.sync()?;
    let numbers = [u64::from_le_bytes(MAGIC), generation, end - HEADER_BYTES, checksum];
    let mut header = numbers.map(u64::to_le_bytes).concat();
    header.extend(XxHash3_64::oneshot(&header).to_le_bytes());
    backend.write_log(slot, 0, &header)?;
    backend.sync()?;
    outdate(backend, slot.other(), generation)
}

/// Number of blocks that all threads together encode per round. The encoded blocks take a few megabytes, and stay in
/// memory until they are written.
const ROUND: u32 = 1024;

/// Encoded blocks to be written to a checkpoint.
#[derive(Default)]
struct Encoded {
    blocks: Vec<(BlockId, Range<usize>)>,
    bytes: Vec<u8>,
    /// Trimmed pages that still have copies in the blocks.
    trimmed: Vec<Lpn>,
}

impl Encoded {
    fn clear(&mut self) {
        self.blocks.clear();
        self.bytes.clear();
        self.trimmed.clear();
    }
}

/// Writes the spare areas; returns the trimmed pages that still have copies, in ascending order.
fn write_blocks<B: Backend>(writer: &mut Writer<'_, B>, facts: &CheckpointContents<'_>) -> Result<Vec<u32>, Fault> {
    let blocks = writer.backend().geometry().blocks;
    let marked = Marked::of(facts, writer.backend().geometry());
    let mut trimmed = PageBits::new(facts.logical_pages);
    // Keeps the buffers for the next round, because the system would have to zero newly allocated memory.
    let unused = Mutex::new(Vec::new());
    for first in (0..blocks).step_by(ROUND as usize) {
        let (flash, round) = (writer.backend(), ROUND.min(blocks - first));
        let all = share(readers(flash, round), round, |own| {
            let mut encoded = unused.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
            marked.encode(flash, &mut own.map(|block| BlockId(first + block.0)), &mut encoded).map(|()| encoded)
        });
        let mut all = all.into_iter().collect::<Result<Vec<Encoded>, Fault>>()?;
        let mut in_order = Vec::with_capacity(round as usize);
        for Encoded { blocks, bytes, trimmed: copies } in &all {
            in_order.extend(blocks.iter().map(|(block, at)| (*block, &bytes[at.clone()])));
            copies.iter().for_each(|lpn| trimmed.set(lpn.0));
        }
        in_order.sort_unstable_by_key(|(block, _)| *block);
        in_order.into_iter().try_for_each(|(_, bytes)| writer.bytes(bytes))?;
        all.iter_mut().for_each(Encoded::clear);
        unused.lock().unwrap_or_else(PoisonError::into_inner).extend(all);
    }
    Ok((0..facts.logical_pages).filter(|&lpn| trimmed.is_set(lpn)).collect())
}

/// States of blocks and pages that a checkpoint stores in addition to the spare areas.
struct Marked<'a> {
    closed: &'a [bool],
    damaged: &'a BTreeSet<Ppn>,
    /// `has_copy` has a bit per logical page, set if the page has a copy. `is_newest` has a bit per flash page, set if
    /// the flash page holds the newest copy of a logical page. The bits avoid a map look-up per flash page, which would
    /// be slow because the map entries are far apart in memory.
    has_copy: PageBits,
    is_newest: PageBits,
    logical_pages: u32,
}

impl<'a> Marked<'a> {
    fn of(facts: &CheckpointContents<'a>, geometry: &Geometry) -> Self {
        let CheckpointContents { closed, damaged, logical_pages, .. } = *facts;
        let (mut has_copy, mut is_newest) = (PageBits::new(logical_pages), PageBits::new(geometry.pages() as u32));
        if let Some(ftl) = facts.ftl {
            ftl.copies(logical_pages, &mut |lpn, ppn| {
                has_copy.set(lpn.0);
                is_newest.set(ppn.0);
            });
        }
        Self { closed, damaged, has_copy, is_newest, logical_pages }
    }

    /// Appends blocks in the encoding of a checkpoint.
    fn encode(
        &self,
        flash: &impl Backend,
        blocks: &mut dyn Iterator<Item = BlockId>,
        encoded: &mut Encoded,
    ) -> Result<(), Fault> {
        let count = flash.geometry().pages_per_block;
        let mut spares = vec![0; count as usize * SPARE_BYTES];
        let (mut pages, mut outdated) = (vec![Found::Erased; count as usize], Vec::new());
        for block in blocks {
            let (first, closed, begin) = (block.0 * count, self.closed[block.index()], encoded.bytes.len());
            flash.read_spares(Ppn(first), &mut spares)?;
            if !closed && spares.iter().all(|&byte| byte == 0) {
                encoded.bytes.push(ERASED);
            } else {
                for ((ppn, spare), page) in (first..).map(Ppn).zip(spares.as_chunks().0).zip(&mut pages) {
                    *page = self.page(ppn, Content::decode(ppn, spare).found(), &mut outdated);
                }
                encoded.bytes.push(if closed { CLOSED } else { WRITTEN });
                BlockPages::encode(&pages, &mut encoded.bytes);
                // Looks up the map entries of all these pages together, so that the cache misses overlap.
                encoded.trimmed.extend(outdated.drain(..).filter(|lpn: &Lpn| !self.has_copy.is_set(lpn.0)));
            }
            encoded.blocks.push((block, begin..encoded.bytes.len()));
        }
        Ok(())
    }

    #[inline(always)]
    fn page(&self, ppn: Ppn, contents: Found, outdated: &mut Vec<Lpn>) -> Found {
        match contents {
            Found::Programmed { .. } if self.damaged.contains(&ppn) => Found::Unreadable,
            Found::Programmed { oob, version, .. } if oob.lpn.0 < self.logical_pages => {
                let is_newest = self.is_newest.is_set(ppn.0);
                if !is_newest {
                    outdated.push(oob.lpn);
                }
                Found::Programmed { oob, version, outdated: !is_newest }
            }
            contents => contents,
        }
    }
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

/// Reads the checkpoint in a slot: its generation number and its contents; None if the checkpoint is incomplete.
pub(super) fn read<B: Backend>(backend: &B, slot: Slot) -> Result<Option<(u64, LogContents)>, Fault> {
    let Some((generation, length, checksum)) = header(backend, slot)? else { return Ok(None) };
    let mut bytes = HugeVec::zeros(length as usize);
    backend.read_log(slot, HEADER_BYTES, &mut bytes)?;
    if XxHash3_64::oneshot_with_seed(generation, &bytes) != checksum {
        return Ok(None);
    }
    Ok(parse(bytes, backend.geometry()).map(|contents| (generation, contents)))
}

/// Parses a checkpoint's body with a correct checksum; None if it is invalid.
fn parse(bytes: HugeVec<u8>, geometry: &Geometry) -> Option<LogContents> {
    let Geometry { pages_per_block, blocks, .. } = *geometry;
    let size = HEADER_BYTES + bytes.len() as u64;
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
    let mut table = PageTable::of(geometry, bytes, written, sequence, erases);
    // All earlier erases were complete before the checkpoint was written.
    table.erased_before = sequence;
    Some(LogContents {
        table,
        closed,
        older_trims: trims.len(),
        trims,
        sequence,
        synced: sequence,
        damaged,
        erasing: None,
        erased: BTreeMap::new(),
        life,
        bytes: size,
    })
}

fn take<'a, const BYTES: usize>(rest: &mut &'a [u8]) -> Option<&'a [u8; BYTES]> {
    let (first, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(first)
}
