//! Emission: adds each operation that the FTL emits, with its dependencies, to the queue of its die.

use ssdlab_core::{BlockId, Ppn};

use super::ops::{Kind, NONE, Op};
use super::scheduler::Class;
use super::{Gate, ParallelFlash};
use crate::{Cause, FlashSink, Place, Source, SpareArea};

impl ParallelFlash {
    /// Puts an operation into the queue of its die, with its dependencies.
    #[inline(always)]
    fn emit(&mut self, kind: Kind, ppn: Ppn, bytes: u32, from: Option<Ppn>, cause: Cause) -> u32 {
        let block = self.layout.block_of.divide(ppn.0);
        let Place { die, plane, .. } = self.layout.places[self.layout.plane_of.divide(ppn.0) as usize];
        let class = match (cause, kind) {
            (Cause::Host | Cause::ReadModifyWrite | Cause::MapLoad, Kind::Read) => Class::HostRead,
            (Cause::Host, _) => Class::HostProgram,
            (_, Kind::Read) => self.chips.internal_read,
            _ => Class::Internal,
        };
        let (from_block, from_page) = from.map_or((NONE, 0), |from| {
            let block = self.layout.block_of.divide(from.0);
            (block, (from.0 - block * self.layout.pages_per_block) as u16)
        });
        let mut job = self.submission.job;
        if job != NONE {
            let waited = matches!(cause, Cause::Host | Cause::ReadModifyWrite | Cause::MapLoad);
            if waited || self.jobs[job].everything {
                self.jobs[job].left += 1;
            } else {
                job = NONE;
            }
        }
        let attributed = self.submission.attributed && job != NONE;
        let number = self.dies[die as usize].emitted;
        self.dies[die as usize].emitted += 1;
        let index = self.ops.insert(Op {
            kind,
            cause,
            class: class as u8,
            attributed,
            page: (ppn.0 - block * self.layout.pages_per_block) as u16,
            die: die as u16,
            plane: plane as u8,
            block,
            from_block,
            from_page,
            bytes,
            job,
            number,
            ..Op::FREE
        });
        if self.record.keeps_segments() {
            self.record.emitted(index, self.submission.requester);
        }
        if attributed {
            self.attribute(|attribution, now_ns| attribution.emitted(index, die as u16, now_ns));
        }
        self.chain(block, index);
        if from_block != NONE {
            if kind == Kind::Copyback && from_block != block {
                self.chain(from_block, index);
            }
            self.enter_gate(from_block, index);
        }
        if kind == Kind::Erase {
            self.wait_at_gate(block, index);
        }
        if let Some(checker) = &mut self.checker {
            checker.emitted(self.ops[index].seen());
        }
        index
    }

    /// Queues an operation whose dependencies are all known.
    #[inline]
    fn enqueue(&mut self, index: u32) {
        if self.ops[index].waits == 0 {
            self.make_ready(index);
        }
    }

    #[inline(always)]
    pub(super) fn make_ready(&mut self, index: u32) {
        let number = u32::from(self.ops[index].die);
        self.dies[number as usize].make_ready(index, &mut self.ops);
        self.wake(number);
    }

    #[inline]
    fn wait_for(&mut self, waiter: u32, index: u32) {
        if index != NONE {
            self.ops.wait_for(waiter, index);
        }
    }

    /// Makes an operation the last operation on a block; it waits for the previous operation on the block.
    #[inline]
    fn chain(&mut self, block: u32, index: u32) {
        let before = std::mem::replace(&mut self.blocks[block as usize].last, index);
        if before == NONE {
            return;
        }
        let kind = self.ops[index].kind;
        let op = &mut self.ops[before];
        if op.passed && (op.kind == Kind::Read || kind == Kind::Program) {
            return;
        }
        if op.block == block {
            op.behind = index;
        } else {
            op.behind_from = index;
        }
        self.ops[index].waits += 1;
    }

    /// Adds a copy to the group of copies from a block that the next erase of the block waits for.
    fn enter_gate(&mut self, block: u32, index: u32) {
        let mut gate = self.blocks[block as usize].gate;
        if gate == NONE {
            gate = self.gates.insert(Gate { left: 0, erase: NONE });
            self.blocks[block as usize].gate = gate;
        }
        self.gates[gate].left += 1;
        self.ops[index].gate = gate;
    }

    fn wait_at_gate(&mut self, block: u32, erase: u32) {
        let gate = std::mem::replace(&mut self.blocks[block as usize].gate, NONE);
        if gate == NONE {
            return;
        }
        if self.gates[gate].left == 0 {
            self.gates.remove(gate);
        } else {
            self.gates[gate].erase = erase;
            self.ops[erase].waits += 1;
        }
    }
}

impl FlashSink for ParallelFlash {
    #[inline]
    fn read(&mut self, ppn: Ppn, cause: Cause) {
        self.read_part(ppn, self.chips.page_bytes, cause);
    }

    #[inline]
    fn read_part(&mut self, ppn: Ppn, bytes: u32, cause: Cause) {
        self.counts.read(ppn, cause);
        let index = self.emit(Kind::Read, ppn, bytes, None, cause);
        match cause {
            Cause::Host => self.wait_for(index, self.submission.load),
            Cause::ReadModifyWrite => {
                self.wait_for(index, self.submission.load);
                self.submission.partial = [self.submission.partial[1], index];
            }
            Cause::MapLoad => self.submission.load = index,
            _ => {}
        }
        self.submission.read = index;
        self.submission.read_cause = cause;
        self.enqueue(index);
    }

    #[inline]
    fn program(&mut self, ppn: Ppn, oob: SpareArea, source: Source, cause: Cause) {
        self.counts.program(ppn, oob, source, cause);
        let from = if let Source::Copy(from) = source { Some(from) } else { None };
        let index = self.emit(Kind::Program, ppn, self.chips.page_bytes, from, cause);
        match source {
            Source::Host(_) => {
                let [first, second] = self.submission.partial;
                self.wait_for(index, first);
                self.wait_for(index, second);
            }
            // The copied page, or the rest of the changed map page, was read directly before.
            Source::Copy(_) => self.wait_for(index, self.submission.read),
            Source::Map if self.submission.read_cause == cause => self.wait_for(index, self.submission.read),
            Source::Map => {}
        }
        self.submission.read = NONE;
        self.enqueue(index);
    }

    #[inline]
    fn erase(&mut self, block: BlockId, cause: Cause) {
        self.counts.erase(block, cause);
        let first = Ppn(block.0 * self.layout.pages_per_block);
        let index = self.emit(Kind::Erase, first, 0, None, cause);
        self.enqueue(index);
    }

    /// Does nothing: an erase already waits for the copies from its block, which is the purpose of a barrier.
    #[inline(always)]
    fn barrier(&mut self) {}

    fn copy(&mut self, from: Ppn, to: Ppn, oob: SpareArea, cause: Cause) {
        if self.chips.timing.copyback && self.layout.plane_of.divide(from.0) == self.layout.plane_of.divide(to.0) {
            self.counts.copy(from, to, oob, cause);
            let index = self.emit(Kind::Copyback, to, 0, Some(from), cause);
            self.enqueue(index);
        } else {
            self.read(from, cause);
            self.program(to, oob, Source::Copy(from), cause);
        }
    }
}
