//! The program unit being gathered for each die block, and the pages in the controller's memory.

use std::collections::VecDeque;

use super::ops::{NONE, Op, Ops, Pass};
use crate::{At, Cause};

/// Value of [`DieBlock::unprogrammed`] if no page of the die block is in memory.
const ALL: u32 = u32::MAX;

/// The programs of a program unit, which one command programs together, as a linked list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ProgramUnit {
    /// First and last program of the unit; [`NONE`] if the unit is empty.
    pub first: u32,
    last: u32,
}

impl ProgramUnit {
    pub const EMPTY: Self = Self { first: NONE, last: NONE };

    /// Adds a program to the unit; returns the first program of the unit.
    pub fn append(&mut self, index: u32, ops: &mut Ops) -> u32 {
        // The first program refers to the second by `members`; once it is ready, `next` links it to other operations.
        match self.last {
            NONE => self.first = index,
            last if last == self.first => ops[last].members = index,
            last => ops[last].next = index,
        }
        self.last = index;
        self.first
    }
}

/// Program units of a die block that wait for their fine pass.
#[derive(Clone, Debug)]
pub(super) struct FineUnits {
    /// Program unit that is being gathered for its fine pass.
    pub gathered: ProgramUnit,
    /// First program of each complete program unit.
    pub complete: VecDeque<u32>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct DieBlock {
    pub unit: ProgramUnit,
    /// Number of the page after the last page whose program was emitted.
    pub next: u32,
    /// Number of the first page that is still in memory; [`ALL`] if no page is in memory.
    pub unprogrammed: u32,
    /// Number of erases emitted so far.
    pub erases: u32,
    /// Operation that waits for the reads of an incomplete stripe, whose parity will go to this die block (see
    /// `parity.rs`); [`NONE`] if the stripe waits for no read.
    pub stripe: u32,
}

/// Program units that are being gathered, and the pages in the controller's memory.
pub(super) struct Gathered {
    /// True if the controller's memory survives a power loss.
    pub survives: bool,
    /// Number of waiting operations: programs in incomplete program units, programs whose fine pass is not due yet, and
    /// incomplete stripes that wait for reads.
    pub waiting: usize,
    /// Number of waiting programs that write host data.
    pub waiting_for_host: u32,
    pub blocks: Vec<DieBlock>,
    /// Units that wait for their fine pass, by die block; empty if word lines are programmed in one pass.
    pub fine_units: Vec<FineUnits>,
}

impl Gathered {
    pub fn new(die_blocks: usize, two_passes: bool, survives: bool) -> Self {
        let block = DieBlock { unit: ProgramUnit::EMPTY, next: 0, unprogrammed: ALL, erases: 0, stripe: NONE };
        let fine = FineUnits { gathered: ProgramUnit::EMPTY, complete: VecDeque::new() };
        let fine_units = vec![fine; if two_passes { die_blocks } else { 0 }];
        Self { survives, waiting: 0, waiting_for_host: 0, blocks: vec![block; die_blocks], fine_units }
    }

    /// True if the controller's memory holds the page.
    #[inline]
    pub fn in_memory(&self, at: &At) -> bool {
        at.number >= self.blocks[at.die_block as usize].unprogrammed
    }

    /// Counts a program as waiting, either for the other pages of its program unit or for its fine pass.
    pub fn hold(&mut self, op: &Op) {
        self.waiting += 1;
        self.waiting_for_host += u32::from(for_host(op));
    }

    /// Removes the programs of a program unit from the counts of waiting programs.
    pub fn release(&mut self, first: u32, ops: &Ops) {
        let mut member = first;
        while member != NONE {
            let op = &ops[member];
            self.waiting -= 1;
            self.waiting_for_host -= u32::from(for_host(op));
            member = ops.after(first, member);
        }
    }

    /// Records the end of a program.
    #[inline]
    pub fn programmed(&mut self, op: &Op) {
        if op.pass == Pass::Coarse {
            return;
        }
        let block = &mut self.blocks[op.block as usize];
        // A program emitted before an erase may still end after programs that follow the erase have been emitted.
        if op.erases == block.erases {
            let next = op.in_block + 1;
            block.unprogrammed = if next == block.next { ALL } else { next };
        }
    }

    /// Removes and returns the operation that waits for the reads of a stripe, if any.
    pub fn end_stripe(&mut self, die_block: u32) -> Option<u32> {
        let index = std::mem::replace(&mut self.blocks[die_block as usize].stripe, NONE);
        let is_begun = index != NONE;
        self.waiting -= usize::from(is_begun);
        is_begun.then_some(index)
    }

    pub fn erased(&mut self, die_block: u32) {
        let block = &mut self.blocks[die_block as usize];
        debug_assert_eq!(block.unit, ProgramUnit::EMPTY, "an erased block must have no incomplete program unit");
        *block = DieBlock { next: 0, unprogrammed: ALL, erases: block.erases + 1, ..*block };
    }
}

fn for_host(op: &Op) -> bool {
    op.cause == Cause::Host && op.pass != Pass::Coarse
}
