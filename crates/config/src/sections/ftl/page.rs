//! Page mapping.

use super::map::{self, MAPS};
use super::plan::Plan;
use super::victim::VICTIMS;
use super::{trigger, victim};
use crate::checker::{Checker, Read, Reader};
use crate::kind::Choices;
use crate::table::{Fallback, OptionSpec};
use ssdlab_ftl::gc;
use ssdlab_ftl::page::{Allocation, PageOptions, Survivors};

pub(super) const PAGE: (&str, &str, Reader<Plan>) = ("page", "page mapping", |checker| {
    let options = checker.page_options()?;
    Ok(Plan::Page(options, checker.variant("ftl.page.map", &MAPS)?))
});

static SURVIVORS: Choices<Survivors, 2> = Choices::new([
    ("own", "a block of their own (cheaper under skew)", Survivors::Own),
    ("shared", "the block host writes fill (the classic models)", Survivors::Shared),
]);

static ALLOCATIONS: Choices<Allocation, 2> = Choices::new([
    ("least_worn", "fewest erases first (dynamic wear levelling)", Allocation::LeastWorn),
    ("fifo", gc::fifo::HELP, Allocation::Fifo),
]);

pub(super) fn options() -> Vec<OptionSpec> {
    [victim::OPTIONS, &[SURVIVOR], trigger::OPTIONS, &[ALLOCATION], &map::options()].concat()
}

const SURVIVOR: OptionSpec = OptionSpec {
    key: "ftl.page.survivors",
    kind: SURVIVORS.kind(),
    fallback: Fallback::Value("own"),
    help: "Where garbage collection writes the pages that survive.",
    example: "shared",
};

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
            gc: self.variant("ftl.page.gc", &VICTIMS)?,
            survivors: self.choice("ftl.page.survivors", &SURVIVORS)?,
            trigger: self.trigger()?,
            allocation: self.choice("ftl.page.allocation", &ALLOCATIONS)?,
        })
    }
}
