//! Patterns made of sequential streams.

use crate::checker::Reader;
use crate::kind::Kind;
use crate::table::{Fallback, KIB, MEBI, OptionSpec};
use ssdlab_trace::{Pattern, Streams};

pub(super) const SEQUENTIAL: (&str, &str, Reader<Pattern>) =
    ("sequential", "`streams` streams, each front to back through its own stretch", |checker| {
        Ok(Pattern::Sequential { streams: checker.small("workload.pattern.sequential.streams")? })
    });

pub(super) const STREAMS: (&str, &str, Reader<Pattern>) = (
    "streams",
    "sequential runs of `length` pages in `streams` interleaved streams, amid random requests; a page \
     here is `workload.align`",
    |checker| {
        Ok(Pattern::Streams(Streams {
            streams: checker.small("workload.pattern.streams.streams")?,
            length: checker.count("workload.pattern.streams.length")?,
            sequential: checker.share("workload.pattern.streams.sequential")?,
            block_bytes: checker.small("workload.pattern.streams.block")?,
            sub_block_bytes: checker.small("workload.pattern.streams.sub_block")?,
            block_headers: checker.share("workload.pattern.streams.block_headers")?,
            sub_block_headers: checker.share("workload.pattern.streams.sub_block_headers")?,
            shuffle: checker.share("workload.pattern.streams.shuffle")?,
            random_headers: checker.flag("workload.pattern.streams.random_headers")?,
        }))
    },
);

pub(super) const OPTIONS: &[OptionSpec] = &[
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
];
