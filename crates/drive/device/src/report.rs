//! Report of a mount.

use ssdlab_core::Nanos;
use ssdlab_nand::{Counts, Geometry, Timing};

use crate::spare::SPARE_BYTES;

/// Report of a mount: what the mount read and changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct MountReport {
    /// True if the drive was shut down before the mount.
    pub clean: bool,
    /// True if the log was lost: all spare areas were read, and trimmed pages may have regained older data.
    pub full_scan: bool,
    /// Number of log bytes that were read.
    pub log_bytes_read: u64,
    /// Number of blocks whose spare areas were read.
    pub blocks_scanned: u64,
    /// Number of spare areas read. An area that is read in two passes counts twice.
    pub spares_read: u64,
    /// Number of pages read to compare their checksums.
    pub pages_verified: u64,
    /// Flash operations of the FTL during the mount, by cause; serialized by the owner of the report.
    #[serde(skip)]
    pub operations: Counts,
}

impl MountReport {
    /// Returns the simulated time of the mount. Spare areas and pages are read on all dies in parallel; everything else
    /// is sequential.
    pub fn time(&self, timing: &Timing, geometry: &Geometry) -> Nanos {
        let Geometry { page_bytes, parallelism, .. } = *geometry;
        let dies = u64::from(parallelism.dies());
        let read_ns = |bytes: u32| timing.read.mean().0 + timing.transfer(bytes).0;
        let log_pages = self.log_bytes_read.div_ceil(page_bytes.into());
        let scanned_ns = (self.spares_read * read_ns(SPARE_BYTES as u32)).div_ceil(dies)
            + ((self.pages_verified + log_pages) * read_ns(page_bytes)).div_ceil(dies);
        let Counts { reads, .. } = self.operations;
        let reads_ns = reads.iter().sum::<u64>() * read_ns(page_bytes);
        let programs_ns = self.operations.programmed() * (timing.program.mean().0 + timing.transfer(page_bytes).0);
        Nanos(scanned_ns + reads_ns + programs_ns + self.operations.erased() * timing.erase.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdlab_nand::{PageTimes, Parallelism, ProgramOrder, Units};

    /// Computed by hand: a transfer of 32 bytes takes 156 ns, a transfer of a page 20 us.
    #[test]
    fn the_time_of_a_mount_is_the_sum_of_its_parts() {
        let timing = Timing {
            read: PageTimes::uniform(Nanos(25_000)),
            program: PageTimes::uniform(Nanos(200_000)),
            erase: Nanos(2_000_000),
            slc: None,
            transfer_per_kib: Nanos(5_000),
            copyback: false,
            partial_read: false,
        };
        let parallelism = Parallelism { channels: 2, ..Parallelism::SINGLE };
        let order = ProgramOrder::Ascending;
        let geometry =
            Geometry { page_bytes: 4096, pages_per_block: 4, blocks: 8, order, parallelism, units: Units::PAGE };
        let mut report =
            MountReport { spares_read: 8, pages_verified: 1, log_bytes_read: 5_000, ..MountReport::default() };
        // The two dies read in parallel. The log occupies two pages.
        assert_eq!(report.time(&timing, &geometry), Nanos(8 * 25_156 / 2 + 3 * 45_000 / 2));
        (report.operations.reads[0], report.operations.programs[0], report.operations.erases[0]) = (2, 1, 1);
        assert_eq!(report.time(&timing, &geometry), Nanos(168_124 + 2 * 45_000 + 220_000 + 2_000_000));
    }
}
