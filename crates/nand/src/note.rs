//! Notes: the decisions of an FTL, told to its sink.

use ssdlab_core::{BlockId, Lpn};

use crate::{Cause, Role};

/// A decision of an FTL, for observers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// The host page just programmed went to a sequential log block.
    Captured(Lpn),
    /// One logical block was merged.
    Merged {
        /// The logical block.
        lbn: u32,
        /// Which kind of merge.
        kind: MergeKind,
        /// Its cost.
        cost: MergeCost,
        /// Its data block from now on; none where no page of it is valid.
        data: Option<BlockId>,
    },
    /// A page of the host is written for which log space was reclaimed: a logical block was merged fully, or some were,
    /// in whatever way, to give up a block of the random log, which is a full merge as the FAST papers count it. Says
    /// everything that the page waited for, once, after it was written.
    Reclaimed {
        /// Logical blocks merged.
        associated: u32,
        /// Pages copied and blocks erased.
        cost: MergeCost,
    },
    /// The entry of a page was looked up in a map of which RAM holds a part.
    LookedUp {
        /// The page.
        lpn: Lpn,
        /// Whether it was in RAM.
        hit: bool,
        /// Whether it is about to change.
        changes: bool,
        /// Whether the page is written: then it was in RAM before.
        written: bool,
    },
    /// A block with data was chosen to be collected; its valid pages are copied, then it is erased.
    Victim {
        /// The block.
        block: BlockId,
        /// Valid pages in it.
        valid: u32,
        /// Why it was chosen.
        choice: VictimReason,
    },
    /// An erased block was opened to be written.
    Opened {
        /// The block.
        block: BlockId,
        /// What its pages will be used for.
        role: Role,
        /// Frontier of the FTL that it serves; numbered by the placement policy.
        frontier: u8,
    },
    /// A block is not used any more, because it failed.
    Bad(BlockId),
    /// A log block leaves the log, to become a data block or to be erased.
    Retired {
        /// The block.
        block: BlockId,
        /// Pages programmed since it was taken.
        written: u32,
        /// Why it leaves.
        reason: RetireReason,
    },
    /// Every page of this block, the oldest of the random log, is valid: they go through the log once more where they
    /// are (FASTer).
    Rotated(BlockId),
    /// The isolation area is short of room: the logical block of this page, the oldest valid one there, is merged
    /// (FASTer).
    Drained(Lpn),
}

/// Why a log block leaves the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RetireReason {
    /// It is full, and its logical block is written again.
    Full,
    /// It became full with every page in its place.
    Completed,
    /// All log blocks are taken, and it is the victim.
    Evicted,
    /// The random log is full, and it is the oldest there.
    Oldest,
    /// The page to be written does not continue it: it is not the next page, or its place is taken.
    Broken,
    /// Page 0 of a logical block begins another sequential log block.
    Restarted,
    /// Its logical block is merged for a page that lies elsewhere in the log.
    Merged,
    /// No page of it is valid any more; it was part of the isolation area.
    Drained,
}

/// Why a block was chosen to be collected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VictimReason {
    /// The victim policy chose it.
    Policy,
    /// The policy's choice would have yielded nothing, or would have taken too long: the block with the fewest valid
    /// pages.
    Yield,
    /// Blocks of map pages had to be reclaimed.
    MapFull,
    /// A page of it could not be programmed.
    Failed,
}

/// How a logical block was merged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum MergeKind {
    /// The log block, programmed from its first page to its last, became the data block.
    Switch = 0,
    /// The log block was completed, by as many copies as there were valid pages missing, and became the data block.
    Partial = 1,
    /// The newest pages were copied to a free block.
    Full = 2,
}

impl MergeKind {
    /// Every kind, in the order of its number.
    pub const ALL: [Self; 3] = [Self::Switch, Self::Partial, Self::Full];

    /// Name in results: `switch`, `partial`, `full`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Switch => "switch",
            Self::Partial => "partial",
            Self::Full => "full",
        }
    }

    /// The cause that its operations carry.
    pub const fn cause(self) -> Cause {
        match self {
            Self::Switch => Cause::SwitchMerge,
            Self::Partial => Cause::PartialMerge,
            Self::Full => Cause::FullMerge,
        }
    }
}

/// Pages copied and blocks erased.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct MergeCost {
    /// Pages copied: one read and one program each.
    pub copies: u32,
    /// Blocks erased.
    pub erases: u32,
}

impl std::ops::AddAssign for MergeCost {
    fn add_assign(&mut self, other: Self) {
        self.copies += other.copies;
        self.erases += other.erases;
    }
}
