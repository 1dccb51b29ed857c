//! The FTLs with log blocks. Each declares its parameters in its own file; what all share, how many log blocks there
//! are, is here.

use crate::checker::{Checker, Read};
use crate::figures::DeviceFigures;
use crate::kind::Kind;
use crate::parameters::parameters;
use crate::table::{Fallback, OptionSpec};
use crate::value::{LogSpace, Value};
use ssdlab_core::units::{counted, write_percent};
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
        let Some(count) = self.log_blocks(choice, device, pages_per_block)? else {
            return Ok(None);
        };
        if let Err(problem) = (choice.info.role.check)(choice, &LogBlocks { count, pages: pages_per_block }) {
            self.report(&format!("{}.{}", path(choice.info), problem.parameter), problem.message);
            return Ok(None);
        }
        Ok(Some(FtlChoice::Log(*choice, count)))
    }

    /// Log blocks asked for. A device has room for the fewest that the FTL takes.
    fn log_blocks(&mut self, choice: &LogChoice, device: &DeviceFigures, pages_per_block: u32) -> Read<Option<u32>> {
        let key = log_key(choice.info);
        let least = u64::from((choice.info.role.least_log_blocks)(choice));
        let data = device.logical_pages.div_ceil(pages_per_block);
        let reserve = device.reserve_blocks;
        let most = u64::from(device.blocks.saturating_sub(data + reserve));
        let space = match self.value(&key)? {
            Value::LogSpace(space) => *space,
            _ => return Err(self.wrong_type(&key)),
        };
        let (asked, written) = match space {
            LogSpace::All => (most, String::new()),
            LogSpace::Blocks(blocks) => (blocks, counted(blocks, "log block")),
            LogSpace::Percent(percent) => {
                // A share that gives whole blocks on paper must give them here.
                let asked = (f64::from(data) * percent / 100.0 - 1e-9).ceil() as u64;
                let data = counted(data.into(), "data block");
                (asked, format!("{} of {data} is {}", write_percent(percent), counted(asked, "log block")))
            }
        };
        if asked > most {
            let (blocks, data) = (device.blocks, counted(data.into(), "data block"));
            let message = format!(
                "{written}, but beside {data} and {reserve} that merges need, the {blocks} blocks of the device leave \
                 {most}; lower it to {most}"
            );
            self.report(&key, message);
        } else if asked < least {
            self.report(&key, format!("{written}, and the FTL takes at least {least}; raise it to {least}"));
        } else {
            return Ok(Some(asked as u32));
        }
        Ok(None)
    }
}
