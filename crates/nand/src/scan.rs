//! What recovery can learn of flash after a power loss.

use ssdlab_core::{BlockId, Lpn, Ppn};

use crate::SpareArea;

/// What the spare area of a page says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// Nothing was programmed since the erase of the block, which was completed: the page can be programmed.
    ///
    /// Of a block whose erase was interrupted, at least one page must not be found like this.
    Erased,
    /// The spare area is sound. The data need not be: reading such a page may fail, as it may at any time.
    Programmed {
        /// What the FTL wrote.
        oob: SpareArea,
        /// Which copy it is; see [`SpareArea`].
        version: u64,
        /// Whether it is known that there is a newer copy or a trim, or one that is as good: unless that is given up,
        /// this one need not be compared with it.
        outdated: bool,
    },
    /// The spare area cannot be trusted: the program or the erase was interrupted, or too many bits have flipped.
    ///
    /// The page of a block that was programmed last counts as this too if its data are damaged: its program may have
    /// been interrupted, and then an older copy is the newest that was completed.
    Unreadable,
}

impl Found {
    /// Which copy it is, if it is one.
    #[inline(always)]
    pub const fn version(&self) -> Option<u64> {
        match self {
            Self::Programmed { version, .. } => Some(*version),
            Self::Erased | Self::Unreadable => None,
        }
    }
}

/// Flash as recovery sees it: what each page holds, and what is known of blocks. It may be the state before recovery
/// began, as nothing is asked of a block once it has been erased. Recovery looks at all blocks first, and until then asks
/// for pages of those alone that it has looked at.
pub trait Scan: Sync {
    /// What the spare area of a page says. Nothing is asked about bad blocks.
    fn page(&self, ppn: Ppn) -> Found;

    /// Which copy is there, if a page is. Recovery asks for that of many pages, and for all of [`Self::page`] of few.
    fn version(&self, ppn: Ppn) -> Option<u64> {
        self.page(ppn).version()
    }

    /// [`Self::version`] will be asked of the page soon: what takes long can begin.
    fn expect(&self, _ppn: Ppn) {}

    /// Shows what the spare areas of each of so many blocks say, one block after the other or several at once. Recovery
    /// begins with that, so what is faster for a block than for its pages counts.
    fn blocks(&self, blocks: u32, pages_per_block: u32, visit: &(dyn Fn(BlockId, &[Found]) + Sync)) {
        let mut pages = vec![Found::Erased; pages_per_block as usize];
        for block in (0..blocks).map(BlockId) {
            for (ppn, page) in (block.0 * pages_per_block..).map(Ppn).zip(&mut pages) {
                *page = self.page(ppn);
            }
            visit(block, &pages);
        }
    }

    /// Whether the block is not to be used any more: it came so, or the FTL has said so ([`crate::Note::Bad`]).
    fn is_bad(&self, block: BlockId) -> bool;

    /// How often the block was erased, or 0 where nobody knows.
    fn erases(&self, block: BlockId) -> u32;

    /// Nothing was erased since pages have versions from here on: where one is a copy and nothing else holds it, what
    /// it was made from is lost, and was never safe.
    fn erased_before(&self) -> u64 {
        u64::MAX
    }
}

/// A trim that was written down ([`crate::FlashSink::trimmed`]): copies of these pages with a version below `sequence`
/// are no more. It must be kept until no page with such a copy is found any more, in half erased blocks neither.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trimmed {
    /// First page.
    pub lpn: Lpn,
    /// Pages.
    pub count: u32,
    /// Number of programs and trims before it.
    pub sequence: u64,
}
