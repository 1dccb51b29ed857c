//! What is known of a drive from outside: its shape, its counters, its health.

use ssdlab_core::{Archive, Archived, counters};
use ssdlab_nand::{Counts, Geometry};

use super::{Drive, Options, bad_blocks};
use crate::backend::Backend;
use crate::buffer::Buffer;
use crate::error::DriveError;

counters! {
    /// The health of a drive, in the words of NVMe's health log. What is counted since the drive was made lasts as long as
    /// its file: a loss of power takes bytes and errors back to the latest checkpoint, never power cycles.
    pub struct Health {
        free_blocks: "blocks", "Erased blocks that nothing is written to yet; without power, those when it went off.";
        bad_blocks: "blocks", "Blocks that are not used any more.";
        blocks: "blocks", "Blocks in all.";
        least_erases: "erases", "Erases of the block that was erased least.";
        most_erases: "erases", "Erases of the block that was erased most.";
        erases: "erases", "Erases of all blocks.";
        media_errors: "pages", "Pages that could not be read when they were asked for or moved, since the drive was made.";
        bytes_read: "bytes", "Bytes that the host read, since the drive was made.";
        bytes_written: "bytes", "Bytes that the host wrote, without zeroes that it asked for as such, since the drive was made.";
        power_cycles: "mounts", "Mounts since the drive was made.";
        unsafe_shutdowns: "mounts", "Of these, mounts of a drive that had not been shut down in good order.";
    }
}

impl<B: Backend> Drive<B> {
    /// Bytes that the host sees.
    pub fn capacity_bytes(&self) -> u64 {
        u64::from(self.options.logical_pages) * self.page.bytes()
    }

    /// The flash.
    pub fn geometry(&self) -> &Geometry {
        self.medium.backend.geometry()
    }

    /// Whether it is mounted.
    pub fn is_on(&self) -> bool {
        self.ftl.is_some()
    }

    /// What it was made with.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Flash operations since the drive was made or opened, by cause.
    pub fn counts(&self) -> &Counts {
        &self.medium.counts
    }

    /// Pages that the host read and that were never written, since the drive was made or opened.
    pub fn unmapped_pages_read(&self) -> u64 {
        self.medium.unmapped_reads
    }

    /// Erases of every block.
    pub fn erase_counts(&self) -> &[u32] {
        &self.medium.erases
    }

    /// Its health.
    pub fn health(&self) -> Health {
        let (erases, life) = (&self.medium.erases, &self.medium.life);
        let sum = erases.iter().map(|&erases| u64::from(erases)).sum::<u64>();
        Health {
            free_blocks: self.ftl.as_ref().map_or(self.free_blocks, |ftl| ftl.free_blocks()).into(),
            bad_blocks: self.bad_blocks().into(),
            blocks: erases.len() as u64,
            least_erases: erases.iter().min().copied().unwrap_or_default().into(),
            most_erases: erases.iter().max().copied().unwrap_or_default().into(),
            erases: sum,
            media_errors: life.pages_lost,
            bytes_read: life.bytes_read,
            bytes_written: life.bytes_written,
            power_cycles: life.mounts,
            unsafe_shutdowns: life.unsafe_mounts,
        }
    }

    /// Pages that wait in the write buffer.
    pub fn buffered_pages(&self) -> u32 {
        self.buffer.as_ref().map_or(0, Buffer::len)
    }

    /// Whether so many blocks have failed that it can only be read.
    pub fn is_worn_out(&self) -> bool {
        self.ftl.as_ref().is_some_and(|ftl| ftl.is_worn_out())
    }

    /// Blocks that are not used any more.
    pub fn bad_blocks(&self) -> u32 {
        bad_blocks(&self.medium.backend)
    }

    /// What holds the bytes.
    pub fn backend(&self) -> &B {
        &self.medium.backend
    }

    /// What holds the bytes, to plan faults.
    pub fn backend_mut(&mut self) -> &mut B {
        &mut self.medium.backend
    }

    /// What holds the bytes; the power is cut.
    pub fn into_backend(self) -> B {
        self.medium.backend
    }

    /// Saves the state of the FTL, for a drive in time to go on from.
    ///
    /// # Errors
    /// If it cannot be written, or the drive is off.
    pub fn save_ftl(&mut self, archive: &mut Archive<'_>) -> Archived {
        match &mut self.ftl {
            Some(ftl) => ftl.archive(archive),
            None => Err(std::io::Error::other(DriveError::Off)),
        }
    }

    /// Verifies every invariant of FTL and log in O(pages); the error says which is broken.
    ///
    /// # Errors
    /// If one is.
    pub fn check(&self) -> Result<(), String> {
        self.ftl.as_ref().map_or(Ok(()), |ftl| ftl.check())?;
        self.medium.check_log(&|lpn| self.ftl.as_ref()?.lookup(lpn))
    }
}
