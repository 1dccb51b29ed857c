//! The options of the FTLs, checked against the device.

use crate::device::DeviceFigures;
use crate::options::Variant;
use crate::settings::{Checker, Read};
use crate::value::{LogSpace, Value, write_percent};
use ssdlab_ftl::bast::BastOptions;
use ssdlab_ftl::fast::FastOptions;
use ssdlab_ftl::faster::FasterOptions;
use ssdlab_ftl::log::LogVictim;
use ssdlab_ftl::page::{Allocation, PageOptions, Survivors, Trigger, VictimChoice};
use ssdlab_ftl::sbfast::{RlbMerge, SbfastOptions};
use ssdlab_sim::FtlChoice;

/// Every FTL, in the order in which they are explained.
pub(crate) const FTLS: &[Variant] = &[
    Variant { name: "page", help: "page mapping, the whole map in RAM" },
    Variant { name: "bast", help: "BAST: each log block belongs to one logical block" },
    Variant { name: "fast", help: "FAST: one sequential log block, and a log for pages of any logical block" },
    Variant { name: "faster", help: "FASTer: FAST with a second chance for valid pages and an isolation area" },
    Variant { name: "sbfast", help: "SBFAST: FAST with several sequential log blocks, entered at sub-block headers" },
];

pub(crate) const LOG_VICTIMS: &[Variant] = &[
    Variant { name: "lru", help: "the one written to longest ago" },
    Variant { name: "fifo", help: "the one taken longest ago" },
];

/// An FTL before the size of its log is known.
pub(crate) enum Plan {
    Page(PageOptions),
    Log {
        /// `ftl.<name>.log`.
        key: &'static str,
        reserve_blocks: u32,
        /// Fewest log blocks that work.
        least: u32,
    },
}

impl Plan {
    /// Blocks that the FTL always keeps open or erased.
    pub(crate) fn reserve_blocks(&self) -> u32 {
        match self {
            Self::Page(options) => options.reserve_blocks(),
            Self::Log { reserve_blocks, .. } => *reserve_blocks,
        }
    }
}

impl Checker<'_> {
    pub(crate) fn plan(&mut self) -> Read<Plan> {
        let log = |key, reserve_blocks, least| Ok(Plan::Log { key, reserve_blocks, least });
        match self.choice("ftl")? {
            "page" => Ok(Plan::Page(self.page_options()?)),
            "bast" => log("ftl.bast.log", BastOptions::RESERVE_BLOCKS, 1),
            // Beside the sequential log block, if there is one, a random one.
            "fast" => log("ftl.fast.log", FastOptions::RESERVE_BLOCKS, self.small("ftl.fast.sw")? + 1),
            "faster" => log("ftl.faster.log", FasterOptions::RESERVE_BLOCKS, self.small("ftl.faster.sw")? + 1),
            "sbfast" => log("ftl.sbfast.log", SbfastOptions::RESERVE_BLOCKS, 2),
            other => Err(self.unknown("ftl", other)),
        }
    }

    /// The FTL on this device, unless a violation leaves it without meaning.
    pub(crate) fn ftl(&mut self, plan: Plan, device: &DeviceFigures, pages_per_block: u32) -> Read<Option<FtlChoice>> {
        let (key, least) = match plan {
            Plan::Page(options) => return Ok(Some(FtlChoice::Page(options))),
            Plan::Log { key, least, .. } => (key, least),
        };
        let Some(log_blocks) = self.log_blocks(key, least, device, pages_per_block)? else { return Ok(None) };
        match key {
            "ftl.bast.log" => {
                Ok(Some(FtlChoice::Bast(BastOptions { log_blocks, victim: self.log_victim("ftl.bast.victim")? })))
            }
            "ftl.fast.log" => {
                Ok(Some(FtlChoice::Fast(FastOptions { log_blocks, sequential_blocks: self.small("ftl.fast.sw")? })))
            }
            "ftl.faster.log" => self.faster(log_blocks),
            _ => self.sbfast(log_blocks, pages_per_block),
        }
    }

    /// Log blocks asked for, which must fit beside the data.
    fn log_blocks(&mut self, key: &str, least: u32, device: &DeviceFigures, pages_per_block: u32) -> Read<Option<u32>> {
        let data = device.logical_pages.div_ceil(pages_per_block);
        let reserve = device.reserve_blocks;
        let most = device.blocks.saturating_sub(data + reserve);
        let space = match self.value(key)? {
            Value::LogSpace(space) => *space,
            _ => return Err(self.wrong_type(key)),
        };
        let asked = match space {
            LogSpace::All => u64::from(most),
            LogSpace::Blocks(blocks) => blocks,
            // A share that gives whole blocks on paper must give them here.
            LogSpace::Percent(percent) => (f64::from(data) * percent / 100.0 - 1e-9).ceil() as u64,
        };
        let written = match space {
            LogSpace::Percent(percent) => {
                format!("{} of {data} data blocks is {asked} log blocks", write_percent(percent))
            }
            LogSpace::Blocks(_) | LogSpace::All => format!("{asked} log blocks"),
        };
        let needed = u64::from(data) + u64::from(reserve) + asked;
        if asked > u64::from(most) {
            let message = format!(
                "{written}, but beside {data} data blocks and {reserve} that merges need, the {} blocks of the device \
                 leave {most}; lower it or {}",
                device.blocks,
                self.raise_provision(needed, u64::from(device.logical_pages), u64::from(pages_per_block))?
            );
            self.report(key, message);
            return Ok(None);
        }
        if asked < u64::from(least) {
            let enough = u64::from(data) + u64::from(reserve) + u64::from(least);
            let remedy = if most < least {
                self.raise_provision(enough, u64::from(device.logical_pages), u64::from(pages_per_block))?
            } else {
                "raise it".into()
            };
            let message = format!("{written}, and at least {least} are needed; {remedy}");
            self.report(key, message);
            return Ok(None);
        }
        Ok(Some(asked as u32))
    }

    /// What gives more log blocks: the option itself, unless it has all there are.
    fn more_log(&self, key: &'static str) -> Read<&'static str> {
        match self.value(key)? {
            Value::LogSpace(LogSpace::All) => Ok("device.op"),
            _ => Ok(key),
        }
    }

    fn log_victim(&self, key: &str) -> Read<LogVictim> {
        match self.choice(key)? {
            "lru" => Ok(LogVictim::Lru),
            "fifo" => Ok(LogVictim::Fifo),
            other => Err(self.unknown(key, other)),
        }
    }

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

    fn sbfast(&mut self, log_blocks: u32, pages_per_block: u32) -> Read<Option<FtlChoice>> {
        const SLB: &str = "ftl.sbfast.slb";
        const SUB_BLOCK: &str = "ftl.sbfast.sub_block";
        let sequential_blocks = self.small(SLB)?;
        let sub_block_pages = self.small(SUB_BLOCK)?;
        let rlb_merge = match self.choice("ftl.sbfast.rlb_merge")? {
            "victim" => RlbMerge::Victim,
            "block" => RlbMerge::Block,
            other => return Err(self.unknown("ftl.sbfast.rlb_merge", other)),
        };
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
        let victim = self.log_victim("ftl.sbfast.victim")?;
        Ok(Some(FtlChoice::Sbfast(SbfastOptions { log_blocks, sequential_blocks, victim, sub_block_pages, rlb_merge })))
    }

    fn page_options(&mut self) -> Read<PageOptions> {
        let gc = match self.choice("ftl.page.gc")? {
            "greedy" => VictimChoice::Greedy,
            "fifo" => VictimChoice::Fifo,
            "random" => VictimChoice::Random,
            "d_choices" => VictimChoice::DChoices { d: self.small("ftl.page.gc.d_choices.d")? },
            "cost_benefit" => VictimChoice::CostBenefit,
            "windowed_greedy" => {
                VictimChoice::WindowedGreedy { window: self.small("ftl.page.gc.windowed_greedy.window")? }
            }
            other => return Err(self.unknown("ftl.page.gc", other)),
        };
        let survivors = match self.choice("ftl.page.survivors")? {
            "own" => Survivors::Own,
            "shared" => Survivors::Shared,
            other => return Err(self.unknown("ftl.page.survivors", other)),
        };
        let trigger = match self.choice("ftl.page.trigger")? {
            "victim" => Trigger::Victim,
            "batch" => self.batch()?,
            other => return Err(self.unknown("ftl.page.trigger", other)),
        };
        let allocation = match self.choice("ftl.page.allocation")? {
            "least_worn" => Allocation::LeastWorn,
            "fifo" => Allocation::Fifo,
            other => return Err(self.unknown("ftl.page.allocation", other)),
        };
        Ok(PageOptions { gc, survivors, trigger, allocation })
    }

    fn batch(&mut self) -> Read<Trigger> {
        const HIGH: &str = "ftl.page.trigger.batch.high";
        let low = self.small("ftl.page.trigger.batch.low")?;
        let high = self.small(HIGH)?;
        if low >= high {
            self.report(
                HIGH,
                format!("{high} must be more than low = {low}; raise it to {} or lower low", u64::from(low) + 1),
            );
        }
        Ok(Trigger::Batch { low, high })
    }
}
