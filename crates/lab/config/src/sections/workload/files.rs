//! Reads the settings of the workload patterns that write files or imitate databases.

use crate::checker::Reader;
use crate::kind::Kind;
use crate::table::{KIB, MEBI, OptionSpec, TIB, option};
use ssdlab_trace::Pattern;

pub(super) const COPY_FILES: (&str, &str, Reader<Pattern>) = (
    "copy_files",
    "writes `files` files of `file_size` in turn, each front to back, until all are written or `workload.requests` is \
     reached",
    |checker| {
        Ok(Pattern::CopyFiles {
            files: checker.small("workload.pattern.copy_files.files")?,
            file_bytes: checker.bytes("workload.pattern.copy_files.file_size")?,
        })
    },
);

pub(super) const OLTP: (&str, &str, Reader<Pattern>) =
    ("oltp", "hot, idle and other blocks all over the device, as in a database", |checker| {
        Ok(Pattern::Oltp {
            block_bytes: checker.small("workload.pattern.oltp.block")?,
            hot_blocks: checker.share("workload.pattern.oltp.hot_blocks")?,
            hot_requests: checker.share("workload.pattern.oltp.hot_requests")?,
            idle_blocks: checker.share("workload.pattern.oltp.idle_blocks")?,
        })
    });

pub(super) const OPTIONS: &[OptionSpec] = &[
    option("workload.pattern.copy_files.files", Kind::Count { min: 1, max: 65_535 })
        .default("10")
        .example("2")
        .help("Files written at the same time."),
    option("workload.pattern.copy_files.file_size", Kind::Bytes { min: 512, max: TIB })
        .default("100MiB")
        .example("64MiB")
        .help("Length of each file."),
    option("workload.pattern.oltp.block", Kind::Bytes { min: 512, max: KIB * MEBI })
        .default("128KiB")
        .example("256KiB")
        .help("Block size."),
    option("workload.pattern.oltp.hot_blocks", Kind::Percent { min: 0.0, max: 100.0 })
        .default("2.2%")
        .example("5%")
        .help("Share of hot blocks."),
    option("workload.pattern.oltp.hot_requests", Kind::Percent { min: 0.0, max: 100.0 })
        .default("66%")
        .example("80%")
        .help("Share of the requests that go to hot blocks."),
    option("workload.pattern.oltp.idle_blocks", Kind::Percent { min: 0.0, max: 100.0 })
        .default("20.8%")
        .example("10%")
        .help("Share of the blocks that no request touches."),
];
