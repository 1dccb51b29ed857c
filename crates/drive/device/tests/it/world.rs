//! A drive with its model; both get the same random requests.

use std::io;

use ssdlab_core::Rng;
use ssdlab_device::{Backend, Drive, DriveError, FaultBackend, FaultPlan, Slot};

use crate::drives::Kind;
use crate::model::Model;

/// Reason why a workload stops.
#[derive(Debug)]
pub enum Stop {
    /// The power failed.
    Off,
    /// The drive is worn out, because too many blocks failed.
    WornOut,
    /// The disk that stores the drive is full.
    Full,
    /// The drive broke a promise.
    Broken(String),
}

impl Stop {
    /// Returns the description of a broken promise.
    pub fn what(self) -> String {
        match self {
            Self::Broken(what) => what,
            stop => format!("{stop:?}"),
        }
    }
}

/// A planted bug of the drive; see `mutants.rs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lie {
    None,
    /// A flush is acknowledged but not executed.
    Flush,
}

/// First bytes of a damaged log header.
const MAGIC_LOST: [u8; 8] = [0; 8];

/// Damages the headers of both logs, but not their generation numbers, which must not be reused.
pub fn lose_log(flash: &mut impl Backend) {
    for slot in [Slot::A, Slot::B] {
        flash.write_log(slot, 0, &MAGIC_LOST).expect("the power is on");
    }
}

/// True if an acknowledged write is durable without a flush. False if faults may lose pages, because a mount cannot
/// distinguish a lost page from an interrupted program.
fn is_write_through(kind: &Kind, loses: bool) -> bool {
    !loses && kind.options.buffer.is_none_or(|buffer| buffer.protected)
}

pub struct World<B: Backend> {
    pub drive: Drive<FaultBackend<B>>,
    pub model: Model,
    rng: Rng,
    stamp: u8,
    write_through: bool,
    /// True if faults may lose pages.
    loses: bool,
    lie: Lie,
}

impl<B: Backend + 'static> World<B> {
    /// Returns a new drive on erased flash.
    pub fn new(kind: &Kind, backend: B, plan: FaultPlan, seed: u64, lie: Lie) -> Self {
        let backend = FaultBackend::new(backend, plan).expect("memory can be read");
        // FTLs behave differently on flash that may fail, so some drives without faults use such flash.
        let may_fail = plan.programs > 0 || plan.erases > 0 || seed % 4 >= 2;
        let backend = if may_fail { backend } else { backend.never_failing() };
        let drive = Drive::create(backend, kind.options).expect("a sound drive");
        let model = Model::new(kind.options.logical_pages, kind.geometry.page_bytes);
        let loses = plan.flips > 0 || plan.reads > 0;
        let write_through = is_write_through(kind, loses);
        Self { drive, model, rng: Rng::named(seed, "requests"), stamp: 0, write_through, loses, lie }
    }

    /// Returns a copy with the same model and an unmounted drive on another backend.
    pub fn resumed(&self, kind: &Kind, backend: FaultBackend<B>) -> Self {
        Self {
            drive: Drive::off(backend, kind.options).expect("a sound drive"),
            model: self.model.clone(),
            rng: self.rng.clone(),
            ..*self
        }
    }

    /// Returns the same drive for a disk that may lose power: only flushed data is durable, with or without a write
    /// buffer.
    pub fn over_a_disk(self) -> Self {
        Self { write_through: false, ..self }
    }

    /// Restores the power, and returns the unmounted drive with the options and write buffer of `kind`.
    pub fn powered(self, kind: &Kind) -> Self {
        let world = self.reopened(kind, |mut flash| {
            flash.restore_power();
            flash
        });
        Self { write_through: is_write_through(kind, world.loses), ..world }
    }

    /// Damages the drive's log.
    pub fn lose_log(&mut self) {
        lose_log(self.drive.backend_mut());
    }

    /// Simulates the end of the process: returns the unmounted drive on the backend that `open` returns.
    pub fn reopened(self, kind: &Kind, open: impl FnOnce(FaultBackend<B>) -> FaultBackend<B>) -> Self {
        let Self { drive, model, rng, stamp, write_through, loses, lie } = self;
        let drive = Drive::off(open(drive.into_backend()), kind.options).expect("a sound drive");
        Self { drive, model, rng, stamp, write_through, loses, lie }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.rng.below(bound as u64) as usize
    }

    /// Sends a random request to the drive and the model.
    pub fn request(&mut self) -> Result<(), Stop> {
        let page_bytes = self.drive.geometry().page_bytes as usize;
        let pages = self.model.pages() as usize;
        let first = self.below(pages).min(self.below(pages));
        let count = (1 + self.below(4)).min(pages - first);
        let result = match self.below(20) {
            0..=9 => self.write(first * page_bytes, count * page_bytes),
            10..=12 => {
                let offset = first * page_bytes + self.below(page_bytes);
                let most = (pages * page_bytes - offset).min(2 * page_bytes);
                let bytes = 1 + self.below(most);
                self.write(offset, bytes)
            }
            13..=14 => {
                self.model.trim(first..first + count);
                self.drive.trim((first * page_bytes) as u64, (count * page_bytes) as u64, false)
            }
            15 => self.flush(),
            16 if !self.loses => {
                let offset = first * page_bytes + self.below(page_bytes);
                let bytes = 1 + self.below((pages * page_bytes - offset).min(3 * page_bytes));
                self.zeroes(offset, bytes)
            }
            _ => return self.read(first * page_bytes, count * page_bytes),
        };
        self.judge(result)
    }

    /// Writes to the first few pages, mostly to a part of one page.
    pub fn write_to_few(&mut self) -> Result<(), Stop> {
        let page_bytes = self.drive.geometry().page_bytes as usize;
        let (offset, bytes) = if self.below(3) == 0 {
            (self.below(6) * page_bytes, (1 + self.below(2)) * page_bytes)
        } else {
            let at = self.below(page_bytes - 1);
            (self.below(3) * page_bytes + at, 1 + self.below(page_bytes - at))
        };
        let result = self.write_with(offset, bytes, false);
        self.judge(result)
    }

    fn judge(&mut self, result: Result<(), DriveError>) -> Result<(), Stop> {
        if let Some(violation) = self.drive.backend().violation() {
            return Err(Stop::Broken(violation.into()));
        }
        match result {
            Ok(()) => Ok(()),
            Err(DriveError::Off) => Err(Stop::Off),
            Err(DriveError::ReadOnly { .. }) => Err(Stop::WornOut),
            Err(DriveError::Medium { error, .. }) if error.kind() == io::ErrorKind::StorageFull => Err(Stop::Full),
            Err(DriveError::Unreadable(_)) if self.loses => Ok(()),
            Err(error) => Err(Stop::Broken(error.to_string())),
        }
    }

    fn write(&mut self, offset: usize, bytes: usize) -> Result<(), DriveError> {
        let fua = self.below(8) == 0;
        self.write_with(offset, bytes, fua)
    }

    fn write_with(&mut self, offset: usize, bytes: usize, fua: bool) -> Result<(), DriveError> {
        self.stamp = self.stamp % 250 + 1;
        let data: Vec<u8> = (0..bytes).map(|at| self.stamp.wrapping_add((at % 3) as u8)).collect();
        let before = self.model.clone();
        let touched = self.model.write(offset, &data);
        let result = self.drive.write(offset as u64, &data, fua && self.lie != Lie::Flush);
        match result {
            Ok(()) if fua => self.model.flush(),
            Ok(()) if self.write_through => self.model.settle(touched),
            // Nothing was written, because the rest of a partly written page could not be read.
            Err(DriveError::Unreadable(_)) => self.model = before,
            _ => {}
        }
        result
    }

    /// Zeroes a range; at random, whole pages are trimmed or written.
    fn zeroes(&mut self, offset: usize, bytes: usize) -> Result<(), DriveError> {
        let page_bytes = self.drive.geometry().page_bytes as usize;
        let (trims, fua) = (self.below(2) == 0, self.below(3) == 0);
        self.model.write(offset, &vec![0; bytes]);
        let whole = offset.div_ceil(page_bytes)..(offset + bytes) / page_bytes;
        if trims && !whole.is_empty() {
            self.model.trim(whole);
        }
        let (offset, bytes) = (offset as u64, bytes as u64);
        if trims {
            self.drive.write_zeroes(offset, bytes, fua)?;
        } else {
            self.drive.program_zeroes(offset, bytes, fua)?;
        }
        if fua {
            self.model.flush();
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), DriveError> {
        if self.lie != Lie::Flush {
            self.drive.flush()?;
        }
        self.model.flush();
        Ok(())
    }

    fn read(&mut self, offset: usize, bytes: usize) -> Result<(), Stop> {
        let mut data = vec![0; bytes];
        let result = self.drive.read(offset as u64, &mut data);
        let whole = result.is_ok();
        self.judge(result)?;
        if whole && data != self.model.read(offset, bytes) {
            return Err(Stop::Broken(format!("a read at {offset} returns {data:?}")));
        }
        Ok(())
    }

    /// Reads every page after a mount and checks that its contents are possible.
    pub fn take_stock(&mut self) -> Result<(), Stop> {
        self.take_stock_of(false)
    }

    /// Like [`Self::take_stock`]; `trims_lost` is true after a mount that may have lost trims.
    pub fn take_stock_of(&mut self, trims_lost: bool) -> Result<(), Stop> {
        let page_bytes = self.drive.geometry().page_bytes as usize;
        let mut page = vec![0; page_bytes];
        for lpn in 0..self.model.pages() as usize {
            match self.drive.read((lpn * page_bytes) as u64, &mut page) {
                Ok(()) => self.model.found(lpn, &page, trims_lost).map_err(Stop::Broken)?,
                // An old copy that became valid again may have been torn long ago.
                Err(DriveError::Unreadable(_)) if trims_lost && self.model.was_trimmed(lpn) => {
                    let (offset, anew) = (lpn * page_bytes, vec![0; page_bytes]);
                    let written = self.drive.write(offset as u64, &anew, true);
                    self.judge(written)?;
                    let touched = self.model.write(offset, &anew);
                    self.model.settle(touched);
                }
                other => self.judge(other)?,
            }
        }
        self.check()
    }

    /// Trims the whole drive, shuts it down, mounts it, and checks that all pages read as zeros.
    pub fn trim_for_good(&mut self) -> Result<(), Stop> {
        let pages = self.model.pages() as usize;
        self.model.trim(0..pages);
        self.model.flush();
        let bytes = (pages * self.drive.geometry().page_bytes as usize) as u64;
        let trimmed = self.drive.trim(0, bytes, false);
        self.judge(trimmed)?;
        self.shut_down()?;
        let mounted = self.drive.mount();
        self.judge(mounted.map(|_| ()))?;
        self.take_stock()
    }

    /// Flushes the drive, independently of the random workload.
    pub fn flush_all(&mut self) -> Result<(), Stop> {
        let flushed = self.flush();
        self.judge(flushed)
    }

    pub fn shut_down(&mut self) -> Result<(), Stop> {
        let ended = self.drive.shut_down();
        self.judge(ended)?;
        self.model.flush();
        Ok(())
    }

    pub fn check(&self) -> Result<(), Stop> {
        self.drive.check().map_err(Stop::Broken)
    }

    /// Sends `requests` random requests, then reads and checks every page.
    pub fn go_on(&mut self, requests: u32) -> Result<(), Stop> {
        (0..requests).try_for_each(|_| self.request())?;
        let page_bytes = self.drive.geometry().page_bytes as usize;
        (0..self.model.pages() as usize).try_for_each(|lpn| self.read(lpn * page_bytes, page_bytes))?;
        self.check()
    }
}
