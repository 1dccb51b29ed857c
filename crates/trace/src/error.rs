//! What can be wrong with a trace.

/// An error in or around a trace; the text names file, place, fault and remedy in one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file cannot be opened or read.
    #[error("{path}: {why}")]
    Io {
        /// The file.
        path: String,
        /// What the system said, and the remedy.
        why: String,
    },
}
