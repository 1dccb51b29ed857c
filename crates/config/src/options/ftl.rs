//! The flash translation layers.

use super::{Fallback, Kind, MEBI, OptionSpec, TIB, U32, Variant, many_planes};
use crate::ftl::{CACHE_POLICIES, FTLS, LOG_VICTIMS};
use ssdlab_ftl::gc;

/// `trigger` of page mapping and DFTL; the key is a stand-in.
const TRIGGER: OptionSpec = OptionSpec {
    key: "",
    kind: Kind::Choice(&[
        Variant { name: "victim", help: "one victim whenever free pages are short: many short stalls" },
        Variant { name: "batch", help: "below `low` free blocks, collect until `high` are free: few long stalls" },
        Variant {
            name: "partial",
            help: "below `low` free blocks, copy up to `step` pages before each page of the host: stalls of a few \
                   pages each",
        },
    ]),
    // Where dies work side by side, the requests of a closed loop pile up at the one that copies a whole victim, and
    // the others have nothing to do.
    fallback: Fallback::Unless("victim", &many_planes("partial")),
    help: "When garbage collection runs, and how much; in each plane for itself.",
    example: "batch",
};

/// `trigger.batch.low` of page mapping and DFTL; the key is a stand-in.
const BATCH_LOW: OptionSpec = OptionSpec {
    key: "",
    kind: Kind::Count { min: 2, max: MEBI },
    fallback: Fallback::Value("4"),
    help: "Free blocks below which a batch starts.",
    example: "8",
};

/// `trigger.batch.high` of page mapping and DFTL; the key is a stand-in.
const BATCH_HIGH: OptionSpec = OptionSpec {
    key: "",
    kind: Kind::Count { min: 2, max: MEBI },
    fallback: Fallback::Value("16"),
    help: "Free blocks at which a batch ends; more than `low`.",
    example: "32",
};

/// `trigger.partial.low` of page mapping and DFTL; the key is a stand-in.
const PARTIAL_LOW: OptionSpec = OptionSpec {
    key: "",
    kind: Kind::Count { min: 2, max: MEBI },
    fallback: Fallback::Value("4"),
    help: "Free blocks below which pages are copied.",
    example: "8",
};

/// `trigger.partial.step` of page mapping and DFTL; the key is a stand-in.
const PARTIAL_STEP: OptionSpec = OptionSpec {
    key: "",
    kind: Kind::Count { min: 1, max: 32_767 },
    // Our choice, as that of a collection ahead of need.
    fallback: Fallback::Value("8"),
    help: "Pages copied before each page of the host, at most.",
    example: "1",
};

/// `log` of every log-block FTL; the key is a stand-in.
const LOG_SPACE: OptionSpec = OptionSpec {
    key: "",
    kind: Kind::LogSpace,
    fallback: Fallback::Value("all"),
    help: "Log blocks: a number, a share of the data blocks, or all blocks beyond the data.",
    example: "3%",
};

/// `victim` of every log-block FTL that has a choice; the key is a stand-in.
const LOG_VICTIM: OptionSpec = OptionSpec {
    key: "",
    kind: Kind::Choice(LOG_VICTIMS),
    fallback: Fallback::Value("lru"),
    help: "Which log block is given up when all are taken.",
    example: "fifo",
};

/// `sw` of FAST and FASTer; the key is a stand-in.
const SEQUENTIAL: OptionSpec = OptionSpec {
    key: "",
    kind: Kind::Count { min: 0, max: 1 },
    fallback: Fallback::Value("1"),
    help: "Sequential log blocks (SW) among the log blocks; without one every page goes to the random log (RW).",
    example: "0",
};

pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        key: "ftl",
        kind: Kind::Choice(FTLS),
        fallback: Fallback::Value("page"),
        help: "Which flash translation layer runs.",
        example: "page",
    },
    OptionSpec {
        key: "ftl.page.gc",
        kind: Kind::Choice(&[
            Variant { name: "greedy", help: gc::greedy::HELP },
            Variant { name: "fifo", help: gc::fifo::HELP },
            Variant { name: "random", help: gc::random::HELP },
            Variant { name: "d_choices", help: gc::d_choices::HELP },
            Variant { name: "cost_benefit", help: gc::cost_benefit::HELP },
            Variant { name: "windowed_greedy", help: gc::windowed_greedy::HELP },
        ]),
        fallback: Fallback::Value("greedy"),
        help: "Which block garbage collection takes next.",
        example: "fifo",
    },
    OptionSpec {
        key: "ftl.page.gc.d_choices.d",
        kind: Kind::Count { min: 1, max: 65_536 },
        fallback: Fallback::Value("10"),
        help: "Blocks drawn at random.",
        example: "5",
    },
    OptionSpec {
        key: "ftl.page.gc.windowed_greedy.window",
        kind: Kind::Count { min: 1, max: U32 },
        fallback: Fallback::Value("256"),
        help: "Oldest blocks considered.",
        example: "64",
    },
    OptionSpec {
        key: "ftl.page.survivors",
        kind: Kind::Choice(&[
            Variant { name: "own", help: "a block of their own (cheaper under skew)" },
            Variant { name: "shared", help: "the block host writes fill (the classic models)" },
        ]),
        fallback: Fallback::Value("own"),
        help: "Where garbage collection writes the pages that survive.",
        example: "shared",
    },
    OptionSpec { key: "ftl.page.trigger", ..TRIGGER },
    OptionSpec { key: "ftl.page.trigger.batch.low", ..BATCH_LOW },
    OptionSpec { key: "ftl.page.trigger.batch.high", ..BATCH_HIGH },
    OptionSpec { key: "ftl.page.trigger.partial.low", ..PARTIAL_LOW },
    OptionSpec { key: "ftl.page.trigger.partial.step", ..PARTIAL_STEP },
    OptionSpec {
        key: "ftl.page.allocation",
        kind: Kind::Choice(&[
            Variant { name: "least_worn", help: "fewest erases first (dynamic wear levelling)" },
            Variant { name: "fifo", help: gc::fifo::HELP },
        ]),
        fallback: Fallback::Value("least_worn"),
        help: "Which free block is written next.",
        example: "fifo",
    },
    OptionSpec {
        key: "ftl.page.map",
        kind: Kind::Choice(&[
            Variant { name: "ram", help: "in RAM, all of it" },
            Variant { name: "segments", help: "in flash, a cache of segments of it in RAM" },
        ]),
        fallback: Fallback::Value("ram"),
        help: "Where the map is.",
        example: "segments",
    },
    OptionSpec {
        key: "ftl.page.map.segments.cache",
        kind: Kind::Bytes { min: 1, max: TIB },
        fallback: Fallback::Value("64KiB"),
        help: "RAM for segments.",
        example: "512KiB",
    },
    OptionSpec {
        key: "ftl.page.map.segments.segment",
        kind: Kind::Bytes { min: 4, max: MEBI },
        fallback: Fallback::Value("2KiB"),
        help: "Segment: what is loaded at once; a power of two, at most a page.",
        example: "8KiB",
    },
    OptionSpec {
        key: "ftl.page.map.segments.entry",
        kind: Kind::Bytes { min: 1, max: 64 },
        fallback: Fallback::Value("4B"),
        help: "Entry of the map; a power of two.",
        example: "8B",
    },
    OptionSpec {
        key: "ftl.page.map.segments.policy",
        kind: Kind::Choice(CACHE_POLICIES),
        fallback: Fallback::Value("lru"),
        help: "Which cached segment gives way to a new one.",
        example: "clock",
    },
    OptionSpec {
        key: "ftl.page.map.segments.preload",
        kind: Kind::Bool,
        fallback: Fallback::Value("false"),
        help: "Fill the cache from the start of the map before the first request.",
        example: "true",
    },
    OptionSpec {
        key: "ftl.dftl.cmt",
        kind: Kind::Count { min: 1, max: U32 },
        // 64 KB of 8 bytes each, as in the authors' simulator.
        fallback: Fallback::Value("8192"),
        help: "Entries of the cached mapping table, 8 bytes of RAM each.",
        example: "65536",
    },
    OptionSpec {
        key: "ftl.dftl.protected",
        kind: Kind::Percent { min: 0.0, max: 99.0 },
        // 6,552 of 8,192 in the authors' simulator.
        fallback: Fallback::Value("80%"),
        help: "Share of the entries that are protected at most: used again since they came in.",
        example: "50%",
    },
    OptionSpec {
        key: "ftl.dftl.batch",
        kind: Kind::Bool,
        fallback: Fallback::Value("true"),
        help: "Write all changed entries of a translation page back together.",
        example: "false",
    },
    OptionSpec { key: "ftl.dftl.trigger", ..TRIGGER },
    OptionSpec { key: "ftl.dftl.trigger.batch.low", ..BATCH_LOW },
    OptionSpec { key: "ftl.dftl.trigger.batch.high", ..BATCH_HIGH },
    OptionSpec { key: "ftl.dftl.trigger.partial.low", ..PARTIAL_LOW },
    OptionSpec { key: "ftl.dftl.trigger.partial.step", ..PARTIAL_STEP },
    OptionSpec { key: "ftl.bast.log", ..LOG_SPACE },
    OptionSpec { key: "ftl.bast.victim", ..LOG_VICTIM },
    OptionSpec { key: "ftl.fast.log", ..LOG_SPACE },
    OptionSpec { key: "ftl.fast.sw", ..SEQUENTIAL },
    OptionSpec { key: "ftl.faster.log", ..LOG_SPACE },
    OptionSpec { key: "ftl.faster.sw", ..SEQUENTIAL },
    OptionSpec {
        key: "ftl.faster.second_chance",
        kind: Kind::Bool,
        fallback: Fallback::Value("true"),
        help: "Pages still valid when their log block is given up go through the log once more.",
        example: "false",
    },
    OptionSpec {
        key: "ftl.faster.keep_sparse",
        kind: Kind::Bool,
        fallback: Fallback::Value("false"),
        help: "Pages of a log block less than half valid go through the log again, whatever chances they had.",
        example: "true",
    },
    OptionSpec {
        key: "ftl.faster.isolation",
        kind: Kind::Percent { min: 0.0, max: 90.0 },
        // The share in the authors' code.
        fallback: Fallback::Value("20%"),
        help: "Share of the log blocks that collects pages valid after their second chance; 0% merges them at once.",
        example: "0%",
    },
    OptionSpec { key: "ftl.sbfast.log", ..LOG_SPACE },
    OptionSpec {
        key: "ftl.sbfast.slb",
        kind: Kind::Count { min: 1, max: MEBI },
        fallback: Fallback::Value("4"),
        help: "Sequential log blocks (SLBs) among the log blocks.",
        example: "8",
    },
    OptionSpec { key: "ftl.sbfast.victim", ..LOG_VICTIM },
    OptionSpec {
        key: "ftl.sbfast.sub_block",
        kind: Kind::Count { min: 1, max: 32_767 },
        fallback: Fallback::Value("16"),
        help: "Pages of a sub-block (SBS); divides the pages of a block.",
        example: "64",
    },
    OptionSpec {
        key: "ftl.sbfast.rlb_merge",
        kind: Kind::Choice(&[
            Variant { name: "victim", help: "those of the log block being reclaimed and of the data block" },
            Variant { name: "block", help: "all, wherever they lie" },
        ]),
        fallback: Fallback::Value("victim"),
        help: "Which pages of a logical block are merged when a random log block is reclaimed.",
        example: "block",
    },
];
