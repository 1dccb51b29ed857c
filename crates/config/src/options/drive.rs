//! Controller, link and queues of a drive that works on many requests at once.

use super::{Fallback, KIB, Kind, OptionSpec, SECOND, TIB, Variant};
use crate::drive::ORDERS;

/// `size` of every write buffer; the key is a stand-in.
const BUFFER_SIZE: OptionSpec = OptionSpec {
    key: "",
    kind: Kind::Bytes { min: 512, max: TIB },
    // Our choice: a few milliseconds of writes of a fast host.
    fallback: Fallback::Value("16MiB"),
    help: "RAM for written pages; whole pages of it are used, at least one.",
    example: "1MiB",
};

/// `plp` of every write buffer; the key is a stand-in.
const POWER_LOSS_PROTECTION: OptionSpec = OptionSpec {
    key: "",
    kind: Kind::Bool,
    fallback: Fallback::Value("false"),
    help: "Power-loss protection: what the buffer holds is safe, so flush requests wait for nothing.",
    example: "true",
};

/// `blocks` of every collection ahead of need; the key is a stand-in.
const COLLECT_BLOCKS: OptionSpec = OptionSpec {
    key: "",
    kind: Kind::Count { min: 1, max: 65_536 },
    // Our choice: a burst of a few blocks for each plane.
    fallback: Fallback::Value("4"),
    help: "Erased blocks to reach in each plane, beyond those that the FTL always keeps.",
    example: "16",
};

/// `step` of every collection ahead of need; the key is a stand-in.
const COLLECT_STEP: OptionSpec = OptionSpec {
    key: "",
    kind: Kind::Count { min: 1, max: 32_767 },
    // Our choice: short against a block, so that a request that arrives waits for little.
    fallback: Fallback::Value("8"),
    help: "Pages copied before it is seen again whether requests wait.",
    example: "1",
};

pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        key: "drive.order",
        kind: Kind::Choice(ORDERS),
        fallback: Fallback::Value("CWDP"),
        help: "In which order successive pages are spread over channels (C), ways (W), dies (D) and planes (P): the \
               level that changes with every page first.",
        example: "PDWC",
    },
    OptionSpec {
        key: "drive.scheduler",
        kind: Kind::Choice(&[
            Variant { name: "fifo", help: "as they were issued" },
            Variant { name: "out_of_order", help: "as they become ready" },
            Variant { name: "read_first", help: "reads of the host first" },
            Variant { name: "host_first", help: "all for the host before collection, merges and writing the map" },
        ]),
        fallback: Fallback::Value("out_of_order"),
        help: "Which of the operations that wait for a die goes next.",
        example: "read_first",
    },
    OptionSpec {
        key: "drive.backlog",
        kind: Kind::Count { min: 1, max: 65_536 },
        fallback: Fallback::Value("64"),
        help: "Flash operations under way for each die, on average, above which no further request is taken, or, where there \
               is a buffer, no further page of it is programmed.",
        example: "16",
    },
    OptionSpec {
        key: "drive.command",
        kind: Kind::Nanos { min: 0, max: SECOND },
        fallback: Fallback::Value("0ns"),
        help: "Work of the controller on each request, one after the other, before its first flash operation.",
        example: "2us",
    },
    OptionSpec {
        key: "drive.link",
        kind: Kind::Bandwidth,
        fallback: Fallback::Value("none"),
        help: "Bandwidth of the link to the host; `none` takes no time.",
        example: "600MB/s",
    },
    OptionSpec {
        key: "drive.duplex",
        kind: Kind::Choice(&[
            Variant { name: "full", help: "data goes both ways at once" },
            Variant { name: "half", help: "one way at a time" },
        ]),
        fallback: Fallback::Value("full"),
        help: "Ways of the link.",
        example: "half",
    },
    OptionSpec {
        key: "drive.protocol",
        kind: Kind::Choice(&[
            Variant { name: "direct", help: "none: the drive sees every request at once" },
            Variant { name: "sata", help: "one queue with native command queueing (NCQ)" },
            Variant { name: "ufs", help: "one queue, as UFS has, and eMMC with command queueing" },
            Variant {
                name: "nvme",
                help: "`queues` queues: requests of stream s of the host go to queue s modulo `queues`",
            },
        ]),
        fallback: Fallback::Value("direct"),
        help: "Queues between host and drive.",
        example: "nvme",
    },
    OptionSpec {
        key: "drive.protocol.sata.depth",
        // NCQ has 32 tags, of which Linux long used 31.
        kind: Kind::Count { min: 1, max: 32 },
        fallback: Fallback::Value("31"),
        help: "Requests that the drive holds.",
        example: "8",
    },
    OptionSpec {
        key: "drive.protocol.ufs.depth",
        // The slots of a UFS host controller with one queue, and those of an eMMC queue.
        kind: Kind::Count { min: 1, max: 32 },
        fallback: Fallback::Value("32"),
        help: "Requests that the drive holds.",
        example: "16",
    },
    OptionSpec {
        key: "drive.protocol.nvme.queues",
        kind: Kind::Count { min: 1, max: KIB },
        // Our choice: those of a host with eight cores.
        fallback: Fallback::Value("8"),
        help: "Submission queues.",
        example: "2",
    },
    OptionSpec {
        key: "drive.protocol.nvme.depth",
        // What NVMe allows; Linux asks for 1,024.
        kind: Kind::Count { min: 2, max: 65_536 },
        fallback: Fallback::Value("1024"),
        help: "Requests that a queue holds.",
        example: "64",
    },
    OptionSpec {
        key: "drive.protocol.nvme.slots",
        kind: Kind::Count { min: 1, max: 65_536 },
        fallback: Fallback::Value("1024"),
        help: "Requests that the drive works on at a time.",
        example: "128",
    },
    OptionSpec {
        key: "drive.protocol.nvme.arbitration",
        kind: Kind::Choice(&[
            Variant { name: "round_robin", help: "one after the other, `burst` requests each" },
            Variant { name: "weighted", help: "one after the other, as many requests as `weights` gives each" },
        ]),
        fallback: Fallback::Value("round_robin"),
        help: "Which queue is served next.",
        example: "weighted",
    },
    OptionSpec {
        key: "drive.protocol.nvme.arbitration.round_robin.burst",
        // As the arbitration burst of NVMe.
        kind: Kind::Count { min: 1, max: 64 },
        fallback: Fallback::Value("1"),
        help: "Requests taken from a queue in a row.",
        example: "8",
    },
    OptionSpec {
        key: "drive.protocol.nvme.arbitration.weighted.weights",
        // As the weights of NVMe's priority classes, of which there are three below the urgent one.
        kind: Kind::Counts { min: 1, max: 256, most: 8 },
        fallback: Fallback::Value("4,2,1"),
        help: "Requests taken in a row from queues 0, 1, 2...; the last number holds for the rest of eight queues, and \
               every eight queues are alike.",
        example: "8,4,1",
    },
    OptionSpec {
        key: "drive.buffer",
        kind: Kind::Choice(&[
            Variant { name: "none", help: "none: a write is complete when it is programmed" },
            Variant { name: "eager", help: "every page is programmed as soon as it is there" },
            Variant {
                name: "watermark",
                help: "pages wait to be overwritten; from `high` of the buffer on, the oldest are programmed until \
                       `low` is left",
            },
        ]),
        fallback: Fallback::Value("none"),
        help: "RAM of the drive in which writes are complete.",
        example: "eager",
    },
    OptionSpec { key: "drive.buffer.eager.size", ..BUFFER_SIZE },
    OptionSpec { key: "drive.buffer.eager.plp", ..POWER_LOSS_PROTECTION },
    OptionSpec { key: "drive.buffer.watermark.size", ..BUFFER_SIZE },
    OptionSpec { key: "drive.buffer.watermark.plp", ..POWER_LOSS_PROTECTION },
    OptionSpec {
        key: "drive.buffer.watermark.high",
        kind: Kind::Percent { min: 1.0, max: 100.0 },
        // Our choice, as that of `low`.
        fallback: Fallback::Value("80%"),
        help: "Share of the buffer at which programming starts.",
        example: "90%",
    },
    OptionSpec {
        key: "drive.buffer.watermark.low",
        kind: Kind::Percent { min: 0.0, max: 99.0 },
        fallback: Fallback::Value("50%"),
        help: "Share of the buffer at which it ends; less than `high`.",
        example: "20%",
    },
    OptionSpec {
        key: "drive.collect",
        kind: Kind::Choice(&[
            Variant { name: "foreground", help: "not before" },
            Variant { name: "idle", help: "when no request has been in the drive for `after`" },
            Variant { name: "background", help: "also while requests are served" },
        ]),
        fallback: Fallback::Value("foreground"),
        help: "Whether garbage is collected before free pages run out; when they do, requests wait for it, always. FTLs \
               with log blocks know the first only.",
        example: "background",
    },
    OptionSpec {
        key: "drive.collect.idle.after",
        kind: Kind::Nanos { min: 0, max: 1_000 * SECOND },
        // Our choice: longer than the pauses within a burst of requests.
        fallback: Fallback::Value("10ms"),
        help: "How long the drive must have been without requests.",
        example: "1ms",
    },
    OptionSpec { key: "drive.collect.idle.blocks", ..COLLECT_BLOCKS },
    OptionSpec { key: "drive.collect.idle.step", ..COLLECT_STEP },
    OptionSpec { key: "drive.collect.background.blocks", ..COLLECT_BLOCKS },
    OptionSpec { key: "drive.collect.background.step", ..COLLECT_STEP },
];
