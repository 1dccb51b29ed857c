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
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use ssdlab_core::{BlockId, HugeVec, Lpn, PageBits, Ppn};
use ssdlab_nand::{Found, Geometry, Trimmed};
use twox_hash::XxHash3_64;

use super::stream::Writer;
use crate::backend::{Backend, Fault, Slot};
use crate::bits::put_right;
use crate::life::{Life, NUMBERS};
use crate::processors::{readers, share};
use crate::spare::{Content, SPARE_BYTES};
use crate::table::{BlockPages, PageTable, Written};
use crate::translation::Translation;

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
    /// Pages of which the data was found damaged.
    pub damaged: &'a BTreeSet<Ppn>,
    /// Knows where the newest copies are; none if nothing was written yet.
    pub ftl: Option<&'a dyn Translation>,
    /// Logical pages.
    pub logical_pages: u32,
    /// Whether the drive is shut down. If not, a first record says so: it is there with the checkpoint or not at all.
    pub ends: bool,
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

/// Blocks that processors share before any of them is written: what they take waits in memory, some megabytes.
const ROUND: u32 = 1024;

/// Blocks on their way to a checkpoint, one behind the other.
#[derive(Default)]
struct Encoded {
    blocks: Vec<(BlockId, Range<usize>)>,
    bytes: Vec<u8>,
    /// Pages of which they hold a copy and that are trimmed.
    trimmed: Vec<Lpn>,
}

impl Encoded {
    fn clear(&mut self) {
        self.blocks.clear();
        self.bytes.clear();
        self.trimmed.clear();
    }
}

/// Writes what the spare areas say; returns the trimmed pages of which there are still copies, in ascending order.
fn write_blocks<B: Backend>(writer: &mut Writer<'_, B>, facts: &Facts<'_>) -> Result<Vec<u32>, Fault> {
    let blocks = writer.backend().geometry().blocks;
    let marked = Marked::of(facts, writer.backend().geometry());
    let mut trimmed = PageBits::new(facts.logical_pages);
    // Memory handed back would have to be cleared in the next round.
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

/// Pages by what is known of them beside their spare areas.
struct Marked<'a> {
    closed: &'a [bool],
    damaged: &'a BTreeSet<Ppn>,
    /// Logical pages that have a copy, and where these are: a look at the map for each page of the flash would be one to
    /// wherever its entry is.
    has_copy: PageBits,
    is_newest: PageBits,
    logical_pages: u32,
}

impl<'a> Marked<'a> {
    fn of(facts: &Facts<'a>, geometry: &Geometry) -> Self {
        let Facts { closed, damaged, logical_pages, .. } = *facts;
        let (mut has_copy, mut is_newest) = (PageBits::new(logical_pages), PageBits::new(geometry.pages() as u32));
        if let Some(ftl) = facts.ftl {
            ftl.copies(logical_pages, &mut |lpn, ppn| {
                has_copy.set(lpn.0);
                is_newest.set(ppn.0);
            });
        }
        Self { closed, damaged, has_copy, is_newest, logical_pages }
    }

    /// Appends blocks as a checkpoint holds them.
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
                // Together, so that the processor waits for many at once.
                encoded.trimmed.extend(outdated.drain(..).filter(|lpn: &Lpn| !self.has_copy.is_set(lpn.0)));
            }
            encoded.blocks.push((block, begin..encoded.bytes.len()));
        }
        Ok(())
    }

    #[inline(always)]
    fn page(&self, ppn: Ppn, found: Found, outdated: &mut Vec<Lpn>) -> Found {
        match found {
            Found::Programmed { .. } if self.damaged.contains(&ppn) => Found::Unreadable,
            Found::Programmed { oob, version, .. } if oob.lpn.0 < self.logical_pages => {
                let is_newest = self.is_newest.is_set(ppn.0);
                if !is_newest {
                    outdated.push(oob.lpn);
                }
                Found::Programmed { oob, version, outdated: !is_newest }
            }
            found => found,
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
