//! Mounting: builds an FTL from the flash and the log. The FTL continues from its state at the power loss.
//!
//! ```text
//! the newest complete checkpoint            contents of the spare areas at that time
//! + the blocks that its journal lists       read again
//! = current contents of the spare areas     -> Ftl::recover -> the map
//! ```
//! Copies that the checkpoint marks as outdated are not compared. A recovery may discard newer copies, so the marks
//! become invalid once a recovery has erased a block.
//!
//! Without a complete log, every spare area is read. Trims, erase counts and the drive's counters are then unknown, and
//! trimmed pages regain older data.
//!
//! A mount does not trust:
//!
//! - erased pages of a block that was being written, because an interrupted program may be invisible;
//! - a block whose last record announces its erase;
//! - data programmed since the last flush, until its checksum has been compared;
//! - pages older than the erase of their block: a power loss of the computer may have lost the erase but not later
//!   writes.
//!
//! An older copy replaces a damaged page that may have been torn. A damaged page that was durable counts as lost
//! instead. The log and a separate note (`safe.rs`) record which programs were durable.

use ssdlab_core::{BlockId, Lpn, Ppn};
use ssdlab_nand::{Found, Scan, SpareArea, Trimmed};

use crate::backend::{Backend, Fault};
use crate::flash::Medium;
use crate::life::Life;
use crate::log::{BlockChange, Erase, Log, LogContents, Record, forget_block};
use crate::report::MountReport;
use crate::safe::SafeNote;
use crate::scan::{DamagedPage, Reading, is_whole};
use crate::spare::{Content, SPARE_BYTES, decode_block};
use crate::table::PageTable;

/// Result of surveying the flash, from which the drive is recovered.
pub(crate) struct Surveyed {
    /// Table of blocks read a second time; None if the first pass was sufficient.
    pub table: Option<PageTable>,
    pub trims: Vec<Trimmed>,
    /// Number of entries at the start of `trims` that come from the checkpoint, not from the journal.
    pub older_trims: usize,
    pub report: MountReport,
}

/// Facts known about a block before its spare areas are read; the default knows nothing.
#[derive(Default)]
struct Scanned {
    /// True if the last operation on the block was an erase.
    trusted: bool,
    /// Sequence number; pages of the block with lower numbers are left over from before an erase.
    from: u64,
    /// Lowest sequence number of the pages whose data is checked against its checksum; None if no page is checked.
    verify: Option<u64>,
}

fn sequence_of(page: &Found) -> Option<u64> {
    match page {
        Found::Programmed { oob, .. } => Some(oob.sequence),
        Found::Erased | Found::Unreadable => None,
    }
}

/// Decodes the spare areas of a block. Returns for each page whether it is programmed, erased or unreadable.
fn found_in(block: BlockId, spares: &[u8]) -> Vec<Found> {
    decode_block(block, spares).map(|(_, content)| content.found()).collect()
}

impl<B: Backend> Medium<B> {
    /// Surveys the flash. Later operations get sequence numbers of `least` or higher. If all of the flash must be read,
    /// calls `at_first_sight` during the first pass to recover the FTL, before damaged pages are known.
    /// `at_first_sight` returns true if its recovery is valid unless a damaged page is found.
    pub fn survey(
        &mut self,
        least: u64,
        at_first_sight: impl FnOnce(&dyn Scan, &[Trimmed]) -> bool,
    ) -> Result<Surveyed, Fault> {
        let mut report = MountReport::default();
        self.safe = SafeNote::load(&self.backend)?;
        // New sequence numbers must also be at or above the bound in the note of safe programs, because trims of a lost
        // log may have used the numbers below it.
        let least = least.max(self.safe.below);
        let loaded = Log::load(&self.backend)?;
        self.backend.mounted(loaded.as_ref().map_or(0, |(_, known)| known.life.mounts));
        let older_trims = loaded.as_ref().map_or(0, |(_, known)| known.older_trims);
        // Creates a trim of no pages with sequence number `sequence`. This trim makes the FTL continue with higher
        // numbers, even if the operation with this number was lost.
        let above = |sequence| Trimmed { lpn: Lpn(0), count: 0, sequence };
        let (table, mut trims) = match loaded {
            Some((log, known)) => {
                let (table, trims) = self.survey_touched(log, known, &mut report)?;
                self.sequence = self.sequence.max(table.sequence);
                self.erases.copy_from_slice(&table.erases);
                (Some(table), trims)
            }
            None => {
                let table = self.survey_all(|scan| at_first_sight(scan, &[above(least)]), &mut report)?;
                self.erases.fill(0);
                (table, Vec::new())
            }
        };
        self.sequence = self.sequence.max(least);
        self.begun = self.sequence;
        self.safe.set_torn(self.torn()?);
        trims.push(above(self.sequence));
        // Unless the drive was shut down, the surveyed state may not be synced yet, so the next flush must sync it.
        self.changed = !report.clean;
        Ok(Surveyed { table, trims, older_trims, report })
    }

    /// Returns the sequence numbers of the damaged pages.
    fn torn(&self) -> Result<Vec<u64>, Fault> {
        let mut spare = [0; SPARE_BYTES];
        let mut torn = Vec::new();
        for &ppn in &self.damaged {
            self.backend.read_spares(ppn, &mut spare)?;
            torn.extend(sequence_of(&Content::decode(ppn, &spare).found()));
        }
        Ok(torn)
    }

    fn survey_touched(
        &mut self,
        log: Log,
        known: LogContents,
        report: &mut MountReport,
    ) -> Result<(PageTable, Vec<Trimmed>), Fault> {
        let LogContents {
            mut table, closed, trims, sequence, synced, damaged, erasing, mut erased, life, bytes, ..
        } = known;
        (report.log_bytes_read, report.clean) = (bytes, log.records() == 0);
        (self.sequence, self.closed, self.damaged, self.life) = (sequence, closed, damaged, life);
        for block in (0..self.closed.len() as u32).map(BlockId) {
            table.bad[block.index()] = self.backend.is_bad(block);
        }
        let mut synced = synced.max(self.safe.below);
        // All programs below `erase.below` are safe, so before the erase, all data of the block had safe copies in
        // other blocks.
        if let Some(Erase { block, sequence, .. }) = erasing.filter(|erase| erase.below <= self.safe.below) {
            erased.insert(block, sequence);
            table.erased_before = sequence;
        }
        let log = self.log.insert(log);
        log.mounted(&mut self.backend, report.clean)?;
        let known_of = |block: BlockId| Scanned {
            trusted: log.touch(block) == BlockChange::Erased,
            from: erased.get(&block).copied().unwrap_or_default(),
            verify: Some(synced),
        };
        let is_erasing = |block| erasing.is_some_and(|erasing| erasing.block == block);
        let others: Vec<(BlockId, Scanned)> = (0..self.closed.len() as u32)
            .map(BlockId)
            .filter(|&block| log.touch(block) != BlockChange::None && !is_erasing(block))
            .map(|block| (block, known_of(block)))
            .collect();
        let last = erasing.map(|erase| (erase, known_of(erase.block)));
        let mut scan = BlockScan::new(self, table, report);
        for (block, known) in others {
            scan.scan(block, known)?;
        }
        if let Some((Erase { block, sequence, below }, known)) = last {
            let pages = scan.read(block)?;
            let newest = pages.iter().filter_map(sequence_of).max();
            let medium = &mut *scan.medium;
            // The record of the erase is the last record. A program with a later sequence number proves that the erase
            // has begun.
            let known = if medium.sequence > sequence || newest >= Some(sequence) {
                forget_block(&mut medium.damaged, block, medium.backend.geometry().pages_per_block);
                (scan.table.erased_before, synced) = (sequence, synced.max(below));
                Scanned { from: sequence, ..known }
            } else {
                if let Some(log) = &mut medium.log {
                    log.distrust(&mut medium.backend, block)?;
                }
                // If the erase was lost, pages programmed after it may still show their old spare areas from before the
                // erase.
                Scanned { trusted: false, verify: Some(0), ..known }
            };
            scan.evaluate(block, pages, known)?;
        }
        let (table, torn) = scan.finish(|page| page.version < synced)?;
        // Records damaged pages only after the record of the erase, because any later record shows that the erase has
        // begun.
        if let Some(log) = &mut self.log {
            torn.iter().try_for_each(|&ppn| log.append(&mut self.backend, Record::Damaged(ppn)))?;
        }
        Ok((table, trims))
    }

    /// Surveys all of the flash. Returns None if `at_first_sight` recovered the FTL during the survey and no page is
    /// damaged.
    fn survey_all(
        &mut self,
        at_first_sight: impl FnOnce(&dyn Scan) -> bool,
        report: &mut MountReport,
    ) -> Result<Option<PageTable>, Fault> {
        report.full_scan = true;
        let geometry = *self.backend.geometry();
        let mut memory = Reading::memory(&geometry);
        let reading = Reading::new(&self.backend, &mut memory);
        let is_enough = at_first_sight(&reading);
        let (sequence, damaged) = reading.finish(&self.safe, report)?;
        drop(memory);
        (self.log, self.sequence, self.life) = (None, sequence, Life::default());
        self.closed.fill(true);
        self.damaged = damaged.iter().map(|page| page.ppn).collect();
        // Recovery ignores bad blocks, which may hold the highest sequence numbers.
        if is_enough && damaged.is_empty() && self.bad_blocks() == 0 {
            return Ok(None);
        }
        let mut scan = BlockScan::new(self, PageTable::erased(&geometry), report);
        for block in (0..geometry.blocks).map(BlockId) {
            scan.scan(block, Scanned::default())?;
            scan.table.bad[block.index()] = scan.medium.backend.is_bad(block);
        }
        scan.damaged = damaged;
        let (table, _) = scan.finish(|page| page.version < page.sequence)?;
        Ok(Some(table))
    }

    /// Compares the log with the flash and the map; the error describes the first difference.
    pub fn check_log(&self, newest: &dyn Fn(Lpn) -> Option<Ppn>) -> Result<(), String> {
        let text = |fault: Fault| fault.to_string();
        let (log, known) = match (Log::load(&self.backend).map_err(text)?, &self.log) {
            (Some(loaded), Some(_)) => loaded,
            (None, None) => return Ok(()),
            (Some(_), None) => return Err("the flash contains a log, but the drive runs without a log".into()),
            (None, Some(_)) => return Err("the drive runs with a log, but the flash contains no log".into()),
        };
        let geometry = self.backend.geometry();
        let pages = geometry.pages_per_block;
        let mut spares = vec![0; pages as usize * SPARE_BYTES];
        let mut now = PageTable::erased(geometry);
        for block in (0..self.closed.len() as u32).map(BlockId).filter(|&block| log.touch(block) == BlockChange::None) {
            self.backend.read_spares(Ppn(block.0 * pages), &mut spares).map_err(text)?;
            now.set(block, &found_in(block, &spares), false);
            for ppn in (block.0 * pages..).take(pages as usize).map(Ppn) {
                let (mut then, now) = (known.table.page(ppn), now.page(ppn));
                if let Found::Programmed { oob, outdated: outdated @ true, .. } = &mut then {
                    if newest(oob.lpn) == Some(ppn) {
                        return Err(format!(
                            "page {ppn} of block {block}: the log marks the newest copy of a logical page as outdated"
                        ));
                    }
                    *outdated = false;
                }
                let closed = then == Found::Unreadable && (self.closed[block.index()] || self.damaged.contains(&ppn));
                if then != now && !closed {
                    return Err(format!(
                        "page {ppn} of block {block}: the log records {then:?}, but the flash holds {now:?}"
                    ));
                }
            }
        }
        if known.table.erases != self.erases {
            return Err("the erase counts in the log differ from those of the drive".into());
        }
        Ok(())
    }
}

/// Reads blocks a second time and stores their trusted contents in a table.
struct BlockScan<'a, B> {
    medium: &'a mut Medium<B>,
    table: PageTable,
    report: &'a mut MountReport,
    /// Spare areas of the block that was read last.
    spares: Vec<u8>,
    damaged: Vec<DamagedPage>,
}

impl<'a, B: Backend> BlockScan<'a, B> {
    fn new(medium: &'a mut Medium<B>, table: PageTable, report: &'a mut MountReport) -> Self {
        Self { medium, table, report, spares: Vec::new(), damaged: Vec::new() }
    }

    fn scan(&mut self, block: BlockId, known: Scanned) -> Result<(), Fault> {
        let pages = self.read(block)?;
        self.evaluate(block, pages, known)
    }

    /// Reads the spare areas of a block; returns the contents of its pages.
    fn read(&mut self, block: BlockId) -> Result<Vec<Found>, Fault> {
        let pages = self.medium.backend.geometry().pages_per_block;
        self.spares.resize(pages as usize * SPARE_BYTES, 0);
        self.medium.backend.read_spares(Ppn(block.0 * pages), &mut self.spares)?;
        self.report.blocks_scanned += 1;
        self.report.spares_read += u64::from(pages);
        Ok(found_in(block, &self.spares))
    }

    /// Stores the contents of the block that was read last. Its erased pages may be programmed only if all its pages
    /// are erased, and the latest operation on the block was an erase.
    fn evaluate(&mut self, block: BlockId, mut pages: Vec<Found>, known: Scanned) -> Result<(), Fault> {
        let medium = &mut *self.medium;
        let first = block.0 * medium.backend.geometry().pages_per_block;
        let trusted = known.trusted && pages.iter().all(|page| *page == Found::Erased);
        medium.closed[block.index()] = !trusted;
        let mut data = vec![0; medium.backend.geometry().page_bytes as usize];
        for ((ppn, page), spare) in (first..).map(Ppn).zip(&mut pages).zip(self.spares.as_chunks().0) {
            let Found::Programmed { oob: SpareArea { lpn, sequence, .. }, version, .. } = *page else { continue };
            medium.sequence = medium.sequence.max(sequence + 1);
            if sequence < known.from {
                medium.damaged.insert(ppn);
            }
            if medium.damaged.contains(&ppn) {
                *page = Found::Unreadable;
            } else if known.verify.is_some_and(|from| sequence >= from) {
                self.report.pages_verified += 1;
                if !is_whole(&medium.backend, ppn, spare, &mut data)? {
                    *page = Found::Unreadable;
                    medium.damaged.insert(ppn);
                    self.damaged.push(DamagedPage { ppn, lpn, sequence, version, from: known.from });
                }
            }
        }
        self.table.set(block, &pages, !trusted);
        Ok(())
    }

    /// Returns the table, and the damaged pages that a power loss may have torn. An older copy replaces a torn page.
    /// The other damaged pages were safe before, so the flash has lost their data. Unless there is an identical copy,
    /// they stay in the table, and reading them is an error.
    fn finish(mut self, was_safe: impl Fn(&DamagedPage) -> bool) -> Result<(PageTable, Vec<Ppn>), Fault> {
        let version = |page: &DamagedPage| (page.lpn, page.version);
        let damaged = std::mem::take(&mut self.damaged);
        let mut elsewhere = damaged.iter().filter(|page| was_safe(page)).map(version).collect();
        self.table.keep_held(&mut elsewhere);
        let (lost, torn): (Vec<_>, Vec<_>) =
            damaged.into_iter().partition(|page| was_safe(page) && !elsewhere.contains(&version(page)));
        for page in &lost {
            self.medium.damaged.remove(&page.ppn);
        }
        // Restores the lost pages as the newest copies of their logical pages. This changes the contents of their
        // blocks, so the blocks are scanned again.
        let pages_per_block = self.medium.backend.geometry().pages_per_block;
        let block_of = |page: &DamagedPage| BlockId(page.ppn.0 / pages_per_block);
        for pages in lost.chunk_by(|page, next| block_of(page) == block_of(next)) {
            self.scan(block_of(&pages[0]), Scanned { from: pages[0].from, ..Scanned::default() })?;
        }
        Ok((self.table, torn.into_iter().map(|page| page.ppn).collect()))
    }
}
