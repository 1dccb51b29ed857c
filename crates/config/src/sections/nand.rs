//! The flash array: what it is made of, how long it takes and what it can do.

use super::drive::stripe::STRIPE_ORDERS;
use crate::checker::{Checker, Read};
use crate::kind::{Choices, Kind};
use crate::table::{Case, Fallback, Is, MEBI, OptionSpec, SECOND, Section, U32};
use ssdlab_core::Nanos;
use ssdlab_core::units::write_nanos;
use ssdlab_nand::{Commands, Interruption, PageTimes, Parallelism, ProgramOrder, Suspend, Timing};

pub(crate) const SECTION: Section = Section {
    name: "nand",
    help: "The flash array: how it is divided, how long its operations take and what its chips can do.",
    used: &[],
    options: || OPTIONS.to_vec(),
};

/// `value` where the array has more than one plane.
pub(super) const fn many_planes(value: &'static str) -> [Case; 4] {
    [
        Case { key: "nand.channels", is: Is::Many, value },
        Case { key: "nand.ways", is: Is::Many, value },
        Case { key: "nand.dies", is: Is::Many, value },
        Case { key: "nand.planes", is: Is::Many, value },
    ]
}

/// The levels of an array: the setting of each, and how many of it there are.
pub(super) fn levels(parallelism: &Parallelism) -> [(&'static str, u32); 4] {
    [
        ("nand.channels", parallelism.channels),
        ("nand.ways", parallelism.ways),
        ("nand.dies", parallelism.dies),
        ("nand.planes", parallelism.planes),
    ]
}

static SUSPENSIONS: Choices<fn(&mut Checker<'_>, &Timing) -> Read<Suspend>, 3> = Choices::new([
    ("never", "none", |_, _| Ok(Suspend::Never)),
    ("erase", "erases", |checker, timing| {
        Ok(Suspend::Erase(checker.interruption("nand.suspend.erase", "nand.erase", timing.erase)?))
    }),
    ("erase_and_program", "erases and programs", |checker, timing| {
        let shortest = timing.program.by_type().iter().copied().min().unwrap_or_default();
        let interruption = checker.interruption("nand.suspend.erase_and_program", "nand.program", shortest)?;
        Ok(Suspend::EraseAndProgram(interruption))
    }),
]);

static PROGRAM_ORDERS: Choices<ProgramOrder, 2> = Choices::new([
    ("ascending", "only pages behind the last one programmed (MLC, TLC, large-block SLC)", ProgramOrder::Ascending),
    ("any", "any page that is still erased (small-block SLC)", ProgramOrder::Any),
]);

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

const OPTIONS: &[OptionSpec] = &[
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
        fallback: Fallback::Preset,
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
        kind: SUSPENSIONS.kind(),
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
        kind: PROGRAM_ORDERS.kind(),
        fallback: Fallback::Preset,
        help: "Order in which the pages of a block may be programmed.",
        example: "any",
    },
];

impl Checker<'_> {
    pub(crate) fn program_order(&self) -> Read<ProgramOrder> {
        self.choice("nand.order", &PROGRAM_ORDERS)
    }

    pub(crate) fn parallelism(&self) -> Read<Parallelism> {
        Ok(Parallelism {
            channels: self.small("nand.channels")?,
            ways: self.small("nand.ways")?,
            dies: self.small("nand.dies")?,
            planes: self.small("nand.planes")?,
            order: self.choice("drive.order", &STRIPE_ORDERS)?,
        })
    }

    pub(crate) fn timing(&self) -> Read<Timing> {
        Ok(Timing {
            read: self.page_times("nand.read")?,
            program: self.page_times("nand.program")?,
            erase: self.nanos("nand.erase")?,
            transfer_per_kib: self.nanos("nand.transfer_per_kib")?,
            copyback: self.flag("nand.copyback")?,
            partial_read: self.flag("nand.partial_read")?,
        })
    }

    fn page_times(&self, key: &str) -> Read<PageTimes> {
        let times: Vec<Nanos> = self.durations(key)?.into_iter().map(Nanos).collect();
        PageTimes::of(&times).ok_or_else(|| self.wrong_type(key))
    }

    /// What the chips can do; `timing` tells what is worth suspending.
    pub(crate) fn commands(&mut self, timing: &Timing) -> Read<Commands> {
        let suspend = self.choice("nand.suspend", &SUSPENSIONS)?;
        let suspend = suspend(self, timing)?;
        Ok(Commands {
            multiplane: self.flag("nand.multiplane")?,
            cache_read: self.flag("nand.cache_read")?,
            cache_program: self.flag("nand.cache_program")?,
            suspend,
        })
    }

    /// The parameters of a way to suspend operations; the shortest of them, `operation`, is over after `end`.
    fn interruption(&mut self, variant: &str, operation: &str, end: Nanos) -> Read<Interruption> {
        let key = format!("{variant}.time");
        let time = self.nanos(&key)?;
        if time >= end && end > Nanos::ZERO {
            let message = format!(
                "{} is not less than {operation}, {}: a read would wait no longer for its end; lower it to {}",
                write_nanos(time.0),
                write_nanos(end.0),
                write_nanos(end.0 / 2)
            );
            self.report(&key, message);
        }
        Ok(Interruption { time, limit: self.small(&format!("{variant}.limit"))? })
    }
}
