//! Patterns of files and of databases in blocks.

use crate::checker::Reader;
use crate::kind::Kind;
use crate::table::{Fallback, KIB, MEBI, OptionSpec, TIB};
use ssdlab_trace::Pattern;

pub(super) const COPY_FILES: (&str, &str, Reader<Pattern>) = (
    "copy_files",
    "`files` files of `file_size`, each front to back, in turn, until all are written or \
     `workload.requests` are made; nothing is read",
    |checker| {
        Ok(Pattern::CopyFiles {
            files: checker.small("workload.pattern.copy_files.files")?,
            file_bytes: checker.bytes("workload.pattern.copy_files.file_size")?,
        })
    },
);

pub(super) const OLTP: (&str, &str, Reader<Pattern>) = (
    "oltp",
    "hot blocks, blocks never touched and the rest, all over the device, as a database leaves them",
    |checker| {
        Ok(Pattern::Oltp {
            block_bytes: checker.small("workload.pattern.oltp.block")?,
            hot_blocks: checker.share("workload.pattern.oltp.hot_blocks")?,
            hot_requests: checker.share("workload.pattern.oltp.hot_requests")?,
            idle_blocks: checker.share("workload.pattern.oltp.idle_blocks")?,
        })
    },
);

pub(super) const OPTIONS: &[OptionSpec] = &[
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
        example: "64MiB",
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
];
