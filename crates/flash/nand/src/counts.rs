//! Flash operations counted by cause.

use serde::{Deserialize, Serialize};
use ssdlab_core::{BlockId, Ppn};

use crate::{Cause, FlashSink, Source, SpareArea};

/// Flash that only counts operations, by type of operation and cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Number of pages read, by [`Cause`].
    pub reads: [u64; Cause::ALL.len()],
    /// Number of pages programmed, by [`Cause`].
    pub programs: [u64; Cause::ALL.len()],
    /// Number of blocks erased, by [`Cause`].
    pub erases: [u64; Cause::ALL.len()],
}

impl Counts {
    /// Returns the number of page copies made by garbage collection and folding, plus the number of block erases.
    pub fn collected(&self) -> u64 {
        self.programs[Cause::Gc as usize] + self.programs[Cause::Fold as usize] + self.erased()
    }

    /// Returns the number of pages programmed for any reason.
    pub fn programmed(&self) -> u64 {
        self.programs.iter().sum()
    }

    /// Returns the number of blocks erased for any reason.
    pub fn erased(&self) -> u64 {
        self.erases.iter().sum()
    }
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, more: Self) {
        let add = |to: &mut [u64], more: &[u64]| to.iter_mut().zip(more).for_each(|(to, more)| *to += more);
        add(&mut self.reads, &more.reads);
        add(&mut self.programs, &more.programs);
        add(&mut self.erases, &more.erases);
    }
}

impl std::ops::Sub for Counts {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        let minus = |a: [u64; Cause::ALL.len()], b: [u64; Cause::ALL.len()]| std::array::from_fn(|i| a[i] - b[i]);
        Self {
            reads: minus(self.reads, earlier.reads),
            programs: minus(self.programs, earlier.programs),
            erases: minus(self.erases, earlier.erases),
        }
    }
}

impl FlashSink for Counts {
    #[inline(always)]
    fn read(&mut self, _ppn: Ppn, cause: Cause) {
        self.reads[cause as usize] += 1;
    }

    #[inline(always)]
    fn program(&mut self, _ppn: Ppn, _oob: SpareArea, _source: Source, cause: Cause) {
        self.programs[cause as usize] += 1;
    }

    #[inline(always)]
    fn erase(&mut self, _block: BlockId, cause: Cause) {
        self.erases[cause as usize] += 1;
    }
}
