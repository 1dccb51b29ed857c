//! What can be wrong with a trace.

/// An error in or around a trace; the text names file, place, fault and remedy in one line.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file cannot be opened, read or written.
    #[error("{path}: {why}")]
    Io {
        /// The file.
        path: String,
        /// What the system said, and the remedy.
        why: String,
    },
    /// A line or record that does not follow its format.
    #[error("{path}:{place}: {why}; fix it or pass --skip-bad")]
    Malformed {
        /// The file.
        path: String,
        /// Line number, or record number and byte offset in a binary file.
        place: String,
        /// Which field holds what, and what is wrong with it.
        why: String,
    },
    /// The file ends before its compressed stream or last record does.
    #[error("{path}: {why}; copy or download it again, or pass --skip-bad to use what there is")]
    Truncated {
        /// The file.
        path: String,
        /// Where the data stops.
        why: String,
    },
    /// Other bytes follow the end of the compressed data.
    #[error(
        "{path}: from byte {at} on it is no {name} data; cut it there, with 'head -c {at}', or pass --skip-bad to use \
         what is before"
    )]
    Foreign {
        /// The file.
        path: String,
        /// What it is compressed by.
        name: &'static str,
        /// Where in the file they begin.
        at: u64,
    },
    /// The files that a generated workload writes fill its file system, which is noticed on the way.
    #[error(
        "workload.span: the files have filled the file system; raise it, or device.capacity where it is the whole \
         device, or lower workload.requests"
    )]
    Full,
    /// No format has this name, or none fits the data.
    #[error("{0}")]
    Format(String),
    /// The chosen device is not in the trace, or the devices cannot be laid side by side.
    #[error("{0}")]
    Device(String),
    /// Write intervals that cannot be told.
    #[error("{0}")]
    Intervals(String),
    /// An analysis that cannot be made.
    #[error("{0}")]
    Analysis(String),
    /// A workload that cannot be generated.
    #[error("workload {field}: {why}")]
    Workload {
        /// Field of [`crate::Workload`].
        field: &'static str,
        /// What is wrong and what to write instead.
        why: String,
    },
}

impl TraceError {
    /// What is wrong with bad data, without how to go on.
    pub(crate) fn fault(&self) -> String {
        match self {
            Self::Malformed { path, place, why } => format!("{path}:{place}: {why}"),
            Self::Truncated { path, why } => format!("{path}: {why}"),
            Self::Foreign { path, name, at } => format!("{path}: from byte {at} on it is no {name} data"),
            other => other.to_string(),
        }
    }
}

/// A path for a message: one line, whatever characters the name holds.
pub(crate) fn shown(path: &std::path::Path) -> String {
    let text = path.to_string_lossy();
    text.chars().map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() }).collect()
}

impl TraceError {
    /// An [`TraceError::Io`] about `path`.
    pub(crate) fn io(path: &std::path::Path, why: impl std::fmt::Display) -> Self {
        Self::Io { path: shown(path), why: why.to_string() }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_path_is_shown_in_one_line() {
        let error = super::TraceError::io(std::path::Path::new("a\nb \u{fc}\u{1b}[1m"), "is empty");
        assert_eq!(error.to_string(), "a\\nb \u{fc}\\u{1b}[1m: is empty");
    }
}
