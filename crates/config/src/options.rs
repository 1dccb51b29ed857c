//! Every option there is, in one table: from it come validation, suggestions, the JSON schema and the reference page.
//!
//! A key is a dotted path. An option of kind [`Kind::Choice`] names a *variant*; options whose key continues with that
//! name (`ftl.page.gc` and `ftl.page.gc.d_choices.d`) are the variant's parameters and exist only while it is chosen.
//! A chosen variant is written as a string, or as a table of its parameters.

use crate::ftl::{CACHE_POLICIES, FTLS, LOG_VICTIMS};
use ssdlab_ftl::gc;

/// One option: where it is, what it may be, and what it means.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OptionSpec {
    /// Dotted path, such as `nand.read`.
    pub key: &'static str,
    /// Type and range.
    pub kind: Kind,
    /// What holds when nobody sets it.
    pub fallback: Fallback,
    /// One sentence for the reader of the reference page.
    pub help: &'static str,
    /// A value as `--set` takes it.
    pub example: &'static str,
}

/// Type and range of an option; both ends of a range are allowed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kind {
    /// A size, `"4KiB"`.
    Bytes {
        /// Smallest, in bytes.
        min: u64,
        /// Largest, in bytes.
        max: u64,
    },
    /// A duration, `"25us"`.
    Nanos {
        /// Longest, in nanoseconds.
        max: u64,
    },
    /// A share, `"7%"`.
    Percent {
        /// Smallest, in percent.
        min: f64,
        /// Largest, in percent.
        max: f64,
    },
    /// A whole number.
    Count {
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
    },
    /// A number.
    Float {
        /// Smallest.
        min: f64,
        /// Largest.
        max: f64,
    },
    /// `true` or `false`.
    Bool,
    /// Events per second, `"20k/s"`; more than none.
    Rate,
    /// Request sizes: `"4KiB"`, or a mix with shares, `"4KiB:70%,64KiB:30%"`.
    Sizes,
    /// A part of the device: a size, or `"device"` for all of it.
    Span,
    /// Log blocks: `40`, `"3%"` of the data blocks, or `"all"`.
    LogSpace,
    /// One of several variants.
    Choice(&'static [Variant]),
}

/// One value of a [`Kind::Choice`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Variant {
    /// As written.
    pub name: &'static str,
    /// What choosing it means.
    pub help: &'static str,
}

/// What holds when an option is not set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fallback {
    /// This value, as `--set` takes it.
    Value(&'static str),
    /// The value in [`crate::DEFAULT_PRESET`], whose file gives its source.
    Preset,
    /// Nothing: whoever chooses the variant must set it.
    Required,
    /// Nothing: it is another way to say this option, and replaces it.
    InsteadOf(&'static str),
}

impl OptionSpec {
    /// The names of its variants; empty unless it is a choice.
    pub fn variants(&self) -> &'static [Variant] {
        match self.kind {
            Kind::Choice(variants) => variants,
            _ => &[],
        }
    }

    /// Whether some variant of this choice has parameters, so that a table may be written.
    pub fn has_parameters(&self) -> bool {
        !self.variants().is_empty() && OPTIONS.iter().any(|option| below(self.key, option.key).is_some())
    }

    /// The choices this option depends on, outermost first, each with the variant it needs.
    pub fn conditions(&self) -> impl Iterator<Item = (&'static OptionSpec, &'static str)> {
        let key = self.key;
        OPTIONS.iter().filter(|option| !option.variants().is_empty()).filter_map(move |choice| {
            let rest = below(choice.key, key)?;
            Some((choice, rest.split('.').next().unwrap_or(rest)))
        })
    }

    /// The option that says the same in another way, if there is one.
    pub fn alternative(&self) -> Option<&'static str> {
        match self.fallback {
            Fallback::InsteadOf(other) => Some(other),
            _ => OPTIONS.iter().find(|other| other.fallback == Fallback::InsteadOf(self.key)).map(|other| other.key),
        }
    }
}

/// The option with this key.
pub fn find(key: &str) -> Option<&'static OptionSpec> {
    OPTIONS.iter().find(|option| option.key == key)
}

/// What follows `prefix` and a dot in `key`.
pub fn below<'a>(prefix: &str, key: &'a str) -> Option<&'a str> {
    key.strip_prefix(prefix)?.strip_prefix('.')
}

/// The top-level tables, each with a sentence for the reference page.
pub static SECTIONS: &[(&str, &str)] = &[
    ("device", "The drive as the host and its data sheet see it."),
    ("nand", "One flash chip and its bus."),
    ("ftl", "The flash translation layer, which places pages and collects garbage."),
    ("host", "How requests reach the device."),
    ("precondition", "The state of the device before the first request."),
    ("workload", "The generated workload, for runs without a trace."),
];

const SECOND: u64 = 1_000_000_000;
const KIB: u64 = 1 << 10;
const MEBI: u64 = 1 << 20;
const TIB: u64 = 1 << 40;
const U32: u64 = u32::MAX as u64;

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

/// Every option; a choice comes before the parameters of its variants.
pub static OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        key: "seed",
        kind: Kind::Count { min: 0, max: i64::MAX as u64 },
        fallback: Fallback::Value("1"),
        help: "Seed of every random stream; the same seed and settings give the same results.",
        example: "42",
    },
    OptionSpec {
        key: "check",
        kind: Kind::Bool,
        fallback: Fallback::Value("false"),
        help: "Check each flash operation against the NAND rules and each read against a shadow of the data (slower).",
        example: "true",
    },
    OptionSpec {
        key: "time",
        kind: Kind::Choice(&[
            Variant { name: "count", help: "operations are counted and take no time" },
            Variant { name: "serial", help: "one chip, one operation at a time" },
        ]),
        fallback: Fallback::Value("serial"),
        help: "How simulated time passes.",
        example: "count",
    },
    OptionSpec {
        key: "device.capacity",
        kind: Kind::Bytes { min: KIB, max: 16 * TIB },
        // Small enough to fill and overwrite in about a second, large enough for thousands of blocks.
        fallback: Fallback::Value("4GiB"),
        help: "Bytes the host sees; a multiple of the page size.",
        example: "64GiB",
    },
    OptionSpec {
        key: "device.op",
        kind: Kind::Percent { min: 0.0, max: 1000.0 },
        // What "GB sold, GiB built in" leaves: 2^30 / 10^9 = 1.07.
        fallback: Fallback::Value("7%"),
        help: "Over-provisioning: flash beyond the capacity as a share of the capacity, (T - U) / U.",
        example: "12.5%",
    },
    OptionSpec {
        key: "device.spare",
        kind: Kind::Percent { min: 0.0, max: 95.0 },
        fallback: Fallback::InsteadOf("device.op"),
        help: "Spare factor: flash beyond the capacity as a share of all flash, (T - U) / T.",
        example: "10%",
    },
    OptionSpec {
        key: "device.reserve",
        kind: Kind::Choice(&[
            Variant { name: "inside", help: "part of the over-provisioned space, as in a real drive" },
            Variant { name: "extra", help: "added to it, as the analytic models of write amplification assume" },
        ]),
        fallback: Fallback::Value("inside"),
        help: "Where the blocks come from that the FTL always keeps open or erased.",
        example: "extra",
    },
    OptionSpec {
        key: "nand.page_size",
        kind: Kind::Bytes { min: 512, max: MEBI },
        fallback: Fallback::Preset,
        help: "Page: the unit of programming and of the map; a power of two.",
        example: "16KiB",
    },
    OptionSpec {
        key: "nand.pages_per_block",
        kind: Kind::Count { min: 2, max: 32_767 },
        // The default drive is small: with the preset's large blocks it would have a hundred of them, and block
        // granularity would dominate. 256 keeps the number of blocks of a full-size drive.
        fallback: Fallback::Value("256"),
        help: "Pages of an erase block.",
        example: "64",
    },
    OptionSpec {
        key: "nand.read",
        kind: Kind::Nanos { max: SECOND },
        fallback: Fallback::Preset,
        help: "Cell array to page register (t_R).",
        example: "25us",
    },
    OptionSpec {
        key: "nand.program",
        kind: Kind::Nanos { max: SECOND },
        fallback: Fallback::Preset,
        help: "Page register to cell array (t_PROG).",
        example: "200us",
    },
    OptionSpec {
        key: "nand.erase",
        kind: Kind::Nanos { max: 10 * SECOND },
        fallback: Fallback::Preset,
        help: "Block erase (t_BERS).",
        example: "2ms",
    },
    OptionSpec {
        key: "nand.transfer_per_kib",
        kind: Kind::Nanos { max: SECOND },
        fallback: Fallback::Preset,
        help: "Bus transfer of 1,024 bytes between page register and controller; 0ns leaves the bus out.",
        example: "1.28us",
    },
    OptionSpec {
        key: "nand.copyback",
        kind: Kind::Bool,
        fallback: Fallback::Preset,
        help: "Internal copies stay inside the chip and skip both bus transfers.",
        example: "true",
    },
    OptionSpec {
        key: "nand.partial_read",
        kind: Kind::Bool,
        fallback: Fallback::Preset,
        help: "A host read transfers only the bytes asked for; otherwise whole pages.",
        example: "true",
    },
    OptionSpec {
        key: "nand.endurance",
        kind: Kind::Count { min: 1, max: U32 },
        fallback: Fallback::Preset,
        help: "Program/erase cycles a block endures.",
        example: "100000",
    },
    OptionSpec {
        key: "nand.order",
        kind: Kind::Choice(&[
            Variant {
                name: "ascending",
                help: "only pages behind the last one programmed (MLC, TLC, large-block SLC)",
            },
            Variant { name: "any", help: "any page that is still erased (small-block SLC)" },
        ]),
        fallback: Fallback::Preset,
        help: "Order in which the pages of a block may be programmed.",
        example: "any",
    },
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
    OptionSpec {
        key: "ftl.page.trigger",
        kind: Kind::Choice(&[
            Variant { name: "victim", help: "one victim whenever free pages are short: many short stalls" },
            Variant { name: "batch", help: "below `low` free blocks, collect until `high` are free: few long stalls" },
        ]),
        fallback: Fallback::Value("victim"),
        help: "When garbage collection runs, and how much.",
        example: "batch",
    },
    OptionSpec {
        key: "ftl.page.trigger.batch.low",
        kind: Kind::Count { min: 2, max: MEBI },
        fallback: Fallback::Value("4"),
        help: "Free blocks below which a batch starts.",
        example: "8",
    },
    OptionSpec {
        key: "ftl.page.trigger.batch.high",
        kind: Kind::Count { min: 2, max: MEBI },
        fallback: Fallback::Value("16"),
        help: "Free blocks at which a batch ends; more than `low`.",
        example: "32",
    },
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
    OptionSpec {
        key: "host.replay",
        kind: Kind::Choice(&[
            Variant { name: "closed", help: "each request when the one before it completes; trace times are ignored" },
            Variant { name: "open", help: "each request at its time in the trace; requests queue" },
        ]),
        fallback: Fallback::Value("closed"),
        help: "When the next request is issued.",
        example: "open",
    },
    OptionSpec {
        key: "host.fit",
        kind: Kind::Choice(&[
            Variant { name: "error", help: "stop and name the request" },
            Variant { name: "wrap", help: "address modulo capacity" },
            Variant { name: "scale", help: "address times capacity over the extent of the trace" },
            Variant { name: "grow", help: "enlarge the device until the trace fits" },
        ]),
        fallback: Fallback::Value("error"),
        help: "What to do with addresses beyond the device.",
        example: "wrap",
    },
    OptionSpec {
        key: "host.warmup",
        kind: Kind::Count { min: 0, max: i64::MAX as u64 },
        fallback: Fallback::Value("0"),
        help: "Requests replayed before measuring starts.",
        example: "100000",
    },
    OptionSpec {
        key: "precondition.fill",
        kind: Kind::Percent { min: 0.0, max: 100.0 },
        fallback: Fallback::Value("100%"),
        help: "Share of the logical pages written once, in order.",
        example: "80%",
    },
    OptionSpec {
        key: "precondition.overwrite",
        kind: Kind::Choice(&[
            Variant { name: "none", help: "not at all" },
            Variant { name: "steady", help: "uniformly at random until write amplification is stable" },
            Variant { name: "passes", help: "uniformly at random, `count` times the capacity" },
        ]),
        fallback: Fallback::Value("steady"),
        help: "How the filled pages are overwritten before the first request.",
        example: "none",
    },
    OptionSpec {
        key: "precondition.overwrite.passes.count",
        kind: Kind::Float { min: 0.0, max: 1000.0 },
        fallback: Fallback::Value("2.0"),
        help: "Bytes overwritten as a multiple of the capacity.",
        example: "1.5",
    },
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
