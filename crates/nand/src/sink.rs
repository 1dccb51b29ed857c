//! The one seam between FTL and flash.

use ssdlab_core::{BlockId, Lpn, Ppn};

use crate::{Cause, Note};

/// Where the payload of a program comes from, without carrying it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// Page number within the host request being served.
    Host(u32),
    /// A copy of this flash page.
    Copy(Ppn),
    /// The FTL's own: a page of its map. [`SpareArea::lpn`] counts map pages behind the logical ones.
    Map,
}

/// What a page is used for, which recovery cannot tell from its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Role {
    /// Data at its place: in page mapping anywhere, under block mapping at its own offset of a data block.
    Data = 0,
    /// A page of the log.
    Log = 1,
    /// A page of a log block for sequential writes; the block may become a data block as it is.
    SequentialLog = 2,
    /// A page of FASTer's isolation area.
    Isolation = 3,
    /// A page of the map.
    Map = 4,
}

/// What an FTL writes into the spare area of a page, for recovery to read.
///
/// **Which of two copies is newer.** Flash that keeps spare areas stores a third number, the *version*: that of a page
/// of the host or of the map is its `sequence`; a copy takes over the version of the page that it copies, which the
/// controller has read with it. Of two copies of a logical page the higher version is newer; copies of one version are
/// equal, and the higher `sequence` is the one that the FTL uses. That holds for SBFAST too, which copies pages that
/// have a newer copy in its log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpareArea {
    /// The logical page held.
    pub lpn: Lpn,
    /// Number of programs and trims before this one.
    pub sequence: u64,
    /// What the page is used for.
    pub role: Role,
}

/// What a chip reports of an operation that did not succeed.
///
/// A page that cannot be read is no failure for an FTL: its data is lost wherever it goes, so that a copy of it is a
/// page that reads as an error, and the host hears of it when it reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// The page could not be programmed; what was programmed into the block before can be read.
    Program,
    /// The block could not be erased.
    Erase,
}

/// Receives flash operations in dependency order.
///
/// A sink that checks keeps what it finds. A sink that stands for flash that fails says so by [`Self::FAILS`], and
/// after each operation by [`Self::failure`]; where the constant is false, what an FTL does about failures compiles to
/// nothing.
pub trait FlashSink {
    /// Whether operations may fail.
    const FAILS: bool = false;

    /// Takes what became of the latest read, program, copy or erase.
    #[inline(always)]
    fn failure(&mut self) -> Option<Failure> {
        None
    }

    /// Reads a page.
    fn read(&mut self, ppn: Ppn, cause: Cause);

    /// Reads a page and transfers only `bytes` of it.
    #[inline(always)]
    fn read_part(&mut self, ppn: Ppn, _bytes: u32, cause: Cause) {
        self.read(ppn, cause);
    }

    /// Programs a page.
    fn program(&mut self, ppn: Ppn, oob: SpareArea, source: Source, cause: Cause);

    /// Erases a block.
    fn erase(&mut self, block: BlockId, cause: Cause);

    /// Everything emitted before must be complete before anything emitted after starts.
    #[inline(always)]
    fn barrier(&mut self) {}

    /// Moves a page inside the flash: a read and a program, which a chip with copy-back does in one go.
    #[inline(always)]
    fn copy(&mut self, from: Ppn, to: Ppn, oob: SpareArea, cause: Cause) {
        self.read(from, cause);
        self.program(to, oob, Source::Copy(from), cause);
    }

    /// The host forgot `count` pages from `lpn`, between the programs before and from `sequence` on. No flash operation
    /// by itself; flash that must survive a power loss writes it down before it promises the host anything.
    #[inline(always)]
    fn trimmed(&mut self, _lpn: Lpn, _count: u32, _sequence: u64) {}

    /// Hears of a decision; no flash operation.
    #[inline(always)]
    fn note(&mut self, _note: Note) {}
}

/// Flash that does nothing.
impl FlashSink for () {
    #[inline(always)]
    fn read(&mut self, _ppn: Ppn, _cause: Cause) {}

    #[inline(always)]
    fn program(&mut self, _ppn: Ppn, _oob: SpareArea, _source: Source, _cause: Cause) {}

    #[inline(always)]
    fn erase(&mut self, _block: BlockId, _cause: Cause) {}
}

/// A sink that may be absent.
impl<S: FlashSink> FlashSink for Option<Box<S>> {
    const FAILS: bool = S::FAILS;

    #[inline(always)]
    fn failure(&mut self) -> Option<Failure> {
        self.as_mut()?.failure()
    }

    #[inline(always)]
    fn read(&mut self, ppn: Ppn, cause: Cause) {
        if let Some(sink) = self {
            sink.read(ppn, cause);
        }
    }

    #[inline(always)]
    fn read_part(&mut self, ppn: Ppn, bytes: u32, cause: Cause) {
        if let Some(sink) = self {
            sink.read_part(ppn, bytes, cause);
        }
    }

    #[inline(always)]
    fn program(&mut self, ppn: Ppn, oob: SpareArea, source: Source, cause: Cause) {
        if let Some(sink) = self {
            sink.program(ppn, oob, source, cause);
        }
    }

    #[inline(always)]
    fn erase(&mut self, block: BlockId, cause: Cause) {
        if let Some(sink) = self {
            sink.erase(block, cause);
        }
    }

    #[inline(always)]
    fn barrier(&mut self) {
        if let Some(sink) = self {
            sink.barrier();
        }
    }

    #[inline(always)]
    fn trimmed(&mut self, lpn: Lpn, count: u32, sequence: u64) {
        if let Some(sink) = self {
            sink.trimmed(lpn, count, sequence);
        }
    }

    #[inline(always)]
    fn copy(&mut self, from: Ppn, to: Ppn, oob: SpareArea, cause: Cause) {
        if let Some(sink) = self {
            sink.copy(from, to, oob, cause);
        }
    }

    #[inline(always)]
    fn note(&mut self, note: Note) {
        if let Some(sink) = self {
            sink.note(note);
        }
    }
}

/// Both sinks see every operation.
impl<A: FlashSink, B: FlashSink> FlashSink for (A, B) {
    const FAILS: bool = A::FAILS || B::FAILS;

    #[inline(always)]
    fn failure(&mut self) -> Option<Failure> {
        // Both are asked, so that neither keeps an old answer.
        let (first, second) = (self.0.failure(), self.1.failure());
        first.or(second)
    }

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
    fn program(&mut self, ppn: Ppn, oob: SpareArea, source: Source, cause: Cause) {
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
    fn trimmed(&mut self, lpn: Lpn, count: u32, sequence: u64) {
        self.0.trimmed(lpn, count, sequence);
        self.1.trimmed(lpn, count, sequence);
    }

    #[inline(always)]
    fn copy(&mut self, from: Ppn, to: Ppn, oob: SpareArea, cause: Cause) {
        self.0.copy(from, to, oob, cause);
        self.1.copy(from, to, oob, cause);
    }

    #[inline(always)]
    fn note(&mut self, note: Note) {
        self.0.note(note);
        self.1.note(note);
    }
}
