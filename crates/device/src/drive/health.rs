//! What is known of a drive from outside: its shape, its counters, its health.

use ssdlab_core::{Archive, Archived, counters};
use ssdlab_nand::{Counts, Geometry};

use super::{Drive, Options};
use crate::backend::Backend;
use crate::buffer::Buffer;
use crate::error::DriveError;

/// Percent of the spare, as most makers have it.
const SPARE_THRESHOLD: u64 = 10;

counters! {
    /// The health of a drive, in the words of NVMe's health log. What is counted since the drive was made lasts as long
    /// as its file: a loss of power takes bytes and errors back to the latest checkpoint, never power cycles.
    pub struct Health {
        free_blocks: "blocks", "Erased blocks that nothing is written to yet; without power, those when it went off.";
        bad_blocks: "blocks", "Blocks that are not used any more.";
        blocks: "blocks", "Blocks in all.";
        available_spare: "percent", "Spare blocks that are left of those that the drive has by its settings; 0 when it can only be read.";
        available_spare_threshold: "percent", "Spare below which the drive is to be replaced.";
        spare_blocks: "blocks", "Blocks that may yet go bad before the drive can only be read; with several planes fewer may do.";
        percentage_used: "percent", "Mean erases of a block against the cycles that it is rated for (nand.endurance); may exceed 100.";
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
        let (bad_blocks, spare) = (self.bad_blocks(), self.options.spare_blocks(self.geometry()));
        let spare_left = if self.is_worn_out() { 0 } else { spare.saturating_sub(bad_blocks) };
        let sum = erases.iter().map(|&erases| u64::from(erases)).sum::<u64>();
        let rated = erases.len() as u64 * u64::from(self.options.endurance_cycles);
        Health {
            free_blocks: self.ftl.as_ref().map_or(self.free_blocks, |ftl| ftl.free_blocks()).into(),
            bad_blocks: bad_blocks.into(),
            blocks: erases.len() as u64,
            available_spare: match (100 * u64::from(spare_left)).checked_div(spare.into()) {
                Some(percent) => percent,
                // A drive without spare has used none of it until it can only be read.
                None => {
                    if self.is_worn_out() {
                        0
                    } else {
                        100
                    }
                }
            },
            available_spare_threshold: SPARE_THRESHOLD,
            spare_blocks: spare_left.into(),
            percentage_used: (100 * sum).checked_div(rated).unwrap_or(0),
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
        self.medium.life.worn_out || self.ftl.as_ref().is_some_and(|ftl| ftl.is_worn_out())
    }

    /// Blocks that are not used any more.
    pub fn bad_blocks(&self) -> u32 {
        self.medium.bad_blocks()
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
