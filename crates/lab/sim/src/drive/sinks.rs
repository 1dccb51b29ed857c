//! Receivers of the flash operations of an FTL: the flash model, the data checker, and the meter that computes metrics
//! of the FTL.

use ssdlab_core::{BlockId, Lpn, Ppn};
use ssdlab_nand::{Cause, Failure, FlashSink, Note, Source, SpareArea};

use super::host_memory::OwnMapMemory;

/// Receivers of every flash operation: the flash model, the data checker, and the meter that computes metrics of the
/// FTL.
pub(crate) struct Sinks<D, C, M> {
    pub flash: D,
    pub checker: C,
    pub meter: M,
    /// Number of bytes that a host read transfers from a page; `None` if it transfers whole pages.
    pub read_bytes: Option<u32>,
    /// The controller's own map memory, if the FTL's map cache is in host memory.
    pub own_map_memory: Option<Box<OwnMapMemory>>,
}

impl<D, C, M> Sinks<D, C, M> {
    pub fn new(flash: D, checker: C, meter: M) -> Self {
        Self { flash, checker, meter, read_bytes: None, own_map_memory: None }
    }
}

/// Defines methods that pass a flash operation to the flash model, the data checker and the meter.
macro_rules! to_all {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {
        $(
            #[inline(always)]
            fn $name(&mut self, $($argument: $type),*) {
                self.flash.$name($($argument),*);
                self.checker.$name($($argument),*);
                self.meter.$name($($argument),*);
            }
        )*
    };
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
        if let (Some(bytes), Cause::Host) = (self.read_bytes, cause) {
            return self.read_part(ppn, bytes, cause);
        }
        self.flash.read(ppn, cause);
        self.checker.read(ppn, cause);
        self.meter.read(ppn, cause);
    }

    to_all! {
        read_part(ppn: Ppn, bytes: u32, cause: Cause);
        program(ppn: Ppn, oob: SpareArea, source: Source, cause: Cause);
        erase(block: BlockId, cause: Cause);
        barrier();
        trimmed(lpn: Lpn, count: u32, sequence: u64);
        copy(from: Ppn, to: Ppn, oob: SpareArea, cause: Cause);
    }

    #[inline(always)]
    fn note(&mut self, note: Note) {
        if let Some(memory) = &mut self.own_map_memory {
            memory.note(note);
        }
        self.flash.note(note);
        self.checker.note(note);
        self.meter.note(note);
    }
}
