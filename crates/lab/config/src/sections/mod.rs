//! Sections of the configuration, one file or folder each: options, readers and checks.

mod block;
mod blocks;
mod cache;
pub(crate) mod device;
pub(crate) mod drive;
pub(crate) mod ftl;
mod general;
pub(crate) mod host;
pub(crate) mod nand;
mod precondition;
pub(crate) mod provision;
mod repeat;
pub(crate) mod scale;
mod units;
mod workload;

use crate::table::Section;

/// Every section, in the order of the reference page.
pub(crate) static SECTIONS: &[Section] = &[
    general::SECTION,
    device::SECTION,
    nand::SECTION,
    drive::SECTION,
    cache::SECTION,
    block::SECTION,
    ftl::SECTION,
    host::SECTION,
    precondition::SECTION,
    workload::SECTION,
];
