//! Settings of the flash array: structure, timing and commands.

use super::ftl::SLC;
use super::units::{PASS_COUNTS, PASSES};
use crate::checker::{Checker, Read};
use crate::kind::{Choices, Kind};
use crate::table::{
    Case, Derived, Fallback, Is, MEBI, OptionSpec, SECOND, Section, U32, bytes, count, nanos, option, switch, value_or,
};
use crate::value::Value;
use ssdlab_core::Nanos;
use ssdlab_core::units::write_nanos;
use ssdlab_nand::{
    Commands, Interruption, PageTimes, Parallelism, ProgramOrder, SlcTimes, StripeOrder, Suspend, Timing,
};

pub(crate) const SECTION: Section =
    Section { name: "nand", help: "Flash array: structure, timing and commands of the chips.", used: &[], options };

/// Returns four cases, one for each array level, in which an option defaults to `value`: the drive has more than one
/// channel, way, die or plane.
pub(super) const fn many_planes(value: &'static str) -> [Case; 4] {
    [
        Case { key: "nand.channels", is: Is::Many, value },
        Case { key: "nand.ways", is: Is::Many, value },
        Case { key: "nand.dies", is: Is::Many, value },
        Case { key: "nand.planes", is: Is::Many, value },
    ]
}

static SUSPENSIONS: Choices<fn(&mut Checker<'_>, &Timing) -> Read<Suspend>, 3> = Choices::new([
    ("never", "no operations", |_, _| Ok(Suspend::Never)),
    ("erase", "erases", |checker, timing| {
        Ok(Suspend::Erase(checker.interruption("nand.suspend.erase", "nand.erase", timing.erase)?))
    }),
    ("erase_and_program", "erases and programs", |checker, timing| {
        let shortest = timing.program.by_type().iter().copied().min().unwrap_or_default();
        let program = checker.interruption("nand.suspend.erase_and_program", "nand.program", shortest)?;
        let time = checker.nanos(ERASE_TIME)?;
        if time != program.time {
            checker.refuse_suspend_time(ERASE_TIME, time, "nand.erase", timing.erase);
        }
        Ok(Suspend::EraseAndProgram { erase: Interruption { time, ..program }, program })
    }),
]);

static PROGRAM_ORDERS: Choices<ProgramOrder, 2> = Choices::new([
    ("ascending", "only pages after the last one programmed (MLC, TLC, large-block SLC)", ProgramOrder::Ascending),
    ("any", "any erased page (small-block SLC)", ProgramOrder::Any),
]);

const ERASE_TIME: &str = "nand.suspend.erase_and_program.erase_time";

const DEFAULT_ERASE_TIME: Derived = Derived {
    rule: "`nand.suspend.erase_and_program.time`",
    // The option exists only while its variant is chosen.
    value: |entries| value_or(entries, "nand.suspend.erase_and_program.time", "0ns"),
};

/// Returns the options of a suspend variant, which suspends erases only, or erases and programs.
fn suspend_options(variant: &str) -> [OptionSpec; 5] {
    let key = |name| -> &'static str { format!("nand.suspend.{variant}.{name}").leak() };
    [
        // Source of the default: `Suspend_Write_Time` in `Flash_Parameter_Set.cpp` of MQSim.
        nanos(key("time"), 0..=SECOND).default("100us").example("50us").help(
            "Time from a suspend request until the die can read; must be less than the time of the suspended \
             operation.",
        ),
        nanos(key("spread"), 0..=SECOND).default("0ns").example("20us").help(
            "Upper limit of the random extra time per suspension, which is uniformly distributed between 0 and this \
             limit.",
        ),
        nanos(key("slice"), 0..=SECOND).default("0ns").example("250us").help(
            "Minimum time that a die works on a resumed operation before the next suspension; host reads wait until \
             then.",
        ),
        nanos(key("resume"), 0..=SECOND)
            .default("0ns")
            .example("30us")
            .help("Die time that each suspension adds to the suspended operation."),
        // This default is our choice. With any limit, a suspended operation ends eventually, even if reads never stop.
        count(key("limit"), 1..=1_000).default("4").example("1").help("Maximum number of suspensions per operation."),
    ]
}

pub(crate) const SLC_ERASE: &str = "nand.slc.erase";

const NATIVE_ERASE: Derived = Derived {
    rule: "`nand.erase`",
    value: |entries| match entries.get("nand.erase").map(|entry| &entry.value) {
        Some(Value::Nanos(erase)) => write_nanos((*erase).max(1)),
        _ => "2ms".into(),
    },
};

const TEN_TIMES_ENDURANCE: Derived = Derived {
    rule: "10 times `nand.endurance`",
    value: |entries| match entries.get("nand.endurance").map(|entry| &entry.value) {
        Some(Value::Count(cycles)) => (10 * cycles).min(U32).to_string(),
        _ => "30000".into(),
    },
};

fn options() -> Vec<OptionSpec> {
    let [time, rest @ ..] = suspend_options("erase_and_program");
    let erase_time = nanos(ERASE_TIME, 0..=SECOND)
        .fallback(Fallback::Derived(DEFAULT_ERASE_TIME))
        .example("200us")
        .help("Time from a request to suspend an erase until the die can read; must be less than the erase time.");
    [BEFORE_SUSPENSIONS, &suspend_options("erase"), &[time, erase_time], &rest, AFTER_SUSPENSIONS].concat()
}

const BEFORE_SUSPENSIONS: &[OptionSpec] = &[
    count("nand.channels", 1..=64).default("1").example("8").help("Channels: independent buses to the chips."),
    count("nand.ways", 1..=64).default("1").example("4").help("Ways: chips per channel."),
    count("nand.dies", 1..=16).default("1").example("2").help("Dies per chip; each executes one command at a time."),
    count("nand.planes", 1..=16)
        .default("1")
        .example("4")
        .help("Planes per die, each with its own page registers and an equal number of blocks."),
    bytes("nand.page_size", 512..=MEBI)
        .example("16KiB")
        .help("Flash page size: the amount of data that a plane reads at once; must be a power of two."),
    count("nand.pages_per_block", 2..=32_767).example("64").help("Flash pages per erase block of a plane."),
    count("nand.word_line", 1..=4).default("1").example("2").help(
        "Number of flash pages of a word line that one command programs (MLC 2, TLC 3, QLC 4); 1 programs each page \
         separately.",
    ),
    option("nand.read", Kind::Durations { max: SECOND }).example("25us").help(
        "Page read time, from cell array to page register (t_R): one time for all pages, or one per page type (up to \
         4). Page p of a block has type p modulo the number of types.",
    ),
    option("nand.program", Kind::Durations { max: SECOND }).example("200us").help(
        "Page program time, from page register to cell array (t_PROG): one time for all pages, or one per page type \
         as in `nand.read`.",
    ),
    nanos("nand.erase", 0..=10 * SECOND).example("2ms").help("Block erase time (t_BERS)."),
    nanos("nand.transfer_per_kib", 0..=SECOND)
        .example("1.28us")
        .help("Bus transfer time of 1,024 bytes between page register and controller; 0ns ignores the bus."),
    option("nand.copyback", Kind::Bool)
        .example("true")
        .help("Internal copies stay inside the chip and skip both bus transfers."),
    switch("nand.multiplane", false).help(
        "One command reads, programs or erases several planes of a die. Reads and programs use the same page number on \
         all planes. Used with `time = \"event\"`.",
    ),
    switch("nand.cache_read", false)
        .help("A die reads the next page while it transfers the previous one. Used with `time = \"event\"`."),
    switch("nand.cache_program", false).help(
        "A die receives the next page of a block while it programs the previous one. Used with `time = \
         \"event\"`.",
    ),
    switch("nand.independent_reads", false)
        .help("A multi-plane read may read a different page on each plane. Used with `time = \"event\"`."),
    option(PASSES, PASS_COUNTS.kind())
        .default("one")
        .example("two")
        .help("Number of passes that program a word line; with two passes, `nand.program` needs one time per pass."),
    count("nand.passes.two.distance", 1..=16)
        // This default is our choice.
        .default("4")
        .example("2")
        .help("Number of later word lines of the die block whose coarse passes precede a word line's fine pass."),
    option("nand.suspend", SUSPENSIONS.kind())
        .default("never")
        .example("erase")
        .help("Operations that a host read may suspend. Used with `time = \"event\"`."),
];

const AFTER_SUSPENSIONS: &[OptionSpec] = &[
    option("nand.partial_read", Kind::Bool)
        .example("true")
        .help("A host read transfers only the requested bytes, not whole pages."),
    count("nand.endurance", 1..=U32).example("100000").help("Program/erase cycles that a block endures."),
    // Operation times of large-block SLC chips. Chips that store several bits per cell are about as fast in SLC mode.
    nanos("nand.slc.read", 1..=SECOND)
        .default("25us")
        .example("30us")
        .help("Page read time in SLC mode (t_R). Used with an SLC cache, `ftl.page.slc`."),
    nanos("nand.slc.program", 1..=SECOND)
        .default("200us")
        .example("160us")
        .help("Page program time in SLC mode (t_PROG). Used with an SLC cache."),
    nanos(SLC_ERASE, 1..=10 * SECOND)
        .fallback(Fallback::Derived(NATIVE_ERASE))
        .example("2ms")
        .help("Block erase time in SLC mode (t_BERS). Used with an SLC cache."),
    count("nand.slc.endurance", 1..=U32)
        .fallback(Fallback::Derived(TEN_TIMES_ENDURANCE))
        .example("30000")
        .help("Program/erase cycles that a block endures in SLC mode. Used with an SLC cache."),
    option("nand.order", PROGRAM_ORDERS.kind())
        .example("any")
        .help("Order in which the pages of a block may be programmed."),
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
            order: self.named("drive.order", StripeOrder::named)?,
        })
    }

    pub(crate) fn timing(&self) -> Read<Timing> {
        Ok(Timing {
            read: self.page_times("nand.read")?,
            program: self.page_times("nand.program")?,
            erase: self.nanos("nand.erase")?,
            slc: self.slc_times()?,
            transfer_per_kib: self.nanos("nand.transfer_per_kib")?,
            copyback: self.flag("nand.copyback")?,
            partial_read: self.flag("nand.partial_read")?,
        })
    }

    /// Reads the operation times of blocks in SLC mode; `None` if the drive has no SLC cache.
    fn slc_times(&self) -> Read<Option<SlcTimes>> {
        if !self.applies(SLC) || self.name(SLC)? == "none" {
            return Ok(None);
        }
        Ok(Some(SlcTimes {
            read: self.nanos("nand.slc.read")?,
            program: self.nanos("nand.slc.program")?,
            erase: self.nanos(SLC_ERASE)?,
        }))
    }

    fn page_times(&self, key: &str) -> Read<PageTimes> {
        let times: Vec<Nanos> = self.durations(key)?.into_iter().map(Nanos).collect();
        PageTimes::of(&times).ok_or_else(|| self.wrong_type(key))
    }

    /// Reads the settings for the commands that the chips support. Suspending an operation must take less time than the
    /// operation takes in `timing`.
    pub(crate) fn commands(&mut self, timing: &Timing) -> Read<Commands> {
        let suspend = self.choice("nand.suspend", &SUSPENSIONS)?;
        let suspend = suspend(self, timing)?;
        Ok(Commands {
            multiplane: self.flag("nand.multiplane")?,
            cache_read: self.flag("nand.cache_read")?,
            cache_program: self.flag("nand.cache_program")?,
            independent_reads: self.flag("nand.independent_reads")?,
            suspend,
        })
    }

    /// Reads the settings of a suspend variant. `operation` is the key of the setting for the shortest operation that
    /// can be suspended; `end` is that operation's duration.
    fn interruption(&mut self, variant: &str, operation: &str, end: Nanos) -> Read<Interruption> {
        let nanos = |name: &str| self.nanos(&format!("{variant}.{name}"));
        let interruption = Interruption {
            time: nanos("time")?,
            spread: nanos("spread")?,
            slice: nanos("slice")?,
            resume: nanos("resume")?,
            limit: self.small(&format!("{variant}.limit"))?,
        };
        self.refuse_suspend_time(&format!("{variant}.time"), interruption.time, operation, end);
        Ok(interruption)
    }

    /// Rejects a suspend time that is not shorter than the suspended operation. `operation` is the key of the setting
    /// for the operation's duration; `end` is that duration.
    fn refuse_suspend_time(&mut self, key: &str, time: Nanos, operation: &str, end: Nanos) {
        if time >= end && end > Nanos::ZERO {
            let [time, end, half] = [time.0, end.0, end.0 / 2].map(write_nanos);
            self.report(key, format!("{time} must be less than {operation} = {end}; lower it to {half}"));
        }
    }
}
