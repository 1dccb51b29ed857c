//! Spare area of a page.

use ssdlab_core::Lpn;

/// Role of a page. It is stored because recovery cannot derive it from the logical page number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Role {
    /// A page of data: anywhere under page mapping, at its own offset in a data block under block mapping.
    Data = 0,
    /// A page of a log block.
    Log = 1,
    /// A page of a sequential log block, which may become a data block without copying.
    SequentialLog = 2,
    /// A page in the isolation area of FASTer, which holds cold pages until their logical blocks are merged.
    Isolation = 3,
    /// A map page of a map in flash.
    Map = 4,
    /// A page without data, which completes a program unit.
    Padding = 5,
    /// A page of data in a block in SLC mode, which has one flash page per word line. The first page of a block sets
    /// the mode of the block until its erase.
    Slc = 6,
}

/// Spare area of a page, written by the FTL and read by recovery.
///
/// **The newer of two copies.** Flash that stores spare areas adds another number, the *version* of the page. The
/// version of a host page or map page equals `sequence`. A copy inherits the version of its source page, which the
/// controller has read with the data. Among the copies of a logical page, the copy with the highest version is the
/// newest. Copies with the same version are equal; the FTL uses the copy with the highest `sequence`. This also holds
/// for SBFAST, which copies pages that have a newer copy in its log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpareArea {
    /// Logical page whose data the page holds.
    pub lpn: Lpn,
    /// Number of programs and trims before the program of this page.
    pub sequence: u64,
    /// Role of the page.
    pub role: Role,
}
