//! Code that all log-block FTLs share.
//!
//! The logical pages are divided into logical blocks of the size of an erase block. Each logical block has at most one
//! *data block*, in which each page has a fixed offset. Overwrites go to a few *log blocks*, and merges combine data
//! and log blocks again. BAST, FAST, FASTer and SBFAST differ in how they choose the log block for a page, and in which
//! merges they perform and when. Each FTL has a file in this folder with an `INFO` and an implementation of [`Log`],
//! and a line in the table of [`crate::choice`].
//!
//! Conventions of all four log-block FTLs:
//!
//! - A page without a valid copy is written to its own offset in the data block if that flash page is erased. If the
//!   chip requires ascending order, the offset must also follow all programmed pages. Any other write is a collision
//!   and goes to the log.
//! - Merges copy valid pages only. Pages that were never written, or were trimmed, stay erased and cost nothing. On a
//!   completely filled device, every merge has the cost given in the papers.
//! - A failed program closes its block, which then counts as full; see `failure.rs`.
//! - A block is erased at the end of the merge that frees it.
//! - A trim invalidates the page, including all older copies. The page's offset in the data block stays occupied: the
//!   next write of the page is a collision.
//! - Only the flat map stores the location of a page; therefore an older copy cannot be read by mistake. A controller
//!   would search the tables described in the papers; [`crate::Ftl::mapping_table_bytes`] returns their size.

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

use device::Waited;
pub use device::{HostPage, LogDevice, PageAddress};
pub use recover::LogBlock;
pub(crate) use ring::Ring;
pub(crate) use sequential::{SEQUENTIAL, SequentialLog};

use ssdlab_core::mem::prefetch;
use ssdlab_core::units::counted;
use ssdlab_core::{Archive, Archived, BlockId, Choice, Info, Lpn, Parameter, Ppn, Settings};
use ssdlab_nand::{Cause, FlashSink, Note, Role, Scan, Trimmed};

use crate::recovery::Survey;
use crate::{DynFtl, Ftl, Problem, Shape, WriteContext};

/// Number and size of the log blocks of an FTL.
#[derive(Clone, Copy, Debug)]
pub struct LogBlocks {
    /// Number of log blocks of the FTL.
    pub count: u32,
    /// Number of pages per log block.
    pub pages: u32,
}

/// Properties of a log-block FTL that are known before the FTL is built.
#[derive(Clone, Copy)]
pub struct LogRules {
    /// Number of blocks that the FTL keeps erased, for example as the target of a full merge.
    pub reserve_blocks: u32,
    /// True if the FTL has log blocks, whose number users can set. Only FTLs of other crates may have none.
    pub has_log: bool,
    /// Returns the minimum number of log blocks for the given settings of the FTL.
    pub least_log_blocks: fn(&Settings) -> u32,
    /// Checks the settings for conflicts. Called only if the number of log blocks reaches the minimum.
    pub check: fn(&Settings, &LogBlocks) -> Result<(), Problem>,
    /// Constructor of an FTL of another crate; None for the FTLs that [`crate::choice`] lists.
    pub build: Option<BuildLogFtl>,
}

/// Builds an FTL with the given number of log blocks on an erased device.
pub type BuildLogFtl = &'static (dyn Fn(Shape, u32, &Settings) -> Result<Box<dyn DynFtl>, String> + Send + Sync);

/// A registered FTL with log blocks.
pub type LogInfo = Info<LogRules>;

/// A selected log-block FTL with its parameters.
pub type LogChoice = Choice<LogRules>;

/// Rule that selects the log block to reclaim when all log blocks are in use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogVictim {
    /// The least recently written log block.
    Lru,
    /// The log block that was allocated first.
    Fifo,
}

impl LogVictim {
    /// Parameter that selects this rule, in log-block FTLs that support more than one rule.
    pub(crate) const PARAMETER: Parameter = Parameter::one_of(
        "victim",
        || vec![("lru", "the log block written least recently"), ("fifo", "the log block allocated first")],
        "Log block to reclaim when all log blocks are in use.",
    )
    .example(1);

    pub(crate) fn of(settings: &Settings) -> Self {
        [Self::Lru, Self::Fifo][settings.get(Self::PARAMETER.name) as usize]
    }
}

/// The log of a log-block FTL: it holds pages that cannot be written in place.
pub trait Log {
    /// Registry entry of this log-block FTL.
    const INFO: &'static LogInfo;

    /// Role of the pages in log blocks that may become data blocks without copying.
    const SWITCHES: Role;

    /// Creates an empty log on an erased device. [`LogRules::check`] has accepted the settings.
    fn new(device: &LogDevice, log_blocks: u32, settings: &Settings) -> Self;

    /// True if the log has a sequential log block and emits notes about its pages ([`ssdlab_nand::Note::Captured`]).
    fn captures(&self) -> bool {
        false
    }

    /// Writes a host page to the log, after merges. Returns None if the program fails or no erased block is left.
    fn write<S: FlashSink>(&mut self, device: &mut LogDevice, page: HostPage, sink: &mut S) -> Option<()>;

    /// Returns the blocks that are in the log now. Blocks of the same type are in the order in which they were opened.
    fn blocks(&self) -> Vec<u32>;

    /// Returns the role of the pages in a block of the log.
    fn role(&self, block: u32) -> Role;

    /// Returns the size in bytes of the tables that a controller keeps for the log, as the papers count them.
    fn table_bytes(&self, device: &LogDevice) -> u64;

    /// Returns the memory size of the log, in bytes.
    fn memory_bytes(&self) -> u64;

    /// Saves or loads the state of the log; the device is archived separately.
    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived;

    /// Returns the block that was being filled with copies when power was lost, if any. The source block of the copies
    /// stays in the log until it is erased.
    fn unfinished(&self, _survey: &Survey) -> Option<BlockId> {
        None
    }

    /// Takes over the blocks that were in the log when power was lost, in the order in which they were opened; returns
    /// the blocks that the log cannot use.
    fn take_up(&mut self, device: &LogDevice, blocks: Vec<LogBlock>) -> Vec<LogBlock>;

    /// Checks the invariants of the log.
    fn check(&self, device: &LogDevice) -> Result<(), String>;
}

/// A log-block FTL: data blocks, and a log for pages that cannot be written in place.
pub struct LogFtl<L> {
    device: LogDevice,
    pub(crate) log: L,
}

impl<L: Log> LogFtl<L> {
    /// Creates an FTL on an erased device. Fails with too few log blocks or blocks, or with settings in conflict.
    pub fn new(shape: Shape, log_blocks: u32, settings: &Settings) -> Result<Self, String> {
        let LogRules { reserve_blocks, least_log_blocks, check, .. } = L::INFO.role;
        let least = least_log_blocks(settings);
        if log_blocks < least {
            return Err(format!(
                "the FTL needs at least {}, but has only {log_blocks}",
                counted(least.into(), "log block")
            ));
        }
        check(settings, &LogBlocks { count: log_blocks, pages: shape.pages_per_block })?;
        let device = LogDevice::new(shape, log_blocks, reserve_blocks)?;
        let log = L::new(&device, log_blocks, settings);
        Ok(Self { device, log })
    }
}

impl<L: Log> Ftl for LogFtl<L> {
    #[inline]
    fn write<S: FlashSink>(&mut self, lpn: Lpn, count: u32, context: WriteContext, sink: &mut S) {
        let request_pages = context.request_pages.max(count);
        for number in 0..count {
            // Failures during the write of the previous page may have left no erased block for this page.
            if sink.fails() && self.device.is_worn_out() {
                return;
            }
            let page = HostPage { address: self.device.locate(lpn.0 + number), number, request_pages };
            self.device.waited = Waited::default();
            while !self.device.write_in_place(page, sink) && self.log.write(&mut self.device, page, sink).is_none() {
                if self.device.stuck {
                    return;
                }
            }
            let Waited { merged: associated, reclaims, cost } = self.device.waited;
            if reclaims {
                sink.note(Note::Reclaimed { associated, cost });
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

    fn keep_for_failures(&mut self, blocks: u32) -> Result<(), String> {
        self.device.keep_for_failures(blocks)
    }

    fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        self.device.newest(lpn.0).map(Ppn)
    }

    #[inline]
    fn prefetch(&mut self, lpn: Lpn) {
        prefetch(&self.device.l2p, lpn.index());
    }

    fn free_blocks(&self) -> u32 {
        self.device.table.free_in_all()
    }

    fn erase_counts(&self) -> &[u32] {
        self.device.table.erase_counts()
    }

    fn memory_bytes(&self) -> u64 {
        self.device.memory_bytes() + self.log.memory_bytes()
    }

    fn mapping_table_bytes(&self) -> u64 {
        // The block table has a 4-byte block number for each logical block.
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

    fn programmed(&self, visit: &mut dyn FnMut(Ppn, Lpn, Role)) -> Result<u64, String> {
        let data = self.device.data_blocks().map(|block| (block, Role::Data));
        let log = self.log.blocks().into_iter().map(|block| (block, self.log.role(block)));
        data.chain(log).for_each(|(block, role)| self.device.visit_programmed(block, role, visit));
        Ok(self.device.sequence)
    }

    fn recover<S: FlashSink>(&mut self, scan: &dyn Scan, trims: &[Trimmed], sink: &mut S) -> Result<(), String> {
        self.recover_all(scan, trims, sink)
    }
}
