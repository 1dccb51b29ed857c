//! The options of the FTLs, checked against the device.

use crate::device::DeviceFigures;
use crate::options::Variant;
use crate::settings::{Checker, Read};
use crate::value::{LogSpace, Value, write_bytes, write_percent};
use ssdlab_ftl::FtlChoice;
use ssdlab_ftl::choice::MapChoice;
use ssdlab_ftl::log::LogVictim;
use ssdlab_ftl::log::bast::BastOptions;
use ssdlab_ftl::log::fast::FastOptions;
use ssdlab_ftl::log::faster::FasterOptions;
use ssdlab_ftl::log::sbfast::{RlbMerge, SbfastOptions};
use ssdlab_ftl::map::cache::POLICIES;
use ssdlab_ftl::map::{DftlOptions, SegmentOptions};
use ssdlab_ftl::page::{Allocation, PageOptions, Trigger, VictimChoice};
use ssdlab_ftl::placement::{own, placement};

/// Every FTL, in the order in which they are explained.
pub(crate) const FTLS: &[Variant] = &[
    Variant { name: "page", help: "page mapping" },
    Variant { name: "dftl", help: "DFTL: page mapping, the map in flash and single entries of it in RAM" },
    Variant { name: "bast", help: "BAST: each log block belongs to one logical block" },
    Variant { name: "fast", help: "FAST: one sequential log block, and a log for pages of any logical block" },
    Variant { name: "faster", help: "FASTer: FAST with a second chance for valid pages and an isolation area" },
    Variant { name: "sbfast", help: "SBFAST: FAST with several sequential log blocks, entered at sub-block headers" },
];

/// [`POLICIES`] as variants; a test holds both together.
pub(crate) const CACHE_POLICIES: &[Variant] = &[
    Variant { name: "lru", help: ssdlab_ftl::map::cache::lru::HELP },
    Variant { name: "fifo", help: ssdlab_ftl::map::cache::fifo::HELP },
    Variant { name: "clock", help: ssdlab_ftl::map::cache::clock::HELP },
    Variant { name: "two_q", help: ssdlab_ftl::map::cache::two_q::HELP },
];

pub(crate) const LOG_VICTIMS: &[Variant] = &[
    Variant { name: "lru", help: "the one written to longest ago" },
    Variant { name: "fifo", help: "the one taken longest ago" },
];

/// Bytes of an entry in a translation page, as in the paper.
const DFTL_ENTRY_BYTES: u32 = 4;

/// An FTL before it is known on which device.
pub(crate) enum Plan {
    Page(PageOptions),
    Segments(PageOptions, SegmentOptions),
    Dftl(PageOptions, DftlOptions),
    Log {
        /// `ftl.<name>.log`.
        key: &'static str,
        reserve_blocks: u32,
        /// Fewest log blocks that work.
        least: u32,
    },
}

impl Plan {
    /// Whether each plane is written and collected for itself, and so has a reserve of its own.
    pub(crate) const fn reserves_by_plane(&self) -> bool {
        !matches!(self, Self::Log { .. })
    }

    /// Blocks that the FTL always keeps open, erased, or full of its map.
    pub(crate) fn reserve_blocks(&self, logical_pages: u64, page_bytes: u32, pages_per_block: u32, planes: u32) -> u32 {
        // More pages than numbers are refused elsewhere.
        let logical_pages = u32::try_from(logical_pages).unwrap_or(u32::MAX);
        let (options, map_pages) = match self {
            Self::Page(options) => (options, 0),
            Self::Log { reserve_blocks, .. } => return *reserve_blocks,
            Self::Segments(options, map) => (options, map.map_pages(logical_pages, page_bytes)),
            Self::Dftl(options, map) => (options, map.map_pages(logical_pages, page_bytes)),
        };
        options.device_reserve_blocks(planes, map_pages, pages_per_block)
    }
}

impl Checker<'_> {
    pub(crate) fn plan(&mut self) -> Read<Plan> {
        let log = |key, reserve_blocks, least| Ok(Plan::Log { key, reserve_blocks, least });
        match self.choice("ftl")? {
            "page" => {
                let options = self.page_options()?;
                match self.choice("ftl.page.map")? {
                    "ram" => Ok(Plan::Page(options)),
                    "segments" => Ok(Plan::Segments(options, self.segment_options()?)),
                    other => Err(self.unknown("ftl.page.map", other)),
                }
            }
            "dftl" => {
                // As the paper, greedily, and else as page mapping here.
                let pages = PageOptions {
                    gc: VictimChoice::Greedy,
                    placement: &own::INFO,
                    trigger: self.trigger("ftl.dftl.trigger")?,
                    allocation: Allocation::LeastWorn,
                };
                Ok(Plan::Dftl(pages, self.dftl_options()?))
            }
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
            Plan::Page(options) => return Ok(Some(FtlChoice::Page(options, MapChoice::Ram))),
            Plan::Segments(options, map) => return Ok(Some(FtlChoice::Page(options, MapChoice::Segments(map)))),
            Plan::Dftl(options, map) => return Ok(Some(FtlChoice::Page(options, MapChoice::Dftl(map)))),
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

    fn segment_options(&mut self) -> Read<SegmentOptions> {
        const CACHE: &str = "ftl.page.map.segments.cache";
        const SEGMENT: &str = "ftl.page.map.segments.segment";
        const ENTRY: &str = "ftl.page.map.segments.entry";
        let page_bytes = self.small("nand.page_size")?;
        let mut options = SegmentOptions {
            cache_bytes: self.bytes(CACHE)?,
            segment_bytes: self.small(SEGMENT)?,
            entry_bytes: self.small(ENTRY)?,
            policy: self.cache_policy("ftl.page.map.segments.policy")?,
            preload: self.flag("ftl.page.map.segments.preload")?,
        };
        let written = |bytes: u32| write_bytes(u64::from(bytes));
        for (key, bytes) in [(SEGMENT, &mut options.segment_bytes), (ENTRY, &mut options.entry_bytes)] {
            if !bytes.is_power_of_two() {
                let above = bytes.next_power_of_two();
                let nearest = format!("{} and {}", written(above / 2), written(above));
                self.report(key, format!("{} is not a power of two; the nearest are {nearest}", written(*bytes)));
                // What follows from it is not reported as well.
                *bytes = above.min(page_bytes);
            }
        }
        if options.segment_bytes > page_bytes {
            let message =
                format!("{} exceeds a page of {}; lower it", written(options.segment_bytes), written(page_bytes));
            self.report(SEGMENT, message);
            options.segment_bytes = page_bytes;
        }
        if options.entry_bytes > options.segment_bytes {
            let message = format!(
                "{} exceeds a segment of {}; lower it",
                written(options.entry_bytes),
                written(options.segment_bytes)
            );
            self.report(ENTRY, message);
            options.entry_bytes = options.segment_bytes;
        }
        if !options.cache_bytes.is_multiple_of(u64::from(options.segment_bytes)) || options.cache_bytes == 0 {
            let message = format!(
                "{} is not a multiple of segments of {}, at least one",
                write_bytes(options.cache_bytes),
                written(options.segment_bytes)
            );
            self.report(CACHE, message);
        }
        Ok(options)
    }

    fn cache_policy(&self, key: &str) -> Read<ssdlab_ftl::map::cache::CacheChoice> {
        let chosen = self.choice(key)?;
        let info = POLICIES.iter().find(|info| info.name == chosen);
        info.map(|info| info.choice).ok_or_else(|| self.unknown(key, chosen))
    }

    fn dftl_options(&mut self) -> Read<DftlOptions> {
        const CMT: &str = "ftl.dftl.cmt";
        let entries = self.small(CMT)?;
        let share = self.share("ftl.dftl.protected")?;
        let protected = (f64::from(entries) * share).round() as u32;
        Ok(DftlOptions {
            entries,
            protected: protected.min(entries - 1),
            batch: self.flag("ftl.dftl.batch")?,
            entry_bytes: DFTL_ENTRY_BYTES,
        })
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
        const SURVIVORS: &str = "ftl.page.survivors";
        let name = self.choice(SURVIVORS)?;
        let placement = placement(name).ok_or_else(|| self.unknown(SURVIVORS, name))?;
        let trigger = self.trigger("ftl.page.trigger")?;
        let allocation = match self.choice("ftl.page.allocation")? {
            "least_worn" => Allocation::LeastWorn,
            "fifo" => Allocation::Fifo,
            other => return Err(self.unknown("ftl.page.allocation", other)),
        };
        Ok(PageOptions { gc, placement, trigger, allocation })
    }

    /// When garbage is collected, by the setting `key` and those below it.
    fn trigger(&mut self, key: &str) -> Read<Trigger> {
        match self.choice(key)? {
            "victim" => Ok(Trigger::Victim),
            "batch" => self.batch(key),
            "partial" => Ok(Trigger::Partial {
                low: self.small(&format!("{key}.partial.low"))?,
                step: self.small(&format!("{key}.partial.step"))?,
            }),
            other => Err(self.unknown(key, other)),
        }
    }

    fn batch(&mut self, key: &str) -> Read<Trigger> {
        let high_key = format!("{key}.batch.high");
        let low = self.small(&format!("{key}.batch.low"))?;
        let high = self.small(&high_key)?;
        if low >= high {
            self.report(
                &high_key,
                format!("{high} must be more than low = {low}; raise it to {} or lower low", u64::from(low) + 1),
            );
        }
        Ok(Trigger::Batch { low, high })
    }
}
