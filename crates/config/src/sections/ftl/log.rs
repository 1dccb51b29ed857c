//! The FTLs with log blocks. Each declares its parameters in its own file; what all share, how many log blocks there
//! are, is here.

use crate::checker::{Checker, Read};
use crate::figures::DeviceFigures;
use crate::kind::Kind;
use crate::parameters::parameters;
use crate::table::{Fallback, OptionSpec};
use crate::value::{LogSpace, Value};
use ssdlab_core::units::{counted, write_bytes, write_percent};
use ssdlab_ftl::FtlChoice;
use ssdlab_ftl::choice::LOG_FTLS;
use ssdlab_ftl::log::{LogBlocks, LogChoice, LogInfo};

pub(super) fn options() -> Vec<OptionSpec> {
    LOG_FTLS
        .iter()
        .flat_map(|info| [vec![log_space(info)], parameters(&path(info), info.parameters)].concat())
        .collect()
}

fn log_space(info: &LogInfo) -> OptionSpec {
    OptionSpec {
        key: log_key(info).leak(),
        kind: Kind::LogSpace,
        fallback: Fallback::Value("all"),
        help: "Log blocks: a number, a share of the data blocks, or all blocks beyond the data.",
        example: "3%",
    }
}

fn path(info: &LogInfo) -> String {
    format!("ftl.{}", info.name)
}

fn log_key(info: &LogInfo) -> String {
    format!("{}.log", path(info))
}

impl Checker<'_> {
    pub(super) fn log_choice(&mut self, info: &'static LogInfo) -> Read<LogChoice> {
        Ok(LogChoice { info, settings: self.parameters(&path(info), info.parameters)? })
    }

    /// The FTL with the log blocks that this device leaves it, unless a violation leaves it without meaning.
    pub(super) fn log_ftl(
        &mut self,
        choice: &LogChoice,
        device: &DeviceFigures,
        pages_per_block: u32,
    ) -> Read<Option<FtlChoice>> {
        let key = log_key(choice.info);
        let least = (choice.info.role.least_log_blocks)(choice);
        let Some(count) = self.log_blocks(&key, least, device, pages_per_block)? else {
            return Ok(None);
        };
        // The setting itself gives more, unless it has all there are.
        let more = if *self.value(&key)? == Value::LogSpace(LogSpace::All) { "device.op" } else { &key };
        if let Err(problem) = (choice.info.role.check)(choice, &LogBlocks { count, pages: pages_per_block, more }) {
            self.report(&format!("{}.{}", path(choice.info), problem.parameter), problem.message);
            return Ok(None);
        }
        Ok(Some(FtlChoice::Log(*choice, count)))
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
                let data = counted(data.into(), "data block");
                format!("{} of {data} is {}", write_percent(percent), counted(asked, "log block"))
            }
            LogSpace::Blocks(_) | LogSpace::All => counted(asked, "log block"),
        };
        let wrong = if asked > u64::from(most) {
            let blocks = device.blocks;
            format!(
                "{written}, but beside {} and {reserve} that merges need, the {blocks} blocks of the device leave {most}",
                counted(data.into(), "data block")
            )
        } else if asked < u64::from(least) {
            format!("{written}, and it takes at least {least}")
        } else {
            return Ok(Some(asked as u32));
        };
        let logical_pages = u64::from(device.logical_pages);
        let room_for = |log: u64| {
            let blocks = u64::from(data) + u64::from(reserve) + log;
            self.raise_provision(blocks, logical_pages, u64::from(pages_per_block))
        };
        let mut remedies = Vec::new();
        if asked < u64::from(least) && least <= most {
            remedies.push(format!("raise it to {least}"));
        } else if least <= most {
            remedies.push(format!("lower it to {most}"));
        }
        if asked > u64::from(most) {
            remedies.extend(room_for(asked)?);
        }
        if remedies.is_empty() {
            let set = if space == LogSpace::All { "" } else { &format!("set it to {least} and ") };
            let room = match room_for(u64::from(least))? {
                Some(raise) => Some(raise),
                None => self.larger(logical_pages, pages_per_block, reserve + least)?,
            };
            remedies.extend(room.map(|room| format!("{set}{room}")));
        }
        self.report(key, format!("{wrong}; {}", remedies.join(" or ")));
        Ok(None)
    }

    /// The capacity, a power of two, that has so many blocks beyond the data, as a remedy.
    fn larger(&self, logical_pages: u64, pages_per_block: u32, beyond: u32) -> Read<Option<String>> {
        let (_, provision) = self.provision()?;
        let pages_per_block = u64::from(pages_per_block);
        let enough = (0..32).map(|bits| 1 << bits).find(|&pages: &u64| {
            let blocks = provision.blocks(pages, pages_per_block);
            pages > logical_pages && blocks >= pages.div_ceil(pages_per_block) + u64::from(beyond)
        });
        let page_bytes = u64::from(self.small("nand.page_size")?);
        Ok(enough.map(|pages| format!("raise device.capacity to {}", write_bytes(pages * page_bytes))))
    }
}
