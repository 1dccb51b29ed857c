//! Settings of the Filebench pattern: files, threads and their page cache.

use crate::checker::{Checker, Read};
use crate::kind::{Choices, Kind};
use crate::table::{Case, Fallback, Is, KIB, MEBI, OptionSpec, SECOND, TIB, bytes, count, nanos, option};
use ssdlab_core::units::write_bytes;
use ssdlab_trace::{FILES_MAX, Filebench, PERSONALITIES, Personality, PersonalityRules, Seeding};

/// Name and help text of the pattern.
pub(super) const FILEBENCH: (&str, &str) = (
    "filebench",
    "a Filebench `personality` on an ext4 file system of size `workload.span`; sets the flags, threads and times of \
     requests, and ignores `workload.reads`, `size`, `align` and `arrival`",
);

const PERSONALITY: &str = "workload.pattern.filebench.personality";

static SEEDINGS: Choices<Seeding, 2> = Choices::new([
    ("filebench", "equal seeds: every process draws the same random numbers", Seeding::Filebench),
    ("independent", "each process draws its own random numbers", Seeding::Independent),
]);

/// Returns an option's default for each Filebench personality; the value for the first personality is the fallback.
fn by_personality(default: fn(&PersonalityRules) -> String) -> Fallback {
    let text = |personality: &Personality| -> &'static str { default(&personality.role).leak() };
    let case =
        |other: &&'static Personality| Case { key: PERSONALITY, is: Is::Variant(other.name), value: text(other) };
    let (first, others) = PERSONALITIES.split_first().expect("built-in personalities");
    Fallback::Unless(text(first), others.iter().map(case).collect::<Vec<_>>().leak())
}

pub(super) fn options() -> Vec<OptionSpec> {
    let personality = [
        option(PERSONALITY, Kind::of_names(PERSONALITIES.choices()))
            .default(PERSONALITIES[0].name)
            .example("varmail")
            .help("Filebench personality, which defines the files and the operations of the threads."),
        count("workload.pattern.filebench.files", 1..=FILES_MAX as u64)
            .fallback(by_personality(|rules| rules.files.to_string()))
            .example("20000")
            .help("Number of files; must exceed the number of threads, except for oltp."),
        bytes("workload.pattern.filebench.file_size", 4 * KIB..=TIB)
            .fallback(by_personality(|rules| write_bytes(rules.file_bytes)))
            .example("32KiB")
            .help("Mean file size. Sizes follow a gamma distribution of shape 1.5; oltp files are all equal."),
        count("workload.pattern.filebench.threads", 1..=65_000)
            .fallback(by_personality(|rules| rules.threads.to_string()))
            .example("100")
            .help("Number of threads; for oltp, number of reader processes."),
    ];
    [&personality, OPTIONS].concat()
}

const OPTIONS: &[OptionSpec] = &[
    bytes("workload.pattern.filebench.cache", 4 * MEBI..=TIB)
        .default("512MiB")
        .example("8GiB")
        .help("Page cache size. Write-back starts above 10 % dirty pages; writers block above 20 %."),
    option("workload.pattern.filebench.seeding", SEEDINGS.kind())
        .default("filebench")
        .example("independent")
        .help("Random seeds of the processes; only oltp has more than one process."),
    bytes("workload.pattern.filebench.max_bio", 4 * KIB..=KIB * MEBI)
        // Source: BIO_MAX_VECS is 256 pages since Linux 5.1. In Linux 2.6.32, a request has at most 512 KiB
        // (BLK_DEF_MAX_SECTORS).
        .default("1MiB")
        .example("512KiB")
        .help("Largest request."),
    nanos("workload.pattern.filebench.think", 0..=SECOND)
        .default("20us")
        .example("100us")
        .help("Mean of the exponentially distributed think time between two operations of a thread; must be above 0."),
    nanos("workload.pattern.filebench.service", 0..=SECOND).default("100us").example("5ms").help(
        "Service time of a request on the nominal device, which stands in for the drive while requests are \
             generated; determines the timestamps and the order of the threads.",
    ),
    count("workload.pattern.filebench.depth", 1..=65_535)
        .default("32")
        .example("1")
        .help("Maximum number of requests that the nominal device serves concurrently."),
    option("workload.pattern.filebench.bandwidth", Kind::Bandwidth)
        .default("500MB/s")
        .example("3GB/s")
        .help("Link bandwidth of the nominal device."),
];

impl Checker<'_> {
    pub(super) fn filebench(&self) -> Read<Filebench> {
        Ok(Filebench {
            personality: self.named(PERSONALITY, |name| PERSONALITIES.find(name))?,
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
