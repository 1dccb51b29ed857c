//! BAST.

use super::shared::{LOG_SPACE, LOG_VICTIM, LOG_VICTIMS};
use crate::checker::Reader;
use crate::sections::ftl::plan::{LogPlan, Plan};
use crate::table::OptionSpec;
use ssdlab_ftl::FtlChoice;
use ssdlab_ftl::log::bast::BastOptions;

pub(crate) const BAST: (&str, &str, Reader<Plan>) =
    ("bast", "BAST: each log block belongs to one logical block", |_| {
        Ok(Plan::Log(LogPlan {
            log: "ftl.bast.log",
            reserve_blocks: BastOptions::RESERVE_BLOCKS,
            least: 1,
            finish: |checker, log_blocks, _| {
                let victim = checker.choice("ftl.bast.victim", &LOG_VICTIMS)?;
                Ok(Some(FtlChoice::Bast(BastOptions { log_blocks, victim })))
            },
        }))
    });

pub(super) const OPTIONS: &[OptionSpec] =
    &[OptionSpec { key: "ftl.bast.log", ..LOG_SPACE }, OptionSpec { key: "ftl.bast.victim", ..LOG_VICTIM }];
