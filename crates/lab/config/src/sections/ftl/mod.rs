//! Reads the settings of flash translation layers.

mod log;
mod page;
mod slc;
mod trigger;

pub(crate) use slc::SLC;

use crate::checker::{Checker, Read};
use crate::kind::Kind;
use crate::sections::device::Device;
use crate::table::{OptionSpec, Section, option};
use ssdlab_ftl::choice::LOG_FTLS;
use ssdlab_ftl::page::{PageOptions, Trigger};
use ssdlab_ftl::{FtlChoice, Shape};
use ssdlab_nand::ProgramOrder;

pub(crate) const SECTION: Section = Section {
    name: "ftl",
    help: "Flash translation layer, which places pages and collects garbage.",
    used: &[],
    options: || [vec![ftl()], page::options(), log::options()].concat(),
};

/// Returns the option that chooses the FTL: page mapping, or a log-block FTL.
fn ftl() -> OptionSpec {
    let log_blocks = LOG_FTLS.iter().map(|info| (info.name, info.help));
    option("ftl", Kind::of_names(std::iter::once(page::PAGE).chain(log_blocks)))
        .default(page::PAGE.0)
        .example(page::PAGE.0)
        .help("Flash translation layer.")
}

/// Returns the number of blocks in the FTL's reserve. Must also work for invalid drives.
pub(super) fn reserve_blocks(
    ftl: &FtlChoice,
    logical_pages: u64,
    page_bytes: u32,
    pages_per_block: u32,
    planes: u32,
) -> u32 {
    // Drives with more than 2^32 pages are rejected by another check.
    let logical_pages = u32::try_from(logical_pages).unwrap_or(u32::MAX);
    let order = ProgramOrder::Ascending;
    ftl.device_reserve_blocks(&Shape {
        logical_pages,
        page_bytes,
        blocks: 0,
        pages_per_block,
        order,
        planes,
        program_unit: 1,
    })
}

/// Returns the minimum number of log blocks that the FTL needs.
pub(super) fn least_log_blocks(ftl: &FtlChoice) -> u32 {
    match ftl {
        FtlChoice::Page(..) => 0,
        FtlChoice::Log(choice, _) => (choice.info.role.least_log_blocks)(choice),
    }
}

/// Default of `ftl.page.trigger.batch.high`: number of erased blocks per plane at which a batch of collection ends.
pub(super) const USUAL_ERASED: u64 = 16;

/// Remedy for a garbage collection trigger that requires too many erased blocks.
pub(super) const WITHOUT_ERASED: &str = "set ftl.page.trigger to \"victim\"";

/// Returns the key, value and minimum of the setting for the number of erased blocks that garbage collection maintains
/// in each plane.
pub(super) fn kept_erased(ftl: &FtlChoice) -> Option<(&'static str, u32, u32)> {
    match ftl {
        FtlChoice::Page(PageOptions { trigger: Trigger::Partial { low, .. }, .. }, _) => Some((trigger::LOW, *low, 2)),
        FtlChoice::Page(PageOptions { trigger: Trigger::Batch { low, high }, .. }, _) => {
            Some((trigger::HIGH, *high, low + 1))
        }
        _ => None,
    }
}

impl Checker<'_> {
    /// Reads the settings of the FTL. The number of log blocks is added later by [`Self::with_log_blocks`], because it
    /// depends on the device.
    pub(crate) fn ftl(&mut self) -> Read<FtlChoice> {
        match LOG_FTLS.find(self.name("ftl")?) {
            Some(_) => Ok(FtlChoice::Log(self.chosen("ftl", &LOG_FTLS)?, 0)),
            None => self.page_ftl(),
        }
    }

    /// Adds the number of log blocks for this device; `None` after a violation.
    pub(crate) fn with_log_blocks(&mut self, ftl: FtlChoice, device: &Device) -> Read<Option<FtlChoice>> {
        match ftl {
            FtlChoice::Page(..) => Ok(Some(ftl)),
            FtlChoice::Log(choice, _) => self.log_ftl(&choice, device),
        }
    }
}
