//! Gathering of program units, in an array whose dies program several pages with one command.
//!
//! The pages of a program unit stay in the controller's memory until the cells have programmed the unit. A read of such
//! a page takes no time. The first program of a unit stands for the unit in the queue of its die, and waits until all
//! others are emitted. If the controller's memory survives a power loss, a block may be erased once its pages are read;
//! otherwise an erase waits until the copies are programmed.
//!
//! A read waits for no earlier operation on its die block: a page that is not in memory is programmed. The next erase of
//! the die block waits for the read.
//!
//! Operations of a die are numbered in the order in which they become ready. In the order of emission, an erase might
//! come before a program unit for which it waits.

use super::ParallelFlash;
use super::ops::{NONE, Op};
use crate::{At, Cause};

/// Value of [`DieBlock::unprogrammed`] if the cells have programmed all pages of the die block.
const ALL: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct DieBlock {
    /// First and last program of the unit that is being gathered; [`NONE`] if there is none.
    first: u32,
    last: u32,
    /// Number of the page after the last page whose program was emitted.
    next: u32,
    /// Number of the first page that is in memory, or [`ALL`].
    unprogrammed: u32,
    /// Number of erases emitted so far.
    erases: u32,
}

/// Program units that are being gathered, and the pages in memory.
pub(super) struct Gathered {
    /// Number of pages of a program unit.
    unit: u32,
    /// True if memory survives a power loss.
    survives: bool,
    /// Number of programs in incomplete program units, and number of those for the host.
    waiting: usize,
    waiting_for_host: u32,
    blocks: Vec<DieBlock>,
}

impl Gathered {
    pub fn new(die_blocks: usize, unit: u32, survives: bool) -> Self {
        let block = DieBlock { first: NONE, last: NONE, next: 0, unprogrammed: ALL, erases: 0 };
        Self { unit, survives, waiting: 0, waiting_for_host: 0, blocks: vec![block; die_blocks] }
    }

    /// True if a gathered page survives a power loss.
    pub fn survives(&self) -> bool {
        self.survives
    }

    /// Returns the number of programs in incomplete program units.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// Returns the number of programs for the host in incomplete program units.
    pub fn waiting_for_host(&self) -> u32 {
        self.waiting_for_host
    }

    /// True if the controller's memory holds the page.
    #[inline]
    pub fn in_memory(&self, at: &At) -> bool {
        at.number >= self.blocks[at.die_block as usize].unprogrammed
    }

    /// Records the end of a program.
    #[inline]
    pub fn programmed(&mut self, op: &Op) {
        let block = &mut self.blocks[op.block as usize];
        // Programs from before an erase may end after the first programs of the next cycle are emitted.
        if op.erases == block.erases {
            let next = op.in_block + 1;
            block.unprogrammed = if next == block.next { ALL } else { next };
        }
    }

    /// Records the emission of an erase.
    pub fn erased(&mut self, die_block: u32) {
        let block = &mut self.blocks[die_block as usize];
        debug_assert_eq!(block.first, NONE, "only blocks without begun program units are erased");
        *block = DieBlock { next: 0, unprogrammed: ALL, erases: block.erases + 1, ..*block };
    }
}

fn for_host(op: &Op) -> bool {
    op.cause == Cause::Host
}

impl ParallelFlash {
    /// Adds a program to its program unit; returns the first program of the unit.
    pub(super) fn gather(&mut self, index: u32) -> u32 {
        let gathered = self.gathered.as_mut().expect("program units have several pages");
        let Op { block: die_block, in_block, .. } = self.ops[index];
        let block = &mut gathered.blocks[die_block as usize];
        self.ops[index].erases = block.erases;
        gathered.waiting += 1;
        gathered.waiting_for_host += u32::from(for_host(&self.ops[index]));
        block.unprogrammed = block.unprogrammed.min(in_block);
        block.next = in_block + 1;
        let first = if block.first == NONE { index } else { block.first };
        if first != index {
            // The first program is not ready, but `next` links it to other operations once it is.
            match block.last == first {
                true => self.ops[first].members = index,
                false => self.ops[block.last].next = index,
            }
        }
        let complete = block.next.is_multiple_of(gathered.unit);
        (block.first, block.last) = if complete { (NONE, NONE) } else { (first, index) };
        if complete {
            let mut member = first;
            while member != NONE {
                let op = &self.ops[member];
                gathered.waiting -= 1;
                gathered.waiting_for_host -= u32::from(for_host(op));
                member = if member == first { op.members } else { op.next };
            }
        }
        if first == index {
            self.ops[first].waits += 1;
            self.chain(die_block, first);
        }
        if complete {
            // The caller makes the program ready if it waits for nothing else.
            self.ops[first].waits -= 1;
        }
        first
    }

    /// Reads a page from the controller's memory.
    pub(super) fn read_memory(&mut self, at: &At, cause: Cause) {
        self.submission.read = NONE;
        self.submission.read_cause = cause;
        if let Some(checker) = &mut self.checker {
            checker.read_memory(at.die_block, at.number);
        }
    }
}
