//! The sinks of an FTL: flash, checker and meter.

use ssdlab_core::{BlockId, Lpn, Ppn};
use ssdlab_nand::{Cause, Failure, FlashSink, Note, Source, SpareArea};

/// Flash, checker and meter; each sees every operation.
pub(crate) struct Sinks<D, C, M> {
    pub flash: D,
    pub checker: C,
    pub meter: M,
    /// Bytes of a page that reads of the host transfer; `None` for whole pages.
    pub read_bytes: Option<u32>,
}

impl<D, C, M> Sinks<D, C, M> {
    pub fn new(flash: D, checker: C, meter: M) -> Self {
        Self { flash, checker, meter, read_bytes: None }
    }
}

impl<D: FlashSink, C: FlashSink, M: FlashSink> FlashSink for Sinks<D, C, M> {
    const FAILS: bool = D::FAILS;

    #[inline(always)]
    fn failure(&mut self) -> Option<Failure> {
        self.flash.failure()
    }

    #[inline(always)]
    fn read(&mut self, ppn: Ppn, cause: Cause) {
        if let (Some(bytes), Cause::Host) = (self.read_bytes, cause) {
            return self.read_part(ppn, bytes, cause);
        }
        self.flash.read(ppn, cause);
        self.checker.read(ppn, cause);
        self.meter.read(ppn, cause);
    }

    #[inline(always)]
    fn read_part(&mut self, ppn: Ppn, bytes: u32, cause: Cause) {
        self.flash.read_part(ppn, bytes, cause);
        self.checker.read_part(ppn, bytes, cause);
        self.meter.read_part(ppn, bytes, cause);
    }

    #[inline(always)]
    fn program(&mut self, ppn: Ppn, oob: SpareArea, source: Source, cause: Cause) {
        self.flash.program(ppn, oob, source, cause);
        self.checker.program(ppn, oob, source, cause);
        self.meter.program(ppn, oob, source, cause);
    }

    #[inline(always)]
    fn erase(&mut self, block: BlockId, cause: Cause) {
        self.flash.erase(block, cause);
        self.checker.erase(block, cause);
        self.meter.erase(block, cause);
    }

    #[inline(always)]
    fn barrier(&mut self) {
        self.flash.barrier();
        self.checker.barrier();
        self.meter.barrier();
    }

    #[inline(always)]
    fn trimmed(&mut self, lpn: Lpn, count: u32, sequence: u64) {
        self.flash.trimmed(lpn, count, sequence);
        self.checker.trimmed(lpn, count, sequence);
        self.meter.trimmed(lpn, count, sequence);
    }

    #[inline(always)]
    fn copy(&mut self, from: Ppn, to: Ppn, oob: SpareArea, cause: Cause) {
        self.flash.copy(from, to, oob, cause);
        self.checker.copy(from, to, oob, cause);
        self.meter.copy(from, to, oob, cause);
    }

    #[inline(always)]
    fn note(&mut self, note: Note) {
        self.flash.note(note);
        self.checker.note(note);
        self.meter.note(note);
    }
}
