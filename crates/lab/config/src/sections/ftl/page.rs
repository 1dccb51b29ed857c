//! Settings of page mapping.

use super::{slc, trigger};
use crate::checker::{Checker, Read};
use crate::kind::Choices;
use crate::parameters::choice;
use crate::sections::units::{self, COLLECT, PARITY, SURVIVORS};
use crate::table::{OptionSpec, count, option};
use ssdlab_ftl::FtlChoice;
use ssdlab_ftl::choice::MAPS;
use ssdlab_ftl::gc::VICTIMS;
use ssdlab_ftl::page::{Allocation, PageOptions};
use ssdlab_ftl::placement::PLACEMENTS;

/// Name and help text of page mapping.
pub(super) const PAGE: (&str, &str) = ("page", "page mapping");

const MAP: &str = "ftl.page.map";

static ALLOCATIONS: Choices<Allocation, 2> = Choices::new([
    ("least_worn", "the free block with the fewest erases (dynamic wear levelling)", Allocation::LeastWorn),
    ("fifo", "the free block erased longest ago", Allocation::Fifo),
]);

pub(super) fn options() -> Vec<OptionSpec> {
    [
        &choice("ftl.page.gc", "Victim selection: which block garbage collection takes next.", &VICTIMS)[..],
        &choice(SURVIVORS, "Where garbage collection writes the valid pages of its victims.", &PLACEMENTS),
        trigger::OPTIONS,
        &[ALLOCATION, COLLECTED, PARITY_UNITS],
        slc::OPTIONS,
        &choice(MAP, "Where the map is stored.", &MAPS),
    ]
    .concat()
}

const COLLECTED: OptionSpec = option(COLLECT, units::COLLECTED.kind())
    .default("plane")
    .example("die")
    .help("Group of erase blocks that the FTL writes, collects and erases together, as one block.");

const PARITY_UNITS: OptionSpec = count(PARITY, 0..=255).default("0").example("15").help(
    "RAIN parity: number of program units, each on a different die, that share one parity unit on a further die; 0 \
     disables parity. Parity occupies flash beyond capacity and over-provisioning.",
);

const ALLOCATION: OptionSpec = option("ftl.page.allocation", ALLOCATIONS.kind())
    .default("least_worn")
    .example("fifo")
    .help("Which free block is written next.");

impl Checker<'_> {
    pub(super) fn page_ftl(&mut self) -> Read<FtlChoice> {
        let options = PageOptions {
            gc: self.chosen("ftl.page.gc", &VICTIMS)?,
            placement: self.chosen(SURVIVORS, &PLACEMENTS)?,
            trigger: self.variant("ftl.page.trigger", &trigger::TRIGGERS)?,
            allocation: self.choice("ftl.page.allocation", &ALLOCATIONS)?,
            slc: self.slc()?,
        };
        let map = self.chosen(MAP, &MAPS)?;
        for problem in (map.info.role.problems)(&map, self.small("device.unit")?) {
            self.report(&format!("{MAP}.{}.{}", map.info.name, problem.parameter), problem.message);
        }
        Ok(FtlChoice::Page(options, map))
    }
}
