//! FAST.

use super::shared::{LOG_SPACE, SEQUENTIAL};
use crate::checker::Reader;
use crate::sections::ftl::plan::{LogPlan, Plan};
use crate::table::OptionSpec;
use ssdlab_ftl::FtlChoice;
use ssdlab_ftl::log::fast::FastOptions;

pub(crate) const FAST: (&str, &str, Reader<Plan>) =
    ("fast", "FAST: one sequential log block, and a log for pages of any logical block", |checker| {
        Ok(Plan::Log(LogPlan {
            log: "ftl.fast.log",
            reserve_blocks: FastOptions::RESERVE_BLOCKS,
            // Beside the sequential log block, if there is one, a random one.
            least: checker.small("ftl.fast.sw")? + 1,
            finish: |checker, log_blocks, _| {
                let sequential_blocks = checker.small("ftl.fast.sw")?;
                Ok(Some(FtlChoice::Fast(FastOptions { log_blocks, sequential_blocks })))
            },
        }))
    });

pub(super) const OPTIONS: &[OptionSpec] =
    &[OptionSpec { key: "ftl.fast.log", ..LOG_SPACE }, OptionSpec { key: "ftl.fast.sw", ..SEQUENTIAL }];
