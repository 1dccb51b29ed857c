//! The sinks of an FTL: flash, checker and meter.

use ssdlab_core::{BlockId, Lpn, Ppn};
use ssdlab_nand::{Cause, Failure, FlashSink, Note, Source, SpareArea};

/// All receivers; each sees every operation.
pub(crate) struct Sinks<D, C, M> {
    pub flash: D,
    pub checker: C,
    pub meter: M,
}

impl<D: FlashSink, C: FlashSink, M: FlashSink> FlashSink for Sinks<D, C, M> {
    #[inline(always)]
    fn fails(&self) -> bool {
        self.flash.fails()
    }

    #[inline(always)]
    fn failure(&mut self) -> Option<Failure> {
        self.flash.failure()
    }

    #[inline(always)]
    fn read(&mut self, ppn: Ppn, cause: Cause) {
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

/// Receivers for a read of which the host wants only `bytes`; what the FTL reads for itself is left alone.
pub(crate) struct PartOfPage<'a, S> {
    pub sinks: &'a mut S,
    pub bytes: u32,
}

impl<S: FlashSink> FlashSink for PartOfPage<'_, S> {
    fn fails(&self) -> bool {
        self.sinks.fails()
    }

    fn failure(&mut self) -> Option<Failure> {
        self.sinks.failure()
    }

    fn read(&mut self, ppn: Ppn, cause: Cause) {
        if cause == Cause::Host {
            self.sinks.read_part(ppn, self.bytes, cause);
        } else {
            self.sinks.read(ppn, cause);
        }
    }

    fn read_part(&mut self, ppn: Ppn, bytes: u32, cause: Cause) {
        self.sinks.read_part(ppn, bytes, cause);
    }

    fn program(&mut self, ppn: Ppn, oob: SpareArea, source: Source, cause: Cause) {
        self.sinks.program(ppn, oob, source, cause);
    }

    fn erase(&mut self, block: BlockId, cause: Cause) {
        self.sinks.erase(block, cause);
    }

    fn barrier(&mut self) {
        self.sinks.barrier();
    }

    fn trimmed(&mut self, lpn: Lpn, count: u32, sequence: u64) {
        self.sinks.trimmed(lpn, count, sequence);
    }

    fn copy(&mut self, from: Ppn, to: Ppn, oob: SpareArea, cause: Cause) {
        self.sinks.copy(from, to, oob, cause);
    }

    fn note(&mut self, note: Note) {
        self.sinks.note(note);
    }
}
