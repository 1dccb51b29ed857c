//! The order in which a chip lets the pages of a block be programmed.

/// Order of programming within a block, between two erases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProgramOrder {
    /// Any page that is still erased (small-block SLC).
    Any,
    /// Only pages behind the last one programmed; pages may be left out (large-block SLC, MLC, TLC, QLC).
    Ascending,
}
