//! Flash operations as values: used for recordings, by slow reference models in tests, and by power-loss tests.

use ssdlab_core::{BlockId, Lpn, Ppn};

use crate::{Cause, FlashSink, Note, Source, SpareArea};

/// One call of a [`FlashSink`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlashOp {
    /// A call of [`FlashSink::read`].
    Read(Ppn, Cause),
    /// A call of [`FlashSink::read_part`], with the number of bytes.
    ReadPart(Ppn, u32, Cause),
    /// A call of [`FlashSink::program`].
    Program(Ppn, SpareArea, Source, Cause),
    /// A call of [`FlashSink::copy`], with source and destination page.
    Copy(Ppn, Ppn, SpareArea, Cause),
    /// A call of [`FlashSink::erase`].
    Erase(BlockId, Cause),
    /// A call of [`FlashSink::barrier`].
    Barrier,
    /// A call of [`FlashSink::trimmed`]: first page, number of pages, sequence number.
    Trimmed(Lpn, u32, u64),
    /// A call of [`FlashSink::note`].
    Note(Note),
}

impl FlashOp {
    /// Emits the flash operation into a sink.
    pub fn emit(self, sink: &mut dyn FlashSink) {
        match self {
            Self::Read(ppn, cause) => sink.read(ppn, cause),
            Self::ReadPart(ppn, bytes, cause) => sink.read_part(ppn, bytes, cause),
            Self::Program(ppn, oob, source, cause) => sink.program(ppn, oob, source, cause),
            Self::Copy(from, to, oob, cause) => sink.copy(from, to, oob, cause),
            Self::Erase(block, cause) => sink.erase(block, cause),
            Self::Barrier => sink.barrier(),
            Self::Trimmed(lpn, count, sequence) => sink.trimmed(lpn, count, sequence),
            Self::Note(note) => sink.note(note),
        }
    }
}

/// A sink that records all flash operations in order.
impl FlashSink for Vec<FlashOp> {
    fn read(&mut self, ppn: Ppn, cause: Cause) {
        self.push(FlashOp::Read(ppn, cause));
    }

    fn read_part(&mut self, ppn: Ppn, bytes: u32, cause: Cause) {
        self.push(FlashOp::ReadPart(ppn, bytes, cause));
    }

    fn program(&mut self, ppn: Ppn, oob: SpareArea, source: Source, cause: Cause) {
        self.push(FlashOp::Program(ppn, oob, source, cause));
    }

    fn erase(&mut self, block: BlockId, cause: Cause) {
        self.push(FlashOp::Erase(block, cause));
    }

    fn barrier(&mut self) {
        self.push(FlashOp::Barrier);
    }

    fn copy(&mut self, from: Ppn, to: Ppn, oob: SpareArea, cause: Cause) {
        self.push(FlashOp::Copy(from, to, oob, cause));
    }

    fn trimmed(&mut self, lpn: Lpn, count: u32, sequence: u64) {
        self.push(FlashOp::Trimmed(lpn, count, sequence));
    }

    fn note(&mut self, note: Note) {
        self.push(FlashOp::Note(note));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Counts, Role};

    #[test]
    fn a_replayed_recording_records_the_same() {
        let oob = SpareArea { lpn: Lpn(4), sequence: 9, role: Role::Log };
        let all = [
            FlashOp::Read(Ppn(1), Cause::Host),
            FlashOp::ReadPart(Ppn(1), 512, Cause::MapLoad),
            FlashOp::Program(Ppn(2), oob, Source::Host(0), Cause::Host),
            FlashOp::Copy(Ppn(2), Ppn(3), oob, Cause::Gc),
            FlashOp::Erase(BlockId(0), Cause::Gc),
            FlashOp::Barrier,
            FlashOp::Trimmed(Lpn(4), 2, 10),
            FlashOp::Note(Note::Captured(Lpn(4))),
        ];
        let mut both = (Vec::new(), Counts::default());
        all.iter().for_each(|operation| operation.emit(&mut both));
        assert_eq!(both.0, all);
        assert_eq!((both.1.programmed(), both.1.erased(), both.1.reads.iter().sum::<u64>()), (2, 1, 3));
    }
}
