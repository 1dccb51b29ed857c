//! The sequential log block of FAST and FASTer: pages 0, 1, 2, ... of one logical block at their own offsets.

use serde::{Deserialize, Serialize};
use ssdlab_core::{Archive, Archived, Lpn, Parameter, Unit};
use ssdlab_nand::{FlashSink, Note, RetireReason, Role};

use super::{HostPage, LogBlock, LogDevice};

/// The sequential (SW) log, with one log block or none. If it has none, every page goes to the random log.
pub(crate) struct SequentialLog {
    blocks: u32,
    open: Option<Open>,
}

/// Number of sequential log blocks.
pub(crate) const SEQUENTIAL: Parameter = Parameter::new(
    "sw",
    Unit::Count("blocks"),
    1,
    [0, 1],
    "Number of sequential log blocks (SW); 0 sends every page to the random log (RW).",
)
.example(0);

#[derive(Clone, Copy, Serialize, Deserialize)]
struct Open {
    block: u32,
    owner: u32,
}

impl SequentialLog {
    pub fn new(blocks: u32) -> Self {
        Self { blocks, open: None }
    }

    pub fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        let Self { blocks: _, open } = self;
        archive.value(open)
    }

    /// Takes over the sequential log block opened last before a power loss. Returns the other blocks.
    pub fn take_up(&mut self, mut blocks: Vec<LogBlock>) -> Vec<LogBlock> {
        let is_own = |block: &LogBlock| block.role == Role::SequentialLog && block.in_place;
        if self.blocks > 0
            && let Some(newest) = blocks.iter().rposition(is_own)
            && let Some(owner) = blocks[newest].owner
        {
            self.open = Some(Open { block: blocks.remove(newest).block, owner });
        }
        blocks
    }

    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    pub fn block(&self) -> Option<u32> {
        self.open.map(|open| open.block)
    }

    /// Writes the page if it belongs to the sequential log; returns false otherwise. None if the program fails.
    ///
    /// ```text
    /// offset 0:                  partial merge of the current block; a new block for this owner; append
    /// owner's next page:         append; a full block switches at once
    /// owner's later page:        partial merge that also writes the page
    /// owner's earlier page:      full merge with the data block that also writes the page
    /// ```
    pub fn write<S: FlashSink>(&mut self, device: &mut LogDevice, page: HostPage, sink: &mut S) -> Option<bool> {
        let HostPage { address, number, .. } = page;
        if address.offset == 0 && self.blocks > 0 {
            self.merge(device, RetireReason::Restarted, sink)?;
            let block = device.take(Role::SequentialLog, sink)?;
            self.open = Some(Open { block, owner: address.lbn });
            device.program(address.lpn, block, 0, (number, Role::SequentialLog), sink)?;
            sink.note(Note::Captured(Lpn(address.lpn)));
            return Some(true);
        }
        let Some(Open { block, .. }) = self.open.filter(|open| open.owner == address.lbn) else {
            return Some(false);
        };
        let next = device.next(block);
        if address.offset == next {
            device.program(address.lpn, block, next, (number, Role::SequentialLog), sink)?;
            sink.note(Note::Captured(Lpn(address.lpn)));
            if device.is_full(block) {
                self.open = None;
                device.retire(block, RetireReason::Completed, sink);
                device.merge_in_place(address.lbn, block, sink)?;
            }
            return Some(true);
        }
        self.open = None;
        device.retire(block, RetireReason::Broken, sink);
        device.merge_in_place_with(page, block, sink).map(|_| true)
    }

    /// Performs a partial merge of the sequential log block; does nothing if there is no such block.
    fn merge<S: FlashSink>(&mut self, device: &mut LogDevice, reason: RetireReason, sink: &mut S) -> Option<()> {
        let Some(Open { block, owner }) = self.open.take() else { return Some(()) };
        device.retire(block, reason, sink);
        device.merge_in_place(owner, block, sink)
    }

    /// Merges a logical block in order to free a random log block: partially if it owns the sequential log block.
    pub fn merge_block<S: FlashSink>(&mut self, device: &mut LogDevice, lbn: u32, sink: &mut S) -> Option<()> {
        match self.open {
            Some(open) if open.owner == lbn => self.merge(device, RetireReason::Merged, sink),
            _ => device.full_merge(lbn, sink),
        }
    }

    pub fn check(&self, device: &LogDevice) -> Result<(), String> {
        let Some(Open { block, owner }) = self.open else { return Ok(()) };
        device.check_log_block("sequential log block", block, owner, true)
    }
}
