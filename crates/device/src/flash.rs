//! The sink that moves bytes: what an FTL emits is done to a [`Backend`].
//!
//! A sink returns nothing, so the first fault that is no failure of the flash is kept; from then on nothing is done any
//! more, as if the power were off, and the drive reports it when the FTL is done.

use std::collections::BTreeSet;

use ssdlab_core::{BlockId, Lpn, Ppn};
use ssdlab_nand::{Cause, Counts, Failure, FlashSink, Note, Source, SpareArea, Trimmed};

use crate::backend::{Backend, Fault};
use crate::life::Life;
use crate::log::{Facts, Log, forget_block};
use crate::safe::SafeNote;
use crate::spare::{Content, SPARE_BYTES, Spare, belongs};
use crate::translation::Translation;

/// Flash and what is known of it beside the map.
pub(crate) struct Medium<B> {
    pub backend: B,
    /// None while the drive has no log to trust.
    pub log: Option<Log>,
    /// Programs that are known to be safe.
    pub safe: SafeNote,
    /// Whether a page may have been programmed since the backend was last synced.
    unsynced: bool,
    /// The sequence number that the first program since the mount could have. What came before may have been torn by a
    /// loss of power, however often the backend has been synced since.
    pub begun: u64,
    pub counts: Counts,
    /// Erases of every block, be they successful or not.
    pub erases: Vec<u32>,
    /// Blocks in which an interrupted program may have left no trace: their erased pages must not be programmed.
    pub closed: Vec<bool>,
    /// Pages whose spare area is sound and whose data is not, because their program was interrupted.
    pub damaged: BTreeSet<Ppn>,
    /// Programs and trims so far.
    pub sequence: u64,
    /// Whether anything was programmed, erased or trimmed since the last flush.
    pub changed: bool,
    /// What is counted since the drive was made.
    pub life: Life,
    /// Pages that the host read and that were never written.
    pub unmapped_reads: u64,
    /// The first fault that was no failure of the flash.
    pub fault: Option<Fault>,
    failure: Option<Failure>,
    /// Whether a program or an erase has failed; its block may not be marked as bad yet.
    has_failed: bool,
    /// Pages of the host that were programmed without their data yet, by their number in the request.
    late: Vec<(Ppn, u32)>,
    /// The page read last, for a copy of it.
    scratch: Vec<u8>,
    held: Option<(Ppn, Spare)>,
}

impl<B: Backend> Medium<B> {
    pub fn new(backend: B) -> Self {
        let geometry = *backend.geometry();
        Self {
            backend,
            log: None,
            safe: SafeNote::default(),
            unsynced: true,
            begun: 0,
            counts: Counts::default(),
            erases: vec![0; geometry.blocks as usize],
            closed: vec![false; geometry.blocks as usize],
            damaged: BTreeSet::new(),
            sequence: 0,
            changed: false,
            life: Life::default(),
            unmapped_reads: 0,
            fault: None,
            failure: None,
            has_failed: false,
            late: Vec::new(),
            scratch: vec![0; geometry.page_bytes as usize],
            held: None,
        }
    }

    fn block_of(&self, ppn: Ppn) -> BlockId {
        BlockId(ppn.0 / self.backend.geometry().pages_per_block)
    }

    /// Blocks that are not used any more.
    pub fn bad_blocks(&self) -> u32 {
        let blocks = (0..self.backend.geometry().blocks).map(BlockId);
        blocks.filter(|&block| self.backend.is_bad(block)).count() as u32
    }

    /// Forgets what a controller holds in RAM.
    pub fn power_off(&mut self) {
        (self.log, self.fault, self.failure, self.held) = (None, None, None, None);
        self.unsynced = true;
    }

    /// Keeps a fault, if there is one.
    pub fn note_fault(&mut self, result: Result<(), Fault>) {
        if let Err(fault) = result {
            self.fault.get_or_insert(fault);
        }
    }

    /// Writes a checkpoint and begins a journal, unless the drive ends.
    pub fn checkpoint(&mut self, ends: bool, logical_pages: u32, ftl: Option<&dyn Translation>) -> Result<(), Fault> {
        let Self { backend, log, erases, closed, damaged, sequence, life, .. } = self;
        let facts = Facts { sequence: *sequence, life: *life, erases, closed, damaged, ftl, logical_pages, ends };
        *log = Some(Log::begin(log.as_ref(), backend, &facts)?);
        self.unsynced = false;
        self.safe.write(&mut self.backend, self.sequence)
    }

    fn note_failure(&mut self, failure: Failure) {
        (self.failure, self.has_failed) = (Some(failure), true);
    }

    /// The drive can only be read. If blocks have failed that is for good, though a mount might find room again.
    pub fn wear_out(&mut self) {
        if self.life.worn_out || !self.has_failed && self.bad_blocks() == 0 {
            return;
        }
        self.life.worn_out = true;
        if let Some(log) = &mut self.log {
            let written = log.worn_out(&mut self.backend);
            self.note_fault(written);
        }
    }

    /// Makes everything done so far safe.
    pub fn flush(&mut self) -> Result<(), Fault> {
        self.sync()?;
        if let Some(log) = self.log.as_mut().filter(|_| self.changed) {
            log.synced(&mut self.backend, self.sequence)?;
        }
        self.changed = false;
        Ok(())
    }

    /// Makes everything programmed so far safe, and notes that it is.
    fn sync(&mut self) -> Result<(), Fault> {
        self.backend.sync()?;
        self.unsynced = false;
        self.safe.write(&mut self.backend, self.sequence)
    }

    /// Reads a page into `page`: its spare area, unless its data cannot be had.
    fn read_page(&self, ppn: Ppn, page: &mut [u8]) -> Result<Option<Spare>, Fault> {
        let mut bytes = [0; SPARE_BYTES];
        let uncorrectable = match self.backend.read(ppn, page, &mut bytes) {
            Ok(()) => false,
            Err(Fault::Uncorrectable) => true,
            Err(fault) => return Err(fault),
        };
        Ok(match Content::decode(ppn, &bytes) {
            Content::Programmed(spare) => {
                let lost = spare.lost || uncorrectable || !belongs(ppn, page, &bytes);
                Some(Spare { lost, ..spare })
            }
            Content::Erased | Content::Damaged => None,
        })
    }

    /// The version of the page that is programmed there.
    pub fn version(&self, ppn: Ppn) -> Result<Option<u64>, Fault> {
        let mut spare = [0; SPARE_BYTES];
        self.backend.read_spares(ppn, &mut spare)?;
        Ok(match Content::decode(ppn, &spare) {
            Content::Programmed(spare) => Some(spare.version),
            Content::Erased | Content::Damaged => None,
        })
    }

    fn program_page(&mut self, ppn: Ppn, oob: &SpareArea, version: u64, lost: bool, page: &[u8]) {
        let block = self.block_of(ppn);
        if let Some(log) = &mut self.log {
            match log.program(&mut self.backend, block) {
                Ok(synced) => self.unsynced &= !synced,
                Err(fault) => return self.note_fault(Err(fault)),
            }
        }
        let safe = if self.unsynced { 0 } else { oob.sequence - self.begun };
        self.unsynced = true;
        let spare = Spare { oob: *oob, version, lost, safe }.encode(ppn, (!self.backend.keeps_pages()).then_some(page));
        match self.backend.program(ppn, page, &spare) {
            Err(Fault::Failed) if self.backend.fails() => self.note_failure(Failure::Program),
            result => self.note_fault(result),
        }
        self.changed = true;
    }
}

/// The bytes that go with the operations of one call of the FTL.
pub(crate) enum Payload<'a> {
    /// None: the FTL moves what is on the flash.
    None,
    /// Pages of the host, by their number in the request.
    Write(&'a Pages<'a>),
    /// Where the page goes that is read for the host or for a write of a part of it.
    Read {
        /// Which one it is.
        lpn: Lpn,
        /// Of one page.
        into: &'a mut [u8],
        /// Whether it could not be read.
        lost: bool,
    },
}

/// Pages of a write; the first and the last may be put together elsewhere.
pub(crate) struct Pages<'a> {
    /// The first page, if it is not in `whole`.
    pub head: Option<&'a [u8]>,
    /// Whole pages, one after the other.
    pub whole: &'a [u8],
    /// The last page, if it is not in `whole`.
    pub tail: Option<&'a [u8]>,
    /// Whether the rest of a page written in part could not be read.
    pub lost: bool,
}

impl Pages<'_> {
    /// Page `number` of the write.
    pub fn page(&self, number: u32, page_bytes: usize) -> &[u8] {
        let behind_head = match (number, self.head) {
            (0, Some(head)) => return head,
            (number, head) => number as usize - usize::from(head.is_some()),
        };
        match self.whole.get(behind_head * page_bytes..(behind_head + 1) * page_bytes) {
            Some(page) => page,
            None => self.tail.expect("a write programs no more pages than it has"),
        }
    }
}

/// The flash of a drive for one call of its FTL.
pub(crate) struct Flash<'a, B> {
    pub medium: &'a mut Medium<B>,
    pub payload: Payload<'a>,
}

/// Fills a map page: which one it is, and which version, over and over.
fn fill_map_page(page: &mut [u8], lpn: Lpn, version: u64) {
    for chunk in page.chunks_mut(16) {
        let mut stamp = [0; 16];
        stamp[..8].copy_from_slice(&u64::from(lpn.0).to_le_bytes());
        stamp[8..].copy_from_slice(&version.to_le_bytes());
        chunk.copy_from_slice(&stamp[..chunk.len()]);
    }
}

impl<B: Backend> Flash<'_, B> {
    /// Places the data of pages that were programmed without it: of a long request all at once, once its FTL is done,
    /// or when one of them is to be read before that.
    pub fn place(&mut self) {
        let Payload::Write(pages) = &self.payload else { return };
        let Medium { late, backend, scratch, .. } = &mut *self.medium;
        if !late.is_empty() {
            let page_bytes = scratch.len();
            backend.place(&mut late.drain(..).map(|(ppn, number)| (ppn, pages.page(number, page_bytes))));
        }
    }

    /// Reads a page to be copied, or of the map, into the scratch page.
    fn hold(&mut self, ppn: Ppn) {
        self.place();
        let mut scratch = std::mem::take(&mut self.medium.scratch);
        let read = self.medium.read_page(ppn, &mut scratch);
        self.medium.scratch = scratch;
        self.medium.held = None;
        match read {
            Ok(Some(spare)) => self.medium.held = Some((ppn, spare)),
            Ok(None) => {}
            Err(fault) => self.medium.note_fault(Err(fault)),
        }
    }
}

/// A request of so many whole pages has their data placed at once.
const LATE_PAGES: usize = 16;

/// What flash is asked to do. Behind a pointer, so that FTLs are compiled once and not for every backend.
pub(crate) trait Move {
    fn failure(&mut self) -> Option<Failure>;
    fn read(&mut self, ppn: Ppn, cause: Cause);
    fn program(&mut self, ppn: Ppn, oob: SpareArea, source: Source, cause: Cause);
    fn erase(&mut self, block: BlockId, cause: Cause);
    fn trimmed(&mut self, lpn: Lpn, count: u32, sequence: u64);
    fn retire(&mut self, block: BlockId);
}

/// The sink of the FTLs, over flash that may fail or not.
pub(crate) struct Sink<'a, const FAILS: bool>(pub &'a mut dyn Move);

impl<const FAILS: bool> FlashSink for Sink<'_, FAILS> {
    const FAILS: bool = FAILS;

    fn failure(&mut self) -> Option<Failure> {
        self.0.failure()
    }

    fn read(&mut self, ppn: Ppn, cause: Cause) {
        self.0.read(ppn, cause);
    }

    fn program(&mut self, ppn: Ppn, oob: SpareArea, source: Source, cause: Cause) {
        self.0.program(ppn, oob, source, cause);
    }

    fn erase(&mut self, block: BlockId, cause: Cause) {
        self.0.erase(block, cause);
    }

    fn trimmed(&mut self, lpn: Lpn, count: u32, sequence: u64) {
        self.0.trimmed(lpn, count, sequence);
    }

    fn note(&mut self, note: Note) {
        if let Note::Bad(block) = note {
            self.0.retire(block);
        }
    }
}

/// What an FTL asks of flash that must not be touched yet, to be done later. Nothing of it fails.
#[derive(Default)]
pub(crate) struct Recorded(Vec<Operation>);

enum Operation {
    Read(Ppn, Cause),
    Program(Ppn, SpareArea, Source, Cause),
    Erase(BlockId, Cause),
    Trimmed(Lpn, u32, u64),
    Retire(BlockId),
}

impl Recorded {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Does all of it.
    pub fn replay(self, flash: &mut impl Move) {
        for operation in self.0 {
            match operation {
                Operation::Read(ppn, cause) => flash.read(ppn, cause),
                Operation::Program(ppn, oob, source, cause) => flash.program(ppn, oob, source, cause),
                Operation::Erase(block, cause) => flash.erase(block, cause),
                Operation::Trimmed(lpn, count, sequence) => flash.trimmed(lpn, count, sequence),
                Operation::Retire(block) => flash.retire(block),
            }
        }
    }
}

impl Move for Recorded {
    fn failure(&mut self) -> Option<Failure> {
        None
    }

    fn read(&mut self, ppn: Ppn, cause: Cause) {
        self.0.push(Operation::Read(ppn, cause));
    }

    fn program(&mut self, ppn: Ppn, oob: SpareArea, source: Source, cause: Cause) {
        self.0.push(Operation::Program(ppn, oob, source, cause));
    }

    fn erase(&mut self, block: BlockId, cause: Cause) {
        self.0.push(Operation::Erase(block, cause));
    }

    fn trimmed(&mut self, lpn: Lpn, count: u32, sequence: u64) {
        self.0.push(Operation::Trimmed(lpn, count, sequence));
    }

    fn retire(&mut self, block: BlockId) {
        self.0.push(Operation::Retire(block));
    }
}

impl<B: Backend> Move for Flash<'_, B> {
    fn failure(&mut self) -> Option<Failure> {
        self.medium.failure.take()
    }

    fn read(&mut self, ppn: Ppn, cause: Cause) {
        if self.medium.fault.is_some() {
            return;
        }
        self.medium.counts.read(ppn, cause);
        match (&mut self.payload, cause) {
            (Payload::Read { lpn, into, lost }, Cause::Host | Cause::ReadModifyWrite) => {
                match self.medium.read_page(ppn, into) {
                    Ok(spare) => {
                        *lost = spare.is_none_or(|spare| spare.lost || spare.oob.lpn != *lpn);
                        self.medium.life.pages_lost += u64::from(*lost);
                    }
                    Err(fault) => self.medium.note_fault(Err(fault)),
                }
            }
            _ => self.hold(ppn),
        }
    }

    fn program(&mut self, ppn: Ppn, oob: SpareArea, source: Source, cause: Cause) {
        if self.medium.fault.is_some() {
            return;
        }
        self.medium.counts.program(ppn, oob, source, cause);
        self.medium.sequence = oob.sequence + 1;
        let page_bytes = self.medium.scratch.len();
        if let (Source::Host(number), Payload::Write(pages)) = (source, &self.payload) {
            let (version, lost) = (oob.sequence, pages.lost);
            if pages.whole.len() < LATE_PAGES * page_bytes || !self.medium.backend.keeps_pages() {
                return self.medium.program_page(ppn, &oob, version, lost, pages.page(number, page_bytes));
            }
            self.medium.late.push((ppn, number));
            return self.medium.program_page(ppn, &oob, version, lost, &[]);
        }
        let (version, lost) = match source {
            Source::Host(_) => unreachable!("pages of the host come with a write"),
            Source::Map => {
                fill_map_page(&mut self.medium.scratch, oob.lpn, oob.sequence);
                (oob.sequence, false)
            }
            Source::Copy(from) => {
                if self.medium.held.is_none_or(|(held, _)| held != from) {
                    self.hold(from);
                }
                match self.medium.held {
                    Some((_, spare)) if spare.oob.lpn == oob.lpn => {
                        self.medium.life.pages_lost += u64::from(spare.lost);
                        (spare.version, spare.lost)
                    }
                    // Its version is unknown; no other copy may take it for newer.
                    _ => {
                        self.medium.life.pages_lost += 1;
                        (0, true)
                    }
                }
            }
        };
        self.medium.held = None;
        let scratch = std::mem::take(&mut self.medium.scratch);
        self.medium.program_page(ppn, &oob, version, lost, &scratch);
        self.medium.scratch = scratch;
    }

    fn erase(&mut self, block: BlockId, cause: Cause) {
        if self.medium.fault.is_some() {
            return;
        }
        self.medium.counts.erase(block, cause);
        let medium = &mut *self.medium;
        match &mut medium.log {
            Some(log) => {
                let named = log.erase(&mut medium.backend, block, medium.sequence, cause);
                if named.is_err() {
                    return medium.note_fault(named);
                }
            }
            None => {
                // What was copied from it must be safe first, as a log would have it.
                if medium.unsynced {
                    let synced = medium.backend.sync();
                    if synced.is_err() {
                        return medium.note_fault(synced);
                    }
                }
            }
        }
        medium.unsynced = false;
        let noted = medium.safe.write(&mut medium.backend, medium.sequence);
        if noted.is_err() {
            return medium.note_fault(noted);
        }
        medium.erases[block.index()] += 1;
        match medium.backend.erase(block) {
            Err(Fault::Failed) if medium.backend.fails() => medium.note_failure(Failure::Erase),
            Ok(()) => {
                let pages = medium.backend.geometry().pages_per_block;
                medium.closed[block.index()] = false;
                forget_block(&mut medium.damaged, block, pages);
            }
            Err(fault) => medium.note_fault(Err(fault)),
        }
        medium.held = None;
        medium.changed = true;
    }

    fn trimmed(&mut self, lpn: Lpn, count: u32, sequence: u64) {
        let medium = &mut *self.medium;
        if medium.fault.is_some() {
            return;
        }
        medium.sequence = sequence + 1;
        medium.changed = true;
        if count == 0 {
            return;
        }
        if let Some(log) = &mut medium.log {
            let written = log.trim(&mut medium.backend, Trimmed { lpn, count, sequence });
            medium.note_fault(written);
        }
    }

    fn retire(&mut self, block: BlockId) {
        let medium = &mut *self.medium;
        if medium.fault.is_some() {
            return;
        }
        // Recovery looks at no bad block: what was copied from this one is safe first, and known to be.
        let safe = medium.sync();
        let marked = safe.and_then(|()| medium.backend.mark_bad(block));
        medium.note_fault(marked);
    }
}
