//! What holds the bytes of a drive: flash with spare areas, and a log apart from it.

mod fault;
mod file;
mod memory;

pub use fault::{FaultBackend, FaultPlan, PowerCut};
pub use file::{FileBackend, FileError};
pub use memory::MemoryBackend;

use std::io;

use ssdlab_core::{BlockId, Ppn};
use ssdlab_nand::Geometry;

use crate::spare::{SPARE_BYTES, SpareBytes};

/// What is written beside the flash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot {
    /// The first of two logs: one is written while the other is still complete.
    A,
    /// The second.
    B,
    /// What a write buffer with power-loss protection holds.
    Ram,
    /// Note of the programs that are known to be safe.
    Safe,
}

impl Slot {
    /// The log that is not this one.
    pub(crate) fn other(self) -> Self {
        if self == Self::A { Self::B } else { Self::A }
    }
}

/// Why an operation did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The chip reports that it could not program the page or erase the block.
    #[error("the flash operation failed")]
    Failed,
    /// The page cannot be read.
    #[error("the page cannot be read")]
    Uncorrectable,
    /// There is no power.
    #[error("the power is off")]
    PowerLost,
    /// What holds the bytes reports an error.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Flash of a drive, with its spare areas, marks of bad blocks, and room for two logs, a write buffer and a note.
///
/// Operations are done in the order of the calls, and a process that ends loses none of them. What a computer that
/// loses its power keeps is what was there at the latest [`Self::sync`], and any part of what came after.
///
/// An erased spare area is all zeros. The array may be read where it is erased: whatever that yields.
pub trait Backend: Send + Sync {
    /// Its shape.
    fn geometry(&self) -> &Geometry;

    /// Whether programs and erases may report [`Fault::Failed`].
    fn fails(&self) -> bool {
        false
    }

    /// Returns true if nothing is left of it once it is closed, as of a file that was deleted.
    fn is_deleted(&self) -> bool {
        false
    }

    /// The drive on it is being mounted, and had been so many times before.
    fn mounted(&mut self, _times: u64) {}

    /// Whether every page reads as it was programmed, so that it needs no checksum.
    fn keeps_pages(&self) -> bool {
        false
    }

    /// Whether a read has no bearing on another, so that several threads may read.
    fn reads_at_once(&self) -> bool {
        false
    }

    /// Reads a page and its spare area.
    ///
    /// # Errors
    /// If it cannot be read.
    fn read(&self, ppn: Ppn, page: &mut [u8], spare: &mut SpareBytes) -> Result<(), Fault>;

    /// The page will be used next but one or soon after: what takes long can begin.
    fn expect(&self, _ppn: Ppn) {}

    /// The page will be read after some thirty others, from wherever it is: that can begin.
    fn fetch(&self, _ppn: Ppn) {}

    /// Reads the spare areas of pages in a row, [`SPARE_BYTES`] for each.
    ///
    /// # Errors
    /// If they cannot be read.
    fn read_spares(&self, first: Ppn, spares: &mut [u8]) -> Result<(), Fault>;

    /// Programs an erased page and its spare area.
    ///
    /// # Errors
    /// If that fails.
    fn program(&mut self, ppn: Ppn, page: &[u8], spare: &SpareBytes) -> Result<(), Fault>;

    /// Puts the data of pages where it belongs that were programmed without it, as is done to flash which keeps its
    /// pages.
    fn place(&mut self, _pages: &mut dyn Iterator<Item = (Ppn, &[u8])>) {
        unreachable!("only flash that keeps its pages is programmed without their data");
    }

    /// Erases a block.
    ///
    /// # Errors
    /// If that fails.
    fn erase(&mut self, block: BlockId) -> Result<(), Fault>;

    /// Waits until all before is safe from a loss of power of the computer.
    ///
    /// # Errors
    /// If that cannot be promised.
    fn sync(&mut self) -> Result<(), Fault>;

    /// Whether a block was marked as bad.
    fn is_bad(&self, block: BlockId) -> bool;

    /// Marks a block as bad, for good.
    ///
    /// # Errors
    /// If the mark cannot be written.
    fn mark_bad(&mut self, block: BlockId) -> Result<(), Fault>;

    /// Reads from a log; zeros where nothing was written.
    ///
    /// # Errors
    /// If it cannot be read.
    fn read_log(&self, slot: Slot, offset: u64, bytes: &mut [u8]) -> Result<(), Fault>;

    /// Writes to a log.
    ///
    /// # Errors
    /// If that fails.
    fn write_log(&mut self, slot: Slot, offset: u64, bytes: &[u8]) -> Result<(), Fault>;
}

/// Any backend.
impl Backend for Box<dyn Backend> {
    fn geometry(&self) -> &Geometry {
        (**self).geometry()
    }

    fn fails(&self) -> bool {
        (**self).fails()
    }

    fn is_deleted(&self) -> bool {
        (**self).is_deleted()
    }

    fn mounted(&mut self, times: u64) {
        (**self).mounted(times);
    }

    fn keeps_pages(&self) -> bool {
        (**self).keeps_pages()
    }

    fn reads_at_once(&self) -> bool {
        (**self).reads_at_once()
    }

    fn place(&mut self, pages: &mut dyn Iterator<Item = (Ppn, &[u8])>) {
        (**self).place(pages);
    }

    fn read(&self, ppn: Ppn, page: &mut [u8], spare: &mut SpareBytes) -> Result<(), Fault> {
        (**self).read(ppn, page, spare)
    }

    fn expect(&self, ppn: Ppn) {
        (**self).expect(ppn);
    }

    fn fetch(&self, ppn: Ppn) {
        (**self).fetch(ppn);
    }

    fn read_spares(&self, first: Ppn, spares: &mut [u8]) -> Result<(), Fault> {
        (**self).read_spares(first, spares)
    }

    fn program(&mut self, ppn: Ppn, page: &[u8], spare: &SpareBytes) -> Result<(), Fault> {
        (**self).program(ppn, page, spare)
    }

    fn erase(&mut self, block: BlockId) -> Result<(), Fault> {
        (**self).erase(block)
    }

    fn sync(&mut self) -> Result<(), Fault> {
        (**self).sync()
    }

    fn is_bad(&self, block: BlockId) -> bool {
        (**self).is_bad(block)
    }

    fn mark_bad(&mut self, block: BlockId) -> Result<(), Fault> {
        (**self).mark_bad(block)
    }

    fn read_log(&self, slot: Slot, offset: u64, bytes: &mut [u8]) -> Result<(), Fault> {
        (**self).read_log(slot, offset, bytes)
    }

    fn write_log(&mut self, slot: Slot, offset: u64, bytes: &[u8]) -> Result<(), Fault> {
        (**self).write_log(slot, offset, bytes)
    }
}

/// Where the spare area of a page lies among those of all pages.
fn spare_at(ppn: u64) -> u64 {
    ppn * SPARE_BYTES as u64
}
