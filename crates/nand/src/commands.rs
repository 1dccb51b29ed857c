//! What a chip can do beyond one page operation after the other (ONFI 5.1, section 5).

use ssdlab_core::Nanos;

/// Commands that a die understands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Commands {
    /// One command works on several planes of a die at once: reads and programs of the same page number, erases.
    pub multiplane: bool,
    /// A die may read its next page while the one before is transferred out.
    pub cache_read: bool,
    /// The next page of a block may be transferred in while the one before is programmed.
    pub cache_program: bool,
    /// Whether reads interrupt longer operations.
    pub suspend: Suspend,
}

impl Commands {
    /// Whether a die may begin an operation while it is at work on another.
    pub fn overlap(&self) -> bool {
        self.cache_read || self.cache_program || self.suspend != Suspend::Never
    }
}

/// Which operations a host read may interrupt.
///
/// A suspended program keeps its data in the chip, and so does the next page of a cached program, even while it is
/// loaded: the read takes the cells, then the bus, as soon as they are free.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Suspend {
    /// None.
    #[default]
    Never,
    /// Erases.
    Erase(Interruption),
    /// Erases and programs.
    EraseAndProgram(Interruption),
}

/// What an interruption costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interruption {
    /// From asking until the die can read.
    pub time: Nanos,
    /// How often one operation may be interrupted, so that it ends at last.
    pub limit: u32,
}
