//! Page mapping.

use super::plan::Plan;
use super::trigger;
use crate::checker::{Checker, Read};
use crate::kind::{Choices, Kind};
use crate::parameters::choice;
use crate::table::{Fallback, OptionSpec};
use ssdlab_ftl::choice::MAPS;
use ssdlab_ftl::gc::VICTIMS;
use ssdlab_ftl::page::{Allocation, PageOptions};
use ssdlab_ftl::placement::PLACEMENTS;

/// Its name and what it means.
pub(super) const PAGE: (&str, &str) = ("page", "page mapping");

const MAP: &str = "ftl.page.map";

static ALLOCATIONS: Choices<Allocation, 2> = Choices::new([
    ("least_worn", "fewest erases first (dynamic wear levelling)", Allocation::LeastWorn),
    ("fifo", "erased longest ago first", Allocation::Fifo),
]);

pub(super) fn options() -> Vec<OptionSpec> {
    [&victims()[..], &[survivors()], trigger::OPTIONS, &[ALLOCATION], &choice(MAP, "Where the map is.", &MAPS)].concat()
}

fn victims() -> Vec<OptionSpec> {
    choice("ftl.page.gc", "Which block garbage collection takes next.", &VICTIMS)
}

fn survivors() -> OptionSpec {
    OptionSpec {
        key: "ftl.page.survivors",
        kind: Kind::of_names(PLACEMENTS.iter().map(|info| (info.name, info.help))),
        fallback: Fallback::Value(PLACEMENTS[0].name),
        help: "Where garbage collection writes the pages that survive.",
        example: PLACEMENTS[1].name,
    }
}

const ALLOCATION: OptionSpec = OptionSpec {
    key: "ftl.page.allocation",
    kind: ALLOCATIONS.kind(),
    fallback: Fallback::Value("least_worn"),
    help: "Which free block is written next.",
    example: "fifo",
};

impl Checker<'_> {
    pub(super) fn page_plan(&mut self) -> Read<Plan> {
        let options = self.page_options()?;
        let map = self.chosen(MAP, &MAPS)?;
        for problem in (map.info.role.problems)(&map, self.small("nand.page_size")?) {
            self.report(&format!("{MAP}.{}.{}", map.info.name, problem.parameter), problem.message);
        }
        Ok(Plan::Page(options, map))
    }

    fn page_options(&mut self) -> Read<PageOptions> {
        Ok(PageOptions {
            gc: self.chosen("ftl.page.gc", &VICTIMS)?,
            placement: self.named("ftl.page.survivors", |name| PLACEMENTS.find(name))?,
            trigger: self.trigger()?,
            allocation: self.choice("ftl.page.allocation", &ALLOCATIONS)?,
        })
    }
}
