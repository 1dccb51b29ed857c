//! Settings of log-block FTLs. Each FTL declares its parameters in its own file; all share the option for the number of
//! log blocks.

use crate::checker::{Checker, Read};
use crate::kind::Kind;
use crate::parameters::of_table;
use crate::sections::device::Device;
use crate::table::{OptionSpec, option};
use crate::value::{LogSpace, Value};
use ssdlab_core::units::{counted, write_percent};
use ssdlab_ftl::FtlChoice;
use ssdlab_ftl::choice::LOG_FTLS;
use ssdlab_ftl::log::{LogBlocks, LogChoice, LogInfo};

pub(super) fn options() -> Vec<OptionSpec> {
    let of_ftl = |info: &&'static LogInfo| {
        let parameters: Vec<_> = of_table(&path(info), info.parameters).collect();
        let log = if info.role.has_log { vec![log_space(info)] } else { Vec::new() };
        [log, parameters].concat()
    };
    LOG_FTLS.iter().flat_map(of_ftl).collect()
}

fn log_space(info: &LogInfo) -> OptionSpec {
    option(log_key(info).leak(), Kind::LogSpace).default("all").example("3%").help(
        "Log blocks, as a number or as a percentage of the data blocks; `all` uses all blocks that remain after data \
         and reserve.",
    )
}

fn path(info: &LogInfo) -> String {
    format!("ftl.{}", info.name)
}

fn log_key(info: &LogInfo) -> String {
    format!("{}.log", path(info))
}

impl Checker<'_> {
    /// Returns the chosen FTL with its number of log blocks on this device; `None` after reporting an error.
    pub(super) fn log_ftl(&mut self, choice: &LogChoice, device: &Device) -> Read<Option<FtlChoice>> {
        let Some(count) = self.log_blocks(choice, device)? else {
            return Ok(None);
        };
        if let Err(problem) =
            (choice.info.role.check)(choice, &LogBlocks { count, pages: device.geometry.pages_per_block })
        {
            self.report(&format!("{}.{}", path(choice.info), problem.parameter), problem.message);
            return Ok(None);
        }
        Ok(Some(FtlChoice::Log(*choice, count)))
    }

    /// Reads the number of log blocks; `None` after a violation. Every valid device has enough blocks for the FTL's
    /// minimum number of log blocks.
    fn log_blocks(&mut self, choice: &LogChoice, device: &Device) -> Read<Option<u32>> {
        if !choice.info.role.has_log {
            return Ok(Some(0));
        }
        let key = log_key(choice.info);
        let least = u64::from((choice.info.role.least_log_blocks)(choice));
        let Device { geometry, logical_pages, reserve_blocks: reserve, .. } = device;
        let data = logical_pages.div_ceil(geometry.pages_per_block);
        let most = u64::from(geometry.blocks.saturating_sub(data + reserve));
        let space = match self.value(&key)? {
            Value::LogSpace(space) => *space,
            _ => return Err(self.wrong_type(&key)),
        };
        let (asked, written) = match space {
            LogSpace::All => (most, String::new()),
            LogSpace::Blocks(blocks) => (blocks, counted(blocks, "log block")),
            LogSpace::Percent(percent) => {
                // Prevents rounding errors from adding a block if the percentage equals a whole number of blocks.
                let asked = (f64::from(data) * percent / 100.0 - 1e-9).ceil() as u64;
                let data = counted(data.into(), "data block");
                (asked, format!("{} of {data} is {}", write_percent(percent), counted(asked, "log block")))
            }
        };
        if asked > most {
            let (blocks, data) = (geometry.blocks, counted(data.into(), "data block"));
            let message = format!(
                "{written}, but only {most} of {blocks} blocks are left after {data} and a reserve of {reserve} for \
                 merges; lower it to {most}"
            );
            self.report(&key, message);
        } else if asked < least {
            self.report(&key, format!("{written}, but the FTL needs at least {least}; raise it to {least}"));
        } else {
            return Ok(Some(asked as u32));
        }
        Ok(None)
    }
}
