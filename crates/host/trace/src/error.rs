//! Errors of reading, writing and generating traces.

/// Error of reading, writing or generating a trace. Its text states the file, the position in the file, the fault and a
/// remedy, all in one line.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// A file could not be opened, read or written.
    #[error("{path}: {why}")]
    Io {
        /// Name of the file that could not be accessed.
        path: String,
        /// Error message of the operating system, with a remedy.
        why: String,
    },
    /// A line or record violates its format.
    #[error("{path}:{place}: {why}; {remedy} or pass --skip-bad")]
    Malformed {
        /// Name of the malformed file.
        path: String,
        /// Line number or, in a binary file, record number and byte offset.
        place: String,
        /// Description of the fault: the name of the field, its content and what is wrong with it.
        why: String,
        /// Remedy: a way to read the faulty line.
        remedy: String,
    },
    /// The file ends before its compressed stream or its last record is complete.
    #[error("{path}: {why}; fetch the file again, or pass --skip-bad to read the part before the damage")]
    Truncated {
        /// Name of the truncated file.
        path: String,
        /// Description of where the data ends, for the message.
        why: String,
    },
    /// Bytes that are not compressed data follow the compressed data.
    #[error(
        "{path}: the bytes from {at} on are not {name} data; cut them off with 'head -c {at}', or pass --skip-bad to \
         ignore them"
    )]
    Foreign {
        /// Name of the compressed file.
        path: String,
        /// Name of the compression, such as gzip.
        name: &'static str,
        /// Offset in the file of the first byte that follows the compressed data.
        at: u64,
    },
    /// The file system that the workload simulates is full. This is detected only while requests are being generated.
    #[error(
        "workload.span: the generated files fill the file system; raise workload.span (or device.capacity if the span \
         is the whole device), or lower workload.requests"
    )]
    Full,
    /// A format, device or analysis does not exist or does not fit the trace. The text says what is wrong and how to
    /// fix it.
    #[error("{0}")]
    Invalid(String),
    /// A setting of the workload is invalid.
    #[error("workload {field}: {why}")]
    Workload {
        /// Name of the field of [`crate::Workload`].
        field: &'static str,
        /// Description of the fault, with a remedy.
        why: String,
    },
}

impl TraceError {
    /// Returns the error message without the remedy.
    pub(crate) fn fault(&self) -> String {
        match self {
            Self::Malformed { path, place, why, .. } => format!("{path}:{place}: {why}"),
            Self::Truncated { path, why } => format!("{path}: {why}"),
            Self::Foreign { path, name, at } => format!("{path}: the bytes from {at} on are not {name} data"),
            other => other.to_string(),
        }
    }

    /// Creates a [`TraceError::Io`] for `path`.
    pub(crate) fn io(path: &std::path::Path, why: impl std::fmt::Display) -> Self {
        Self::Io { path: shown(path), why: why.to_string() }
    }
}

/// Formats a path for messages; escapes control characters, so that the path stays on one line.
pub(crate) fn shown(path: &std::path::Path) -> String {
    let text = path.to_string_lossy();
    text.chars().map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() }).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_path_is_shown_in_one_line() {
        let error = super::TraceError::io(std::path::Path::new("a\nb \u{fc}\u{1b}[1m"), "is empty");
        assert_eq!(error.to_string(), "a\\nb \u{fc}\\u{1b}[1m: is empty");
    }
}
