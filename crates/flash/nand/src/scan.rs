//! Contents of flash as recovery finds them after a power loss.

use ssdlab_core::{BlockId, Lpn, Ppn};

use crate::SpareArea;

/// Contents of a page according to its spare area.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// The page has not been programmed since the last complete erase of its block, and can be programmed.
    ///
    /// After an interrupted erase of a block, at least one of its pages must not be reported as `Erased`.
    Erased,
    /// The spare area is readable. The data may still be unreadable.
    Programmed {
        /// Spare area as the FTL wrote it.
        oob: SpareArea,
        /// Version of the copy in the page; see [`SpareArea`].
        version: u64,
        /// True if a trim, or another copy of the page, is known to be at least as new as this copy. This copy then
        /// need not be compared with others, unless that other copy is discarded.
        outdated: bool,
    },
    /// The spare area cannot be trusted: a program or erase was interrupted, or too many bits have flipped.
    ///
    /// The last programmed page of a block counts as unreadable if its data is damaged. Its program may have been
    /// interrupted; in that case, the newest complete copy is an older one.
    Unreadable,
}

impl Found {
    /// Returns the version of the copy, if there is a copy.
    #[inline]
    pub const fn version(&self) -> Option<u64> {
        match self {
            Self::Programmed { version, .. } => Some(*version),
            Self::Erased | Self::Unreadable => None,
        }
    }
}

/// Flash as presented to recovery, which visits all blocks first; until then, it reads single pages only from blocks
/// already visited. The scan may present the state at its start, as recovery reads no block after erasing it.
pub trait Scan: Sync {
    /// Returns the contents of a page. Never called for bad blocks.
    fn page(&self, ppn: Ppn) -> Found;

    /// Returns the version of the copy in a page, if any. Called for many pages, [`Self::page`] only for a few.
    fn version(&self, ppn: Ppn) -> Option<u64> {
        self.page(ppn).version()
    }

    /// Hints that [`Self::version`] will soon be called for the page.
    fn expect(&self, _ppn: Ppn) {}

    /// Calls `visit` with the contents of each of the first `blocks` blocks, in sequence or in parallel. Recovery
    /// begins with this call, which should be faster than reading single pages.
    fn blocks(&self, blocks: u32, pages_per_block: u32, visit: &(dyn Fn(BlockId, &[Found]) + Sync)) {
        let mut pages = vec![Found::Erased; pages_per_block as usize];
        for block in (0..blocks).map(BlockId) {
            for (ppn, page) in (block.0 * pages_per_block..).map(Ppn).zip(&mut pages) {
                *page = self.page(ppn);
            }
            visit(block, &pages);
        }
    }

    /// True if the block is bad: either from the factory, or marked as bad by the FTL ([`crate::Note::Bad`]).
    fn is_bad(&self, block: BlockId) -> bool;

    /// Returns the erase count of the block; 0 if unknown.
    fn erases(&self, block: BlockId) -> u32;

    /// Returns the lowest version written since the most recent erase in the array. The original of a copy with this or
    /// a later version was not erased. If it is missing, it was lost in a power loss and was never durable.
    fn erased_before(&self) -> u64 {
        u64::MAX
    }
}

/// A recorded trim ([`crate::FlashSink::trimmed`]): copies of the trimmed pages are invalid if their version is below
/// `sequence`. The record must be kept until no such copy can be found, not even in a half-erased block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trimmed {
    /// First logical page that was trimmed.
    pub lpn: Lpn,
    /// Number of logical pages that were trimmed.
    pub count: u32,
    /// Number of programs and trims that the FTL emitted before this trim.
    pub sequence: u64,
}
