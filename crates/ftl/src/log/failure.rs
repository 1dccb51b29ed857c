//! Failures of the flash under the log-block FTLs. All of it compiles to nothing where [`FlashSink::FAILS`] is false.
//!
//! ```text
//! a program fails:           its block is closed: written no further, read as before, bad once it is erased
//!   of a page of the host:   the write begins again; the closed block is like one that is full
//!   of a partial merge:      a full merge in its place
//!   of a full merge:         begins again with another target; the one before is erased when it is empty
//! an erase fails:            the block is bad
//! ```
//! A closed block keeps its place as data or log block until a merge empties it, and counts as lost from the first.
//! Each program that fails in the course of a merge takes one more erased block until the merge is done;
//! [`Ftl::keep_for_failures`](crate::Ftl::keep_for_failures) keeps such. If none is left, whatever is under way is
//! given up, the page of the host too: the drive is worn out, and everything written before can be read, as the flat
//! map leads to it in whatever block.

use ssdlab_core::{BlockId, Entry};
use ssdlab_nand::{FlashSink, Note, Role};

use super::device::LogDevice;
use crate::recovery::SPOILED;

impl LogDevice {
    /// See [`crate::Ftl::keep_for_failures`].
    pub fn keep_for_failures(&mut self, blocks: u32) -> Result<(), String> {
        self.kept += blocks;
        if self.is_worn_out() {
            return Err(format!(
                "no {blocks} blocks are left beside data and log blocks to keep for programs that fail"
            ));
        }
        Ok(())
    }

    /// Whether more blocks have failed than there were to spare.
    pub fn is_worn_out(&self) -> bool {
        let failed = self.table.bad().count() + self.failing.len();
        self.stuck || failed as u32 + self.kept > self.expendable
    }

    /// Whether no erased block was left where one was needed: nothing can be written any more.
    pub fn is_stuck(&self) -> bool {
        self.stuck
    }

    /// Takes an erased block for pages of this role; none if so many have failed that there is none.
    ///
    /// # Panics
    /// If there is none although nothing fails: the reserve rules that out.
    pub fn take<S: FlashSink>(&mut self, role: Role, sink: &mut S) -> Option<u32> {
        if S::FAILS && self.table.free(0) == 0 {
            self.stuck = true;
            return None;
        }
        let block = self.table.take(0);
        sink.note(Note::Opened { block, role, frontier: 0 });
        Some(block.0)
    }

    /// Whether the latest program succeeded; if not, `block` is closed.
    #[inline(always)]
    pub(super) fn succeeded<S: FlashSink>(&mut self, block: u32, sink: &mut S) -> bool {
        let failed = S::FAILS && sink.failure().is_some();
        if failed {
            self.give_up_failing(block);
        }
        !failed
    }

    /// Gives up a block of which a page could not be programmed.
    #[cold]
    pub(super) fn give_up_failing(&mut self, block: u32) {
        self.failing.insert(block);
        self.close(block);
    }

    /// Lets no more be written to a block.
    #[cold]
    pub(super) fn close(&mut self, block: u32) {
        let first = (block * self.pages_per_block) as usize;
        let held = &mut self.p2l[first..first + self.pages_per_block as usize];
        held.iter_mut().filter(|held| **held == Entry::NONE).for_each(|held| *held = Entry::of(SPOILED));
        self.next[block as usize] = self.pages_per_block as u16;
    }

    /// Uses a block no more that could not be erased, or of which a page could not be programmed.
    #[cold]
    pub(super) fn withdraw<S: FlashSink>(&mut self, block: u32, sink: &mut S) {
        self.failing.remove(&block);
        self.table.retire(BlockId(block));
        sink.note(Note::Bad(BlockId(block)));
    }
}
