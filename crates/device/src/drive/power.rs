//! A drive made, switched on and off, and stopped by a fault.

use ssdlab_core::PageSize;

use super::{Drive, Options};
use crate::backend::Backend;
use crate::buffer::{Buffer, WriteBuffer};
use crate::error::DriveError;
use crate::flash::{Flash, Medium, Payload};
use crate::mount::{MountReport, Surveyed};
use crate::protected::Ram;
use crate::translation::{Boxed, Translation};

impl<B: Backend> Drive<B> {
    /// A drive on erased flash, ready.
    ///
    /// # Errors
    /// If the options do not fit the flash, or that cannot be written.
    pub fn create(backend: B, options: Options) -> Result<Self, DriveError> {
        let mut drive = Self::off(backend, options)?;
        drive.medium.checkpoint(options.logical_pages, &|_| false)?;
        if drive.bad_blocks() > 0 {
            // The FTL must hear of them.
            drive.mount()?;
        } else {
            let mut ftl = drive.build()?;
            ftl.preload(&mut Flash { medium: &mut drive.medium, payload: Payload::None });
            drive.ftl = Some(ftl);
            drive.power_buffer()?;
        }
        Ok(drive)
    }

    /// A drive that is to be mounted, on flash that one was created on.
    ///
    /// # Errors
    /// If the options do not fit the flash.
    pub fn off(backend: B, options: Options) -> Result<Self, DriveError> {
        let page_bytes = backend.geometry().page_bytes;
        let drive = Self {
            options,
            page: PageSize::new(page_bytes),
            medium: Medium::new(backend),
            ftl: None,
            buffer: None,
            ram: None,
            page_out: vec![0; page_bytes as usize],
            mounts: 0,
            unsafe_mounts: 0,
        };
        drive.build()?;
        Ok(drive)
    }

    fn build(&self) -> Result<Box<dyn Translation>, DriveError> {
        let Options { ftl, seed, spare_for_failures, .. } = self.options;
        let shape = self.options.shape(self.geometry());
        let mut ftl =
            ftl.build(shape, seed, Boxed { fails: self.medium.backend.fails() }).map_err(DriveError::Options)?;
        if spare_for_failures > 0 {
            ftl.keep_for_failures(spare_for_failures).map_err(DriveError::Options)?;
        }
        Ok(ftl)
    }

    /// Switches the power on, after [`Self::cut_power`] if it is on.
    ///
    /// # Errors
    /// If the flash cannot be read or holds what this FTL cannot have written. The drive then is off.
    pub fn mount(&mut self) -> Result<MountReport, DriveError> {
        self.cut_power();
        let before = self.medium.counts;
        let mut ftl = self.build()?;
        let Surveyed { table, trims, mut report } = self.medium.survey()?;
        let mut flash = Flash { medium: &mut self.medium, payload: Payload::None };
        let recovered = ftl.recover(&table, &trims, &mut flash);
        if recovered.is_ok() {
            ftl.preload(&mut flash);
        }
        if let Some(fault) = self.medium.fault.take() {
            self.medium.power_off();
            return Err(fault.into());
        }
        recovered.map_err(DriveError::Unmountable)?;
        if self.medium.log.is_none() {
            self.medium.checkpoint(self.options.logical_pages, &|lpn| ftl.lookup(lpn).is_some())?;
        }
        self.ftl = Some(ftl);
        if let Err(error) = self.power_buffer() {
            self.cut_power();
            return Err(error);
        }
        report.operations = self.medium.counts - before;
        self.mounts += 1;
        self.unsafe_mounts += u64::from(!report.clean);
        Ok(report)
    }

    /// Programs what a protected buffer held when the power was lost; then the buffer is empty. A drive that can only be
    /// read keeps it.
    fn power_buffer(&mut self) -> Result<(), DriveError> {
        let loaded = Ram::load(&mut self.medium.backend)?;
        let (mut before, pages) = loaded.map_or((None, Vec::new()), |(ram, pages)| (Some(ram), pages));
        if !pages.is_empty() {
            let all = WriteBuffer { pages: pages.len() as u32, high: 1, low: 0, protected: true };
            (self.buffer, self.ram) = (Some(Buffer::of(all, pages)), before);
            match self.drain(true) {
                Err(DriveError::ReadOnly { .. }) => return Ok(()),
                other => other?,
            }
            self.settle()?;
            before = self.ram.take();
        }
        self.buffer = self.options.buffer.map(Buffer::new);
        if let Some(WriteBuffer { pages, protected: true, .. }) = self.options.buffer {
            let page_bytes = self.geometry().page_bytes;
            self.ram = Some(Ram::new(&mut self.medium.backend, before, pages, page_bytes)?);
        }
        Ok(())
    }

    /// Switches the power off at once: RAM forgets what it holds, unless it is protected.
    pub fn cut_power(&mut self) {
        self.ftl = None;
        (self.buffer, self.ram) = (None, None);
        self.medium.power_off();
    }

    /// Makes everything safe, writes a checkpoint and switches the power off.
    ///
    /// # Errors
    /// As of [`Self::flush`].
    pub fn shut_down(&mut self) -> Result<(), DriveError> {
        match self.drain(true) {
            // It stays where it is.
            Err(DriveError::ReadOnly { .. }) if self.ram.is_some() => {}
            other => other?,
        }
        self.settle()?;
        self.flush()?;
        self.checkpoint()?;
        self.cut_power();
        Ok(())
    }

    pub(super) fn checkpoint(&mut self) -> Result<(), DriveError> {
        let ftl = self.ftl.as_ref().ok_or(DriveError::Off)?;
        let written = self.medium.checkpoint(self.options.logical_pages, &|lpn| ftl.lookup(lpn).is_some());
        self.medium.note_fault(written);
        self.stop_at_fault()
    }

    /// After each request: a fault switches the drive off, a long journal makes it write a checkpoint.
    pub(super) fn settle(&mut self) -> Result<(), DriveError> {
        self.stop_at_fault()?;
        let long = |log: &crate::log::Log| log.records() >= u64::from(self.options.journal_records);
        if self.medium.log.as_ref().is_some_and(long) { self.checkpoint() } else { Ok(()) }
    }

    pub(super) fn stop_at_fault(&mut self) -> Result<(), DriveError> {
        match self.medium.fault.take() {
            None => Ok(()),
            Some(fault) => {
                self.cut_power();
                Err(fault.into())
            }
        }
    }
}
