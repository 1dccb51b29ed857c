//! Commands of a chip beyond single page operations (ONFI 5.1, section 5).

use ssdlab_core::Nanos;

/// Optional commands that a die understands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Commands {
    /// Multi-plane commands: reads and programs of the same page number, and erases, on several planes of a die.
    pub multiplane: bool,
    /// Cache read: a die may read its next page while the previous page is transferred out.
    pub cache_read: bool,
    /// Cache program: the next page of a block may be transferred in while the previous page is programmed.
    pub cache_program: bool,
    /// Operations that host reads may interrupt.
    pub suspend: Suspend,
}

impl Commands {
    /// True if a die may begin an operation while another operation is in progress.
    pub fn overlap(&self) -> bool {
        self.cache_read || self.cache_program || self.suspend != Suspend::Never
    }
}

/// Operations that a host read may interrupt.
///
/// A suspended program keeps its data in the chip. So does the next page of a cached program, even during its transfer.
/// The read takes the cells, then the bus, as soon as they are free.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Suspend {
    /// Host reads interrupt no operation.
    #[default]
    Never,
    /// Host reads may interrupt erases.
    Erase(Interruption),
    /// Host reads may interrupt erases and programs.
    EraseAndProgram(Interruption),
}

/// Cost and limit of interruptions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interruption {
    /// Time from the suspend command until the die can read.
    pub time: Nanos,
    /// Maximum number of interruptions of one operation, so that every operation ends.
    pub limit: u32,
}
