//! Hints that come with a write.

/// Hints of a write request, from the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WriteContext {
    /// The stream (process) that writes, as the trace numbers them.
    pub stream: u16,
    /// The placement identifier that the host chose for the data (NVMe Flexible Data Placement, multi-stream); 0 where
    /// it chose none.
    pub placement: u16,
    /// Whether the write is synchronous: the host waits for it.
    pub sync: bool,
}
