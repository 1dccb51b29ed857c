//! When page mapping collects garbage, and how much of it.

use crate::checker::{Checker, Read, Reader};
use crate::kind::{Choices, Kind};
use crate::sections::nand::many_planes;
use crate::table::{Fallback, MEBI, OptionSpec};
use ssdlab_ftl::page::Trigger;

pub(super) const LOW: &str = "ftl.page.trigger.partial.low";
pub(super) const HIGH: &str = "ftl.page.trigger.batch.high";

static TRIGGERS: Choices<Reader<Trigger>, 3> = Choices::new([
    ("victim", "one victim whenever free pages are short: many short stalls", |_| Ok(Trigger::Victim)),
    ("batch", "below `low` free blocks, collect until `high` are free: few long stalls", |checker| checker.batch()),
    (
        "partial",
        "below `low` free blocks, copy up to `step` pages before each page of the host: stalls of a few \
         pages each, or of a whole victim where that leaves no room",
        |checker| {
            Ok(Trigger::Partial { low: checker.small(LOW)?, step: checker.small("ftl.page.trigger.partial.step")? })
        },
    ),
]);

pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        key: "ftl.page.trigger",
        kind: TRIGGERS.kind(),
        // Where dies work side by side, the requests of a closed loop pile up at the one that copies a whole victim,
        // and the others have nothing to do.
        fallback: Fallback::Unless("victim", &many_planes("partial")),
        help: "When garbage collection runs, and how much; in each plane for itself.",
        example: "batch",
    },
    OptionSpec {
        key: "ftl.page.trigger.batch.low",
        kind: Kind::Count { min: 2, max: MEBI - 1 },
        fallback: Fallback::Value("4"),
        help: "Free blocks below which a batch starts.",
        example: "8",
    },
    OptionSpec {
        key: HIGH,
        kind: Kind::Count { min: 2, max: MEBI },
        fallback: Fallback::Value("16"),
        help: "Free blocks at which a batch ends; more than `low`.",
        example: "32",
    },
    OptionSpec {
        key: LOW,
        kind: Kind::Count { min: 2, max: MEBI },
        fallback: Fallback::Value("4"),
        help: "Free blocks below which pages are copied.",
        example: "8",
    },
    OptionSpec {
        key: "ftl.page.trigger.partial.step",
        kind: Kind::Count { min: 1, max: 32_767 },
        // Our choice, as that of a collection ahead of need.
        fallback: Fallback::Value("8"),
        help: "Pages copied before each page of the host, at most.",
        example: "1",
    },
];

impl Checker<'_> {
    pub(super) fn trigger(&mut self) -> Read<Trigger> {
        self.variant("ftl.page.trigger", &TRIGGERS)
    }

    fn batch(&mut self) -> Read<Trigger> {
        let low = self.small("ftl.page.trigger.batch.low")?;
        let high = self.small(HIGH)?;
        if low >= high {
            self.report(HIGH, format!("{high} must be more than low = {low}; raise it to {}", low + 1));
        }
        Ok(Trigger::Batch { low, high })
    }
}
