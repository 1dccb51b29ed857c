//! Personalities: properties of the files and operations of the threads, one file each.
//!
//! Source: Filebench `workloads/*.f` (commit 22620e6).

mod fileserver;
mod oltp;
mod varmail;
mod webserver;

pub(super) use oltp::{Access, Database, Role};

/// A Filebench workload; the numbers of files and threads are settings.
#[derive(Debug, PartialEq)]
pub struct Personality {
    /// Name in settings.
    pub name: &'static str,
    /// Share of the files that exist at the start.
    pub(super) existing: f64,
    pub(super) files_per_directory: u32,
    /// True if sizes follow a gamma distribution of shape 1.5; otherwise all equal the mean.
    pub(super) gamma: bool,
    /// Initial size in bytes of the log file shared by all threads; `None` without a log.
    pub(super) log_bytes: Option<u64>,
    pub(super) work: Work,
}

/// Operations of the threads.
#[derive(Debug, PartialEq)]
pub(super) enum Work {
    /// Each thread repeats these steps.
    Loop(&'static [Step]),
    /// Readers, writers and a log writer that synchronize with each other.
    Database,
}

/// One operation of a thread on its open file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    /// Create and open the next missing file.
    Create,
    /// Open the next existing file.
    Open,
    /// Close the file.
    Close,
    /// Write a whole file, of a size drawn from its distribution, 1 MiB at a time.
    WriteWhole,
    /// Append 0 to 16 KiB - 1 byte.
    Append,
    /// Append the same to the log file.
    AppendLog,
    /// Read the whole file, 1 MiB at a time.
    ReadWhole,
    /// Wait until the file is durable.
    Sync,
    /// Delete the next existing file, unless it is open.
    Delete,
}

/// All personalities.
pub static PERSONALITIES: &[&Personality] =
    &[&fileserver::FILESERVER, &webserver::WEBSERVER, &varmail::VARMAIL, &oltp::OLTP];
