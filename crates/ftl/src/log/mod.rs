//! What the log-block FTLs share.
//!
//! The device is divided into logical blocks of as many pages as an erase block has. Each has at most one
//! *data block*, in which a page can only lie at its own offset; overwrites go to a few *log blocks*, and
//! merges bring both together again. BAST, FAST, FASTer and SBFAST differ in which log block a page goes to
//! and what is merged when; each is one file beside this folder, an implementation of [`Log`].
//!
//! Conventions, the same for all four:
//!
//! - A page without a valid copy is written to its place in the data block while that place is erased (and,
//!   where the chip wants ascending order, behind everything programmed). Everything else is a collision and
//!   goes to the log.
//! - Merges copy valid pages only. Pages never written or trimmed stay holes and cost nothing; on a device
//!   that was filled first every merge is as expensive as the papers count it.
//! - A block that cannot be erased is used no more. A program that fails is not handled yet: flash that fails programs
//!   must not be put below a log-block FTL.
//! - An erase happens where the merge that frees the block happens.
//! - A trim forgets the newest copy and thereby all older ones. The place of the page in the data block is
//!   then used up: writing it again is a collision.
//! - Where a page is, only the flat map knows; the tables of the papers, which a controller would search,
//!   are reported as [`crate::Ftl::mapping_table_bytes`]. No search, no older copy can be read by mistake.

pub mod bast;
mod device;
pub mod fast;
pub mod faster;
mod merge;
mod ring;
pub mod sbfast;
mod sequential;

pub(crate) use device::{LogDevice, PageAddress};
pub(crate) use ring::Ring;
pub(crate) use sequential::SequentialLog;

use ssdlab_core::{Lpn, Ppn};
use ssdlab_nand::{Cause, FlashSink};

use crate::{Ftl, WriteContext};

/// Which log block is given up when all are taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogVictim {
    /// The one written to longest ago.
    Lru,
    /// The one taken longest ago.
    Fifo,
}

/// Where pages go that cannot be written in place: what one log-block FTL is about.
pub(crate) trait Log {
    /// Writes page `page` of the host request to the log, after whatever merges that takes.
    fn write<S: FlashSink>(&mut self, device: &mut LogDevice, address: PageAddress, page: u32, sink: &mut S);

    /// Blocks that belong to the log now.
    fn blocks(&self) -> Vec<u32>;

    /// Bytes of the log's tables in the controller, as the papers count them.
    fn table_bytes(&self, device: &LogDevice) -> u64;

    /// Bytes of memory held here.
    fn memory_bytes(&self) -> u64;

    /// Verifies what the log promises of its blocks.
    fn check(&self, device: &LogDevice) -> Result<(), String>;
}

/// A log-block FTL: data blocks, and a log for what cannot be written in place.
pub struct LogFtl<L> {
    device: LogDevice,
    log: L,
}

impl<L> LogFtl<L> {
    pub(crate) fn with(device: LogDevice, log: L) -> Self {
        Self { device, log }
    }
}

// The trait is internal to this folder.
#[allow(private_bounds)]
impl<L: Log> Ftl for LogFtl<L> {
    #[inline]
    fn write<S: FlashSink>(&mut self, lpn: Lpn, count: u32, _context: WriteContext, sink: &mut S) {
        for page in 0..count {
            let address = self.device.locate(lpn.0 + page);
            if !self.device.write_in_place(address, page, sink) {
                self.log.write(&mut self.device, address, page, sink);
            }
        }
    }

    fn read<S: FlashSink>(&mut self, lpn: Lpn, count: u32, cause: Cause, sink: &mut S) -> u32 {
        (lpn.0..lpn.0 + count).map(|lpn| u32::from(!self.device.read(lpn, cause, sink))).sum()
    }

    fn trim<S: FlashSink>(&mut self, lpn: Lpn, count: u32, sink: &mut S) {
        self.device.trim(lpn.0, count, sink);
    }

    fn is_worn_out(&self) -> bool {
        self.device.is_worn_out()
    }

    fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        self.device.newest(lpn.0).map(Ppn)
    }

    #[inline(always)]
    fn prefetch(&self, lpn: Lpn) {
        self.device.prefetch(lpn.0);
    }

    fn erase_counts(&self) -> &[u32] {
        self.device.erase_counts()
    }

    fn memory_bytes(&self) -> u64 {
        self.device.memory_bytes() + self.log.memory_bytes()
    }

    fn mapping_table_bytes(&self) -> u64 {
        // One block number of 4 bytes for each logical block.
        4 * u64::from(self.device.logical_blocks()) + self.log.table_bytes(&self.device)
    }

    fn check(&self) -> Result<(), String> {
        self.device.check(&self.log.blocks())?;
        self.log.check(&self.device)
    }
}
