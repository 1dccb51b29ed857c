//! SBFAST.

use super::shared::{LOG_SPACE, LOG_VICTIM, LOG_VICTIMS};
use crate::checker::{Checker, Read, Reader};
use crate::kind::{Choices, Kind};
use crate::sections::ftl::plan::{LogPlan, Plan};
use crate::table::{Fallback, MEBI, OptionSpec};
use ssdlab_ftl::FtlChoice;
use ssdlab_ftl::log::sbfast::{RlbMerge, SbfastOptions};

pub(crate) const SBFAST: (&str, &str, Reader<Plan>) =
    ("sbfast", "SBFAST: FAST with several sequential log blocks, entered at sub-block headers", |_| {
        Ok(Plan::Log(LogPlan {
            log: "ftl.sbfast.log",
            reserve_blocks: SbfastOptions::RESERVE_BLOCKS,
            least: 2,
            finish: |checker, log_blocks, pages_per_block| checker.sbfast(log_blocks, pages_per_block),
        }))
    });

static RLB_MERGES: Choices<RlbMerge, 2> = Choices::new([
    ("victim", "those of the log block being reclaimed and of the data block", RlbMerge::Victim),
    ("block", "all, wherever they lie", RlbMerge::Block),
]);

pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec { key: "ftl.sbfast.log", ..LOG_SPACE },
    OptionSpec {
        key: "ftl.sbfast.slb",
        kind: Kind::Count { min: 1, max: MEBI },
        fallback: Fallback::Value("4"),
        help: "Sequential log blocks (SLBs) among the log blocks.",
        example: "8",
    },
    OptionSpec { key: "ftl.sbfast.victim", ..LOG_VICTIM },
    OptionSpec {
        key: "ftl.sbfast.sub_block",
        kind: Kind::Count { min: 1, max: 32_767 },
        fallback: Fallback::Value("16"),
        help: "Pages of a sub-block (SBS); divides the pages of a block.",
        example: "64",
    },
    OptionSpec {
        key: "ftl.sbfast.rlb_merge",
        kind: RLB_MERGES.kind(),
        fallback: Fallback::Value("victim"),
        help: "Which pages of a logical block are merged when a random log block is reclaimed.",
        example: "block",
    },
];

impl Checker<'_> {
    fn sbfast(&mut self, log_blocks: u32, pages_per_block: u32) -> Read<Option<FtlChoice>> {
        const SLB: &str = "ftl.sbfast.slb";
        const SUB_BLOCK: &str = "ftl.sbfast.sub_block";
        let sequential_blocks = self.small(SLB)?;
        let sub_block_pages = self.small(SUB_BLOCK)?;
        let rlb_merge = self.choice("ftl.sbfast.rlb_merge", &RLB_MERGES)?;
        if sequential_blocks >= log_blocks {
            let message = format!(
                "{sequential_blocks} of {log_blocks} log blocks leave none for random pages; lower it to {} or raise {}",
                log_blocks - 1,
                self.more_log("ftl.sbfast.log")?
            );
            self.report(SLB, message);
            return Ok(None);
        }
        if !pages_per_block.is_multiple_of(sub_block_pages) {
            let divides = |pages: &u32| pages_per_block.is_multiple_of(*pages);
            let below = (1..sub_block_pages.min(pages_per_block)).rev().find(divides).unwrap_or(1);
            let above = (sub_block_pages..=pages_per_block).find(divides).unwrap_or(pages_per_block);
            let message = format!(
                "{sub_block_pages} pages do not divide a block of {pages_per_block}; the nearest that do are {below} and {above}"
            );
            self.report(SUB_BLOCK, message);
            return Ok(None);
        }
        let victim = self.choice("ftl.sbfast.victim", &LOG_VICTIMS)?;
        Ok(Some(FtlChoice::Sbfast(SbfastOptions { log_blocks, sequential_blocks, victim, sub_block_pages, rlb_merge })))
    }
}
