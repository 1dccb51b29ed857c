//! Emission: adds each operation that the FTL emits, with its dependencies, to the queue of its die.

use ssdlab_core::{BlockId, Ppn};

use super::ops::{Kind, NONE, Op, Pass};
use super::scheduler::Class;
use super::{Gate, ParallelFlash};
use crate::{At, Cause, FlashSink, Source, SpareArea};

impl ParallelFlash {
    /// Adds an operation with its dependencies to the queue of its die. Returns the index of the operation, or of the
    /// first program of its program unit.
    #[inline(always)]
    pub(super) fn emit(&mut self, kind: Kind, at: At, bytes: u32, from: Option<Ppn>, cause: Cause) -> u32 {
        let At { die, plane, die_block: block, number: in_block, flash_page, slc } = at;
        let gathers = self.gathered.is_some();
        let class = match (cause, kind) {
            (Cause::Host | Cause::ReadModifyWrite | Cause::MapLoad, Kind::Read) => Class::HostRead,
            (Cause::Host, _) => Class::HostProgram,
            (_, Kind::Read) => self.chips.scheduler.role.internal_read,
            _ => Class::Internal,
        };
        let (from_block, from_page) = from.map_or((NONE, 0), |from| {
            let at = self.layout.at(from);
            (at.die_block, at.flash_page as u16)
        });
        let mut job = self.submission.job;
        if job != NONE {
            let waited = matches!(cause, Cause::Host | Cause::ReadModifyWrite | Cause::MapLoad);
            // A collection job does not wait for its gathered copies to be programmed.
            if waited || (self.jobs[job].everything && !(gathers && kind == Kind::Program)) {
                self.jobs[job].left += 1;
            } else {
                job = NONE;
            }
        }
        let attributed = self.submission.attributed && job != NONE;
        let number = self.dies[die as usize].emitted;
        self.dies[die as usize].emitted += u64::from(!gathers);
        self.emitted = self.emitted.wrapping_add(1);
        let index = self.ops.insert(Op {
            kind,
            cause,
            class: class as u8,
            attributed,
            slc,
            page: flash_page as u16,
            in_block,
            die: die as u16,
            plane: plane as u8,
            block,
            from_block,
            from_page,
            bytes,
            job,
            id: self.emitted,
            number,
            ..Op::FREE
        });
        if self.record.keeps_segments() {
            self.record.emitted(index, self.submission.requester);
        }
        if attributed {
            self.attribute(|attribution, now_ns| attribution.emitted(index, die as u16, now_ns));
        }
        let mut queued = index;
        match (gathers, kind) {
            (true, Kind::Read) => self.enter_gate(block, index),
            (true, Kind::Program) => queued = self.gather(index),
            _ => self.chain(block, index),
        }
        if from_block != NONE {
            if kind == Kind::Copyback && from_block != block {
                self.chain(from_block, index);
            }
            self.enter_gate(from_block, index);
        }
        if kind == Kind::Erase {
            self.wait_at_gate(block, index);
        }
        if self.ops[index].pass != Pass::Fine {
            self.show_emitted(index);
        }
        queued
    }

    /// Reports an operation to the checker, in the order in which operations on a block must begin.
    #[inline(always)]
    pub(super) fn show_emitted(&mut self, index: u32) {
        if let Some(checker) = &mut self.checker {
            checker.emitted(self.ops[index].seen());
        }
    }

    /// Queues an operation whose dependencies are all known.
    #[inline]
    pub(super) fn enqueue(&mut self, index: u32) {
        if self.ops[index].waits == 0 {
            self.make_ready(index);
        }
    }

    #[inline(always)]
    pub(super) fn make_ready(&mut self, index: u32) {
        let number = u32::from(self.ops[index].die);
        if self.gathered.is_some() {
            if self.ops[index].block == NONE {
                return self.data_is_read(index);
            }
            let die = &mut self.dies[number as usize];
            self.ops[index].number = die.emitted;
            die.emitted += 1;
        }
        self.dies[number as usize].make_ready(index, &mut self.ops);
        self.wake(number);
    }

    #[inline]
    fn wait_for(&mut self, waiter: u32, index: u32) {
        if index != NONE {
            self.ops.wait_for(waiter, index);
        }
    }

    /// Makes an operation the last operation on a block. The operation waits for the previous operation on the block.
    #[inline]
    pub(super) fn chain(&mut self, block: u32, index: u32) {
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

    /// Makes the next erase of `block` wait for operation `index`: a copy or, if units are gathered, a read from it.
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
        let at = self.layout.at(ppn);
        if self.gathered.as_ref().is_some_and(|gathered| gathered.in_memory(&at)) {
            return self.read_memory(&at, cause);
        }
        let index = self.emit(Kind::Read, at, bytes, None, cause);
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
        self.layout.program(ppn, oob.role);
        let from = match source {
            // In memory that survives a power loss, a copy is safe before it is programmed.
            Source::Copy(from) if !self.gathered.as_ref().is_some_and(|gathered| gathered.survives) => Some(from),
            _ => None,
        };
        let index = self.emit(Kind::Program, self.layout.at(ppn), self.chips.page_bytes, from, cause);
        let reads = match source {
            Source::Host(_) => self.submission.partial,
            // The read of the copied page, or of the rest of the changed map page, immediately precedes this program.
            Source::Copy(_) => [self.submission.read, NONE],
            Source::Map if self.submission.read_cause == cause => [self.submission.read, NONE],
            Source::Map | Source::Padding => [NONE; 2],
        };
        reads.into_iter().for_each(|read| self.wait_for(index, read));
        self.submission.read = NONE;
        self.enqueue(index);
        if self.layout.units.parity > 0 {
            self.add_to_stripe(ppn, reads);
        }
    }

    #[inline]
    fn erase(&mut self, block: BlockId, cause: Cause) {
        self.counts.erase(block, cause);
        for die in 0..self.layout.dies_per_block {
            let first = self.layout.die_block(block, die);
            if self.gathered.is_some() {
                self.forget(first.die_block);
            }
            let index = self.emit(Kind::Erase, first, 0, None, cause);
            self.enqueue(index);
        }
        self.layout.erase(block);
    }

    /// Does nothing: a barrier makes an erase wait for the copies from its block, which this array always ensures.
    #[inline(always)]
    fn barrier(&mut self) {}

    fn copy(&mut self, from: Ppn, to: Ppn, oob: SpareArea, cause: Cause) {
        if self.chips.timing.copyback && self.layout.area(from) == self.layout.area(to) {
            self.counts.copy(from, to, oob, cause);
            let index = self.emit(Kind::Copyback, self.layout.at(to), 0, Some(from), cause);
            self.enqueue(index);
        } else {
            self.read(from, cause);
            self.program(to, oob, Source::Copy(from), cause);
        }
    }
}
