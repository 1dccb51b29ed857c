//! Capacity, options, counters and health of a drive.

use ssdlab_core::{Archive, Archived, counters};
use ssdlab_nand::{Counts, Geometry};

use super::{Drive, Options};
use crate::backend::Backend;
use crate::buffer::Buffer;
use crate::error::DriveError;

/// Threshold for available spare blocks, in percent; most manufacturers use this value.
const SPARE_THRESHOLD: u64 = 10;

counters! {
    /// Health of a drive, in the terms of the NVMe health log. Lifetime counts are stored in the drive's file. A power
    /// loss resets bytes and errors to the latest checkpoint, but not power cycles.
    pub struct Health {
        free_blocks: "blocks", "Number of erased blocks; while the drive is off, the number at power-off.";
        bad_blocks: "blocks", "Bad blocks, which are no longer used.";
        blocks: "blocks", "Total number of blocks.";
        available_spare: "percent", "Percentage of the configured spare blocks that are left; 0 when the drive \
                                     is read-only.";
        available_spare_threshold: "percent", "Value of available_spare below which the drive should be replaced.";
        spare_blocks: "blocks", "Spare blocks left to replace failed blocks; 0 when the drive is read-only. With \
                                 several planes, it may become read-only before all spare blocks are used.";
        percentage_used: "percent", "Mean erases per block, in percent of the rated cycles (nand.endurance); \
                                    may exceed 100.";
        least_erases: "erases", "Erase count of the least erased block.";
        most_erases: "erases", "Erase count of the most erased block.";
        erases: "erases", "Total erase count of all blocks.";
        media_errors: "pages", "Unreadable pages encountered by host reads and page copies since the drive was \
                                created.";
        bytes_read: "bytes", "Bytes read by the host since the drive was created.";
        bytes_written: "bytes", "Bytes written by the host since the drive was created, excluding write-zeroes \
                                 requests.";
        power_cycles: "mounts", "Mounts since the drive was created.";
        unsafe_shutdowns: "mounts", "Mounts after an unclean shutdown.";
    }
}

impl<B: Backend> Drive<B> {
    /// Returns the capacity of the drive in bytes.
    pub fn capacity_bytes(&self) -> u64 {
        u64::from(self.options.logical_pages) * self.page.bytes()
    }

    /// Returns the geometry of the flash.
    pub fn geometry(&self) -> &Geometry {
        self.medium.backend.geometry()
    }

    /// True if the drive is mounted.
    pub fn is_on(&self) -> bool {
        self.ftl.is_some()
    }

    /// Returns the options that the drive was created with.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Returns the flash operations since the drive was created or opened, by cause.
    pub fn counts(&self) -> &Counts {
        &self.medium.counts
    }

    /// Returns the number of never-written pages that the host read since the drive was created or opened.
    pub fn unmapped_pages_read(&self) -> u64 {
        self.medium.unmapped_reads
    }

    /// Returns the number of erases of every block.
    pub fn erase_counts(&self) -> &[u32] {
        &self.medium.erases
    }

    /// Returns the health of the drive.
    pub fn health(&self) -> Health {
        let (erases, life) = (&self.medium.erases, &self.medium.life);
        let bad_blocks = u64::from(self.bad_blocks());
        let spare = u64::from(self.options.spare_blocks(self.geometry()));
        let is_worn_out = self.is_worn_out();
        let spare_left = if is_worn_out { 0 } else { spare.saturating_sub(bad_blocks) };
        let sum = erases.iter().map(|&erases| u64::from(erases)).sum::<u64>();
        let rated = erases.len() as u64 * u64::from(self.options.endurance_cycles);
        Health {
            free_blocks: self.ftl.as_ref().map_or(self.free_blocks, |ftl| ftl.free_blocks()).into(),
            bad_blocks,
            blocks: erases.len() as u64,
            // A drive that never had spare blocks reports 100 % available spare until it becomes read-only.
            available_spare: (100 * spare_left).checked_div(spare).unwrap_or(if is_worn_out { 0 } else { 100 }),
            available_spare_threshold: SPARE_THRESHOLD,
            spare_blocks: spare_left,
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

    /// True if a power loss may lose acknowledged writes, because they wait in a volatile write buffer or an incomplete
    /// program unit.
    pub fn is_volatile(&self) -> bool {
        self.options.buffer.is_some_and(|buffer| buffer.forgets()) || self.options.gathered_pages(self.geometry()) > 1
    }

    /// Returns the number of pages waiting in the write buffer.
    pub fn buffered_pages(&self) -> u32 {
        self.buffer.as_ref().map_or(0, Buffer::len)
    }

    /// True if the drive is read-only because too many blocks have failed.
    pub fn is_worn_out(&self) -> bool {
        self.medium.life.worn_out || self.ftl.as_ref().is_some_and(|ftl| ftl.is_worn_out())
    }

    /// Returns the number of bad blocks.
    pub fn bad_blocks(&self) -> u32 {
        self.medium.bad_blocks()
    }

    /// Returns the flash backend.
    pub fn backend(&self) -> &B {
        &self.medium.backend
    }

    /// Returns a mutable reference to the flash backend, for example to plan faults.
    pub fn backend_mut(&mut self) -> &mut B {
        &mut self.medium.backend
    }

    /// Cuts the power and returns the flash backend.
    pub fn into_backend(self) -> B {
        self.medium.backend
    }

    /// Saves the state of the FTL, from which a simulated drive with timing can resume. Fails if the state cannot be
    /// written, or the drive is off.
    pub fn save_ftl(&mut self, archive: &mut Archive<'_>) -> Archived {
        match &mut self.ftl {
            Some(ftl) => ftl.archive(archive),
            None => Err(std::io::Error::other(DriveError::Off)),
        }
    }

    /// Checks every invariant of FTL and log in O(pages); the error names the violated invariant.
    pub fn check(&self) -> Result<(), String> {
        self.ftl.as_ref().map_or(Ok(()), |ftl| ftl.check())?;
        self.medium.check_log(&|lpn| self.ftl.as_ref()?.lookup(lpn))
    }
}
