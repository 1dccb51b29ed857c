//! Flash operations in flight and their dependencies.

use ssdlab_core::Slab;

use super::scheduler::Class;
use crate::Cause;
use crate::named::named_enum;

/// Index for "no operation".
pub(crate) const NONE: u32 = u32::MAX;

named_enum! {
    /// Type of a flash operation.
    pub enum Kind {
        /// Reads a page to its register and transfers it out over the bus.
        Read = 0, "read";
        /// Transfers a page over the bus to its page register, and programs it.
        Program = 1, "program";
        /// Erases one block.
        Erase = 2, "erase";
        /// Reads and programs within one plane, without the bus.
        Copyback = 3, "copyback";
    }
}

/// Programming pass. Some chips program a word line in one pass, others in two passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pass {
    /// The only pass, which programs the page completely.
    Single,
    /// First of two programming passes; the page cannot be read after this pass.
    Coarse,
    /// Second of two programming passes, which completes the page.
    Fine,
}

/// One operation, from its emission to its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    pub kind: Kind,
    pub cause: Cause,
    pub class: u8,
    /// True if the next operation on the block no longer has to wait for this operation.
    pub passed: bool,
    /// True if latency attribution covers the operation.
    pub attributed: bool,
    /// True if the block is in SLC mode.
    pub slc: bool,
    pub pass: Pass,
    /// Flash page of the block that the operation reads, programs or copies to.
    pub page: u16,
    /// Number of the page that is read or programmed, within its die block.
    pub in_block: u32,
    pub die: u16,
    /// Number of the plane within its die.
    pub plane: u8,
    /// Die block of the page that is read, programmed or copied to, or die block that is erased.
    pub block: u32,
    /// Source block of a copy, for programs and copy-backs; [`NONE`] otherwise.
    pub from_block: u32,
    /// Page of `from_block` that a copy-back reads.
    pub from_page: u16,
    /// Group of copies from `from_block` for which the erase of that block waits.
    pub gate: u32,
    pub bytes: u32,
    pub job: u32,
    /// Number of operations for which this operation waits.
    pub waits: u32,
    /// Number of the operation, counted in the order of emission; wraps around.
    pub id: u32,
    /// Number of the operation among the operations of its die, counted in the order of emission or, if program units
    /// are gathered, in the order in which operations become ready.
    pub number: u64,
    /// Next operation on the same block, which waits for this operation.
    pub behind: u32,
    /// For a copy-back: the next operation on its source block, `from_block`.
    pub behind_from: u32,
    /// First edge in the list of operations that wait for this operation.
    pub edges: u32,
    /// For a gathered program: number of erases of the die block that were emitted before it.
    pub erases: u32,
    /// In the first operation of a program unit: the second operation. `next` links the further operations.
    pub members: u32,
    /// Previous and next operation in the list of ready operations. `next` also links the operations of a command.
    pub previous: u32,
    pub next: u32,
}

impl Op {
    /// Template for new operations: a read without dependencies. Callers override the fields that differ.
    pub const FREE: Self = Self {
        kind: Kind::Read,
        cause: Cause::Host,
        class: Class::HostRead as u8,
        passed: false,
        attributed: false,
        slc: false,
        pass: Pass::Single,
        page: 0,
        in_block: 0,
        die: 0,
        plane: 0,
        block: 0,
        from_block: NONE,
        from_page: 0,
        gate: NONE,
        bytes: 0,
        job: NONE,
        waits: 0,
        id: 0,
        number: 0,
        behind: NONE,
        behind_from: NONE,
        edges: NONE,
        erases: 0,
        members: NONE,
        previous: NONE,
        next: NONE,
    };

    /// Returns the block (within its plane) and the page that the operation reads, programs or copies to.
    #[inline]
    pub fn flash_page(&self) -> (u32, u16) {
        (self.block, self.page)
    }

    pub fn seen(&self) -> Seen {
        let from = (self.from_block != NONE).then_some((self.from_block, u32::from(self.from_page)));
        let Self { id, kind, pass, block, in_block: page, .. } = *self;
        Seen { id, kind, pass, block, page, from }
    }
}

/// Properties of an operation that the timing checker needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Seen {
    /// Number of the operation, counted in the order of emission; unique among unfinished operations.
    pub id: u32,
    pub kind: Kind,
    pub pass: Pass,
    /// Block that is read, programmed or erased.
    pub block: u32,
    /// Page within the block.
    pub page: u32,
    /// Source block and source page, if the operation is a copy.
    pub from: Option<(u32, u32)>,
}

#[derive(Clone, Copy, Debug)]
struct Edge {
    waiter: u32,
    next: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Ops {
    ops: Slab<Op>,
    edges: Slab<Edge>,
}

impl std::ops::Index<u32> for Ops {
    type Output = Op;

    #[inline]
    fn index(&self, index: u32) -> &Op {
        &self.ops[index]
    }
}

impl std::ops::IndexMut<u32> for Ops {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut Op {
        &mut self.ops[index]
    }
}

impl Ops {
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// Returns the operations of the command whose first operation is `first`.
    pub fn of_command(&self, first: u32) -> impl Iterator<Item = u32> {
        std::iter::successors(Some(first), |&index| Some(self[index].next).filter(|&next| next != NONE))
    }

    /// Returns the program after `member` in the unit that starts with `first`, or [`NONE`]. The unit is not ready yet.
    pub fn after(&self, first: u32, member: u32) -> u32 {
        if member == first { self[first].members } else { self[member].next }
    }

    #[inline]
    pub fn insert(&mut self, op: Op) -> u32 {
        self.ops.insert(op)
    }

    #[inline]
    pub fn remove(&mut self, index: u32) {
        self.ops.remove(index);
    }

    /// Makes the operation `waiter` wait for the operation `index`.
    #[inline]
    pub fn wait_for(&mut self, waiter: u32, index: u32) {
        let edge = Edge { waiter, next: self[index].edges };
        self[index].edges = self.edges.insert(edge);
        self[waiter].waits += 1;
    }

    /// Removes an edge of the dependency graph; returns the operation that waited for `index` through this edge.
    #[inline]
    pub fn take_waiter(&mut self, index: u32) -> Option<u32> {
        let slot = self[index].edges;
        if slot == NONE {
            return None;
        }
        let Edge { waiter, next } = self.edges[slot];
        self.edges.remove(slot);
        self[index].edges = next;
        Some(waiter)
    }
}
