//! Description of a small drive, as JSON data.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use ssdlab_core::parameter::{Quantity, percent};
use ssdlab_core::suggest::{list, nearest};
use ssdlab_core::units::parse_percent;
use ssdlab_core::{Bytes, Choice, Nanos, Parameter, Registry};
use ssdlab_ftl::choice::{LOG_FTLS, MAPS};
use ssdlab_ftl::gc::VICTIMS;
use ssdlab_ftl::page::{Allocation, PageOptions, Trigger};
use ssdlab_ftl::placement::PLACEMENTS;
use ssdlab_ftl::{FtlChoice, Shape};
use ssdlab_nand::timing::MAX_PAGE_TYPES;
use ssdlab_nand::{PageTimes, ProgramOrder, Timing};

/// Maximum number of flash pages of a drive that can be drawn.
pub const MOST_PAGES: u64 = 4096;

/// Parameters by name, with values as in configurations: `16`, `"20%"`, `true`, `"lru"`.
type Parameters = BTreeMap<String, String>;

/// Drive that is small enough to draw.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drive {
    /// Number of logical pages.
    pub logical_pages: u32,
    /// Number of erase blocks.
    pub blocks: u32,
    /// Pages per block.
    pub pages_per_block: u32,
    /// Size of a page in bytes, which determines the number of entries per map page.
    #[serde(default = "page_bytes")]
    pub page_bytes: u32,
    /// True if the pages of a block must be programmed in ascending order.
    #[serde(default)]
    pub ascending: bool,
    /// Number of planes; the blocks are distributed over them.
    #[serde(default = "planes")]
    pub planes: u32,
    /// Number of logical pages written once, in order, before all requests.
    #[serde(default)]
    pub filled: u32,
    /// Seed of the FTL's random choices.
    #[serde(default)]
    pub seed: u64,
    /// Durations of flash operations.
    #[serde(default)]
    pub times: Times,
    /// FTL and its options.
    pub ftl: Scheme,
}

const fn page_bytes() -> u32 {
    4096
}

const fn planes() -> u32 {
    1
}

/// Durations of flash operations, in microseconds. Operations run one after the other.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Times {
    /// Page read, for each page type.
    pub read_us: Vec<f64>,
    /// Page program, for each page type.
    pub program_us: Vec<f64>,
    /// Block erase.
    pub erase_us: f64,
    /// Time to transfer 1,024 bytes on the bus, in microseconds.
    #[serde(default)]
    pub transfer_us_per_kib: f64,
    /// True if copies stay inside the chip and do not use the bus.
    #[serde(default)]
    pub copyback: bool,
}

impl Default for Times {
    /// Returns the times of the SBFAST and FASTer slides.
    fn default() -> Self {
        let (read_us, program_us) = (vec![25.0], vec![200.0]);
        Self { read_us, program_us, erase_us: 2000.0, transfer_us_per_kib: 0.0, copyback: false }
    }
}

impl From<&Timing> for Times {
    fn from(timing: &Timing) -> Self {
        let us = |time: Nanos| time.0 as f64 / 1000.0;
        let by_type = |times: &PageTimes| times.by_type().iter().copied().map(us).collect();
        Self {
            read_us: by_type(&timing.read),
            program_us: by_type(&timing.program),
            erase_us: us(timing.erase),
            transfer_us_per_kib: us(timing.transfer_per_kib),
            copyback: timing.copyback,
        }
    }
}

impl Times {
    /// Converts the times to those of a chip.
    ///
    /// # Errors
    /// Fails if the number of page types is not supported.
    pub(crate) fn timing(&self) -> Result<Timing, String> {
        let ns = |us: f64| Nanos((us * 1000.0).round() as u64);
        let by_type = |times: &[f64]| {
            let times: Vec<Nanos> = times.iter().copied().map(ns).collect();
            PageTimes::of(&times)
                .ok_or_else(|| format!("{} page types given; a chip has 1 to {MAX_PAGE_TYPES}", times.len()))
        };
        Ok(Timing {
            read: by_type(&self.read_us)?,
            program: by_type(&self.program_us)?,
            erase: ns(self.erase_us),
            transfer_per_kib: ns(self.transfer_us_per_kib),
            copyback: self.copyback,
            // In a recording, the host reads whole pages.
            partial_read: false,
        })
    }
}

/// FTL and its options.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scheme {
    /// Page mapping.
    Page(PageScheme),
    /// FTL with log blocks.
    Log(LogScheme),
}

/// Options of page mapping.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageScheme {
    /// Victim policy.
    pub victims: Named,
    /// Placement of the pages that garbage collection relocates.
    #[serde(default = "default_placement")]
    pub survivors: String,
    /// Thresholds of batched garbage collection, in free blocks: collection starts below the first and ends at the
    /// second.
    #[serde(default)]
    pub batch: Option<(u32, u32)>,
    /// Partial garbage collection: number of free blocks below which it runs, and pages of a victim copied before each
    /// host page.
    #[serde(default)]
    pub partial: Option<(u32, u32)>,
    /// True to write the block with the fewest erases next; false to write the block erased longest ago.
    #[serde(default)]
    pub least_worn: bool,
    /// Kind of map.
    #[serde(default = "default_map")]
    pub map: Named,
}

fn default_placement() -> String {
    PLACEMENTS[0].name.into()
}

fn default_map() -> Named {
    Named { name: MAPS[0].name.into(), parameters: Parameters::new() }
}

/// FTL with log blocks.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogScheme {
    /// Name and parameters of the FTL.
    pub scheme: Named,
    /// Number of log blocks.
    pub log: u32,
}

/// Member of a registry, with its parameters that differ from the defaults.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// Name of the member.
    pub name: String,
    /// Changed parameters.
    #[serde(default)]
    pub parameters: Parameters,
}

impl Named {
    fn new<R>(choice: &Choice<R>) -> Self {
        let values = choice.info.parameters.iter().zip(choice.values());
        let changed = values.filter(|(parameter, value)| parameter.default != **value);
        let parameters =
            changed.map(|(parameter, &value)| (parameter.name.into(), parameter.unit.write(value))).collect();
        Self { name: choice.info.name.into(), parameters }
    }

    fn choice<R>(&self, kind: &str, table: &Registry<R>) -> Result<Choice<R>, String> {
        let names = || table.iter().map(|info| info.name);
        let info = table.find(&self.name).ok_or_else(|| unknown(kind, &self.name, names()))?;
        let mut changes = Vec::new();
        for (name, text) in &self.parameters {
            let Some(parameter) = info.parameters.iter().find(|parameter| parameter.name == name) else {
                let known = info.parameters.iter().map(|parameter| parameter.name);
                return Err(unknown(&format!("{} parameter", info.name), name, known));
            };
            changes.push((name.as_str(), parse(parameter, text).map_err(|why| format!("{name}: {why}"))?));
        }
        info.set(&changes).map_err(|error| error.to_string())
    }
}

fn unknown<'a>(kind: &str, name: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    match nearest(name, known.clone()) {
        Some(suggestion) => format!("unknown {kind} {name}; did you mean {suggestion}?"),
        None => format!("unknown {kind} {name}; known are {}", list(known)),
    }
}

/// Parses the value of a parameter in the parameter's unit.
fn parse(parameter: &Parameter, text: &str) -> Result<u64, String> {
    match parameter.unit.quantity() {
        Quantity::Size(_) => parameter.in_units(Bytes::parse(text).map_err(|error| error.to_string())?.0),
        Quantity::Share => {
            let share = parse_percent(text).map_err(|error| error.to_string())?;
            Ok((share * percent(100) as f64).round() as u64)
        }
        Quantity::Switch => match text {
            "true" => Ok(1),
            "false" => Ok(0),
            _ => Err(format!("{text} must be true or false")),
        },
        Quantity::Name(names) => {
            let index = names.get().iter().position(|(name, _)| *name == text);
            index
                .map(|index| index as u64)
                .ok_or_else(|| unknown("choice", text, names.get().iter().map(|(name, _)| *name)))
        }
        Quantity::Number | Quantity::Time(_) => text.parse().map_err(|_| format!("{text} is not a whole number")),
    }
}

impl Drive {
    /// Describes the drive with this shape and FTL.
    pub fn new(shape: &Shape, ftl: &FtlChoice, seed: u64) -> Self {
        let ftl = match ftl {
            FtlChoice::Log(choice, log) => Scheme::Log(LogScheme { scheme: Named::new(choice), log: *log }),
            FtlChoice::Page(options, map) => Scheme::Page(PageScheme {
                victims: Named::new(&options.gc),
                survivors: options.placement.name.into(),
                batch: if let Trigger::Batch { low, high } = options.trigger { Some((low, high)) } else { None },
                partial: if let Trigger::Partial { low, step } = options.trigger { Some((low, step)) } else { None },
                least_worn: options.allocation == Allocation::LeastWorn,
                map: Named::new(map),
            }),
        };
        Self {
            logical_pages: shape.logical_pages,
            blocks: shape.blocks,
            pages_per_block: shape.pages_per_block,
            page_bytes: shape.page_bytes,
            ascending: shape.order == ProgramOrder::Ascending,
            planes: shape.planes,
            filled: 0,
            seed,
            times: Times::default(),
            ftl,
        }
    }

    /// Returns the shape of the device for its FTL.
    ///
    /// # Errors
    /// Fails if the drive is too large to draw, or its page counts are inconsistent.
    pub fn shape(&self) -> Result<Shape, String> {
        let Self { logical_pages, blocks, pages_per_block, page_bytes, planes, .. } = *self;
        let pages = u64::from(blocks) * u64::from(pages_per_block);
        if pages > MOST_PAGES {
            return Err(format!(
                "{blocks} blocks of {pages_per_block} pages are {pages} pages; at most {MOST_PAGES} can be drawn. \
                 Lower the capacity or use fewer requests of the trace"
            ));
        }
        if !(2..=1024).contains(&pages_per_block) || logical_pages == 0 || self.filled > logical_pages {
            return Err(format!(
                "invalid drive: {logical_pages} logical pages (must be at least 1), {} filled (at most all of them), \
                 {pages_per_block} pages per block (2 to 1024)",
                self.filled
            ));
        }
        let order = if self.ascending { ProgramOrder::Ascending } else { ProgramOrder::Any };
        Ok(Shape { logical_pages, page_bytes, blocks, pages_per_block, order, planes })
    }

    /// Returns the FTL with its options.
    ///
    /// # Errors
    /// Fails if a name or a value is invalid.
    pub fn choice(&self) -> Result<FtlChoice, String> {
        match &self.ftl {
            Scheme::Log(LogScheme { scheme, log }) => Ok(FtlChoice::Log(scheme.choice("FTL", &LOG_FTLS)?, *log)),
            Scheme::Page(page) => {
                let known = PLACEMENTS.iter().map(|info| info.name);
                let trigger = match (page.batch, page.partial) {
                    (None, None) => Trigger::Victim,
                    (Some((low, high)), None) => Trigger::Batch { low, high },
                    (None, Some((low, step))) => Trigger::Partial { low, step },
                    (Some(_), Some(_)) => return Err("`batch` and `partial` exclude each other; give only one".into()),
                };
                let options = PageOptions {
                    gc: page.victims.choice("victim policy", &VICTIMS)?,
                    placement: PLACEMENTS
                        .find(&page.survivors)
                        .ok_or_else(|| unknown("placement", &page.survivors, known))?,
                    trigger,
                    allocation: if page.least_worn { Allocation::LeastWorn } else { Allocation::Fifo },
                };
                Ok(FtlChoice::Page(options, page.map.choice("map", &MAPS)?))
            }
        }
    }
}
