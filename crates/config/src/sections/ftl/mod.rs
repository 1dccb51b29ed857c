//! The flash translation layers.

mod log;
mod map;
mod page;
pub(crate) mod plan;
mod trigger;

use crate::checker::{Checker, Read, Reader};
use crate::figures::DeviceFigures;
use crate::kind::Choices;
use crate::table::{Fallback, Former, OptionSpec, Section};
use plan::Plan;
use ssdlab_ftl::FtlChoice;

pub(crate) const SECTION: Section = Section {
    name: "ftl",
    help: "The flash translation layer, which places pages and collects garbage.",
    options: || [vec![FTL], page::options(), log::options()].concat(),
};

/// Every FTL, in the order in which they are explained.
static FTLS: Choices<Reader<Plan>, 5> =
    Choices::new([page::PAGE, log::bast::BAST, log::fast::FAST, log::faster::FASTER, log::sbfast::SBFAST]);

const FTL: OptionSpec = OptionSpec {
    key: "ftl",
    kind: FTLS.kind(),
    fallback: Fallback::Value("page"),
    help: "Which flash translation layer runs.",
    example: "page",
};

/// DFTL was an FTL; it is page mapping with another map.
pub(crate) const DFTL_AS_FTL: Former = Former {
    choice: "ftl",
    variant: "dftl",
    now: &[("ftl", "page"), ("ftl.page.map", "dftl")],
    parameters: "ftl.page.map.dftl",
    moved: &[("trigger", "ftl.page.trigger")],
};

impl Checker<'_> {
    pub(crate) fn plan(&mut self) -> Read<Plan> {
        self.variant("ftl", &FTLS)
    }

    /// The FTL on this device, unless a violation leaves it without meaning.
    pub(crate) fn ftl(&mut self, plan: Plan, device: &DeviceFigures, pages_per_block: u32) -> Read<Option<FtlChoice>> {
        match plan {
            Plan::Page(options, map) => Ok(Some(FtlChoice::Page(options, map))),
            Plan::Log(plan) => self.log_ftl(&plan, device, pages_per_block),
        }
    }
}
