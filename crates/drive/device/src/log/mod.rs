//! Log stored next to the flash, so that a mount does not read all of the flash. The log is a checkpoint of the spare
//! areas, followed by a journal of the blocks changed since the checkpoint.
//!
//! A record is written before the change that it announces, and is durable before the flash may contradict it. The
//! journal therefore lists every block that a power loss leaves half written. It also records trims, which flash cannot
//! store.
//!
//! ```text
//! slot A:  checkpoint 6 | records ...          slot B:  checkpoint 7 | records ...   <- in use
//! ```

mod checkpoint;
mod record;
mod stream;

pub(crate) use checkpoint::CheckpointContents;
pub(crate) use record::{Erase, Record};

use std::collections::{BTreeMap, BTreeSet};

use ssdlab_core::{BlockId, Ppn};
use ssdlab_nand::{Cause, Trimmed};

use crate::backend::{Backend, Fault, Slot};
use crate::life::Life;
use crate::table::PageTable;
use record::RECORD_BYTES;

/// Number of records read at a time when searching for records beyond the end of a journal; more than a disk writes in
/// one operation.
const LOOKED_BEHIND: usize = 256;

/// State of a block since the checkpoint, according to the journal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BlockChange {
    None,
    Erased,
    /// The block was programmed since the checkpoint, and perhaps erased before that.
    Opened,
}

#[derive(Debug)]
pub(crate) struct Log {
    slot: Slot,
    generation: u64,
    /// Number of mounts since the checkpoint.
    mounts: u64,
    journal: u64,
    records: u64,
    touched: Vec<BlockChange>,
    /// Number of blocks listed in the journal.
    named: u32,
}

/// Contents of a checkpoint, brought up to date by the records of its journal.
pub(crate) struct LogContents {
    pub table: PageTable,
    pub closed: Vec<bool>,
    /// Trims recorded in the checkpoint, followed by trims recorded in the journal.
    pub trims: Vec<Trimmed>,
    /// Number of trims that the checkpoint contains.
    pub older_trims: usize,
    /// Number of programs and trims so far, according to the log.
    pub sequence: u64,
    /// Sequence number below which every program is known to be complete.
    pub synced: u64,
    /// Pages whose data was found damaged, in blocks not erased since.
    pub damaged: BTreeSet<Ppn>,
    /// Erase that may be incomplete; programs before it may not be safe.
    pub erasing: Option<Erase>,
    /// Erased blocks, each with the drive's sequence number at the time of the erase. A page with a lower sequence
    /// number was programmed before the erase; it can still exist if the erase itself was lost.
    pub erased: BTreeMap<BlockId, u64>,
    pub life: Life,
    /// Number of bytes in checkpoint (header and body) and journal.
    pub bytes: u64,
}

impl Log {
    /// Writes a checkpoint to the slot that the log `before` does not use, and starts the journal of the checkpoint.
    pub fn begin<B: Backend>(
        before: Option<&Self>,
        backend: &mut B,
        facts: &CheckpointContents<'_>,
    ) -> Result<Self, Fault> {
        let (slot, generation) = match before {
            Some(log) => (log.slot.other(), log.generation + 1),
            // Neither slot has a usable log, but the new generation number must still differ from the numbers stored in
            // the slots.
            None => {
                let newest = checkpoint::generation(backend, Slot::A)?.max(checkpoint::generation(backend, Slot::B)?);
                (Slot::A, newest.max(facts.sequence).wrapping_add(1))
            }
        };
        let (end, checksum) = checkpoint::write(backend, slot, generation, facts)?;
        let touched = vec![BlockChange::None; facts.erases.len()];
        let mut log = Self { slot, generation, mounts: 0, journal: end, records: 0, touched, named: 0 };
        if !facts.ends {
            log.append(backend, Record::Synced(facts.sequence))?;
        }
        checkpoint::seal(backend, slot, generation, end, checksum)?;
        Ok(log)
    }

    /// Reads the current log; None if it is damaged, because the log in the other slot is older and therefore wrong.
    pub fn load<B: Backend>(backend: &B) -> Result<Option<(Self, LogContents)>, Fault> {
        let newer = checkpoint::header(backend, Slot::B)? > checkpoint::header(backend, Slot::A)?;
        let slot = if newer { Slot::B } else { Slot::A };
        let Some((generation, checkpoint)) = checkpoint::read(backend, slot)? else { return Ok(None) };
        let (log, contents) = Self::replay(backend, slot, generation, checkpoint)?;
        Ok(if log.continues_after_damage(backend)? { None } else { Some((log, contents)) })
    }

    /// True if the first damaged record was safe before it was damaged: later records show that a sync followed it.
    /// Otherwise, this record and the later records may be incomplete writes from a power loss of the computer.
    fn continues_after_damage<B: Backend>(&self, backend: &B) -> Result<bool, Fault> {
        let mut mounts = None;
        let mut was_synced = false;
        let mut bytes = vec![0; LOOKED_BEHIND * RECORD_BYTES];
        for first in (self.records + 1..).step_by(LOOKED_BEHIND) {
            backend.read_log(self.slot, self.journal + first * RECORD_BYTES as u64, &mut bytes)?;
            let mut is_continued = false;
            let places = (first..).zip(bytes.as_chunks().0);
            for (number, bytes) in places.filter(|(_, bytes)| **bytes != [0; RECORD_BYTES]) {
                // The damaged record may be a mount record, which changes the seed of all later records. So the seeds
                // before and after a mount are tried.
                let candidates = mounts.map_or(self.mounts..=self.mounts + 1, |mounts| mounts..=mounts);
                let record = candidates
                    .into_iter()
                    .find_map(|mounts| Some((mounts, Record::as_is(bytes, self.seed_of(mounts, number))?)));
                let Some((at, record)) = record else { continue };
                // A mount record does not prove that earlier records were safe, because the sync before the mount may
                // have been interrupted.
                let is_mount = matches!(record, Record::Mounted { .. });
                if was_synced && !is_mount || matches!(record, Record::Synced(_) | Record::GivenUp(..)) {
                    return Ok(true);
                }
                is_continued = true;
                was_synced = !matches!(record, Record::Opened(_) | Record::Trimmed(_) | Record::Damaged(_));
                mounts = Some(at + u64::from(is_mount));
            }
            if !is_continued {
                break;
            }
        }
        Ok(false)
    }

    /// Reads the journal of a checkpoint, and applies its records to the contents of the checkpoint.
    fn replay<B: Backend>(
        backend: &B,
        slot: Slot,
        generation: u64,
        mut contents: LogContents,
    ) -> Result<(Self, LogContents), Fault> {
        let touched = vec![BlockChange::None; contents.closed.len()];
        let mut log = Self { slot, generation, mounts: 0, journal: contents.bytes, records: 0, touched, named: 0 };
        let pages_per_block = backend.geometry().pages_per_block;
        let mut bytes = [0; RECORD_BYTES];
        loop {
            backend.read_log(slot, log.end(), &mut bytes)?;
            let Some(record) = Record::decode(&bytes, log.seed()) else { break };
            log.records += 1;
            contents.apply(record, &mut log, pages_per_block);
        }
        contents.bytes = log.end();
        Ok((log, contents))
    }

    fn seed(&self) -> u64 {
        self.seed_of(self.mounts, self.records)
    }

    /// Returns the seed for the checksum of a record. The generation, the number of mounts and the number of the record
    /// use separate bits, so no two records of a log share a seed.
    fn seed_of(&self, mounts: u64, records: u64) -> u64 {
        self.generation << 44 ^ mounts << 28 ^ records
    }

    fn end(&self) -> u64 {
        self.journal + self.records * RECORD_BYTES as u64
    }

    pub fn touch(&self, block: BlockId) -> BlockChange {
        self.touched[block.index()]
    }

    pub fn records(&self) -> u64 {
        self.records
    }

    /// True if the journal lists at least `blocks` blocks, or has at least four times as many records.
    pub fn is_long(&self, blocks: u32) -> bool {
        self.named >= blocks || self.records >= 4 * u64::from(blocks)
    }

    /// Stores the latest change of a block, and counts the block if the journal did not list it before. Returns the
    /// block's previous change.
    fn name(&mut self, block: BlockId, touch: BlockChange) -> BlockChange {
        let before = std::mem::replace(&mut self.touched[block.index()], touch);
        self.named += u32::from(before == BlockChange::None);
        before
    }

    pub fn append<B: Backend>(&mut self, backend: &mut B, record: Record) -> Result<(), Fault> {
        // Appends zeros to the record, so that remains of earlier writes are not read as records.
        let mut bytes = [0; 2 * RECORD_BYTES];
        bytes[..RECORD_BYTES].copy_from_slice(&record.encode(self.seed()));
        backend.write_log(self.slot, self.end(), &bytes)?;
        self.records += 1;
        Ok(())
    }

    /// Records that a page of the block is about to be programmed. Returns true if all earlier operations were synced
    /// first.
    #[inline]
    pub fn program<B: Backend>(&mut self, backend: &mut B, block: BlockId) -> Result<bool, Fault> {
        if self.touched[block.index()] == BlockChange::Opened { Ok(false) } else { self.open(backend, block) }
    }

    #[cold]
    fn open<B: Backend>(&mut self, backend: &mut B, block: BlockId) -> Result<bool, Fault> {
        self.append(backend, Record::Opened(block))?;
        let is_first = self.name(block, BlockChange::Opened) == BlockChange::None;
        if is_first {
            backend.sync()?;
        }
        Ok(is_first)
    }

    /// Records that a block is about to be erased for the given cause. On return, all programs with sequence numbers
    /// below `erase.below` are durable.
    pub fn erase<B: Backend>(&mut self, backend: &mut B, erase: Erase, cause: Cause) -> Result<(), Fault> {
        let record = if cause == Cause::Recovery {
            // Syncs all earlier operations first, because this record may be the last one to survive a power loss of
            // the computer. Even then, the copies that recovery discards must no longer be needed.
            backend.sync()?;
            Record::GivenUp
        } else {
            Record::Erased
        };
        self.append(backend, record(erase))?;
        self.name(erase.block, BlockChange::Erased);
        backend.sync()
    }

    /// Records that the erase of this block, the latest erase, may be incomplete. Syncs the record before the next
    /// program, because a mount takes a later program as proof that the erase has begun.
    pub fn distrust<B: Backend>(&mut self, backend: &mut B, block: BlockId) -> Result<(), Fault> {
        self.name(block, BlockChange::Opened);
        self.append(backend, Record::Interrupted(block))?;
        backend.sync()
    }

    /// Records a mount. This invalidates an older log that a power loss left valid. It also invalidates records that
    /// survived a power loss of the computer although earlier records were lost.
    pub fn mounted<B: Backend>(&mut self, backend: &mut B, clean: bool) -> Result<(), Fault> {
        self.append(backend, Record::Mounted { clean })?;
        self.mounts += 1;
        // The header of this log is safe only after this sync. Only then may the older log be invalidated.
        backend.sync()?;
        checkpoint::outdate(backend, self.slot.other(), self.generation)
    }

    /// Records that the drive is now permanently read-only.
    pub fn worn_out<B: Backend>(&mut self, backend: &mut B) -> Result<(), Fault> {
        self.append(backend, Record::WornOut)?;
        backend.sync()
    }
}

impl LogContents {
    /// Updates the contents of the checkpoint with the next record of the journal.
    fn apply(&mut self, record: Record, log: &mut Log, pages_per_block: u32) {
        // A record that follows the record of an erase proves that everything before the erase is durable, and that the
        // erase has begun, although it may not be durable itself. Two records do not prove this: the record of a mount,
        // and the `Interrupted` record of the block, whose erase may not have begun.
        let is_begun = |erase: &Erase| record != Record::Interrupted(erase.block);
        if !matches!(record, Record::Mounted { .. })
            && let Some(erase) = self.erasing.take().filter(is_begun)
        {
            forget_block(&mut self.damaged, erase.block, pages_per_block);
            self.was_safe_before_erase(erase);
        }
        match record {
            Record::Opened(block) | Record::Interrupted(block) => {
                log.name(block, BlockChange::Opened);
            }
            Record::Erased(erase) | Record::GivenUp(erase) => {
                if matches!(record, Record::GivenUp(..)) {
                    self.table.trusts_marks = false;
                    // With this record, the recovery's decision to discard the copies in the block becomes final. So no
                    // page of the block is needed any more.
                    self.was_safe_before_erase(erase);
                }
                self.sequence = self.sequence.max(erase.sequence);
                log.name(erase.block, BlockChange::Erased);
                self.table.erases[erase.block.index()] += 1;
                self.erasing = Some(erase);
            }
            Record::Trimmed(trim) => {
                self.sequence = self.sequence.max(trim.sequence + 1);
                self.trims.push(trim);
            }
            Record::Synced(sequence) => {
                self.synced = self.synced.max(sequence);
                self.sequence = self.sequence.max(sequence);
            }
            Record::Damaged(ppn) => {
                self.damaged.insert(ppn);
            }
            Record::Mounted { clean } => {
                log.mounts += 1;
                self.life.mounted(clean);
            }
            Record::WornOut => self.life.worn_out = true,
        }
    }

    /// Records that the programs before the erase of a block were safe, except in incomplete program units. If a page
    /// of a safe program is damaged, no power loss has torn it; replacing it with an older copy would hide a fault.
    fn was_safe_before_erase(&mut self, erase: Erase) {
        self.erased.insert(erase.block, erase.sequence);
        self.synced = self.synced.max(erase.below);
        self.table.erased_before = erase.sequence;
    }
}

/// Removes the pages of an erased block from the set of damaged pages.
pub(crate) fn forget_block(damaged: &mut BTreeSet<Ppn>, block: BlockId, pages_per_block: u32) {
    damaged.retain(|ppn| ppn.0 / pages_per_block != block.0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdlab_nand::Geometry;

    use crate::MemoryBackend;

    /// Returns flash with three erased blocks of two pages, and the contents of a checkpoint.
    fn erased() -> (MemoryBackend, CheckpointContents<'static>) {
        let geometry = Geometry::single_plane(512, 2, 3);
        let facts = CheckpointContents {
            sequence: 1,
            life: Life::default(),
            erases: &[0; 3],
            closed: &[false; 3],
            damaged: const { &BTreeSet::new() },
            ftl: None,
            logical_pages: 2,
            ends: true,
        };
        (MemoryBackend::new(geometry), facts)
    }

    /// Tests a power loss of the computer that loses the second of three records, and later the zeros that mark the end
    /// of the journal.
    #[test]
    fn records_lost_before_a_mount_are_not_read_after_it() {
        let (mut backend, facts) = erased();
        let mut log = Log::begin(None, &mut backend, &facts).unwrap();
        (0..3).for_each(|ppn| log.append(&mut backend, Record::Damaged(Ppn(ppn))).unwrap());
        let [second, third] = [1, 2].map(|number| log.journal + number * RECORD_BYTES as u64);
        let mut left = [0; RECORD_BYTES];
        backend.read_log(log.slot, third, &mut left).unwrap();
        backend.write_log(log.slot, second, &[0; RECORD_BYTES]).unwrap();
        let (mut log, known) = Log::load(&backend).unwrap().unwrap();
        assert_eq!(known.damaged, BTreeSet::from([Ppn(0)]));
        log.mounted(&mut backend, false).unwrap();
        backend.write_log(log.slot, third, &left).unwrap();
        let (again, known) = Log::load(&backend).unwrap().unwrap();
        assert_eq!((again.records(), known.damaged), (2, BTreeSet::from([Ppn(0)])));
        // A record of another checkpoint at the same place is ignored.
        let next = Log::begin(Some(&log), &mut backend, &facts).unwrap();
        let mut first = [0; RECORD_BYTES];
        backend.read_log(log.slot, log.journal, &mut first).unwrap();
        backend.write_log(next.slot, next.journal, &first).unwrap();
        assert_eq!(Log::load(&backend).unwrap().unwrap().0.records(), 0);
    }

    /// Goal: a record that is damaged later does not end the journal early. Method: damages one of four records, then
    /// loads the journal. The last record either shows that all earlier records were safe, or does not.
    #[test]
    fn damaged_records_are_distinguished_from_lost_ones() {
        for (shows, damaged) in [(true, 0), (true, 2), (true, 3), (false, 0), (false, 2)] {
            let (mut backend, facts) = erased();
            let mut log = Log::begin(None, &mut backend, &facts).unwrap();
            (0..3).for_each(|ppn| log.append(&mut backend, Record::Damaged(Ppn(ppn))).unwrap());
            if shows {
                log.append(&mut backend, Record::Synced(9)).unwrap();
            }
            let at = log.journal + damaged * RECORD_BYTES as u64;
            backend.write_log(log.slot, at, &[7; RECORD_BYTES]).unwrap();
            let whole = Log::load(&backend).unwrap().map(|(log, _)| log.records());
            // The last record has no successor, so damage to it looks like an interrupted write.
            let expected = if shows && damaged < 3 { None } else { Some(damaged) };
            assert_eq!(whole, expected, "{damaged}");
        }
    }

    /// Goal: an older log never replaces a damaged log, and no later log has the same generation number. Method:
    /// restores the older header as if a power cut had left it, records a mount, and damages the newer header.
    #[test]
    fn a_damaged_header_leaves_no_log() {
        let (mut backend, facts) = erased();
        let older = Log::begin(None, &mut backend, &facts).unwrap();
        let mut header = [0; checkpoint::HEADER_BYTES as usize];
        backend.read_log(older.slot, 0, &mut header).unwrap();
        let mut log = Log::begin(Some(&older), &mut backend, &facts).unwrap();
        backend.write_log(older.slot, 0, &header).unwrap();
        assert_eq!(Log::load(&backend).unwrap().unwrap().0.generation, log.generation);
        log.mounted(&mut backend, false).unwrap();
        backend.write_log(log.slot, 9, &[0x80]).unwrap();
        assert!(Log::load(&backend).unwrap().is_some(), "a single bit must be corrected");
        backend.write_log(log.slot, 8, &[0; 32]).unwrap();
        assert!(Log::load(&backend).unwrap().is_none());
        let next = Log::begin(None, &mut backend, &facts).unwrap();
        assert!(next.generation > log.generation);
    }

    /// Goal: an erase during a recovery makes the marks of outdated copies invalid until the next checkpoint; garbage
    /// collection does not. Method: loads the log after each erase, and checks if its marks are valid.
    #[test]
    fn marks_are_valid_until_a_recovery_discards_copies() {
        let (mut backend, facts) = erased();
        let mut log = Log::begin(None, &mut backend, &facts).unwrap();
        for (cause, trusted) in [(Cause::Gc, true), (Cause::Recovery, false), (Cause::Gc, false)] {
            let erase = Erase { block: BlockId(1), sequence: 5, below: 5 };
            log.erase(&mut backend, erase, cause).unwrap();
            let (_, known) = Log::load(&backend).unwrap().unwrap();
            assert_eq!((known.table.trusts_marks, known.erasing), (trusted, Some(erase)));
        }
        Log::begin(Some(&log), &mut backend, &facts).unwrap();
        assert!(
            Log::load(&backend).unwrap().unwrap().1.table.trusts_marks,
            "a mark of the old checkpoint is still valid"
        );
    }
}
