//! Flash on which programs and erases may fail.

use ssdlab_core::{BlockId, Lpn, Ppn};
use ssdlab_nand::{Cause, Failure, FlashSink, Note, Source, SpareArea};

use super::flash::Flash;

/// Failure rate of the flash, and number of blocks that replace failed blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Faults {
    /// Average number of page programs and erases per failure.
    pub one_in: u64,
    /// Spare blocks per plane that the FTL reserves for failures.
    pub kept: u32,
    /// Number of additional blocks per plane, besides `kept`; the FTL neither needs nor reserves them.
    pub spare: u32,
}

/// Executes the FTL's operations on flash that may fail.
pub(super) struct Sink<'a> {
    pub flash: &'a mut Flash,
    pub fails: bool,
}

impl FlashSink for Sink<'_> {
    fn fails(&self) -> bool {
        self.fails
    }

    fn failure(&mut self) -> Option<Failure> {
        self.flash.failure.take()
    }

    fn read(&mut self, ppn: Ppn, cause: Cause) {
        self.flash.read(ppn, cause);
    }

    fn program(&mut self, ppn: Ppn, oob: SpareArea, source: Source, cause: Cause) {
        self.flash.program(ppn, oob, source, cause);
        if self.fails && self.flash.begins_unit(ppn) && self.flash.fails(Failure::Program) {
            self.flash.spoil(ppn);
        }
    }

    fn erase(&mut self, block: BlockId, cause: Cause) {
        if self.fails && self.flash.fails(Failure::Erase) {
            return self.flash.fail_to_erase(cause);
        }
        self.flash.erase(block, cause);
    }

    fn barrier(&mut self) {
        self.flash.barrier();
    }

    fn trimmed(&mut self, lpn: Lpn, count: u32, sequence: u64) {
        self.flash.trimmed(lpn, count, sequence);
    }

    fn note(&mut self, note: Note) {
        self.flash.note(note);
    }
}
