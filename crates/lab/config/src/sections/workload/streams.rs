//! Reads the settings of workload patterns with sequential streams.

use crate::checker::Reader;
use crate::kind::Kind;
use crate::table::{KIB, MEBI, OptionSpec, option};
use ssdlab_trace::{Pattern, Streams};

pub(super) const SEQUENTIAL: (&str, &str, Reader<Pattern>) =
    ("sequential", "`streams` streams, each front to back through its own part of the span", |checker| {
        Ok(Pattern::Sequential { streams: checker.small("workload.pattern.sequential.streams")? })
    });

pub(super) const STREAMS: (&str, &str, Reader<Pattern>) = (
    "streams",
    "sequential runs of `length` pages in `streams` interleaved streams, among random requests; a page has the size \
     `workload.align`",
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
    option("workload.pattern.sequential.streams", Kind::Count { min: 1, max: 65_535 })
        .default("1")
        .example("4")
        .help("Interleaved streams."),
    option("workload.pattern.streams.streams", Kind::Count { min: 1, max: 65_534 })
        .default("4")
        .example("8")
        .help("Number of concurrent sequential streams."),
    option("workload.pattern.streams.length", Kind::Count { min: 2, max: i64::MAX as u64 })
        .default("64")
        .example("256")
        .help("Pages of a sequential run; each run starts at a random place."),
    option("workload.pattern.streams.sequential", Kind::Percent { min: 0.0, max: 100.0 })
        .default("50%")
        .example("90%")
        .help("Share of the requests in sequential runs; all others go to random pages."),
    option("workload.pattern.streams.block", Kind::Bytes { min: 512, max: KIB * MEBI })
        .default("128KiB")
        .example("256KiB")
        .help("Size of a block, whose first page is its header."),
    option("workload.pattern.streams.sub_block", Kind::Bytes { min: 512, max: KIB * MEBI })
        .default("32KiB")
        .example("16KiB")
        .help("Size of a sub-block, whose first page is its header; it divides the block."),
    option("workload.pattern.streams.block_headers", Kind::Percent { min: 0.0, max: 100.0 })
        .default("0%")
        .example("25%")
        .help("Share of the sequential runs that start at a block header."),
    option("workload.pattern.streams.sub_block_headers", Kind::Percent { min: 0.0, max: 100.0 })
        .default("0%")
        .example("25%")
        .help("Share of the sequential runs that start at a sub-block header, which may be a block header."),
    option("workload.pattern.streams.shuffle", Kind::Percent { min: 0.0, max: 100.0 })
        .default("100%")
        .example("50%")
        .help(
            "Chance of switching to the next stream after a sequential request: at 100% the streams alternate page by \
             page, at 0% run by run.",
        ),
    option("workload.pattern.streams.random_headers", Kind::Bool)
        .default("true")
        .example("false")
        .help("Random requests may go to block headers."),
];
