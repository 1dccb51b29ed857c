//! Notes: decisions that an FTL reports to observers of its sink.

use ssdlab_core::{BlockId, Lpn};

use crate::named::named_enum;
use crate::{Cause, Role};

/// A decision of an FTL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// The latest host page was written to a sequential log block.
    Captured(Lpn),
    /// One logical block was merged.
    Merged {
        /// Logical block that was merged.
        lbn: u32,
        /// Type of merge.
        kind: MergeKind,
        /// Cost of the merge in copies and erases.
        cost: MergeCost,
        /// New data block; None if the logical block has no valid pages.
        data: Option<BlockId>,
    },
    /// Log space was reclaimed for a host page, by a full merge or by any merges that freed a block of the random log.
    /// (The FAST papers also count such merges as a full merge.) The note is emitted once, after the write, and covers
    /// all work for which the page waited.
    Reclaimed {
        /// Number of logical blocks merged to reclaim the space.
        associated: u32,
        /// Pages copied and blocks erased to reclaim the space.
        cost: MergeCost,
    },
    /// The entry of a page was looked up in a map that is partly in RAM.
    LookedUp {
        /// Logical page that was looked up.
        lpn: Lpn,
        /// True if the map entry was in RAM.
        hit: bool,
        /// True if the map entry is about to change.
        changes: bool,
        /// True if the page has been written before, which required its map entry to be in RAM.
        written: bool,
    },
    /// A block was chosen for collection; its valid pages are copied, then it is erased.
    Victim {
        /// Block that was chosen.
        block: BlockId,
        /// Number of valid pages in the block.
        valid: u32,
        /// Reason why the block was chosen.
        choice: VictimReason,
    },
    /// An erased block was opened for writing.
    Opened {
        /// Block that was opened.
        block: BlockId,
        /// Role of the pages that will be written to the block.
        role: Role,
        /// Number of the open block in its plane: 0 is the host's open block, higher numbers are other open blocks.
        number: u8,
    },
    /// The given block failed and is no longer used.
    Bad(BlockId),
    /// A log block leaves the log, to become a data block or to be erased.
    Retired {
        /// Block that leaves the log.
        block: BlockId,
        /// Number of pages programmed since the block was opened.
        written: u32,
        /// Reason why the block leaves the log.
        reason: RetireReason,
    },
    /// The given block, the oldest of the random log, has only valid pages and gets a second chance in place (FASTer).
    Rotated(BlockId),
    /// The isolation area is short of space; the logical block of its oldest valid page, this page, is merged (FASTer).
    Drained(Lpn),
}

/// Reason why a log block leaves the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RetireReason {
    /// The log block is full, and another page of its logical block is to be written.
    Full,
    /// The log block has become full, and every page is at its own offset.
    Completed,
    /// All log blocks are in use, and this log block is the victim.
    Evicted,
    /// The random log is full, and this log block is its oldest block.
    Oldest,
    /// The page to be written is not the next page of the log block, or its offset in the block is already programmed.
    Broken,
    /// Page 0 of a logical block starts another sequential log block.
    Restarted,
    /// The logical block is merged in order to free another log block, which holds one of its pages.
    Merged,
    /// The block was part of the isolation area and has no valid pages left.
    Drained,
}

/// Reason why a block was chosen for collection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VictimReason {
    /// The victim policy chose the block.
    Policy,
    /// The block has the fewest valid pages. The policy's choice would have freed no page or taken too long.
    Yield,
    /// The blocks of map pages were full, so one of them had to be reclaimed.
    MapFull,
    /// A program of a page in the block failed.
    Failed,
    /// The block is the oldest of the SLC cache, which is being folded.
    Fold,
}

named_enum! {
    /// Type of merge of a logical block.
    pub enum MergeKind {
        /// Switch merge: the log block, completely programmed with every page at its own offset, became the data block.
        Switch = 0, "switch";
        /// Partial merge: the log block became the data block after the missing valid pages were copied to it.
        Partial = 1, "partial";
        /// Full merge: the newest pages were copied to a free block.
        Full = 2, "full";
    }
}

impl MergeKind {
    /// Returns the cause of the flash operations in a merge of this type.
    pub const fn cause(self) -> Cause {
        match self {
            Self::Switch => Cause::SwitchMerge,
            Self::Partial => Cause::PartialMerge,
            Self::Full => Cause::FullMerge,
        }
    }
}

/// Numbers of copies and erases in merges.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct MergeCost {
    /// Number of pages copied; each copy is one read and one program.
    pub copies: u32,
    /// Number of blocks erased.
    pub erases: u32,
}
