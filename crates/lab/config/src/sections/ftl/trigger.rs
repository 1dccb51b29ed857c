//! Reads the settings that determine when and how much garbage is collected.

use crate::checker::{Checker, Read, Reader};
use crate::kind::Choices;
use crate::sections::nand::many_planes;
use crate::table::{Fallback, MEBI, OptionSpec, count, option};
use ssdlab_ftl::page::Trigger;

pub(super) const LOW: &str = "ftl.page.trigger.partial.low";
pub(super) const HIGH: &str = "ftl.page.trigger.batch.high";

pub(super) static TRIGGERS: Choices<Reader<Trigger>, 3> = Choices::new([
    ("victim", "collect one victim whenever free pages run short: many short stalls", |_| Ok(Trigger::Victim)),
    ("batch", "below `low` free blocks, collect until `high` are free: few long stalls", |checker| checker.batch()),
    (
        "partial",
        "below `low` free blocks, copy up to `step` pages per `every` host pages: stalls of a few pages, or of a whole \
         victim if no room is left",
        |checker| {
            Ok(Trigger::Partial {
                low: checker.small(LOW)?,
                step: checker.small("ftl.page.trigger.partial.step")?,
                every: checker.small("ftl.page.trigger.partial.every")?,
            })
        },
    ),
]);

pub(super) const OPTIONS: &[OptionSpec] = &[
    option("ftl.page.trigger", TRIGGERS.kind())
        // With several dies, copying a whole victim at once would make the requests of a closed loop queue at one die.
        // The other dies would be idle.
        .fallback(Fallback::Unless("victim", &many_planes("partial")))
        .example("batch")
        .help("When garbage collection runs in each plane, and how much it collects."),
    count("ftl.page.trigger.batch.low", 2..=MEBI - 1)
        .default("4")
        .example("8")
        .help("Number of free blocks per plane below which a batch starts."),
    count(HIGH, 2..=MEBI)
        .default("16")
        .example("32")
        .help("Number of free blocks per plane at which a batch ends; must be more than `low`."),
    count(LOW, 2..=MEBI)
        .default("4")
        .example("8")
        .help("Number of free blocks per plane below which pages are copied."),
    count("ftl.page.trigger.partial.step", 1..=32_767)
        // This default is our choice, like the default for collection in advance (`drive.collect`).
        .default("8")
        .example("1")
        .help("Maximum number of pages per copying step."),
    count("ftl.page.trigger.partial.every", 1..=32_767)
        .default("1")
        .example("48")
        .help("Number of host pages written to a block between two copying steps."),
];

impl Checker<'_> {
    fn batch(&mut self) -> Read<Trigger> {
        let low = self.small("ftl.page.trigger.batch.low")?;
        let high = self.small(HIGH)?;
        if low >= high {
            self.report(HIGH, format!("{high} must exceed low = {low}; raise it to {}", low + 1));
        }
        Ok(Trigger::Batch { low, high })
    }
}
