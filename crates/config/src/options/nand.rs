//! The flash array.

use super::{Fallback, Kind, MEBI, OptionSpec, SECOND, U32, Variant};

/// `time` of both ways to suspend; the key is a stand-in.
const SUSPEND_TIME: OptionSpec = OptionSpec {
    key: "",
    kind: Kind::Nanos { min: 0, max: SECOND },
    // MQSim, Flash_Parameter_Set.cpp, Suspend_Write_Time.
    fallback: Fallback::Value("100us"),
    help: "From asking for a suspension until the die can read; less than what it suspends takes.",
    example: "50us",
};

/// `limit` of both ways to suspend; the key is a stand-in.
const SUSPEND_LIMIT: OptionSpec = OptionSpec {
    key: "",
    kind: Kind::Count { min: 1, max: 1_000 },
    // Our choice: an operation ends at last, however many reads come.
    fallback: Fallback::Value("4"),
    help: "How often one operation may be suspended.",
    example: "1",
};

pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        key: "nand.channels",
        kind: Kind::Count { min: 1, max: 64 },
        fallback: Fallback::Value("1"),
        help: "Channels: buses to the chips, which transfer independently of each other.",
        example: "8",
    },
    OptionSpec {
        key: "nand.ways",
        kind: Kind::Count { min: 1, max: 64 },
        fallback: Fallback::Value("1"),
        help: "Ways: chips on each channel.",
        example: "4",
    },
    OptionSpec {
        key: "nand.dies",
        kind: Kind::Count { min: 1, max: 16 },
        fallback: Fallback::Value("1"),
        help: "Dies in each chip; each works on one command at a time.",
        example: "2",
    },
    OptionSpec {
        key: "nand.planes",
        kind: Kind::Count { min: 1, max: 16 },
        fallback: Fallback::Value("1"),
        help: "Planes of each die, with page registers and blocks of their own; every plane has equally many blocks.",
        example: "4",
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
        kind: Kind::Durations { max: SECOND },
        fallback: Fallback::Preset,
        help: "Cell array to page register (t_R): one for all pages, or one for each of up to 4 page types. Page p of a \
               block is of type p modulo the number of types.",
        example: "25us",
    },
    OptionSpec {
        key: "nand.program",
        kind: Kind::Durations { max: SECOND },
        fallback: Fallback::Preset,
        help: "Page register to cell array (t_PROG): one for all pages or by page type, as `nand.read`.",
        example: "200us",
    },
    OptionSpec {
        key: "nand.erase",
        kind: Kind::Nanos { min: 0, max: 10 * SECOND },
        fallback: Fallback::Preset,
        help: "Block erase (t_BERS).",
        example: "2ms",
    },
    OptionSpec {
        key: "nand.transfer_per_kib",
        kind: Kind::Nanos { min: 0, max: SECOND },
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
        key: "nand.multiplane",
        kind: Kind::Bool,
        fallback: Fallback::Value("false"),
        help: "One command works on several planes of a die: reads and programs of the same page number, erases. Used \
               with `time = \"event\"`.",
        example: "true",
    },
    OptionSpec {
        key: "nand.cache_read",
        kind: Kind::Bool,
        fallback: Fallback::Value("false"),
        help: "A die reads its next page while the one before is transferred out. Used with `time = \"event\"`.",
        example: "true",
    },
    OptionSpec {
        key: "nand.cache_program",
        kind: Kind::Bool,
        fallback: Fallback::Value("false"),
        help: "The next page of a block is transferred in while the one before is programmed. Used with \
               `time = \"event\"`.",
        example: "true",
    },
    OptionSpec {
        key: "nand.suspend",
        kind: Kind::Choice(&[
            Variant { name: "never", help: "none" },
            Variant { name: "erase", help: "erases" },
            Variant { name: "erase_and_program", help: "erases and programs" },
        ]),
        fallback: Fallback::Value("never"),
        help: "Which operations a read of the host suspends. Used with `time = \"event\"`.",
        example: "erase",
    },
    OptionSpec { key: "nand.suspend.erase.time", ..SUSPEND_TIME },
    OptionSpec { key: "nand.suspend.erase.limit", ..SUSPEND_LIMIT },
    OptionSpec { key: "nand.suspend.erase_and_program.time", ..SUSPEND_TIME },
    OptionSpec { key: "nand.suspend.erase_and_program.limit", ..SUSPEND_LIMIT },
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
];
