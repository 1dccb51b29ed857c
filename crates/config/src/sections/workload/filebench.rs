//! Filebench: files, threads and their page cache.

use crate::checker::{Checker, Read, Reader};
use crate::kind::{Choices, Kind};
use crate::table::{Case, Fallback, Is, KIB, MEBI, OptionSpec, SECOND, TIB};
use ssdlab_trace::{FILES_MAX, Filebench, PERSONALITIES, Pattern, Seeding};

pub(super) const FILEBENCH: (&str, &str, Reader<Pattern>) = (
    "filebench",
    "a Filebench `personality` on ext4 in a file system of `workload.span`: bios with their flags, \
     threads and times; `workload.reads`, `size`, `align` and `arrival` are not used",
    |checker| Ok(Pattern::Filebench(checker.filebench()?)),
);

const PERSONALITY: &str = "workload.pattern.filebench.personality";

/// What a personality means and its defaults.
struct Typical {
    name: &'static str,
    help: &'static str,
    files: &'static str,
    file_size: &'static str,
    threads: &'static str,
}

/// Every one of [`PERSONALITIES`]. Source of the numbers: Filebench, workloads/*.f.
static TYPICAL: [Typical; 4] = [
    Typical {
        name: "fileserver",
        help: "create, append to, read and delete whole files",
        files: "10000",
        file_size: "128KiB",
        threads: "50",
    },
    Typical {
        name: "webserver",
        help: "read ten whole files, append to one log",
        files: "1000",
        file_size: "16KiB",
        threads: "100",
    },
    Typical {
        name: "varmail",
        help: "delete, write, answer and read mails, durable once written",
        files: "1000",
        file_size: "16KiB",
        threads: "16",
    },
    Typical {
        name: "oltp",
        help: "a database: small reads and durable small writes at random",
        files: "10",
        file_size: "10MiB",
        threads: "200",
    },
];

static SEEDINGS: Choices<Seeding, 2> = Choices::new([
    ("filebench", "none: every process draws the same numbers", Seeding::Filebench),
    ("independent", "each process draws its own", Seeding::Independent),
]);

/// The default of each personality: that of the first, unless it is another one.
fn by_personality(default: fn(&Typical) -> &'static str) -> Fallback {
    let [first, others @ ..] = &TYPICAL;
    let case = |other: &Typical| Case { key: PERSONALITY, is: Is::Variant(other.name), value: default(other) };
    Fallback::Unless(default(first), others.iter().map(case).collect::<Vec<_>>().leak())
}

pub(super) fn options() -> Vec<OptionSpec> {
    let personality = [
        OptionSpec {
            key: PERSONALITY,
            kind: Kind::of_names(TYPICAL.iter().map(|one| (one.name, one.help))),
            fallback: Fallback::Value(TYPICAL[0].name),
            help: "What files and threads are like.",
            example: "varmail",
        },
        OptionSpec {
            key: "workload.pattern.filebench.files",
            kind: Kind::Count { min: 1, max: FILES_MAX as u64 },
            fallback: by_personality(|one| one.files),
            help: "Files of the fileset; more than there are threads, but for oltp.",
            example: "20000",
        },
        OptionSpec {
            key: "workload.pattern.filebench.file_size",
            kind: Kind::Bytes { min: 4 * KIB, max: TIB },
            fallback: by_personality(|one| one.file_size),
            help: "Mean size of a file. Sizes follow a gamma distribution of shape 1.5; those of oltp are all equal.",
            example: "32KiB",
        },
        OptionSpec {
            key: "workload.pattern.filebench.threads",
            kind: Kind::Count { min: 1, max: 65_000 },
            fallback: by_personality(|one| one.threads),
            help: "Threads; for oltp the reading processes.",
            example: "100",
        },
    ];
    [&personality, OPTIONS].concat()
}

const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        key: "workload.pattern.filebench.cache",
        kind: Kind::Bytes { min: 4 * MEBI, max: TIB },
        fallback: Fallback::Value("512MiB"),
        help: "Page cache: what is left of memory beside processes. Above 10 % of it dirty pages are written back, above \
               20 % writers wait.",
        example: "8GiB",
    },
    OptionSpec {
        key: "workload.pattern.filebench.seeding",
        kind: SEEDINGS.kind(),
        fallback: Fallback::Value("filebench"),
        help: "Seeds of the processes, which matter to oltp: the others have one process.",
        example: "independent",
    },
    OptionSpec {
        key: "workload.pattern.filebench.max_bio",
        kind: Kind::Bytes { min: 4 * KIB, max: KIB * MEBI },
        // Source: BIO_MAX_VECS of 256 pages since Linux 5.1; requests of 2.6.32 end at 512 KiB (BLK_DEF_MAX_SECTORS).
        fallback: Fallback::Value("1MiB"),
        help: "Largest request.",
        example: "512KiB",
    },
    OptionSpec {
        key: "workload.pattern.filebench.think",
        kind: Kind::Nanos { min: 0, max: SECOND },
        fallback: Fallback::Value("20us"),
        help: "Mean time of a thread between two operations, above 0; times are exponential.",
        example: "100us",
    },
    OptionSpec {
        key: "workload.pattern.filebench.service",
        kind: Kind::Nanos { min: 0, max: SECOND },
        fallback: Fallback::Value("100us"),
        help: "Time that the nominal device takes for a request. It decides which thread goes on when, and the times.",
        example: "5ms",
    },
    OptionSpec {
        key: "workload.pattern.filebench.depth",
        kind: Kind::Count { min: 1, max: 65_535 },
        fallback: Fallback::Value("32"),
        help: "Requests that the nominal device serves at once.",
        example: "1",
    },
    OptionSpec {
        key: "workload.pattern.filebench.bandwidth",
        kind: Kind::Bandwidth,
        fallback: Fallback::Value("500MB/s"),
        help: "What the link of the nominal device moves.",
        example: "3GB/s",
    },
];

impl Checker<'_> {
    fn filebench(&self) -> Read<Filebench> {
        Ok(Filebench {
            personality: self.named(PERSONALITY, |name| PERSONALITIES.iter().copied().find(|one| one.name == name))?,
            files: self.small("workload.pattern.filebench.files")?,
            file_bytes: self.bytes("workload.pattern.filebench.file_size")?,
            threads: self.small("workload.pattern.filebench.threads")?,
            cache_bytes: self.bytes("workload.pattern.filebench.cache")?,
            seeding: self.choice("workload.pattern.filebench.seeding", &SEEDINGS)?,
            max_bio_bytes: self.small("workload.pattern.filebench.max_bio")?,
            think_ns: self.nanos("workload.pattern.filebench.think")?.0,
            service_ns: self.nanos("workload.pattern.filebench.service")?.0,
            depth: self.small("workload.pattern.filebench.depth")?,
            bytes_per_s: self.bandwidth("workload.pattern.filebench.bandwidth")?.unwrap_or(u64::MAX),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_personality_can_be_chosen() {
        let (known, typical) = (PERSONALITIES.iter().map(|one| one.name), TYPICAL.iter().map(|one| one.name));
        assert!(known.eq(typical));
    }
}
