//! What the FTLs with log blocks share: how many log blocks there are, and which is given up.

use crate::checker::{Checker, Read};
use crate::figures::DeviceFigures;
use crate::kind::{Choices, Kind};
use crate::sections::ftl::plan::LogPlan;
use crate::table::{Fallback, OptionSpec};
use crate::value::{LogSpace, Value};
use ssdlab_core::units::write_percent;
use ssdlab_ftl::FtlChoice;
use ssdlab_ftl::log::LogVictim;

pub(super) static LOG_VICTIMS: Choices<LogVictim, 2> = Choices::new([
    ("lru", "the one written to longest ago", LogVictim::Lru),
    ("fifo", "the one taken longest ago", LogVictim::Fifo),
]);

/// `log` of every log-block FTL; the key is a stand-in.
pub(super) const LOG_SPACE: OptionSpec = OptionSpec {
    key: "",
    kind: Kind::LogSpace,
    fallback: Fallback::Value("all"),
    help: "Log blocks: a number, a share of the data blocks, or all blocks beyond the data.",
    example: "3%",
};

/// `victim` of every log-block FTL that has a choice; the key is a stand-in.
pub(super) const LOG_VICTIM: OptionSpec = OptionSpec {
    key: "",
    kind: LOG_VICTIMS.kind(),
    fallback: Fallback::Value("lru"),
    help: "Which log block is given up when all are taken.",
    example: "fifo",
};

/// `sw` of FAST and FASTer; the key is a stand-in.
pub(super) const SEQUENTIAL: OptionSpec = OptionSpec {
    key: "",
    kind: Kind::Count { min: 0, max: 1 },
    fallback: Fallback::Value("1"),
    help: "Sequential log blocks (SW) among the log blocks; without one every page goes to the random log (RW).",
    example: "0",
};

impl Checker<'_> {
    /// The FTL with the log blocks that this device leaves it, unless a violation leaves it without meaning.
    pub(crate) fn log_ftl(
        &mut self,
        plan: &LogPlan,
        device: &DeviceFigures,
        pages_per_block: u32,
    ) -> Read<Option<FtlChoice>> {
        match self.log_blocks(plan.log, plan.least, device, pages_per_block)? {
            Some(log_blocks) => (plan.finish)(self, log_blocks, pages_per_block),
            None => Ok(None),
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
    pub(super) fn more_log(&self, key: &'static str) -> Read<&'static str> {
        match self.value(key)? {
            Value::LogSpace(LogSpace::All) => Ok("device.op"),
            _ => Ok(key),
        }
    }
}
