//! What the log-block FTLs share.
//!
//! The device is divided into logical blocks of as many pages as an erase block has. Each has at most one
//! *data block*, in which a page can only lie at its own offset; overwrites go to a few *log blocks*, and
//! merges bring both together again. BAST, FAST, FASTer and SBFAST differ in which log block a page goes to
//! and what is merged when; each is a file of this folder with its `INFO` and an implementation of [`Log`], and a line
//! in the table of [`crate::choice`]. Settings, help, documents and the oracle tests take it from there.
//!
//! Conventions, the same for all four:
//!
//! - A page without a valid copy is written to its place in the data block while that place is erased (and,
//!   where the chip wants ascending order, behind everything programmed). Everything else is a collision and
//!   goes to the log.
//! - Merges copy valid pages only. Pages never written or trimmed stay holes and cost nothing; on a device
//!   that was filled first every merge is as expensive as the papers count it.
//! - A page that cannot be programmed leaves its block like one that is full; `failure.rs` says what becomes of it.
//! - An erase happens where the merge that frees the block happens.
//! - A trim forgets the newest copy and thereby all older ones. The place of the page in the data block is
//!   then used up: writing it again is a collision.
//! - Where a page is, only the flat map knows; the tables of the papers, which a controller would search,
//!   are reported as [`crate::Ftl::mapping_table_bytes`]. No search, no older copy can be read by mistake.

pub mod bast;
mod device;
mod failure;
pub mod fast;
pub mod faster;
mod merge;
mod recover;
mod ring;
pub mod sbfast;
mod sequential;

pub(crate) use device::{LogDevice, PageAddress};
pub(crate) use recover::LogBlock;
pub(crate) use ring::Ring;
pub(crate) use sequential::{SEQUENTIAL, SequentialLog};

use ssdlab_core::units::counted;
use ssdlab_core::{Archive, Archived, BlockId, Choice, Info, Lpn, Parameter, Ppn, Settings};
use ssdlab_nand::{Cause, FlashSink, Role, Scan, Trimmed};

use crate::recovery::Survey;
use crate::{Ftl, Problem, Shape, WriteContext};

/// The log blocks that an FTL is given.
#[derive(Clone, Copy, Debug)]
pub struct LogBlocks {
    /// How many there are.
    pub count: u32,
    /// Pages of each.
    pub pages: u32,
}

/// What is known of an FTL with log blocks before it is built.
#[derive(Clone, Copy, Debug)]
pub struct LogRules {
    /// Blocks kept erased, such as the target of a full merge.
    pub reserve_blocks: u32,
    /// Fewest log blocks that work.
    pub least_log_blocks: fn(&Settings) -> u32,
    /// Finds what does not fit together, with at least as many log blocks.
    pub check: fn(&Settings, &LogBlocks) -> Result<(), Problem>,
}

/// A registered FTL with log blocks.
pub type LogInfo = Info<LogRules>;

/// An FTL with log blocks and its parameters.
pub type LogChoice = Choice<LogRules>;

/// Which log block is given up when all are taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogVictim {
    /// The one written to longest ago.
    Lru,
    /// The one taken longest ago.
    Fifo,
}

impl LogVictim {
    /// The parameter of the FTLs that choose.
    pub(crate) const PARAMETER: Parameter = Parameter::one_of(
        "victim",
        || vec![("lru", "the one written to longest ago"), ("fifo", "the one taken longest ago")],
        "Which log block is given up when all are taken.",
    )
    .example(1);

    pub(crate) fn of(settings: &Settings) -> Self {
        [Self::Lru, Self::Fifo][settings.get(Self::PARAMETER.name) as usize]
    }
}

/// Where pages go that cannot be written in place: what one log-block FTL is about.
pub(crate) trait Log {
    /// The registration.
    const INFO: &'static LogInfo;

    /// Role of the pages of log blocks that may become data blocks as they are.
    const SWITCHES: Role;

    /// The log of an erased device, with so many log blocks and settings that [`LogRules::check`] let pass.
    fn new(device: &LogDevice, log_blocks: u32, settings: &Settings) -> Self;

    /// Whether it has a sequential log, whose pages it tells ([`ssdlab_nand::Note::Captured`]).
    fn captures(&self) -> bool;

    /// Writes page `page` of the host request to the log, after whatever merges that takes. Nothing if its program
    /// fails, or the drive is stuck for lack of erased blocks.
    fn write<S: FlashSink>(
        &mut self,
        device: &mut LogDevice,
        address: PageAddress,
        page: u32,
        sink: &mut S,
    ) -> Option<()>;

    /// Blocks that belong to the log now.
    fn blocks(&self) -> Vec<u32>;

    /// Bytes of the log's tables in the controller, as the papers count them.
    fn table_bytes(&self, device: &LogDevice) -> u64;

    /// Bytes of memory held here.
    fn memory_bytes(&self) -> u64;

    /// Saves or loads what it keeps beside the device.
    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived;

    /// A block that was being filled with copies of another, which is in the log as long as it has not been erased.
    fn unfinished(&self, _survey: &Survey) -> Option<BlockId> {
        None
    }

    /// Takes up the blocks that were in the log when power was lost, in the order in which they were opened; returns
    /// those that it has no use for.
    fn take_up(&mut self, device: &LogDevice, blocks: Vec<LogBlock>) -> Vec<LogBlock>;

    /// Verifies what the log promises of its blocks.
    fn check(&self, device: &LogDevice) -> Result<(), String>;
}

/// A log-block FTL: data blocks, and a log for what cannot be written in place.
pub struct LogFtl<L> {
    device: LogDevice,
    log: L,
}

// The trait is internal to this folder.
#[allow(private_bounds)]
impl<L: Log> LogFtl<L> {
    /// An erased device.
    ///
    /// # Errors
    /// If the device has no room for so many log blocks, these are too few, or the settings do not fit together.
    pub fn new(shape: Shape, log_blocks: u32, settings: &Settings) -> Result<Self, String> {
        let LogRules { reserve_blocks, least_log_blocks, check } = L::INFO.role;
        let least = least_log_blocks(settings);
        if log_blocks < least {
            return Err(format!("{}, and it takes at least {least}", counted(log_blocks.into(), "log block")));
        }
        check(settings, &LogBlocks { count: log_blocks, pages: shape.pages_per_block })?;
        let device = LogDevice::new(shape, log_blocks, reserve_blocks)?;
        let log = L::new(&device, log_blocks, settings);
        Ok(Self { device, log })
    }

    pub(crate) fn captures(&self) -> bool {
        self.log.captures()
    }
}

#[allow(private_bounds)]
impl<L: Log> Ftl for LogFtl<L> {
    #[inline]
    fn write<S: FlashSink>(&mut self, lpn: Lpn, count: u32, _context: WriteContext, sink: &mut S) {
        for page in 0..count {
            // What failed for the page before may leave no room for this one.
            if S::FAILS && self.device.is_worn_out() {
                return;
            }
            let address = self.device.locate(lpn.0 + page);
            self.device.begin_page();
            while !self.device.write_in_place(address, page, sink)
                && self.log.write(&mut self.device, address, page, sink).is_none()
            {
                if self.device.is_stuck() {
                    return;
                }
            }
            self.device.end_page(sink);
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

    fn keep_for_failures(&mut self, blocks: u32) -> Result<(), String> {
        self.device.keep_for_failures(blocks)
    }

    fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        self.device.newest(lpn.0).map(Ppn)
    }

    #[inline(always)]
    fn prefetch(&mut self, lpn: Lpn) {
        self.device.prefetch(lpn.0);
    }

    fn free_blocks(&self) -> u32 {
        self.device.table.free_in_all()
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

    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        let Self { device, log } = self;
        device.archive(archive)?;
        log.archive(archive)
    }

    fn recover<S: FlashSink>(&mut self, scan: &dyn Scan, trims: &[Trimmed], sink: &mut S) -> Result<(), String> {
        self.recover_all(scan, trims, sink)
    }
}
