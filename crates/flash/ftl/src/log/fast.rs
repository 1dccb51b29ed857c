//! FAST: one log block for sequential writes; all other log blocks accept pages of any logical block.
//!
//! ```text
//! write(page of logical block b):
//!     page 0 of b, or b owns the sequential log block:  see SequentialLog
//!     else: if the random log is full, reclaim its oldest block
//!           append to the random log
//! reclaim(victim):
//!     for each valid page of the victim: merge its logical block
//!         fully, or partially if it owns the sequential log block
//!     erase the victim
//! ```
//!
//! A merge copies the newest version of every page of the logical block, so all its pages in log blocks become invalid.
//!
//! Source: Lee, Park, Chung, Lee, Park, Song, "A log buffer-based flash translation layer using fully-associative
//! sector translation", ACM TECS 6(3), 2007. The paper does not say when a sequential log block switches. In this
//! implementation, the block switches as soon as it is full, not at the next write to page 0 of a logical block; the
//! cost is the same.

use ssdlab_core::{Archive, Archived, Settings};
use ssdlab_nand::{FlashSink, RetireReason, Role};

use crate::log::{HostPage, Log, LogBlock, LogDevice, LogFtl, LogInfo, LogRules, Ring, SEQUENTIAL, SequentialLog};

/// Registry entry of this log-block FTL.
pub static INFO: LogInfo = LogInfo {
    name: "fast",
    help: "FAST: one sequential log block, and log blocks shared by all logical blocks",
    source: "Lee et al., ACM TECS 2007",
    parameters: &[SEQUENTIAL],
    role: LogRules {
        // The FTL reserves one block as the target of a full merge.
        reserve_blocks: 1,
        // FAST needs at least one random log block in addition to a sequential log block.
        has_log: true,
        least_log_blocks: |settings| settings.get(SEQUENTIAL.name) as u32 + 1,
        check: |_, _| Ok(()),
        build: None,
    },
};

/// The log of FAST: a sequential log block and a ring of random log blocks.
pub struct Fast {
    sequential: SequentialLog,
    random: Ring,
}

/// FAST, the fully-associative log FTL.
pub type FastFtl = LogFtl<Fast>;

impl Fast {
    fn reclaim<S: FlashSink>(&mut self, device: &mut LogDevice, sink: &mut S) -> Option<()> {
        let victim = self.random.give_up().expect("a full ring has an oldest block");
        device.retire(victim, RetireReason::Oldest, sink);
        let mut merged = false;
        for offset in 0..device.pages_per_block() {
            device.expect_page(victim, offset);
            if let Some(address) = device.valid_page(victim, offset) {
                device.expect_merge(victim, offset + 1);
                self.sequential.merge_block(device, address.lbn, sink)?;
                merged = true;
            }
        }
        device.erase_emptied(victim, merged, sink);
        Some(())
    }
}

impl Log for Fast {
    const INFO: &'static LogInfo = &INFO;
    const SWITCHES: Role = Role::SequentialLog;

    fn new(_device: &LogDevice, log_blocks: u32, settings: &Settings) -> Self {
        let sequential_blocks = settings.get(SEQUENTIAL.name) as u32;
        let random = Ring::new(log_blocks - sequential_blocks, Role::Log);
        Self { sequential: SequentialLog::new(sequential_blocks), random }
    }

    fn captures(&self) -> bool {
        self.sequential.blocks() > 0
    }

    fn write<S: FlashSink>(&mut self, device: &mut LogDevice, page: HostPage, sink: &mut S) -> Option<()> {
        if self.sequential.write(device, page, sink)? {
            return Some(());
        }
        if self.random.is_full(device) {
            self.reclaim(device, sink)?;
        }
        self.random.append(device, page, sink)
    }

    fn blocks(&self) -> Vec<u32> {
        self.random.blocks().chain(self.sequential.block()).collect()
    }

    fn role(&self, block: u32) -> Role {
        if self.sequential.block() == Some(block) { Role::SequentialLog } else { Role::Log }
    }

    /// Returns the size of the log's page table: 4 bytes per page of the log.
    fn table_bytes(&self, device: &LogDevice) -> u64 {
        let blocks = self.random.capacity() + self.sequential.blocks();
        4 * u64::from(blocks) * u64::from(device.pages_per_block())
    }

    fn memory_bytes(&self) -> u64 {
        u64::from(self.random.capacity()) * size_of::<u32>() as u64
    }

    fn take_up(&mut self, _device: &LogDevice, blocks: Vec<LogBlock>) -> Vec<LogBlock> {
        self.sequential.take_up(self.random.take_up(blocks))
    }

    fn check(&self, device: &LogDevice) -> Result<(), String> {
        self.sequential.check(device)
    }

    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        let Self { sequential, random } = self;
        sequential.archive(archive)?;
        random.archive(archive)
    }
}
