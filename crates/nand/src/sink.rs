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
