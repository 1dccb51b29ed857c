//! The personalities: what their files are like and what their threads do. One file holds each.
//!
//! Source: Filebench `workloads/*.f` (commit 22620e6).

mod fileserver;
mod oltp;
mod varmail;
mod webserver;

pub(super) use oltp::{Access, Database, Role};

/// A Filebench workload; how many files and threads it has, the settings say.
#[derive(Debug, PartialEq)]
pub struct Personality {
    /// As written in settings.
    pub name: &'static str,
    /// Share of the files that exist at the start.
    pub(super) existing: f64,
    /// Files of a directory.
    pub(super) files_per_directory: u32,
    /// Whether sizes follow a gamma distribution of shape 1.5, or are all the mean.
    pub(super) gamma: bool,
    /// Bytes of the log file that all threads share; none where there is none.
    pub(super) log_bytes: Option<u64>,
    pub(super) work: Work,
}

/// What threads do.
#[derive(Debug, PartialEq)]
pub(super) enum Work {
    /// Each these steps over and over.
    Loop(&'static [Step]),
    /// Readers, writers and a log writer that wait for one another.
    Database,
}

/// One operation of a thread on the file that it has open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    /// Create and open the next file that does not exist.
    Create,
    /// Open the next file that does.
    Open,
    /// Close it.
    Close,
    /// Write as many bytes as the file has by its distribution, 1 MiB at a time.
    WriteWhole,
    /// Write 0 to 16 KiB - 1 byte to its end.
    Append,
    /// The same for the log file.
    AppendLog,
    /// Read all of it, 1 MiB at a time.
    ReadWhole,
    /// Wait until it is durable.
    Sync,
    /// Delete the next file that exists, unless it is open.
    Delete,
}

/// Every personality.
pub static PERSONALITIES: &[&Personality] =
    &[&fileserver::FILESERVER, &webserver::WEBSERVER, &varmail::VARMAIL, &oltp::OLTP];
