//! The one seam between FTL and flash.

use ssdlab_core::{BlockId, Lpn, Ppn};

/// Why a flash operation happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Cause {
    /// The host asked for it.
    Host = 0,
    /// Reading the rest of a page that the host overwrites in part.
    ReadModifyWrite = 1,
    /// Garbage collection, and reclaiming log blocks without a merge.
    Gc = 2,
    /// A log block takes the place of a data block as it is.
    SwitchMerge = 3,
    /// A log block is completed by copies and takes the place of a data block.
    PartialMerge = 4,
    /// The newest pages of a logical block are gathered in a free block.
    FullMerge = 5,
    /// A log page that is still valid goes through the log once more (FASTer).
    SecondChance = 6,
    /// A log page that is valid after its second chance goes to the isolation area (FASTer).
    Isolation = 7,
    /// Loading entries of a map that is kept in flash.
    MapLoad = 8,
    /// Writing changed entries back to the map in flash.
    MapWriteBack = 9,
    /// Rewriting map pages because garbage collection moved pages whose entries were not cached.
    MapUpdate = 10,
    /// Garbage collection of map pages.
    MapGc = 11,
}

impl Cause {
    /// Every cause, in the order of its number.
    pub const ALL: [Self; 12] = [
        Self::Host,
        Self::ReadModifyWrite,
        Self::Gc,
        Self::SwitchMerge,
        Self::PartialMerge,
        Self::FullMerge,
        Self::SecondChance,
        Self::Isolation,
        Self::MapLoad,
        Self::MapWriteBack,
        Self::MapUpdate,
        Self::MapGc,
    ];

    /// Name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::ReadModifyWrite => "rmw",
            Self::Gc => "gc",
            Self::SwitchMerge => "switch_merge",
            Self::PartialMerge => "partial_merge",
            Self::FullMerge => "full_merge",
            Self::SecondChance => "second_chance",
            Self::Isolation => "isolation",
            Self::MapLoad => "map_load",
            Self::MapWriteBack => "map_write_back",
            Self::MapUpdate => "map_update",
            Self::MapGc => "map_gc",
        }
    }
}

/// Where the payload of a program comes from, without carrying it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// Page number within the host request being served.
    Host(u32),
    /// A copy of this flash page.
    Copy(Ppn),
    /// The FTL's own: a page of its map. [`Oob::lpn`] counts map pages behind the logical ones.
    Map,
}

/// What is written into a page's spare area, for recovery to read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Oob {
    /// The logical page held.
    pub lpn: Lpn,
    /// Number of programs before this one: of two copies, the higher is newer. Only SBFAST also copies pages that
    /// have a newer copy in its log; there a log block counts for more than a data block, whatever the number.
    pub sequence: u64,
}

/// What an FTL tells of its decisions, for whoever measures them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// The host page just programmed went to a sequential log block.
    Captured(Lpn),
    /// One logical block was merged.
    Merged {
        /// Which kind of merge.
        kind: MergeKind,
        /// Its cost.
        cost: MergeCost,
    },
    /// Log pages were given up all at once and their logical blocks merged: a full merge as the FAST papers
    /// count it, the stall that one host write sees.
    Reclaimed {
        /// Logical blocks merged.
        associated: u32,
        /// What the merges and the erase of the victim cost together.
        cost: MergeCost,
    },
    /// The entry of a page was looked up in a map of which RAM holds a part.
    LookedUp {
        /// Whether it was in RAM.
        hit: bool,
        /// Whether it is about to change.
        changes: bool,
    },
    /// A log block left the log; so many of its pages had been programmed.
    Retired {
        /// Pages programmed since it was taken.
        written: u32,
    },
}

/// How a logical block was merged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum MergeKind {
    /// The log block became the data block.
    Switch = 0,
    /// The log block was completed and became the data block.
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

/// Receives flash operations in dependency order. Infallible: a sink that checks keeps what it finds.
pub trait FlashSink {
    /// Reads a page.
    fn read(&mut self, ppn: Ppn, cause: Cause);

    /// Reads a page and transfers only `bytes` of it.
    #[inline(always)]
    fn read_part(&mut self, ppn: Ppn, _bytes: u32, cause: Cause) {
        self.read(ppn, cause);
    }

    /// Programs a page.
    fn program(&mut self, ppn: Ppn, oob: Oob, source: Source, cause: Cause);

    /// Erases a block.
    fn erase(&mut self, block: BlockId, cause: Cause);

    /// Everything emitted before must be complete before anything emitted after starts.
    #[inline(always)]
    fn barrier(&mut self) {}

    /// Moves a page inside the flash: a read and a program, which a chip with copy-back does in one go.
    #[inline(always)]
    fn copy(&mut self, from: Ppn, to: Ppn, oob: Oob, cause: Cause) {
        self.read(from, cause);
        self.program(to, oob, Source::Copy(from), cause);
    }

    /// Hears of a decision; no flash operation.
    #[inline(always)]
    fn note(&mut self, _note: Note) {}
}

/// Flash that does nothing.
impl FlashSink for () {
    #[inline(always)]
    fn read(&mut self, _ppn: Ppn, _cause: Cause) {}

    #[inline(always)]
    fn program(&mut self, _ppn: Ppn, _oob: Oob, _source: Source, _cause: Cause) {}

    #[inline(always)]
    fn erase(&mut self, _block: BlockId, _cause: Cause) {}
}

/// Both sinks see every operation.
impl<A: FlashSink, B: FlashSink> FlashSink for (A, B) {
    #[inline(always)]
    fn read(&mut self, ppn: Ppn, cause: Cause) {
        self.0.read(ppn, cause);
        self.1.read(ppn, cause);
    }

    #[inline(always)]
    fn read_part(&mut self, ppn: Ppn, bytes: u32, cause: Cause) {
        self.0.read_part(ppn, bytes, cause);
        self.1.read_part(ppn, bytes, cause);
    }

    #[inline(always)]
    fn program(&mut self, ppn: Ppn, oob: Oob, source: Source, cause: Cause) {
        self.0.program(ppn, oob, source, cause);
        self.1.program(ppn, oob, source, cause);
    }

    #[inline(always)]
    fn erase(&mut self, block: BlockId, cause: Cause) {
        self.0.erase(block, cause);
        self.1.erase(block, cause);
    }

    #[inline(always)]
    fn barrier(&mut self) {
        self.0.barrier();
        self.1.barrier();
    }

    #[inline(always)]
    fn copy(&mut self, from: Ppn, to: Ppn, oob: Oob, cause: Cause) {
        self.0.copy(from, to, oob, cause);
        self.1.copy(from, to, oob, cause);
    }

    #[inline(always)]
    fn note(&mut self, note: Note) {
        self.0.note(note);
        self.1.note(note);
    }
}

/// Flash that only counts, by operation and cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Pages read, by [`Cause`].
    pub reads: [u64; Cause::ALL.len()],
    /// Pages programmed, by [`Cause`].
    pub programs: [u64; Cause::ALL.len()],
    /// Blocks erased, by [`Cause`].
    pub erases: [u64; Cause::ALL.len()],
}

impl Counts {
    /// Pages programmed for any cause.
    pub fn programmed(&self) -> u64 {
        self.programs.iter().sum()
    }

    /// Blocks erased for any cause.
    pub fn erased(&self) -> u64 {
        self.erases.iter().sum()
    }
}

impl std::ops::Sub for Counts {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        let minus = |a: [u64; Cause::ALL.len()], b: [u64; Cause::ALL.len()]| std::array::from_fn(|i| a[i] - b[i]);
        Self {
            reads: minus(self.reads, earlier.reads),
            programs: minus(self.programs, earlier.programs),
            erases: minus(self.erases, earlier.erases),
        }
    }
}

impl FlashSink for Counts {
    #[inline(always)]
    fn read(&mut self, _ppn: Ppn, cause: Cause) {
        self.reads[cause as usize] += 1;
    }

    #[inline(always)]
    fn program(&mut self, _ppn: Ppn, _oob: Oob, _source: Source, cause: Cause) {
        self.programs[cause as usize] += 1;
    }

    #[inline(always)]
    fn erase(&mut self, _block: BlockId, cause: Cause) {
        self.erases[cause as usize] += 1;
    }
}
