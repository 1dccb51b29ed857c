//! The flash array.

use super::{Fallback, Kind, MEBI, OptionSpec, SECOND, U32, Variant};

pub(super) const OPTIONS: &[OptionSpec] = &[
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
];
