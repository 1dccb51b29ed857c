//! The FTLs with log blocks. Each declares its parameters in its own file; what all share, how many log blocks there
//! are, is here.

use crate::checker::{Checker, Read};
use crate::figures::DeviceFigures;
use crate::kind::Kind;
use crate::parameters::parameters;
use crate::remedies::first_enough;
use crate::sections::blocks::{CAPACITY, with_remedies};
use crate::sections::device::capacities_above;
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
        let (provision, _) = self.provision()?;
        let more = if *self.value(&key)? == Value::LogSpace(LogSpace::All) { provision } else { &key };
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
        let remedies = self.log_remedies(key, u64::from(least), u64::from(most), asked, device, pages_per_block)?;
        self.report(key, with_remedies(wrong, &remedies.join(" or ")));
        Ok(None)
    }

    /// What gives the FTL as many log blocks as are asked for, or it as many as it takes; of `most` that there are.
    fn log_remedies(
        &self,
        key: &str,
        least: u64,
        most: u64,
        asked: u64,
        device: &DeviceFigures,
        pages_per_block: u32,
    ) -> Read<Vec<String>> {
        let (provision, share) = self.provision()?;
        let page_bytes = u64::from(self.small("nand.page_size")?);
        let (logical_pages, pages_per_block) = (u64::from(device.logical_pages), u64::from(pages_per_block));
        let beside = logical_pages.div_ceil(pages_per_block) + u64::from(device.reserve_blocks);
        let most_percent = self.most_percent(provision);
        let blocks = share.with(most_percent).blocks(logical_pages, pages_per_block);
        let most_there_can_be = blocks.saturating_sub(beside);
        let percent = |log| share.percent_for(beside + log, logical_pages, pages_per_block).min(most_percent);
        let room = |log| (provision, Value::Percent(percent(log)));
        let raise = |log| format!("raise {provision} to {}", write_percent(percent(log)));
        let of = |log| (key, Value::LogSpace(LogSpace::Blocks(log)));
        let takes_all = *self.value(key)? == Value::LogSpace(LogSpace::All);
        Ok(self.remedies(|is_enough| {
            let mut remedies = Vec::new();
            if asked < least {
                let enough = first_enough(least, most, |log| is_enough(&[of(log)]));
                remedies.extend(enough.map(|log| format!("raise it to {log}")));
            } else {
                if least <= most && is_enough(&[of(most)]) {
                    remedies.push(format!("lower it to {most}"));
                }
                let enough = first_enough(asked, most_there_can_be, |log| is_enough(&[room(log)]));
                remedies.extend(enough.map(raise));
            }
            if !remedies.is_empty() {
                return remedies;
            }
            let changes = |log, room| if takes_all { vec![room] } else { vec![of(log), room] };
            let set = |log| if takes_all { String::new() } else { format!("set it to {log} and ") };
            let enough = first_enough(least, most_there_can_be, |log| is_enough(&changes(log, room(log))));
            remedies.extend(enough.map(|log| set(log) + &raise(log)));
            if remedies.is_empty() {
                let enough = capacities_above(logical_pages, page_bytes)
                    .find(|bytes| is_enough(&changes(least, (CAPACITY, Value::Bytes(*bytes)))));
                remedies
                    .extend(enough.map(|bytes| format!("{}raise {CAPACITY} to {}", set(least), write_bytes(bytes))));
            }
            remedies
        }))
    }
}
