//! The flash translation layers.

mod log;
mod page;
pub(crate) mod plan;
mod trigger;

use crate::checker::{Checker, Read};
use crate::figures::DeviceFigures;
use crate::kind::Kind;
use crate::table::{Fallback, Former, OptionSpec, Section};
use plan::Plan;
use ssdlab_ftl::FtlChoice;
use ssdlab_ftl::choice::LOG_FTLS;

pub(crate) const SECTION: Section = Section {
    name: "ftl",
    help: "The flash translation layer, which places pages and collects garbage.",
    used: &[],
    options: || [vec![ftl()], page::options(), log::options()].concat(),
};

/// Page mapping, and every FTL with log blocks.
fn ftl() -> OptionSpec {
    let log_blocks = LOG_FTLS.iter().map(|info| (info.name, info.help));
    OptionSpec {
        key: "ftl",
        kind: Kind::of_names(std::iter::once(page::PAGE).chain(log_blocks)),
        fallback: Fallback::Value(page::PAGE.0),
        help: "Which flash translation layer runs.",
        example: page::PAGE.0,
    }
}

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
        match LOG_FTLS.find(self.name("ftl")?) {
            Some(info) => Ok(Plan::Log(self.log_choice(info)?)),
            None => self.page_plan(),
        }
    }

    /// The FTL on this device, unless a violation leaves it without meaning.
    pub(crate) fn ftl(&mut self, plan: Plan, device: &DeviceFigures, pages_per_block: u32) -> Read<Option<FtlChoice>> {
        match plan {
            Plan::Page(options, map) => Ok(Some(FtlChoice::Page(options, map))),
            Plan::Log(choice) => self.log_ftl(&choice, device, pages_per_block),
        }
    }
}
