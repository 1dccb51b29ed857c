//! The interface between FTL and flash.

use std::iter::once;

use ssdlab_core::{BlockId, Lpn, Ppn};

use crate::{Cause, Note, SpareArea};

/// Source of the data that a program operation writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// The data comes from the current host request; the value is the index of the page in the request, from 0.
    Host(u32),
    /// The data is copied from this flash page.
    Copy(Ppn),
    /// The data is a map page, which the FTL generates. Map pages are numbered after the logical pages.
    Map,
    /// No data: the page only completes a program unit, and is never read.
    Padding,
}

/// Failure of a flash operation, as the chip reports it.
///
/// An unreadable page is not reported to the FTL as a failure. Its data is lost, and any copy of the page is unreadable
/// too. The host gets an error when it reads the page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// The page could not be programmed; earlier pages of the block can still be read.
    Program,
    /// The block could not be erased.
    Erase,
}

/// Flash as presented to an FTL: receives operations in dependency order.
///
/// A sink that checks rules records violations. A sink that models failures overrides [`Self::fails`] and
/// [`Self::failure`]. In all other sinks these methods return constants, so an FTL's failure handling is compiled out.
pub trait FlashSink {
    /// True if flash operations may fail.
    #[inline(always)]
    fn fails(&self) -> bool {
        false
    }

    /// Returns the failure of the latest read, program, copy or erase, and clears it; None if the operation succeeded.
    #[inline(always)]
    fn failure(&mut self) -> Option<Failure> {
        None
    }

    /// Reads a whole page.
    fn read(&mut self, ppn: Ppn, cause: Cause);

    /// Reads a page, but transfers only `bytes` bytes of it.
    #[inline(always)]
    fn read_part(&mut self, ppn: Ppn, _bytes: u32, cause: Cause) {
        self.read(ppn, cause);
    }

    /// Programs a page and its spare area.
    fn program(&mut self, ppn: Ppn, oob: SpareArea, source: Source, cause: Cause);

    /// Erases a block.
    fn erase(&mut self, block: BlockId, cause: Cause);

    /// Orders operations: all operations emitted before the barrier must be complete before any later operation starts.
    #[inline(always)]
    fn barrier(&mut self) {}

    /// Copies a page inside the flash: a read and a program, or one command on a chip with copy-back.
    #[inline(always)]
    fn copy(&mut self, from: Ppn, to: Ppn, oob: SpareArea, cause: Cause) {
        self.read(from, cause);
        self.program(to, oob, Source::Copy(from), cause);
    }

    /// Reports a trim of `count` pages, starting at `lpn`. The trim comes before every program with sequence number
    /// `sequence` or higher. A trim is not a flash operation. A sink whose data must survive a power loss records the
    /// trim before the host gets an acknowledgement.
    #[inline(always)]
    fn trimmed(&mut self, _lpn: Lpn, _count: u32, _sequence: u64) {}

    /// Reports a decision, which is not a flash operation.
    #[inline(always)]
    fn note(&mut self, _note: Note) {}
}

/// A sink that does nothing.
impl FlashSink for () {
    #[inline(always)]
    fn read(&mut self, _ppn: Ppn, _cause: Cause) {}

    #[inline(always)]
    fn program(&mut self, _ppn: Ppn, _oob: SpareArea, _source: Source, _cause: Cause) {}

    #[inline(always)]
    fn erase(&mut self, _block: BlockId, _cause: Cause) {}
}

/// Implements the operations of a [`FlashSink`] by forwarding each operation to the given sinks.
macro_rules! pass_operations_on {
    ($self:ident: $(for $sink:ident in $sinks:expr),+) => {
        #[inline(always)]
        fn read(&mut $self, ppn: Ppn, cause: Cause) {
            $(for $sink in $sinks { $sink.read(ppn, cause); })+
        }

        #[inline(always)]
        fn read_part(&mut $self, ppn: Ppn, bytes: u32, cause: Cause) {
            $(for $sink in $sinks { $sink.read_part(ppn, bytes, cause); })+
        }

        #[inline(always)]
        fn program(&mut $self, ppn: Ppn, oob: SpareArea, source: Source, cause: Cause) {
            $(for $sink in $sinks { $sink.program(ppn, oob, source, cause); })+
        }

        #[inline(always)]
        fn erase(&mut $self, block: BlockId, cause: Cause) {
            $(for $sink in $sinks { $sink.erase(block, cause); })+
        }

        #[inline(always)]
        fn barrier(&mut $self) {
            $(for $sink in $sinks { $sink.barrier(); })+
        }

        #[inline(always)]
        fn copy(&mut $self, from: Ppn, to: Ppn, oob: SpareArea, cause: Cause) {
            $(for $sink in $sinks { $sink.copy(from, to, oob, cause); })+
        }

        #[inline(always)]
        fn trimmed(&mut $self, lpn: Lpn, count: u32, sequence: u64) {
            $(for $sink in $sinks { $sink.trimmed(lpn, count, sequence); })+
        }

        #[inline(always)]
        fn note(&mut $self, note: Note) {
            $(for $sink in $sinks { $sink.note(note); })+
        }
    };
}

/// A borrowed sink, which may be `&mut dyn FlashSink`.
impl<S: FlashSink + ?Sized> FlashSink for &mut S {
    #[inline(always)]
    fn fails(&self) -> bool {
        (**self).fails()
    }

    #[inline(always)]
    fn failure(&mut self) -> Option<Failure> {
        (**self).failure()
    }

    pass_operations_on!(self: for sink in once(&mut **self));
}

/// An optional sink, which does nothing if it is None.
impl<S: FlashSink + ?Sized> FlashSink for Option<Box<S>> {
    #[inline(always)]
    fn fails(&self) -> bool {
        self.as_ref().is_some_and(|sink| sink.fails())
    }

    #[inline(always)]
    fn failure(&mut self) -> Option<Failure> {
        self.as_mut()?.failure()
    }

    pass_operations_on!(self: for sink in self.iter_mut());
}

/// A pair of sinks. Each sink receives every operation.
impl<A: FlashSink, B: FlashSink> FlashSink for (A, B) {
    #[inline(always)]
    fn fails(&self) -> bool {
        self.0.fails() || self.1.fails()
    }

    #[inline(always)]
    fn failure(&mut self) -> Option<Failure> {
        // Queries both sinks even if the first has failed, because a query clears the failure of its sink. Otherwise
        // the second sink might report an old failure for a later operation.
        let (first, second) = (self.0.failure(), self.1.failure());
        first.or(second)
    }

    pass_operations_on!(self: for sink in once(&mut self.0), for sink in once(&mut self.1));
}
