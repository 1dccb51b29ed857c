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
    /// Garbage collection.
    Gc = 2,
}

impl Cause {
    /// Every cause, in the order of its number.
    pub const ALL: [Self; 3] = [Self::Host, Self::ReadModifyWrite, Self::Gc];

    /// Name in results: `host`, `rmw`, `gc`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::ReadModifyWrite => "rmw",
            Self::Gc => "gc",
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
}

/// What is written into a page's spare area, for recovery to read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Oob {
    /// The logical page held.
    pub lpn: Lpn,
    /// Number of programs before this one: of two copies, the higher is newer.
    pub sequence: u64,
}

/// Receives flash operations in dependency order. Infallible: a sink that checks keeps what it finds.
pub trait FlashSink {
    /// Reads a page.
    fn read(&mut self, ppn: Ppn, cause: Cause);

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
