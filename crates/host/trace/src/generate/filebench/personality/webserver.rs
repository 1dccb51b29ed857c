//! webserver: threads read ten whole files, then append to a shared log.

use super::{Personality, PersonalityRules, Step, Work};

const READS: usize = 10;

static STEPS: [Step; 3 * READS + 1] = {
    let mut steps = [Step::AppendLog; 3 * READS + 1];
    let mut read = 0;
    while read < READS {
        (steps[3 * read], steps[3 * read + 1], steps[3 * read + 2]) = (Step::Open, Step::ReadWhole, Step::Close);
        read += 1;
    }
    steps
};

pub(super) static WEBSERVER: Personality = Personality {
    name: "webserver",
    help: "web server: read ten whole files, then append to a log file",
    source: "Filebench, workloads/webserver.f",
    parameters: &[],
    role: PersonalityRules {
        files: 1_000,
        file_bytes: 16 << 10,
        threads: 100,
        existing: 1.0,
        files_per_directory: 20,
        gamma: true,
        log_bytes: Some(16 << 10),
        work: Work::Loop(&STEPS),
    },
};
