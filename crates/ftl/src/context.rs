//! What an FTL is told of a write beside its pages.

/// Hints of a write request, from the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WriteContext {
    /// The stream (process) that writes, as the trace numbers them.
    pub stream: u16,
    /// The placement identifier that the host chose for the data (NVMe Flexible Data Placement, multi-stream); 0 where
    /// it chose none.
    pub placement: u16,
    /// Whether somebody waits for the write.
    pub sync: bool,
}
