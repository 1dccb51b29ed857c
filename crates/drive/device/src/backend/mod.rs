//! Storage of a drive's bytes: flash with spare areas, and a separate log.

mod fault;
mod file;
mod memory;
mod restored;

pub use fault::{FaultBackend, FaultPlan, PowerCut};
pub use file::{FileBackend, FileError};
pub use memory::MemoryBackend;

use std::io;

use ssdlab_core::{BlockId, Ppn};
use ssdlab_nand::Geometry;

use crate::spare::{SPARE_BYTES, SpareBytes};

/// Area in which a drive stores data outside its flash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot {
    /// First of the two log areas. While a log is written to one area, the other area still holds a complete log.
    A,
    /// Second of the two log areas.
    B,
    /// Journal of a write buffer with power-loss protection.
    BufferJournal,
    /// The note of safe programs, which records the programs that a power loss can no longer damage.
    Safe,
}

impl Slot {
    pub(crate) fn other(self) -> Self {
        if self == Self::A { Self::B } else { Self::A }
    }
}

/// Reason why a flash operation failed.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The chip reports that a program or an erase failed.
    #[error("the flash operation failed")]
    Failed,
    /// The page cannot be read, even with error correction.
    #[error("the page cannot be read")]
    Uncorrectable,
    /// The power is off.
    #[error("the power is off")]
    PowerLost,
    /// The medium that stores the flash, such as a file, reports an error.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Storage of a drive: flash with spare areas, bad-block marks, and space for two logs, a buffer journal and a note of
/// safe programs.
///
/// Operations take effect in the order of the calls and survive the end of the process. If the computer loses power,
/// everything before the latest [`Self::sync`] survives, and any subset of the later operations.
///
/// An erased spare area is all zeros. Erased pages may be read; their contents are undefined.
pub trait Backend: Send + Sync {
    /// Returns the geometry of the flash.
    fn geometry(&self) -> &Geometry;

    /// True if programs and erases may report [`Fault::Failed`].
    fn fails(&self) -> bool {
        false
    }

    /// True if closing this flash loses its contents, for example because its file was deleted.
    fn is_deleted(&self) -> bool {
        false
    }

    /// Informs the flash that the drive is being mounted; `times` is the number of earlier mounts.
    fn mounted(&mut self, _times: u64) {}

    /// True if every page reads as it was programmed, so that pages on this flash need no checksum.
    fn keeps_pages(&self) -> bool {
        false
    }

    /// True if reads of this flash are independent, so that several threads may read.
    fn reads_at_once(&self) -> bool {
        false
    }

    /// Reads a page and its spare area.
    fn read(&self, ppn: Ppn, page: &mut [u8], spare: &mut SpareBytes) -> Result<(), Fault>;

    /// Hints that the page will be used soon, but not as the very next page.
    fn expect(&self, _ppn: Ppn) {}

    /// Hints that this page will be read soon, about thirty page reads from now.
    fn fetch(&self, _ppn: Ppn) {}

    /// Reads the spare areas of consecutive pages, [`SPARE_BYTES`] each.
    fn read_spares(&self, first: Ppn, spares: &mut [u8]) -> Result<(), Fault>;

    /// Programs an erased page and its spare area.
    fn program(&mut self, ppn: Ppn, page: &[u8], spare: &SpareBytes) -> Result<(), Fault>;

    /// Announces that a program unit with first page `first` is being gathered. The backend must decide now whether the
    /// program of the unit fails. If this call reports a failure, [`Self::program_unit`] is not called.
    fn begin_unit(&mut self, _first: Ppn) -> Result<(), Fault> {
        Ok(())
    }

    /// Programs the erased pages of a program unit with one command. `pages` holds their data, one page after the
    /// other. Fails if the program is interrupted.
    fn program_unit(&mut self, first: Ppn, pages: &[u8], spares: &[SpareBytes]) -> Result<(), Fault> {
        let pages = pages.chunks(self.geometry().page_bytes as usize).zip(spares).zip(first.0..);
        pages.into_iter().try_for_each(|((page, spare), ppn)| self.program(Ppn(ppn), page, spare))
    }

    /// Programs consecutive pages with zeros. Only called for new flash, on pages that were never programmed.
    fn program_zeros(&mut self, first: Ppn, spares: &[SpareBytes]) -> Result<(), Fault> {
        let zeros = vec![0; self.geometry().page_bytes as usize];
        spares.iter().zip(first.0..).try_for_each(|(spare, ppn)| self.program(Ppn(ppn), &zeros, spare))
    }

    /// Stores data for pages that were programmed earlier without their data. Only called if [`Self::keeps_pages`]
    /// returns true.
    fn place(&mut self, _pages: &mut dyn Iterator<Item = (Ppn, &[u8])>) {
        unreachable!("this flash does not support programs without data");
    }

    /// Erases a block.
    fn erase(&mut self, block: BlockId) -> Result<(), Fault>;

    /// Waits until all earlier operations are safe from a power loss of the computer.
    fn sync(&mut self) -> Result<(), Fault>;

    /// True if a block was marked as bad.
    fn is_bad(&self, block: BlockId) -> bool;

    /// Marks a block as bad, permanently.
    fn mark_bad(&mut self, block: BlockId) -> Result<(), Fault>;

    /// Reads bytes of a log; returns zeros where nothing was written.
    fn read_log(&self, slot: Slot, offset: u64, bytes: &mut [u8]) -> Result<(), Fault>;

    /// Writes bytes of a log.
    fn write_log(&mut self, slot: Slot, offset: u64, bytes: &[u8]) -> Result<(), Fault>;
}

/// Implements the functions of a boxed backend: forwards each call to the backend in the box.
macro_rules! pass_on {
    ($($self:ident: $receiver:ty => $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)+) => {
        $(fn $name($self: $receiver, $($argument: $type),*) -> $result {
            (**$self).$name($($argument),*)
        })+
    };
}

impl Backend for Box<dyn Backend> {
    pass_on! {
        self: &Self => geometry() -> &Geometry;
        self: &Self => fails() -> bool;
        self: &Self => is_deleted() -> bool;
        self: &Self => keeps_pages() -> bool;
        self: &Self => reads_at_once() -> bool;
        self: &Self => read(ppn: Ppn, page: &mut [u8], spare: &mut SpareBytes) -> Result<(), Fault>;
        self: &Self => expect(ppn: Ppn) -> ();
        self: &Self => fetch(ppn: Ppn) -> ();
        self: &Self => read_spares(first: Ppn, spares: &mut [u8]) -> Result<(), Fault>;
        self: &Self => is_bad(block: BlockId) -> bool;
        self: &Self => read_log(slot: Slot, offset: u64, bytes: &mut [u8]) -> Result<(), Fault>;
        self: &mut Self => mounted(times: u64) -> ();
        self: &mut Self => place(pages: &mut dyn Iterator<Item = (Ppn, &[u8])>) -> ();
        self: &mut Self => program(ppn: Ppn, page: &[u8], spare: &SpareBytes) -> Result<(), Fault>;
        self: &mut Self => begin_unit(first: Ppn) -> Result<(), Fault>;
        self: &mut Self => program_unit(first: Ppn, pages: &[u8], spares: &[SpareBytes]) -> Result<(), Fault>;
        self: &mut Self => program_zeros(first: Ppn, spares: &[SpareBytes]) -> Result<(), Fault>;
        self: &mut Self => erase(block: BlockId) -> Result<(), Fault>;
        self: &mut Self => sync() -> Result<(), Fault>;
        self: &mut Self => mark_bad(block: BlockId) -> Result<(), Fault>;
        self: &mut Self => write_log(slot: Slot, offset: u64, bytes: &[u8]) -> Result<(), Fault>;
    }
}

/// Returns the byte offset of a page's spare area within the sequence of all spare areas.
fn spare_at(ppn: u64) -> u64 {
    ppn * SPARE_BYTES as u64
}
