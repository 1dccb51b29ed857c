//! The generated workload.

use super::{Case, Fallback, Is, KIB, Kind, MEBI, OptionSpec, SECOND, TIB, U32, Variant};

const PERSONALITY: &str = "workload.pattern.filebench.personality";

/// Defaults of webserver, varmail and oltp.
const fn by_personality(values: [&'static str; 3]) -> [Case; 3] {
    [
        Case { key: PERSONALITY, is: Is::Variant("webserver"), value: values[0] },
        Case { key: PERSONALITY, is: Is::Variant("varmail"), value: values[1] },
        Case { key: PERSONALITY, is: Is::Variant("oltp"), value: values[2] },
    ]
}

pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        key: "workload.pattern",
        kind: Kind::Choice(&[
            Variant { name: "uniform", help: "every address equally likely" },
            Variant { name: "zipf", help: "the k-th most popular address in proportion to 1 / k^`theta`" },
            Variant { name: "hot_cold", help: "`hot_requests` of the requests go to `hot_space` of the addresses" },
            Variant { name: "sequential", help: "`streams` streams, each front to back through its own stretch" },
            Variant {
                name: "streams",
                help: "sequential runs of `length` pages in `streams` interleaved streams, amid random requests; a page \
                       here is `workload.align`",
            },
            Variant {
                name: "copy_files",
                help: "`files` files of `file_size`, each front to back, in turn, until all are written or \
                       `workload.requests` are made; nothing is read",
            },
            Variant {
                name: "oltp",
                help: "hot blocks, blocks never touched and the rest, all over the device, as a database leaves them",
            },
            Variant {
                name: "locality",
                help: "runs that go on, return and jump in few regions, fitted to the first boot of a phone; a slot here \
                       is `workload.align`, and the fit is for 8KiB of it, as `workload.size` too, in a span of 1GiB",
            },
            Variant {
                name: "filebench",
                help: "a Filebench `personality` on ext4 in a file system of `workload.span`: bios with their flags, \
                       threads and times; `workload.reads`, `size`, `align` and `arrival` are not used",
            },
        ]),
        fallback: Fallback::Value("uniform"),
        help: "Which addresses are touched.",
        example: "zipf",
    },
    OptionSpec {
        key: "workload.pattern.zipf.theta",
        kind: Kind::Float { min: 0.01, max: 10.0 },
        fallback: Fallback::Value("0.99"),
        help: "Skew; 0.99 is YCSB's.",
        example: "0.8",
    },
    OptionSpec {
        key: "workload.pattern.hot_cold.hot_requests",
        kind: Kind::Percent { min: 0.0, max: 100.0 },
        fallback: Fallback::Value("80%"),
        help: "Share of the requests that are hot.",
        example: "90%",
    },
    OptionSpec {
        key: "workload.pattern.hot_cold.hot_space",
        kind: Kind::Percent { min: 0.01, max: 99.99 },
        fallback: Fallback::Value("20%"),
        help: "Share of the span that is hot.",
        example: "10%",
    },
    OptionSpec {
        key: "workload.pattern.hot_cold.placement",
        kind: Kind::Choice(&[
            Variant { name: "together", help: "in the first stretch of the span" },
            Variant { name: "scattered", help: "one by one all over the span" },
        ]),
        fallback: Fallback::Value("together"),
        help: "Where the hot addresses lie.",
        example: "scattered",
    },
    OptionSpec {
        key: "workload.pattern.sequential.streams",
        kind: Kind::Count { min: 1, max: 65_535 },
        fallback: Fallback::Value("1"),
        help: "Interleaved streams.",
        example: "4",
    },
    OptionSpec {
        key: "workload.pattern.streams.streams",
        kind: Kind::Count { min: 1, max: 65_534 },
        fallback: Fallback::Value("4"),
        help: "Concurrent sequential streams.",
        example: "8",
    },
    OptionSpec {
        key: "workload.pattern.streams.length",
        kind: Kind::Count { min: 2, max: i64::MAX as u64 },
        fallback: Fallback::Value("64"),
        help: "Pages of one sequential run; each starts at a random place.",
        example: "256",
    },
    OptionSpec {
        key: "workload.pattern.streams.sequential",
        kind: Kind::Percent { min: 0.0, max: 100.0 },
        fallback: Fallback::Value("50%"),
        help: "Share of the requests that belong to a sequential run; the others go to one random page.",
        example: "90%",
    },
    OptionSpec {
        key: "workload.pattern.streams.block",
        kind: Kind::Bytes { min: 512, max: KIB * MEBI },
        fallback: Fallback::Value("128KiB"),
        help: "Size of a block, whose first page is its header.",
        example: "256KiB",
    },
    OptionSpec {
        key: "workload.pattern.streams.sub_block",
        kind: Kind::Bytes { min: 512, max: KIB * MEBI },
        fallback: Fallback::Value("32KiB"),
        help: "Size of a sub-block, whose first page is its header; it divides the block.",
        example: "16KiB",
    },
    OptionSpec {
        key: "workload.pattern.streams.block_headers",
        kind: Kind::Percent { min: 0.0, max: 100.0 },
        fallback: Fallback::Value("0%"),
        help: "Share of the sequential runs made to start at a block header.",
        example: "25%",
    },
    OptionSpec {
        key: "workload.pattern.streams.sub_block_headers",
        kind: Kind::Percent { min: 0.0, max: 100.0 },
        fallback: Fallback::Value("0%"),
        help: "Share of the sequential runs made to start at a sub-block header, be it a block header or not.",
        example: "25%",
    },
    OptionSpec {
        key: "workload.pattern.streams.shuffle",
        kind: Kind::Percent { min: 0.0, max: 100.0 },
        fallback: Fallback::Value("100%"),
        help: "Chance that the next stream follows a sequential request: at 100% streams take turns page by page, at 0% run by run.",
        example: "50%",
    },
    OptionSpec {
        key: "workload.pattern.streams.random_headers",
        kind: Kind::Bool,
        fallback: Fallback::Value("true"),
        help: "Whether random requests may go to a block header.",
        example: "false",
    },
    OptionSpec {
        key: "workload.pattern.copy_files.files",
        kind: Kind::Count { min: 1, max: 65_535 },
        fallback: Fallback::Value("10"),
        help: "Files written at the same time.",
        example: "2",
    },
    OptionSpec {
        key: "workload.pattern.copy_files.file_size",
        kind: Kind::Bytes { min: 512, max: TIB },
        fallback: Fallback::Value("100MiB"),
        help: "Length of each file.",
        example: "1GiB",
    },
    OptionSpec {
        key: "workload.pattern.oltp.block",
        kind: Kind::Bytes { min: 512, max: KIB * MEBI },
        fallback: Fallback::Value("128KiB"),
        help: "Size of a block.",
        example: "256KiB",
    },
    OptionSpec {
        key: "workload.pattern.oltp.hot_blocks",
        kind: Kind::Percent { min: 0.0, max: 100.0 },
        fallback: Fallback::Value("2.2%"),
        help: "Share of the blocks that is hot.",
        example: "5%",
    },
    OptionSpec {
        key: "workload.pattern.oltp.hot_requests",
        kind: Kind::Percent { min: 0.0, max: 100.0 },
        fallback: Fallback::Value("66%"),
        help: "Share of the requests that goes to hot blocks.",
        example: "80%",
    },
    OptionSpec {
        key: "workload.pattern.oltp.idle_blocks",
        kind: Kind::Percent { min: 0.0, max: 100.0 },
        fallback: Fallback::Value("20.8%"),
        help: "Share of the blocks that no request touches.",
        example: "10%",
    },
    OptionSpec {
        key: "workload.pattern.locality.jump",
        kind: Kind::Percent { min: 0.0, max: 100.0 },
        // Source of these nine: fitted to the misses of segment caches under the first boot of Android in the map cache
        // document, which gives neither addresses nor a model; see `Pattern::LOCALITY`.
        fallback: Fallback::Value("5.4%"),
        help: "Chance that a request leaves its run.",
        example: "10%",
    },
    OptionSpec {
        key: "workload.pattern.locality.advance",
        kind: Kind::Percent { min: 0.0, max: 100.0 },
        fallback: Fallback::Value("79%"),
        help: "Chance that a request that stays goes on to the next slot, rather than to the same again.",
        example: "50%",
    },
    OptionSpec {
        key: "workload.pattern.locality.back",
        kind: Kind::Percent { min: 0.0, max: 100.0 },
        fallback: Fallback::Value("45%"),
        help: "Chance that a jump returns to where an earlier run stopped; else it begins a run at a new place.",
        example: "60%",
    },
    OptionSpec {
        key: "workload.pattern.locality.decay",
        kind: Kind::Float { min: 0.01, max: 1.0 },
        fallback: Fallback::Value("0.847"),
        help: "Ratio of the chances of returning to the run that stopped d + 1 and d runs ago.",
        example: "0.93",
    },
    OptionSpec {
        key: "workload.pattern.locality.runs",
        kind: Kind::Count { min: 1, max: 1 << 20 },
        fallback: Fallback::Value("86"),
        help: "Latest runs that can be returned to.",
        example: "20",
    },
    OptionSpec {
        key: "workload.pattern.locality.spread",
        kind: Kind::Float { min: 0.01, max: 100.0 },
        fallback: Fallback::Value("1.73"),
        help: "A new place is 2^(b u^`spread`) slots away, b being log2 of all slots and u uniform from 0 to 1: the larger, the nearer.",
        example: "2.5",
    },
    OptionSpec {
        key: "workload.pattern.locality.heads",
        kind: Kind::Count { min: 0, max: 1 << 20 },
        fallback: Fallback::Value("90"),
        help: "Regions that all addresses keep to; 0 for the whole span.",
        example: "0",
    },
    OptionSpec {
        key: "workload.pattern.locality.region",
        kind: Kind::Bytes { min: 512, max: KIB * MEBI },
        fallback: Fallback::Value("2MiB"),
        help: "Size of a region.",
        example: "4MiB",
    },
    OptionSpec {
        key: "workload.pattern.locality.stretches",
        kind: Kind::Count { min: 1, max: 1 << 20 },
        fallback: Fallback::Value("6"),
        help: "Stretches of neighbours that the regions form, of random lengths at random places.",
        example: "20",
    },
    OptionSpec {
        key: PERSONALITY,
        kind: Kind::Choice(&[
            Variant { name: "fileserver", help: "create, append to, read and delete whole files" },
            Variant { name: "webserver", help: "read ten whole files, append to one log" },
            Variant { name: "varmail", help: "delete, write, answer and read mails, durable once written" },
            Variant { name: "oltp", help: "a database: small reads and durable small writes at random" },
        ]),
        // Source of the numbers by personality: Filebench, workloads/*.f.
        fallback: Fallback::Value("fileserver"),
        help: "What files and threads are like.",
        example: "varmail",
    },
    OptionSpec {
        key: "workload.pattern.filebench.files",
        kind: Kind::Count { min: 1, max: U32 / 2 },
        fallback: Fallback::Unless("10000", &by_personality(["1000", "1000", "10"])),
        help: "Files of the fileset; more than there are threads, but for oltp.",
        example: "50000",
    },
    OptionSpec {
        key: "workload.pattern.filebench.file_size",
        kind: Kind::Bytes { min: 4 * KIB, max: TIB },
        fallback: Fallback::Unless("128KiB", &by_personality(["16KiB", "16KiB", "10MiB"])),
        help: "Mean size of a file. Sizes follow a gamma distribution of shape 1.5; those of oltp are all equal.",
        example: "32KiB",
    },
    OptionSpec {
        key: "workload.pattern.filebench.threads",
        kind: Kind::Count { min: 1, max: 65_000 },
        fallback: Fallback::Unless("50", &by_personality(["100", "16", "200"])),
        help: "Threads; for oltp the reading processes.",
        example: "100",
    },
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
        kind: Kind::Choice(&[
            Variant { name: "filebench", help: "none: every process draws the same numbers" },
            Variant { name: "independent", help: "each process draws its own" },
        ]),
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
    OptionSpec {
        key: "workload.arrival",
        kind: Kind::Choice(&[
            Variant { name: "closed", help: "all at time 0: the closed loop of the replay decides" },
            Variant { name: "fixed", help: "evenly spaced at `rate`" },
            Variant { name: "poisson", help: "exponential gaps, `rate` on average" },
        ]),
        fallback: Fallback::Value("closed"),
        help: "When requests arrive; seen by `host.replay = \"open\"` only.",
        example: "closed",
    },
    OptionSpec {
        key: "workload.arrival.fixed.rate",
        kind: Kind::Rate,
        fallback: Fallback::Required,
        help: "Requests per second.",
        example: "500/s",
    },
    OptionSpec {
        key: "workload.arrival.poisson.rate",
        kind: Kind::Rate,
        fallback: Fallback::Required,
        help: "Requests per second on average.",
        example: "2k/s",
    },
    OptionSpec {
        key: "workload.requests",
        kind: Kind::Count { min: 0, max: i64::MAX as u64 },
        fallback: Fallback::Value("1000000"),
        help: "How many requests, at most.",
        example: "50000",
    },
    OptionSpec {
        key: "workload.reads",
        kind: Kind::Percent { min: 0.0, max: 100.0 },
        fallback: Fallback::Value("30%"),
        help: "Share of the requests that read; the rest write. The pattern `copy_files` reads nothing.",
        example: "0%",
    },
    OptionSpec {
        key: "workload.size",
        kind: Kind::Sizes,
        fallback: Fallback::Value("4KiB"),
        help: "Request size, or a mix of sizes whose shares add up to 100 %.",
        example: "4KiB:70%,64KiB:30%",
    },
    OptionSpec {
        key: "workload.align",
        kind: Kind::Bytes { min: 512, max: KIB * MEBI },
        fallback: Fallback::Value("4KiB"),
        help: "Addresses are multiples of this.",
        example: "16KiB",
    },
    OptionSpec {
        key: "workload.span",
        kind: Kind::Span,
        fallback: Fallback::Value("device"),
        help: "Addresses lie in the first part of the device: a size, or `device` for all of it.",
        example: "1GiB",
    },
];
