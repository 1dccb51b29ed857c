//! Program units that are being gathered. One command programs all pages of a unit.

use std::collections::VecDeque;

use super::ops::{NONE, Ops};

/// The programs of the unit, as a linked list.
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
        // The first program refers to the second through `members`, because its `next` links it to other operations
        // once it is ready.
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

impl Default for FineUnits {
    fn default() -> Self {
        Self { gathered: ProgramUnit::EMPTY, complete: VecDeque::new() }
    }
}
