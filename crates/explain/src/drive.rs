//! A small drive as data.

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

/// Most flash pages of a drive that is drawn.
pub const MOST_PAGES: u64 = 4096;

/// Parameters by name, each as a configuration writes it: `16`, `"20%"`, `true`, `"lru"`.
type Parameters = BTreeMap<String, String>;

/// A drive that is small enough to draw.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drive {
    /// Pages the host sees.
    pub logical_pages: u32,
    /// Erase blocks.
    pub blocks: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Bytes of a page; they decide how many entries a map page has.
    #[serde(default = "page_bytes")]
    pub page_bytes: u32,
    /// Whether the pages of a block must be programmed in ascending order.
    #[serde(default)]
    pub ascending: bool,
    /// Planes that the blocks are spread over.
    #[serde(default = "one")]
    pub planes: u32,
    /// Logical pages that are written once, in order, before anything else.
    #[serde(default)]
    pub filled: u32,
    /// Seed of whatever the FTL draws.
    #[serde(default)]
    pub seed: u64,
    /// What operations take.
    #[serde(default)]
    pub times: Times,
    /// The FTL.
    pub ftl: Scheme,
}

const fn page_bytes() -> u32 {
    4096
}

const fn one() -> u32 {
    1
}

/// What flash operations take, in microseconds, one after the other.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Times {
    /// A page read, of each type.
    pub read_us: Vec<f64>,
    /// A page programmed, of each type.
    pub program_us: Vec<f64>,
    /// A block erased.
    pub erase_us: f64,
    /// The bus, for 1,024 bytes.
    #[serde(default)]
    pub transfer_us_per_kib: f64,
    /// Whether copies stay inside the chip, and off the bus.
    #[serde(default)]
    pub copyback: bool,
}

impl Default for Times {
    /// Those of the SBFAST and FASTer slides.
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
    /// The same for a chip.
    ///
    /// # Errors
    /// If there are more page types than a chip has, or none.
    pub(crate) fn timing(&self) -> Result<Timing, String> {
        let ns = |us: f64| Nanos((us * 1000.0).round() as u64);
        let by_type = |times: &[f64]| {
            let times: Vec<Nanos> = times.iter().copied().map(ns).collect();
            PageTimes::of(&times)
                .ok_or_else(|| format!("{} times are not those of 1 to {MAX_PAGE_TYPES} page types", times.len()))
        };
        Ok(Timing {
            read: by_type(&self.read_us)?,
            program: by_type(&self.program_us)?,
            erase: ns(self.erase_us),
            transfer_per_kib: ns(self.transfer_us_per_kib),
            copyback: self.copyback,
            // A recording reads whole pages for the host.
            partial_read: false,
        })
    }
}

/// An FTL as data.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scheme {
    /// Page mapping.
    Page(PageScheme),
    /// One of the FTLs with log blocks.
    Log(LogScheme),
}

/// Options of page mapping.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageScheme {
    /// Victim policy.
    pub victims: Named,
    /// Where survivors go.
    #[serde(default = "own")]
    pub survivors: String,
    /// Free blocks below which a batch of collections starts, and at which it ends.
    #[serde(default)]
    pub batch: Option<(u32, u32)>,
    /// Free blocks below which pages of a victim are copied before each host page, and how many.
    #[serde(default)]
    pub partial: Option<(u32, u32)>,
    /// Whether the block with the fewest erases is written next, not the one erased longest ago.
    #[serde(default)]
    pub least_worn: bool,
    /// Where the map is.
    #[serde(default = "ram")]
    pub map: Named,
}

fn own() -> String {
    PLACEMENTS[0].name.into()
}

fn ram() -> Named {
    Named { name: MAPS[0].name.into(), parameters: Parameters::new() }
}

/// An FTL with log blocks.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogScheme {
    /// Its name and parameters.
    pub scheme: Named,
    /// Log blocks.
    pub log: u32,
}

/// A line of a registry, and its parameters that are not at their defaults.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// By name.
    #[serde(default)]
    pub parameters: Parameters,
}

impl Named {
    fn of<R>(choice: &Choice<R>) -> Self {
        let written = choice.info.parameters.iter().zip(choice.values());
        let changed = written.filter(|(parameter, value)| parameter.default != **value);
        let parameters =
            changed.map(|(parameter, &value)| (parameter.name.into(), parameter.unit.write(value))).collect();
        Self { name: choice.info.name.into(), parameters }
    }

    fn choice<R>(&self, what: &str, table: &Registry<R>) -> Result<Choice<R>, String> {
        let names = || table.iter().map(|info| info.name);
        let info = table.find(&self.name).ok_or_else(|| unknown(what, &self.name, names()))?;
        let mut changes = Vec::new();
        for (name, text) in &self.parameters {
            let Some(parameter) = info.parameters.iter().find(|parameter| parameter.name == name) else {
                let known = info.parameters.iter().map(|parameter| parameter.name);
                return Err(unknown(&format!("parameter of {}", info.name), name, known));
            };
            changes.push((name.as_str(), read(parameter, text).map_err(|why| format!("{name}: {why}"))?));
        }
        info.set(&changes).map_err(|error| error.to_string())
    }
}

fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    match nearest(name, known.clone()) {
        Some(meant) => format!("there is no {what} {name}; did you mean {meant}?"),
        None => format!("there is no {what} {name}; known are {}", list(known)),
    }
}

/// The value of a parameter, in its unit.
fn read(parameter: &Parameter, text: &str) -> Result<u64, String> {
    match parameter.unit.quantity() {
        Quantity::Size(_) => parameter.in_units(Bytes::parse(text).map_err(|error| error.to_string())?.0),
        Quantity::Share => {
            let share = parse_percent(text).map_err(|error| error.to_string())?;
            Ok((share * percent(100) as f64).round() as u64)
        }
        Quantity::Switch => match text {
            "true" => Ok(1),
            "false" => Ok(0),
            _ => Err(format!("{text} is neither true nor false")),
        },
        Quantity::Name(names) => {
            let place = names.iter().position(|(name, _)| *name == text);
            place.map(|place| place as u64).ok_or_else(|| unknown("choice", text, names.iter().map(|(name, _)| *name)))
        }
        Quantity::Number | Quantity::Time(_) => text.parse().map_err(|_| format!("{text} is no whole number")),
    }
}

impl Drive {
    /// The drive that these make.
    pub fn new(shape: &Shape, ftl: &FtlChoice, seed: u64) -> Self {
        let ftl = match ftl {
            FtlChoice::Log(choice, log) => Scheme::Log(LogScheme { scheme: Named::of(choice), log: *log }),
            FtlChoice::Page(options, map) => Scheme::Page(PageScheme {
                victims: Named::of(&options.gc),
                survivors: options.placement.name.into(),
                batch: if let Trigger::Batch { low, high } = options.trigger { Some((low, high)) } else { None },
                partial: if let Trigger::Partial { low, step } = options.trigger { Some((low, step)) } else { None },
                least_worn: options.allocation == Allocation::LeastWorn,
                map: Named::of(map),
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

    /// The device as the FTL sees it.
    ///
    /// # Errors
    /// If it is too large to draw, or no device.
    pub fn shape(&self) -> Result<Shape, String> {
        let Self { logical_pages, blocks, pages_per_block, page_bytes, planes, .. } = *self;
        let pages = u64::from(blocks) * u64::from(pages_per_block);
        if pages > MOST_PAGES {
            return Err(format!(
                "{blocks} blocks of {pages_per_block} pages are {pages}, too many to draw: the limit is {MOST_PAGES}; \
                 lower the capacity or the pages of a block, or take fewer requests of a trace"
            ));
        }
        if !(2..=1024).contains(&pages_per_block) || logical_pages == 0 || self.filled > logical_pages {
            return Err(format!(
                "{logical_pages} logical pages, {} of them filled, on blocks of {pages_per_block} pages are no drive; a \
                 block has 2 pages or more, and no more pages are filled than there are",
                self.filled
            ));
        }
        let order = if self.ascending { ProgramOrder::Ascending } else { ProgramOrder::Any };
        Ok(Shape { logical_pages, page_bytes, blocks, pages_per_block, order, planes })
    }

    /// Its FTL.
    ///
    /// # Errors
    /// If a name or a value is unknown.
    pub fn choice(&self) -> Result<FtlChoice, String> {
        match &self.ftl {
            Scheme::Log(LogScheme { scheme, log }) => Ok(FtlChoice::Log(scheme.choice("FTL", &LOG_FTLS)?, *log)),
            Scheme::Page(page) => {
                let known = PLACEMENTS.iter().map(|info| info.name);
                let trigger = match (page.batch, page.partial) {
                    (None, None) => Trigger::Victim,
                    (Some((low, high)), None) => Trigger::Batch { low, high },
                    (None, Some((low, step))) => Trigger::Partial { low, step },
                    (Some(_), Some(_)) => return Err("collection is either in batches or partial; choose one".into()),
                };
                let options = PageOptions {
                    gc: page.victims.choice("victim policy", &VICTIMS)?,
                    placement: PLACEMENTS
                        .find(&page.survivors)
                        .ok_or_else(|| unknown("place for survivors", &page.survivors, known))?,
                    trigger,
                    allocation: if page.least_worn { Allocation::LeastWorn } else { Allocation::Fifo },
                };
                Ok(FtlChoice::Page(options, page.map.choice("map", &MAPS)?))
            }
        }
    }
}
