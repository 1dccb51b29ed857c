//! Page mapping.

use super::map::{self, MAPS};
use super::plan::Plan;
use super::trigger;
use crate::checker::{Checker, Read, Reader};
use crate::kind::{Choices, Kind};
use crate::parameters::choice;
use crate::table::{Fallback, OptionSpec};
use ssdlab_ftl::gc::{self, VICTIMS};
use ssdlab_ftl::page::{Allocation, PageOptions};
use ssdlab_ftl::placement::{PLACEMENTS, placement};

pub(super) const PAGE: (&str, &str, Reader<Plan>) = ("page", "page mapping", |checker| {
    let options = checker.page_options()?;
    Ok(Plan::Page(options, checker.variant("ftl.page.map", &MAPS)?))
});

static ALLOCATIONS: Choices<Allocation, 2> = Choices::new([
    ("least_worn", "fewest erases first (dynamic wear levelling)", Allocation::LeastWorn),
    ("fifo", gc::fifo::INFO.help, Allocation::Fifo),
]);

pub(super) fn options() -> Vec<OptionSpec> {
    [&victims()[..], &[survivors()], trigger::OPTIONS, &[ALLOCATION], &map::options()].concat()
}

fn victims() -> Vec<OptionSpec> {
    choice("ftl.page.gc", "Which block garbage collection takes next.", VICTIMS)
}

fn survivors() -> OptionSpec {
    OptionSpec {
        key: "ftl.page.survivors",
        kind: Kind::of_names(PLACEMENTS.iter().map(|info| (info.name, info.help))),
        fallback: Fallback::Value("own"),
        help: "Where garbage collection writes the pages that survive.",
        example: "shared",
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
    fn page_options(&mut self) -> Read<PageOptions> {
        Ok(PageOptions {
            gc: self.chosen("ftl.page.gc", VICTIMS)?,
            placement: self.named("ftl.page.survivors", placement)?,
            trigger: self.trigger()?,
            allocation: self.choice("ftl.page.allocation", &ALLOCATIONS)?,
        })
    }
}
