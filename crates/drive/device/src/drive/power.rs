//! Creates a drive, switches its power on and off, and stops it after a fault.

use std::collections::BTreeMap;

use ssdlab_core::{Lpn, PageSize};
use ssdlab_ftl::DynFtl;
use ssdlab_nand::Trimmed;

use super::{Drive, Options};
use crate::backend::Backend;
use crate::buffer::{Buffer, BufferedPage, WriteBuffer};
use crate::error::DriveError;
use crate::flash::{Flash, Medium, Payload, Recording};
use crate::mount::Surveyed;
use crate::protected::{BufferJournal, Loaded, PageRecords, above};
use crate::report::MountReport;

impl<B: Backend> Drive<B> {
    /// Creates a mounted drive on erased flash. Fails if the options do not fit the flash, or the flash cannot be
    /// written.
    pub fn create(backend: B, options: Options) -> Result<Self, DriveError> {
        let mut drive = Self::off(backend, options)?;
        let has_bad = drive.bad_blocks() > 0;
        drive.medium.checkpoint(has_bad, options.logical_pages, None)?;
        if has_bad {
            // Mounts the drive, because only a mount tells the FTL which blocks are bad. Then resets the mount counter,
            // so that the drive's health does not include this mount.
            drive.mount()?;
            drive.medium.life.mounts = 0;
            drive.checkpoint(false)?;
        } else {
            let mut ftl = drive.erased_ftl()?;
            ftl.preload_dyn(&mut Flash { medium: &mut drive.medium, payload: Payload::None });
            drive.ftl = Some(ftl);
            drive.power_buffer(None, &[])?;
        }
        Ok(drive)
    }

    /// Returns a new drive; fails if the drive would be read-only, because a new drive has no data to read.
    pub(crate) fn writable_anew(self) -> Result<Self, DriveError> {
        if self.is_worn_out() {
            let blocks = self.geometry().blocks;
            return Err(DriveError::TooManyBad { bad: self.bad_blocks(), blocks });
        }
        Ok(self)
    }

    /// Returns an unmounted drive on flash that holds the data of an existing drive. Fails if the options do not fit
    /// the flash.
    pub fn off(backend: B, options: Options) -> Result<Self, DriveError> {
        let page_bytes = backend.geometry().page_bytes;
        let gathered_pages = options.gathered_pages(backend.geometry());
        let mut drive = Self {
            options,
            page: PageSize::new(page_bytes),
            medium: Medium::new(backend, gathered_pages),
            ftl: None,
            unused: None,
            buffer: None,
            journal: None,
            page_out: vec![0; page_bytes as usize],
            free_blocks: 0,
        };
        drive.unused = Some(drive.build()?);
        Ok(drive)
    }

    /// Returns an FTL whose device is erased.
    pub(super) fn erased_ftl(&mut self) -> Result<Box<dyn DynFtl>, DriveError> {
        self.unused.take().map_or_else(|| self.build(), Ok)
    }

    fn build(&self) -> Result<Box<dyn DynFtl>, DriveError> {
        self.options.build(self.geometry()).map_err(DriveError::Options)
    }

    /// Mounts the drive; cuts its power first if it is on. Fails if the flash cannot be read or contains data that this
    /// FTL cannot have written. The drive is then off.
    pub fn mount(&mut self) -> Result<MountReport, DriveError> {
        self.cut_power();
        let before = self.medium.counts;
        let mut ftl = self.erased_ftl()?;
        let loaded = BufferJournal::load(&self.medium.backend)?;
        let least = loaded.as_ref().map_or(0, |(_, kept)| above(kept));
        let fails = self.medium.backend.fails();
        let mut recording = Recording { operations: Vec::new(), fails };
        let Surveyed { table, trims, older_trims, mut report } = self.medium.survey(least, |scan, trims| {
            ftl.recover_dyn(scan, trims, &mut recording).is_ok() && (recording.operations.is_empty() || !fails)
        })?;
        if report.full_scan && table.is_some() {
            ftl = self.build()?;
        }
        let mut flash = Flash { medium: &mut self.medium, payload: Payload::None };
        let recovered = match table {
            Some(table) => ftl.recover_dyn(&table, &trims, &mut flash),
            None => {
                recording.operations.into_iter().for_each(|operation| operation.emit(&mut flash));
                Ok(())
            }
        };
        if recovered.is_ok() {
            ftl.preload_dyn(&mut flash);
        }
        if let Some(fault) = self.medium.fault.take() {
            self.medium.power_off();
            return Err(fault.into());
        }
        recovered.map_err(DriveError::Unmountable)?;
        self.medium.life.mounted(report.clean);
        let is_worn_out = ftl.is_worn_out();
        self.ftl = Some(ftl);
        if loaded.is_some() {
            self.begin_log()?;
        }
        if is_worn_out {
            self.wear_out()?;
        }
        self.power_buffer(loaded, &trims[older_trims..]).inspect_err(|_| self.cut_power())?;
        report.operations = self.medium.counts - before;
        // Replaces the journal if it is too long. Each mount adds a record, so mounts alone could make it too long.
        self.settle()?;
        Ok(report)
    }

    /// Programs the pages that a protected buffer held at the power loss, and empties the buffer. A read-only drive
    /// keeps these pages. `trims` lists the trims in the log's journal; the buffer's journal may not contain all of
    /// them.
    pub(super) fn power_buffer(&mut self, loaded: Option<Loaded>, trims: &[Trimmed]) -> Result<(), DriveError> {
        let (before, mut kept) = loaded.map_or((None, BTreeMap::new()), |(journal, kept)| (Some(journal), kept));
        for &Trimmed { lpn, count, sequence } in trims {
            kept.range_mut(lpn.0..lpn.0 + count).for_each(|(_, kept)| kept.logged_trim = Some(sequence));
        }
        let was_empty = kept.is_empty();
        let mut pages = Vec::new();
        for (lpn, PageRecords { trimmed, logged_trim, pages: written }) in kept {
            let on_flash = self.version_on_flash(Lpn(lpn))?;
            let is_trimmed = on_flash.is_some_and(|version| trimmed.is_some_and(|sequence| version < sequence));
            let version = on_flash.filter(|_| !is_trimmed);
            let is_newer = |sequence| version < Some(sequence) && logged_trim < Some(sequence);
            // If `base` is None, the flash had no valid copy of the page when this part was written. Any copy now on
            // the flash had been trimmed before the write, so the rest of the page is zeros.
            let is_whole = |held: &BufferedPage| held.whole || held.base.is_none() && on_flash.is_some();
            let fits = |(sequence, held): &(u64, BufferedPage)| {
                is_newer(*sequence) && (is_whole(held) || held.base == version)
            };
            match written.into_iter().rfind(fits) {
                Some((_, held)) => pages.push((lpn, BufferedPage { whole: is_whole(&held), ..held })),
                // Trims the page again. This must wait until it is known that no write followed the original trim,
                // because the new trim record would be newer than such a write.
                None if is_trimmed => {
                    let ftl = self.ftl.as_mut().ok_or(DriveError::Off)?;
                    ftl.trim_dyn(Lpn(lpn), 1, &mut Flash { medium: &mut self.medium, payload: Payload::None });
                    self.stop_at_fault()?;
                }
                None => {}
            }
        }
        if !pages.is_empty() {
            let all = WriteBuffer { pages: pages.len() as u32, high: 1, low: 0, protected: true };
            self.buffer = Some(Buffer::of(all, pages));
            match self.drain(u32::MAX) {
                Err(DriveError::ReadOnly { .. }) => {
                    // The waiting pages move to another journal, which omits trimmed pages.
                    self.new_journal(before.as_ref(), self.buffered_pages())?;
                    return Ok(());
                }
                other => other?,
            }
            self.stop_at_fault()?;
            // Flushes the pages just programmed, which the new buffer journal will not contain. The buffer journal must
            // be replaced before any checkpoint, because the log's journal may contain trims that the buffer journal
            // does not.
            self.flush_medium()?;
        }
        self.buffer = self.options.buffer.map(Buffer::new);
        self.journal = match (self.options.buffer, before) {
            (Some(WriteBuffer { protected: true, pages, .. }), before) => {
                Some(self.new_journal(before.as_ref(), pages)?)
            }
            (_, Some(before)) if !was_empty || !before.is_alone => {
                // An empty journal replaces the outdated records. Otherwise, these records would become valid again
                // after a later trim has removed the newer versions from the flash.
                BufferJournal::begin(&mut self.medium.backend, Some(&before), 0, 0, std::iter::empty())?;
                None
            }
            _ => None,
        };
        Ok(())
    }

    /// Starts a buffer journal with the waiting pages of a protected buffer of `pages` pages. The new journal replaces
    /// the journal `before`.
    fn new_journal(&mut self, before: Option<&BufferJournal>, pages: u32) -> Result<BufferJournal, DriveError> {
        let waiting = self.buffer.iter().flat_map(Buffer::waiting);
        Ok(BufferJournal::begin(&mut self.medium.backend, before, pages, self.medium.sequence, waiting)?)
    }

    /// Returns the version of a page's copy on the flash.
    pub(super) fn version_on_flash(&self, lpn: Lpn) -> Result<Option<u64>, DriveError> {
        let ftl = self.ftl.as_ref().ok_or(DriveError::Off)?;
        ftl.lookup(lpn).map_or(Ok(None), |ppn| Ok(self.medium.version(ppn)?))
    }

    /// Cuts the power: the controller's RAM loses its contents, but a buffer with power-loss protection keeps its
    /// pages.
    pub fn cut_power(&mut self) {
        if let Some(ftl) = self.ftl.take() {
            self.free_blocks = ftl.free_blocks();
        }
        (self.buffer, self.journal) = (None, None);
        self.medium.power_off();
    }

    /// Makes all data durable, writes a checkpoint and switches the drive off.
    pub fn shut_down(&mut self) -> Result<(), DriveError> {
        match self.drain(u32::MAX) {
            // A read-only drive cannot program the pages of a protected buffer. They stay in the buffer's journal.
            Err(DriveError::ReadOnly { .. }) if self.buffer.as_ref().is_some_and(Buffer::is_protected) => {}
            other => other?,
        }
        self.settle()?;
        self.flush()?;
        self.checkpoint(true)?;
        self.cut_power();
        Ok(())
    }

    /// Starts a log if the drive has none, so that the next mount need not read all of the flash. After a mount without
    /// a usable log, this happens at the first change at the latest.
    pub(super) fn begin_log(&mut self) -> Result<(), DriveError> {
        if self.medium.log.is_none() { self.checkpoint(false) } else { Ok(()) }
    }

    /// Makes the drive read-only and records this in the drive's log.
    fn wear_out(&mut self) -> Result<(), DriveError> {
        self.begin_log()?;
        self.medium.wear_out();
        Ok(())
    }

    /// Pads the incomplete program units that contain host pages, or all incomplete program units if `everything` is
    /// true.
    pub(super) fn complete_units(&mut self, everything: bool) -> Result<(), DriveError> {
        let ftl = self.ftl.as_mut().ok_or(DriveError::Off)?;
        if !self.medium.gathered.is_empty() {
            let mut flash = Flash { medium: &mut self.medium, payload: Payload::None };
            ftl.complete_units_dyn(everything, &mut flash);
        }
        self.stop_at_fault()
    }

    fn checkpoint(&mut self, ends: bool) -> Result<(), DriveError> {
        // The padding may trigger garbage collection, which copies pages and so begins further program units.
        while !self.medium.gathered.is_empty() {
            self.complete_units(true)?;
        }
        let ftl = self.ftl.as_ref().ok_or(DriveError::Off)?;
        let written = self.medium.checkpoint(ends, self.options.logical_pages, Some(ftl.as_ref()));
        self.medium.note_fault(written);
        self.stop_at_fault()
    }

    /// Completes a request: switches the drive off after a fault, and replaces journals that have become too long.
    pub(super) fn settle(&mut self) -> Result<(), DriveError> {
        // Checks for wear-out only if the flash may fail; other flash cannot wear out during a request. With page
        // mapping, the check takes time because it looks at every plane.
        if self.medium.backend.fails() && self.ftl.as_ref().is_some_and(|ftl| ftl.is_worn_out()) {
            self.wear_out()?;
        }
        self.stop_at_fault()?;
        if let Some(journal) = self.journal.take_if(|journal| journal.is_long())
            && let Some(WriteBuffer { pages, .. }) = self.options.buffer
        {
            // The new journal omits pages that are already programmed. Flushes these pages, and records for the next
            // mount that they are safe.
            self.flush_medium()?;
            self.journal = Some(self.new_journal(Some(&journal), pages).inspect_err(|_| self.cut_power())?);
        }
        let is_long = self.medium.log.as_ref().is_some_and(|log| log.is_long(self.options.journal_blocks));
        if is_long {
            self.checkpoint(false)?;
        }
        Ok(())
    }

    pub(super) fn flush_medium(&mut self) -> Result<(), DriveError> {
        self.complete_units(false)?;
        let flushed = self.medium.flush();
        self.medium.note_fault(flushed);
        self.stop_at_fault()
    }

    pub(super) fn stop_at_fault(&mut self) -> Result<(), DriveError> {
        let Some(fault) = self.medium.fault.take() else { return Ok(()) };
        let buffered = self.buffer.as_ref().filter(|buffer| !buffer.is_protected()).map_or(0, Buffer::len);
        let waiting = buffered + self.medium.gathered.host_pages();
        self.cut_power();
        Err(match fault.into() {
            DriveError::Medium { error, .. } => DriveError::Medium { error, lost: waiting },
            other => other,
        })
    }
}
