//! Optional commands of a chip in addition to read, program and erase of single pages and blocks (ONFI 5.1, section 5).

use ssdlab_core::Nanos;

/// Optional commands that a die supports.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Commands {
    /// Multi-plane commands: one command works on several planes of a die; reads and programs at the same page number.
    pub multiplane: bool,
    /// Cache read: a die may read its next page while the previous page is transferred out.
    pub cache_read: bool,
    /// Cache program: the next page of a block may be transferred in while the previous page is being programmed.
    pub cache_program: bool,
    /// Independent reads: a multi-plane read may read different flash pages.
    pub independent_reads: bool,
    /// Operations that host reads may interrupt.
    pub suspend: Suspend,
}

/// Operations that a host read may interrupt.
///
/// The chip keeps the data of a suspended program. It also keeps the data of the next page of a cached program, even
/// during the transfer of that page. The host read uses the cells as soon as they are free, then the bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Suspend {
    /// Host reads interrupt no operation.
    #[default]
    Never,
    /// Host reads may interrupt erases.
    Erase(Interruption),
    /// Host reads may interrupt erases and programs.
    EraseAndProgram {
        /// Cost and limit of interrupting an erase.
        erase: Interruption,
        /// Cost and limit of interrupting a program.
        program: Interruption,
    },
}

/// Cost of interrupting an operation, and limits on interruptions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interruption {
    /// Minimum time from the suspend command until the die can read.
    pub time: Nanos,
    /// Maximum of a random delay added to `time`. The delay is uniformly distributed from 0 to this maximum.
    pub spread: Nanos,
    /// Minimum time for which a resumed operation runs before it can be interrupted again.
    pub slice: Nanos,
    /// Extra time that resuming an interrupted operation takes.
    pub resume: Nanos,
    /// Maximum number of interruptions of one operation, which guarantees that every operation ends.
    pub limit: u32,
}

impl Interruption {
    /// Creates rules for interruptions that take a constant time, without a cost of resuming or a minimum slice.
    pub const fn new(time: Nanos, limit: u32) -> Self {
        Self { time, spread: Nanos::ZERO, slice: Nanos::ZERO, resume: Nanos::ZERO, limit }
    }
}
