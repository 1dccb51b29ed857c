//! fileserver: threads create, append to, read and delete files.

use super::{Personality, PersonalityRules, Step, Work};

pub(super) static FILESERVER: Personality = Personality {
    name: "fileserver",
    help: "file server: create, append to, read and delete files",
    source: "Filebench, workloads/fileserver.f",
    parameters: &[],
    role: PersonalityRules {
        files: 10_000,
        file_bytes: 128 << 10,
        threads: 50,
        existing: 0.8,
        files_per_directory: 20,
        gamma: true,
        log_bytes: None,
        work: Work::Loop(&[
            Step::Create,
            Step::WriteWhole,
            Step::Close,
            Step::Open,
            Step::Append,
            Step::Close,
            Step::Open,
            Step::ReadWhole,
            Step::Close,
            Step::Delete,
        ]),
    },
};
