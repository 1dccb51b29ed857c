//! Contents of flash as recovery finds them after a power loss.

use ssdlab_core::{BlockId, Lpn, Ppn};

use crate::SpareArea;

/// Contents of a page according to its spare area.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// Nothing was programmed since the completed erase of the block: the page can be programmed.
    ///
    /// A block whose erase was interrupted must have at least one page in another state.
    Erased,
    /// The spare area is sound. The data may still be unreadable, as at any time.
    Programmed {
        /// Spare area as the FTL wrote it.
        oob: SpareArea,
        /// Version of the copy; see [`SpareArea`].
        version: u64,
        /// True if a trim or another copy is known to be newer or equal. Unless that copy is discarded, this one need
        /// not be compared.
        outdated: bool,
    },
    /// The spare area cannot be trusted: the program or the erase was interrupted, or too many bits have flipped.
    ///
    /// The last programmed page of a block counts as unreadable if its data is damaged: its program may have been
    /// interrupted, and then an older copy is the newest complete one.
    Unreadable,
}

impl Found {
    /// Version of the copy, if there is one.
    #[inline]
    pub const fn version(&self) -> Option<u64> {
        match self {
            Self::Programmed { version, .. } => Some(*version),
            Self::Erased | Self::Unreadable => None,
        }
    }
}

/// Flash as recovery sees it. It may be the state before recovery began: recovery reads no block after erasing it. It visits
/// all blocks first, and until then reads single pages only of blocks that it has visited.
pub trait Scan: Sync {
    /// Contents of a page. Never called for bad blocks.
    fn page(&self, ppn: Ppn) -> Found;

    /// Version of the copy in a page, if any. Recovery reads it for many pages, and [`Self::page`] for few.
    fn version(&self, ppn: Ppn) -> Option<u64> {
        self.page(ppn).version()
    }

    /// Hints that [`Self::version`] of the page is read soon.
    fn expect(&self, _ppn: Ppn) {}

    /// Visits the contents of the first `blocks` blocks, one after the other or several at once. Recovery begins with
    /// this, so it should be faster than reading single pages.
    fn blocks(&self, blocks: u32, pages_per_block: u32, visit: &(dyn Fn(BlockId, &[Found]) + Sync)) {
        let mut pages = vec![Found::Erased; pages_per_block as usize];
        for block in (0..blocks).map(BlockId) {
            for (ppn, page) in (block.0 * pages_per_block..).map(Ppn).zip(&mut pages) {
                *page = self.page(ppn);
            }
            visit(block, &pages);
        }
    }

    /// True if the block is bad, from the factory or by the FTL's decision ([`crate::Note::Bad`]).
    fn is_bad(&self, block: BlockId) -> bool;

    /// Number of erases of the block; 0 if unknown.
    fn erases(&self, block: BlockId) -> u32;

    /// First version since the last erase. If a page with this version or a later one is the only copy but not the
    /// original, its original is lost and was never safe.
    fn erased_before(&self) -> u64 {
        u64::MAX
    }
}

/// A recorded trim ([`crate::FlashSink::trimmed`]): copies of these pages with a version below `sequence` are invalid. It must
/// be kept until no such copy can be found, not even in a half-erased block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trimmed {
    /// First logical page.
    pub lpn: Lpn,
    /// Number of pages.
    pub count: u32,
    /// Number of programs and trims before this one.
    pub sequence: u64,
}
