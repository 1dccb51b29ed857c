//! varmail: threads delete, write, reply to and read mails. Each mail is a file that is made durable when it is
//! written; all files are in one directory.

use super::{Personality, PersonalityRules, Step, Work};

pub(super) static VARMAIL: Personality = Personality {
    name: "varmail",
    help: "mail server: delete, create, append to and read mail files, with fsync after each write",
    source: "Filebench, workloads/varmail.f",
    parameters: &[],
    role: PersonalityRules {
        files: 1_000,
        file_bytes: 16 << 10,
        threads: 16,
        existing: 0.8,
        files_per_directory: 1_000_000,
        gamma: true,
        log_bytes: None,
        work: Work::Loop(&[
            Step::Delete,
            Step::Create,
            Step::Append,
            Step::Sync,
            Step::Close,
            Step::Open,
            Step::ReadWhole,
            Step::Append,
            Step::Sync,
            Step::Close,
            Step::Open,
            Step::ReadWhole,
            Step::Close,
        ]),
    },
};
