//! FASTer.

use super::shared::{LOG_SPACE, SEQUENTIAL};
use crate::checker::{Checker, Read, Reader};
use crate::kind::Kind;
use crate::sections::ftl::plan::{LogPlan, Plan};
use crate::table::{Fallback, OptionSpec};
use ssdlab_core::units::write_percent;
use ssdlab_ftl::FtlChoice;
use ssdlab_ftl::log::faster::FasterOptions;

pub(crate) const FASTER: (&str, &str, Reader<Plan>) =
    ("faster", "FASTer: FAST with a second chance for valid pages and an isolation area", |checker| {
        Ok(Plan::Log(LogPlan {
            log: "ftl.faster.log",
            reserve_blocks: FasterOptions::RESERVE_BLOCKS,
            // Beside the sequential log block, if there is one, a random one.
            least: checker.small("ftl.faster.sw")? + 1,
            finish: |checker, log_blocks, _| checker.faster(log_blocks),
        }))
    });

pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec { key: "ftl.faster.log", ..LOG_SPACE },
    OptionSpec { key: "ftl.faster.sw", ..SEQUENTIAL },
    OptionSpec {
        key: "ftl.faster.second_chance",
        kind: Kind::Bool,
        fallback: Fallback::Value("true"),
        help: "Pages still valid when their log block is given up go through the log once more.",
        example: "false",
    },
    OptionSpec {
        key: "ftl.faster.keep_sparse",
        kind: Kind::Bool,
        fallback: Fallback::Value("false"),
        help: "Pages of a log block less than half valid go through the log again, whatever chances they had.",
        example: "true",
    },
    OptionSpec {
        key: "ftl.faster.isolation",
        kind: Kind::Percent { min: 0.0, max: 90.0 },
        // The share in the authors' code.
        fallback: Fallback::Value("20%"),
        help: "Share of the log blocks that collects pages valid after their second chance; 0% merges them at once.",
        example: "0%",
    },
];

impl Checker<'_> {
    fn faster(&mut self, log_blocks: u32) -> Read<Option<FtlChoice>> {
        const ISOLATION: &str = "ftl.faster.isolation";
        let share = self.share(ISOLATION)?;
        let sequential_blocks = self.small("ftl.faster.sw")?;
        let isolation_blocks = (f64::from(log_blocks) * share).round() as u32;
        let asked = format!("{} of {log_blocks} log blocks is {isolation_blocks}", write_percent(share * 100.0));
        if share > 0.0 && isolation_blocks < 2 {
            let more = self.more_log("ftl.faster.log")?;
            let message = format!("{asked}, and an isolation area needs 2; raise it or {more}, or write 0% for none");
            self.report(ISOLATION, message);
            return Ok(None);
        }
        if isolation_blocks + sequential_blocks + 1 > log_blocks {
            let message = format!("{asked}, which leaves none for random pages; lower it");
            self.report(ISOLATION, message);
            return Ok(None);
        }
        Ok(Some(FtlChoice::Faster(FasterOptions {
            log_blocks,
            sequential_blocks,
            second_chance: self.flag("ftl.faster.second_chance")?,
            keep_sparse: self.flag("ftl.faster.keep_sparse")?,
            isolation_blocks,
        })))
    }
}
