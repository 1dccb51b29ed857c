//! Flash sink that moves bytes: executes the operations of an FTL on a [`Backend`].
//!
//! The FTL handles failed programs and erases itself. The sink's methods cannot return any other fault to the FTL. So
//! the sink stores the first such fault and executes no further operation, as if the power were off. The drive reports
//! the fault when the FTL has finished.

use std::collections::BTreeSet;

use ssdlab_core::{BlockId, Lpn, Ppn};
use ssdlab_ftl::DynFtl;
use ssdlab_nand::{Cause, Counts, Failure, FlashOp, FlashSink, Note, Source, SpareArea, Trimmed};

use crate::backend::{Backend, Fault};
use crate::gathered::Gathered;
use crate::life::Life;
use crate::log::{CheckpointContents, Erase, Log, Record, forget_block};
use crate::safe::SafeNote;
use crate::spare::{Content, SPARE_BYTES, Spare, belongs};

/// The flash, and everything that the controller stores about it except the map.
pub(crate) struct Medium<B> {
    pub backend: B,
    /// The log; None while the drive has no trusted log.
    pub log: Option<Log>,
    /// Pages of incomplete program units.
    pub gathered: Gathered,
    /// Note that records which programs are safe from a power loss.
    pub safe: SafeNote,
    /// True if a page may have been programmed since the last sync.
    unsynced: bool,
    /// Lowest sequence number of the programs since the mount. A power loss may have torn any earlier program, even if
    /// the backend was synced afterwards.
    pub begun: u64,
    pub counts: Counts,
    /// Number of erases of every block, including failed erases.
    pub erases: Vec<u32>,
    /// For each block, true if a program in it may have been interrupted without a trace. The erased pages of such a
    /// block must not be programmed.
    pub closed: Vec<bool>,
    /// Pages with an intact spare area but damaged data, because their program was interrupted.
    pub damaged: BTreeSet<Ppn>,
    /// Number of programs and trims so far.
    pub sequence: u64,
    /// True if a page was programmed or trimmed, or a block was erased, since the last flush.
    pub changed: bool,
    pub life: Life,
    /// Number of pages read by the host that were never written.
    pub unmapped_reads: u64,
    /// The first fault that is not a flash failure.
    pub fault: Option<Fault>,
    /// True if flash operations may fail.
    may_fail: bool,
    /// Failure of the latest flash operation.
    failure: Option<Failure>,
    /// True if any flash operation has failed, even if no block is marked as bad yet.
    has_failed: bool,
    /// Host pages that are programmed, but whose data is not stored in the flash yet. Each is given by its flash page
    /// and its number in the request.
    late: Vec<(Ppn, u32)>,
    /// The page read last, kept in case the FTL copies it.
    scratch: Vec<u8>,
    held: Option<(Ppn, Spare)>,
}

impl<B: Backend> Medium<B> {
    /// Creates the flash. `unit_pages` is the number of pages that are gathered in volatile memory and then programmed
    /// together; 1 if each page is programmed immediately.
    pub fn new(backend: B, unit_pages: u32) -> Self {
        let geometry = *backend.geometry();
        Self {
            may_fail: backend.fails(),
            failure: None,
            has_failed: false,
            backend,
            log: None,
            gathered: Gathered::new(unit_pages, geometry.page_bytes),
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
            late: Vec::new(),
            scratch: vec![0; geometry.page_bytes as usize],
            held: None,
        }
    }

    fn block_of(&self, ppn: Ppn) -> BlockId {
        BlockId(ppn.0 / self.backend.geometry().pages_per_block)
    }

    pub fn bad_blocks(&self) -> u32 {
        let blocks = (0..self.backend.geometry().blocks).map(BlockId);
        blocks.filter(|&block| self.backend.is_bad(block)).count() as u32
    }

    /// Clears the controller's RAM.
    pub fn power_off(&mut self) {
        (self.log, self.fault, self.failure, self.held) = (None, None, None, None);
        self.gathered.clear();
        self.unsynced = true;
    }

    /// Records the fault of a failed result, unless an earlier fault is recorded.
    pub fn note_fault(&mut self, result: Result<(), Fault>) {
        if let Err(fault) = result {
            self.fault.get_or_insert(fault);
        }
    }

    /// Returns a bound: all programs and trims with lower sequence numbers have reached the flash.
    fn programmed_below(&self) -> u64 {
        self.gathered.lowest_sequence().unwrap_or(self.sequence)
    }

    /// Writes a checkpoint of the drive. Then starts a journal, unless `ends` is true because the drive is being shut
    /// down. No program unit may be incomplete, because the checkpoint marks the older versions of its pages as
    /// outdated.
    pub fn checkpoint(&mut self, ends: bool, logical_pages: u32, ftl: Option<&dyn DynFtl>) -> Result<(), Fault> {
        debug_assert!(self.gathered.is_empty(), "a program unit is incomplete");
        let Self { backend, log, erases, closed, damaged, sequence, life, .. } = self;
        let facts =
            CheckpointContents { sequence: *sequence, life: *life, erases, closed, damaged, ftl, logical_pages, ends };
        *log = Some(Log::begin(log.as_ref(), backend, &facts)?);
        self.unsynced = false;
        self.safe.write(&mut self.backend, self.sequence)
    }

    fn note_failure(&mut self, failure: Failure) {
        (self.failure, self.has_failed) = (Some(failure), true);
    }

    /// Makes the drive read-only permanently, even if a later mount might find free blocks. Does nothing unless blocks
    /// have failed.
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

    /// Syncs the flash, so that all operations so far survive a power loss of the computer, and records this in the
    /// log.
    pub fn flush(&mut self) -> Result<(), Fault> {
        self.sync()?;
        let below = self.programmed_below();
        if let Some(log) = self.log.as_mut().filter(|_| self.changed) {
            log.append(&mut self.backend, Record::Synced(below))?;
        }
        self.changed = false;
        Ok(())
    }

    /// Syncs the backend and records that all programs so far are safe.
    fn sync(&mut self) -> Result<(), Fault> {
        self.backend.sync()?;
        self.unsynced = false;
        let below = self.programmed_below();
        self.safe.write(&mut self.backend, below)
    }

    /// Reads a page into `page`; returns its spare area, None if the spare area is not usable.
    fn read_page(&self, ppn: Ppn, page: &mut [u8]) -> Result<Option<Spare>, Fault> {
        if let Some((spare, data)) = self.gathered.page(ppn) {
            page.copy_from_slice(data);
            return Ok(Some(spare));
        }
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

    /// Returns the version of the programmed page at `ppn`, if any.
    pub fn version(&self, ppn: Ppn) -> Result<Option<u64>, Fault> {
        if let Some((spare, _)) = self.gathered.page(ppn) {
            return Ok(Some(spare.version));
        }
        let mut spare = [0; SPARE_BYTES];
        self.backend.read_spares(ppn, &mut spare)?;
        Ok(Content::decode(ppn, &spare).found().version())
    }

    /// Records a program in the log before it starts; does nothing without a log.
    fn announce(&mut self, ppn: Ppn) -> Result<(), Fault> {
        let block = self.block_of(ppn);
        if let Some(log) = &mut self.log {
            self.unsynced &= !log.program(&mut self.backend, block)?;
        }
        Ok(())
    }

    /// Adds a page to its program unit, and programs the unit if it is complete. If the unit fails, the failure is
    /// already reported at its first page, so that the FTL can write all pages of the unit elsewhere.
    fn gather(&mut self, ppn: Ppn, spare: Spare, page: &[u8]) {
        self.changed = true;
        if self.gathered.begins_unit(ppn) {
            match self.announce(ppn).and_then(|()| self.backend.begin_unit(ppn)) {
                Ok(()) => {}
                Err(Fault::Failed) if self.may_fail => return self.note_failure(Failure::Program),
                Err(fault) => return self.note_fault(Err(fault)),
            }
        }
        if let Some(unit) = self.gathered.add(ppn, spare, page) {
            self.unsynced = true;
            let spares = unit.encoded(!self.backend.keeps_pages());
            let programmed = self.backend.program_unit(unit.first, &unit.data, &spares);
            self.note_fault(programmed);
            self.gathered.reuse(unit);
        }
    }

    fn program_page(&mut self, ppn: Ppn, oob: &SpareArea, version: u64, lost: bool, page: &[u8]) {
        if self.gathered.is_used() {
            return self.gather(ppn, Spare { oob: *oob, version, lost, safe: 0 }, page);
        }
        if let Err(fault) = self.announce(ppn) {
            return self.note_fault(Err(fault));
        }
        let safe = if self.unsynced { 0 } else { oob.sequence - self.begun };
        self.unsynced = true;
        let spare = Spare { oob: *oob, version, lost, safe }.encode(ppn, (!self.backend.keeps_pages()).then_some(page));
        match self.backend.program(ppn, page, &spare) {
            Err(Fault::Failed) if self.may_fail => self.note_failure(Failure::Program),
            result => self.note_fault(result),
        }
        self.changed = true;
    }

    fn erase(&mut self, block: BlockId, cause: Cause) -> Result<(), Fault> {
        self.counts.erase(block, cause);
        let below = self.programmed_below();
        match &mut self.log {
            Some(log) => log.erase(&mut self.backend, Erase { block, sequence: self.sequence, below }, cause)?,
            // Without a log, syncs the pages copied from the block before the block is erased. With a log, recording
            // the erase syncs them.
            None if self.unsynced => self.backend.sync()?,
            None => {}
        }
        self.unsynced = false;
        self.safe.write(&mut self.backend, below)?;
        self.erases[block.index()] += 1;
        (self.held, self.changed) = (None, true);
        match self.backend.erase(block) {
            Err(Fault::Failed) if self.may_fail => self.note_failure(Failure::Erase),
            erased => {
                erased?;
                self.closed[block.index()] = false;
                forget_block(&mut self.damaged, block, self.backend.geometry().pages_per_block);
            }
        }
        Ok(())
    }
}

/// Data for one FTL call: the pages to be programmed, or a buffer for the page to be read.
pub(crate) enum Payload<'a> {
    /// No data: the FTL only moves data within the flash.
    None,
    /// Pages of a host write. The FTL programs these pages, and refers to each page by its number in the request.
    Write(&'a Pages<'a>),
    /// Buffer for a page to be read, either for the host or to complete a partial write.
    Read {
        lpn: Lpn,
        /// Buffer of one page that receives the data.
        into: &'a mut [u8],
        /// True if reading the page failed.
        lost: bool,
    },
}

/// Pages of a write; the first and the last page may be assembled in another buffer.
pub(crate) struct Pages<'a> {
    /// Data of the first page, if it is stored separately from `whole`.
    pub head: Option<&'a [u8]>,
    /// Data of the whole pages, stored contiguously.
    pub whole: &'a [u8],
    /// Data of the last page, if it is stored separately from `whole`.
    pub tail: Option<&'a [u8]>,
    /// True if the write covers only part of a page and the rest of this page could not be read from flash.
    pub lost: bool,
}

impl Pages<'_> {
    /// Returns the data of page `number` of the write.
    pub fn page(&self, number: u32, page_bytes: usize) -> &[u8] {
        let behind_head = match (number, self.head) {
            (0, Some(head)) => return head,
            (number, head) => number as usize - usize::from(head.is_some()),
        };
        match self.whole.get(behind_head * page_bytes..(behind_head + 1) * page_bytes) {
            Some(page) => page,
            None => self.tail.expect("a write programs at most the pages that its request covers"),
        }
    }
}

/// Flash sink that an FTL uses during one call.
pub(crate) struct Flash<'a, B> {
    pub medium: &'a mut Medium<B>,
    pub payload: Payload<'a>,
}

/// Fills a map page with repeated copies of its page number and version.
fn fill_map_page(page: &mut [u8], lpn: Lpn, version: u64) {
    for chunk in page.chunks_mut(16) {
        let mut stamp = [0; 16];
        stamp[..8].copy_from_slice(&u64::from(lpn.0).to_le_bytes());
        stamp[8..].copy_from_slice(&version.to_le_bytes());
        chunk.copy_from_slice(&stamp[..chunk.len()]);
    }
}

impl<B: Backend> Flash<'_, B> {
    /// Stores the data of the pages that the FTL programmed without their data. This happens once per long request:
    /// after the FTL has finished, or before one of the pages is read.
    pub fn place(&mut self) {
        let Payload::Write(pages) = &self.payload else { return };
        let Medium { late, backend, scratch, .. } = &mut *self.medium;
        if !late.is_empty() {
            let page_bytes = scratch.len();
            backend.place(&mut late.drain(..).map(|(ppn, number)| (ppn, pages.page(number, page_bytes))));
        }
    }

    /// Reads a page to be copied, or a map page, into the scratch page.
    fn hold(&mut self, ppn: Ppn) {
        self.place();
        let mut scratch = std::mem::take(&mut self.medium.scratch);
        let read = self.medium.read_page(ppn, &mut scratch);
        self.medium.scratch = scratch;
        self.medium.held = None;
        match read {
            Ok(spare) => self.medium.held = spare.map(|spare| (ppn, spare)),
            Err(fault) => self.medium.note_fault(Err(fault)),
        }
    }
}

/// Minimum number of whole pages in a write whose data may be stored all at once, after the FTL has programmed the
/// pages.
const LATE_PAGES: usize = 16;

/// Flash sink that records operations for later execution and never reports a failure. `fails` is true if the flash can
/// fail; the FTL then still uses its failure handling.
pub(crate) struct Recording {
    pub operations: Vec<FlashOp>,
    pub fails: bool,
}

impl FlashSink for Recording {
    fn fails(&self) -> bool {
        self.fails
    }

    fn read(&mut self, ppn: Ppn, cause: Cause) {
        self.operations.read(ppn, cause);
    }

    fn program(&mut self, ppn: Ppn, oob: SpareArea, source: Source, cause: Cause) {
        self.operations.program(ppn, oob, source, cause);
    }

    fn erase(&mut self, block: BlockId, cause: Cause) {
        self.operations.erase(block, cause);
    }

    fn trimmed(&mut self, lpn: Lpn, count: u32, sequence: u64) {
        self.operations.trimmed(lpn, count, sequence);
    }

    fn note(&mut self, note: Note) {
        if matches!(note, Note::Bad(_)) {
            self.operations.note(note);
        }
    }
}

impl<B: Backend> FlashSink for Flash<'_, B> {
    fn fails(&self) -> bool {
        self.medium.may_fail
    }

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
            let is_late = pages.whole.len() >= LATE_PAGES * page_bytes && self.medium.backend.keeps_pages();
            if !is_late || self.medium.gathered.is_used() {
                return self.medium.program_page(ppn, &oob, version, lost, pages.page(number, page_bytes));
            }
            self.medium.late.push((ppn, number));
            return self.medium.program_page(ppn, &oob, version, lost, &[]);
        }
        let (version, lost) = match source {
            Source::Host(_) => unreachable!("only a write programs host pages"),
            Source::Padding => {
                self.medium.scratch.fill(0);
                (oob.sequence, false)
            }
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
                    // The version of this copy is unknown. Version 0 ensures that it does not count as newer than any
                    // other copy.
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
        if self.medium.fault.is_none() {
            let erased = self.medium.erase(block, cause);
            self.medium.note_fault(erased);
        }
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
            let written = log.append(&mut medium.backend, Record::Trimmed(Trimmed { lpn, count, sequence }));
            medium.note_fault(written);
        }
    }

    fn note(&mut self, note: Note) {
        let Note::Bad(block) = note else { return };
        let medium = &mut *self.medium;
        if medium.fault.is_some() {
            return;
        }
        // Recovery ignores bad blocks. So the pages that were copied from this block must be safe, and recorded as
        // safe, before the block is marked as bad.
        let marked = medium.sync().and_then(|()| medium.backend.mark_bad(block));
        medium.note_fault(marked);
    }
}
