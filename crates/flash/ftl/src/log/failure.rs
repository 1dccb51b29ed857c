//! Handling of flash failures in the log-block FTLs; compiles to nothing for sinks that never fail.
//!
//! ```text
//! a program fails:           its block is closed: no more writes, still readable, bad once erased
//!   of a page of the host:   the write starts again; the closed block counts as full
//!   of a partial merge:      a full merge instead
//!   of a full merge:         starts again with another target; the failed one is erased once empty
//! an erase fails:            the block is bad
//! ```
//! A closed block keeps its role as data or log block until a merge empties it, but counts as lost immediately. Each
//! program that fails during a merge uses an additional erased block until the merge ends;
//! [`Ftl::keep_for_failures`](crate::Ftl::keep_for_failures) reserves such blocks. If no erased block is left, the FTL
//! abandons its current work, including the current host page. The drive is then worn out, but all earlier data remain
//! readable through the flat map.

use ssdlab_core::{BlockId, Entry};
use ssdlab_nand::{FlashSink, Note, Role};

use super::device::LogDevice;
use crate::recovery::SPOILED;

impl LogDevice {
    /// Implements [`crate::Ftl::keep_for_failures`].
    pub(crate) fn keep_for_failures(&mut self, blocks: u32) -> Result<(), String> {
        self.kept += blocks;
        if self.is_worn_out() {
            return Err(format!("too few spare blocks: the device must reserve {blocks} blocks for failed programs"));
        }
        Ok(())
    }

    /// True if the FTL is out of erased blocks, or more blocks have failed than the device can spare.
    pub(crate) fn is_worn_out(&self) -> bool {
        let failed = self.table.bad().count() + self.failing.len();
        self.stuck || failed as u32 + self.kept > self.expendable
    }

    /// Opens an erased block for pages with the given role. Returns None if failures have left no erased block.
    pub fn take<S: FlashSink>(&mut self, role: Role, sink: &mut S) -> Option<u32> {
        if sink.fails() && self.table.free(0) == 0 {
            self.stuck = true;
            return None;
        }
        let block = self.table.take(0);
        sink.note(Note::Opened { block, role, number: 0 });
        Some(block.0)
    }

    /// Returns true if the latest program succeeded. After a failure, closes `block` and returns false.
    #[inline]
    pub(super) fn succeeded<S: FlashSink>(&mut self, block: u32, sink: &mut S) -> bool {
        if sink.fails() && sink.failure().is_some() {
            self.give_up_failing(block);
            return false;
        }
        true
    }

    /// Closes a block in which a program has failed, and records the block as failing.
    #[cold]
    pub(super) fn give_up_failing(&mut self, block: u32) {
        self.failing.insert(block);
        self.close(block);
    }

    /// Closes a block: no more pages are written to it before its erase.
    #[cold]
    pub(super) fn close(&mut self, block: u32) {
        let first = (block * self.pages_per_block) as usize;
        let held = &mut self.p2l[first..first + self.pages_per_block as usize];
        held.iter_mut().filter(|held| **held == Entry::NONE).for_each(|held| *held = Entry::of(SPOILED));
        self.next[block as usize] = self.pages_per_block as u16;
    }

    /// Marks a block as bad after an erase or a program of the block has failed.
    #[cold]
    pub(super) fn withdraw<S: FlashSink>(&mut self, block: u32, sink: &mut S) {
        self.failing.remove(&block);
        self.table.retire(BlockId(block));
        sink.note(Note::Bad(BlockId(block)));
    }
}
