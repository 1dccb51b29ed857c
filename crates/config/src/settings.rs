//! The third stage: complete settings, checked across options, all violations at once.

use crate::config::Config;
use crate::device::{DeviceFigures, Provision};
use crate::error::{ConfigError, Violation};
use crate::ftl::Plan;
use crate::options::{Kind, find};
use crate::value::{Value, write_bytes, write_percent};
use ssdlab_core::Nanos;
use ssdlab_nand::{Geometry, Parallelism};
use ssdlab_sim::{Fit, Overwrite, Precondition, Setup};
use ssdlab_trace::Workload;

/// Everything a run needs, in plain numbers.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// The simulation.
    pub setup: Setup,
    /// The generated workload, for runs without a trace.
    pub workload: Workload,
    /// The device in whole blocks and unambiguous ratios.
    pub device: DeviceFigures,
}

impl Config {
    /// The settings this configuration comes to. `extent_bytes` is the first byte after the last one the trace
    /// addresses; see [`Self::needs_extent`].
    ///
    /// # Errors
    ///
    /// Everything that does not fit together, each with its remedy.
    pub fn settings(&self, extent_bytes: Option<u64>) -> Result<Settings, ConfigError> {
        let mut checker = Checker { config: self, violations: Vec::new() };
        let settings = checker.settings(extent_bytes)?;
        match settings {
            Some(settings) if checker.violations.is_empty() => Ok(settings),
            _ => Err(ConfigError(checker.violations)),
        }
    }
}

/// Reads typed values and collects what does not fit together.
///
/// `Err` of its methods means that the table of options and this file disagree; a faulty configuration is not an
/// `Err` but adds to `violations`.
pub(crate) struct Checker<'a> {
    config: &'a Config,
    pub(crate) violations: Vec<Violation>,
}

/// Blocks that the FTL always keeps open, erased, or full of its map.
#[derive(Clone, Copy)]
struct Reserve {
    blocks: u64,
    /// Whether each plane has its part of them, and of the data.
    by_plane: bool,
    /// Whether they are added to what over-provisioning gives.
    extra: bool,
}

pub(crate) type Read<T> = Result<T, Violation>;

macro_rules! getter {
    ($name:ident, $variant:ident, $type:ty) => {
        pub(crate) fn $name(&self, key: &str) -> Read<$type> {
            match self.value(key)? {
                Value::$variant(value) => Ok(value.clone()),
                _ => Err(self.wrong_type(key)),
            }
        }
    };
}

impl Checker<'_> {
    pub(crate) fn value(&self, key: &str) -> Read<&Value> {
        let entry = self.config.entries.get(key).ok_or_else(|| self.at(key, "is not in the table of options"))?;
        Ok(&entry.value)
    }

    getter!(bytes, Bytes, u64);
    getter!(durations, Durations, Vec<u64>);
    getter!(count, Count, u64);
    getter!(counts, Counts, Vec<u64>);
    getter!(float, Float, f64);
    getter!(flag, Bool, bool);
    getter!(rate, Rate, u64);
    getter!(bandwidth, Bandwidth, Option<u64>);
    getter!(sizes, Sizes, Vec<(u32, f64)>);
    getter!(span, Span, Option<u64>);
    getter!(choice, Choice, &'static str);

    pub(crate) fn nanos(&self, key: &str) -> Read<Nanos> {
        match self.value(key)? {
            Value::Nanos(nanos) => Ok(Nanos(*nanos)),
            _ => Err(self.wrong_type(key)),
        }
    }

    /// A percentage as a share of 1.
    pub(crate) fn share(&self, key: &str) -> Read<f64> {
        match self.value(key)? {
            Value::Percent(percent) => Ok(percent / 100.0),
            _ => Err(self.wrong_type(key)),
        }
    }

    /// A size or count whose range ends within 32 bits.
    pub(crate) fn small(&self, key: &str) -> Read<u32> {
        let number = match self.value(key)? {
            Value::Bytes(number) | Value::Count(number) => *number,
            _ => return Err(self.wrong_type(key)),
        };
        u32::try_from(number).map_err(|_| self.at(key, "exceeds 32 bits"))
    }

    /// A violation of `key`, placed where its value was written.
    fn at(&self, key: &str, message: impl Into<String>) -> Violation {
        let origin = self.config.entries.get(key).map_or("default", |entry| &entry.origin);
        Violation::new(origin, key, message)
    }

    /// Whether nobody set it.
    pub(crate) fn is_default(&self, key: &str) -> bool {
        self.config.entries.get(key).is_none_or(|entry| entry.origin.starts_with("default"))
    }

    pub(crate) fn wrong_type(&self, key: &str) -> Violation {
        self.at(key, "has another type in the table of options")
    }

    pub(crate) fn unknown(&self, key: &str, variant: &str) -> Violation {
        self.at(key, format!("variant {variant:?} is not implemented"))
    }

    pub(crate) fn report(&mut self, key: &str, message: String) {
        let violation = self.at(key, message);
        self.violations.push(violation);
    }

    fn settings(&mut self, extent_bytes: Option<u64>) -> Read<Option<Settings>> {
        let plan = self.plan()?;
        let precondition = self.precondition()?;
        let sized = self.device(&plan, extent_bytes)?;
        let clock = self.clock(&plan, sized.as_ref())?;
        let block = self.block(&clock, sized.as_ref().map(|(_, device)| device.capacity_bytes))?;
        let cache = self.cache()?;
        let gantt = self.gantt(&clock)?;
        let replay = self.replay(&clock)?;
        let fit = self.fit(extent_bytes)?;
        let Some((geometry, device)) = sized else {
            return Ok(None);
        };
        let ftl = self.ftl(plan, &device, geometry.pages_per_block)?;
        let workload = self.workload(geometry.page_bytes, device.capacity_bytes, fit)?;
        let Some(ftl) = ftl else {
            return Ok(None);
        };
        let setup = Setup {
            geometry,
            logical_pages: device.logical_pages,
            endurance_cycles: self.small("nand.endurance")?,
            ftl,
            clock,
            replay,
            cache,
            block,
            gantt,
            fit,
            warmup_requests: self.count("host.warmup")?,
            precondition,
            check: self.flag("check")?,
            seed: self.count("seed")?,
        };
        Ok(Some(Settings { setup, workload, device }))
    }

    fn precondition(&mut self) -> Read<Precondition> {
        const OVERWRITE: &str = "precondition.overwrite";
        let fill = self.share("precondition.fill")?;
        let overwrite = match self.choice(OVERWRITE)? {
            "none" => Overwrite::None,
            "steady" => Overwrite::Steady,
            "passes" => Overwrite::Passes(self.float("precondition.overwrite.passes.count")?),
            other => return Err(self.unknown(OVERWRITE, other)),
        };
        if fill == 0.0 && overwrite != Overwrite::None {
            let message = "0% leaves nothing to overwrite; raise it or set precondition.overwrite to \"none\"";
            self.report("precondition.fill", message.into());
        }
        Ok(Precondition { fill, overwrite })
    }

    fn fit(&mut self, extent_bytes: Option<u64>) -> Read<Fit> {
        const FIT: &str = "host.fit";
        let fit = self.choice(FIT)?;
        if self.config.needs_extent() && extent_bytes.is_none() {
            let message =
                format!("{fit:?} needs to know where a trace ends; without one set it to \"error\" or \"wrap\"");
            self.report(FIT, message);
        }
        match fit {
            // A device that has grown holds every address.
            "error" | "grow" => Ok(Fit::Error),
            "wrap" => Ok(Fit::Wrap),
            // An empty trace has no address to scale; one byte keeps the ratio defined.
            "scale" => Ok(Fit::Scale { extent_bytes: extent_bytes.unwrap_or(1).max(1) }),
            other => Err(self.unknown(FIT, other)),
        }
    }

    /// Geometry and figures, unless a violation leaves them without meaning.
    fn device(&mut self, plan: &Plan, extent_bytes: Option<u64>) -> Read<Option<(Geometry, DeviceFigures)>> {
        let page_bytes = self.small("nand.page_size")?;
        if !page_bytes.is_power_of_two() {
            let above = u64::from(page_bytes).next_power_of_two();
            let message = format!(
                "{} is not a power of two; the nearest are {} and {}",
                write_bytes(u64::from(page_bytes)),
                write_bytes(above / 2),
                write_bytes(above)
            );
            self.report("nand.page_size", message);
            return Ok(None);
        }
        let Some(logical_pages) = self.logical_pages(u64::from(page_bytes), extent_bytes)? else {
            return Ok(None);
        };
        let pages_per_block = self.small("nand.pages_per_block")?;
        let parallelism = self.parallelism()?;
        let reserve_blocks = plan.reserve_blocks(logical_pages, page_bytes, pages_per_block, parallelism.planes());
        let extra = match self.choice("device.reserve")? {
            "inside" => false,
            "extra" => true,
            other => return Err(self.unknown("device.reserve", other)),
        };
        let reserve = Reserve { blocks: u64::from(reserve_blocks), by_plane: plan.reserves_by_plane(), extra };
        let Some(blocks) = self.blocks(logical_pages, u64::from(pages_per_block), reserve, &parallelism)? else {
            return Ok(None);
        };
        // Page numbers are 32 bits wide and the largest of them stands for "none".
        let sizes = (u32::try_from(blocks * u64::from(pages_per_block)), u32::try_from(logical_pages));
        let (Ok(physical_pages), Ok(logical_pages)) = sizes else {
            let exceed = format!("{blocks} blocks of {pages_per_block} pages exceed {} pages", u32::MAX);
            if logical_pages > self.bytes("device.capacity")? / u64::from(page_bytes) {
                let end = write_bytes(extent_bytes.unwrap_or(0));
                let message = format!(
                    "the trace ends at {end}: {exceed}; set it to \"scale\" or \"wrap\", or raise nand.page_size"
                );
                self.report("host.fit", message);
            } else {
                self.report("device.capacity", format!("{exceed}; lower it or raise nand.page_size"));
            }
            return Ok(None);
        };
        let blocks = physical_pages / pages_per_block;
        let geometry = Geometry { page_bytes, pages_per_block, blocks, order: self.program_order()?, parallelism };
        Ok(Some((geometry, DeviceFigures::new(page_bytes, pages_per_block, logical_pages, blocks, reserve_blocks))))
    }

    /// Pages the host sees; a device that grows covers the trace.
    fn logical_pages(&mut self, page_bytes: u64, extent_bytes: Option<u64>) -> Read<Option<u64>> {
        const CAPACITY: &str = "device.capacity";
        let capacity = self.bytes(CAPACITY)?;
        let below = capacity / page_bytes;
        if capacity % page_bytes != 0 {
            let nearest = match below {
                0 => write_bytes(page_bytes),
                _ => format!("{} or {}", write_bytes(below * page_bytes), write_bytes((below + 1) * page_bytes)),
            };
            let message = format!(
                "{} is not a multiple of the page size {}; write {nearest}",
                write_bytes(capacity),
                write_bytes(page_bytes)
            );
            self.report(CAPACITY, message);
            return Ok(None);
        }
        let grown = if self.choice("host.fit")? == "grow" { extent_bytes.unwrap_or(0).div_ceil(page_bytes) } else { 0 };
        Ok(Some(below.max(grown)))
    }

    /// Flash beyond the capacity, and the option that says so.
    pub(crate) fn provision(&self) -> Read<(&'static str, Provision)> {
        if self.config.entries.contains_key("device.spare") {
            Ok(("device.spare", Provision::OfPhysical(self.share("device.spare")?)))
        } else {
            Ok(("device.op", Provision::OverLogical(self.share("device.op")?)))
        }
    }

    /// The remedy for too few blocks, with the value that gives `blocks` of them.
    pub(crate) fn raise_provision(&self, blocks: u64, logical_pages: u64, pages_per_block: u64) -> Read<String> {
        let (key, provision) = self.provision()?;
        let percent = provision.percent_for(blocks, logical_pages, pages_per_block);
        Ok(match find(key).map(|option| option.kind) {
            Some(Kind::Percent { max, .. }) if percent > max => "raise device.capacity".into(),
            _ => format!("raise {key} to {}", write_percent(percent)),
        })
    }

    /// Erase blocks for this many logical pages, equally many for each plane, enough for collection to make progress.
    fn blocks(
        &mut self,
        logical_pages: u64,
        pages_per_block: u64,
        reserve: Reserve,
        parallelism: &Parallelism,
    ) -> Read<Option<u64>> {
        let (key, provision) = self.provision()?;
        let asked = provision.blocks(logical_pages, pages_per_block);
        let planes = u64::from(parallelism.planes());
        let (added, kept) = if reserve.extra { (reserve.blocks, 0) } else { (0, reserve.blocks) };
        let blocks = (asked + added).next_multiple_of(planes) - added;
        // Where each plane collects for itself, each must hold its part of the data.
        let parts = if reserve.by_plane { planes } else { 1 };
        let full = parts * logical_pages.div_ceil(parts).div_ceil(pages_per_block);
        // A victim yields space only if some block beyond the data is neither open nor kept erased.
        let needed = kept + parts;
        let left = blocks.saturating_sub(full);
        if left >= needed && asked >= planes {
            return Ok(Some(blocks + added));
        }
        if planes > 1 && (reserve.by_plane || asked < planes) {
            let need = if reserve.by_plane {
                let (data, kept, all) = (full / planes, kept.div_ceil(planes), full + needed);
                format!("{data} blocks each for data, {kept} for the FTL and 1 to collect, {all} in all")
            } else {
                "a block each".into()
            };
            self.report_planes(parallelism, &format!("need {need}; the device has {asked}"));
            return Ok(None);
        }
        let share = self.value(key)?.to_toml();
        let remedy = self.raise_provision(full + needed, logical_pages, pages_per_block)?;
        let other_way = if !reserve.extra && left >= 1 { ", or set device.reserve to \"extra\"" } else { "" };
        let message = format!(
            "{} leaves {left} of {blocks} blocks beyond the data and the FTL needs {needed} of them here; \
             {remedy}{other_way}",
            share.trim_matches('"')
        );
        self.report(key, message);
        Ok(None)
    }
}
