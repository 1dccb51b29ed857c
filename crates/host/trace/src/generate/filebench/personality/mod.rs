//! Filebench personalities, one source file each. A personality defines the files and the operations of its threads.
//!
//! Source: Filebench `workloads/*.f` (commit 22620e6).

mod fileserver;
mod oltp;
mod varmail;
mod webserver;

pub(super) use oltp::{Access, Database, Role};
use ssdlab_core::{Info, Registry};

/// A registered Filebench workload.
pub type Personality = Info<PersonalityRules>;

/// Files and operations of a Filebench workload.
#[derive(Debug, PartialEq)]
pub struct PersonalityRules {
    /// Default number of files.
    pub files: u32,
    /// Default mean file size in bytes.
    pub file_bytes: u64,
    /// Default number of threads.
    pub threads: u32,
    /// Share of the files that exist at the start of the run.
    pub existing: f64,
    /// Number of files per directory.
    pub files_per_directory: u32,
    /// True if file sizes follow a gamma distribution of shape 1.5; otherwise all files have the mean size.
    pub gamma: bool,
    /// Initial size in bytes of the log file shared by all threads; `None` without a log.
    pub log_bytes: Option<u64>,
    /// Operations that the threads perform.
    pub work: Work,
}

/// Operations that the threads of a personality perform.
#[derive(Debug, PartialEq)]
pub enum Work {
    /// Each thread repeats the given steps.
    Loop(&'static [Step]),
    /// Readers, writers and a log writer that synchronize with each other.
    Database,
}

/// One operation of a thread on its open file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// The thread creates and opens the next missing file.
    Create,
    /// The thread opens the next existing file.
    Open,
    /// The thread closes its file.
    Close,
    /// The thread writes a whole file in pieces of 1 MiB. The file size is drawn from the distribution of file sizes.
    WriteWhole,
    /// The thread appends 0 to 16,383 bytes to its file.
    Append,
    /// The thread appends 0 to 16,383 bytes to the log file.
    AppendLog,
    /// The thread reads its whole file, 1 MiB at a time.
    ReadWhole,
    /// The thread waits until its file is durable.
    Sync,
    /// The thread deletes the next existing file, unless it is open.
    Delete,
}

/// All registered Filebench personalities.
pub static PERSONALITIES: Registry<PersonalityRules> =
    Registry::new("personality", &[&fileserver::FILESERVER, &webserver::WEBSERVER, &varmail::VARMAIL, &oltp::OLTP]);
