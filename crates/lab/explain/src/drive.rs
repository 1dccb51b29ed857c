//! Description of a small drive as JSON, made by [`Drive::new`] from a checked configuration.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use ssdlab_core::parameter::{Quantity, Unit, decimal, percent};
use ssdlab_core::units::parse_percent;
use ssdlab_core::{Bytes, Choice, Nanos, Registry};
use ssdlab_ftl::choice::{LOG_FTLS, MAPS};
use ssdlab_ftl::gc::VICTIMS;
use ssdlab_ftl::page::{Allocation, Fold, PageOptions, SlcOptions, Trigger};
use ssdlab_ftl::placement::PLACEMENTS;
use ssdlab_ftl::{FtlChoice, Shape};
use ssdlab_nand::{PageTimes, ProgramOrder, SlcTimes, Timing};

/// Description of a drive that is small enough to draw.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Drive {
    /// Number of logical pages of the drive.
    pub logical_pages: u32,
    /// Number of erase blocks of the drive.
    pub blocks: u32,
    /// Number of pages per block.
    pub pages_per_block: u32,
    /// Size of a page in bytes, which determines the number of entries per map page.
    pub page_bytes: u32,
    /// Number of pages that are programmed together.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub word_line: u32,
    /// True if the pages of a block must be programmed in ascending order.
    pub ascending: bool,
    /// Number of planes among which the blocks are divided.
    pub planes: u32,
    /// Number of logical pages written once, in order, before the first request.
    pub filled: u32,
    /// Seed of the random choices that the FTL makes.
    pub seed: u64,
    /// Durations of flash operations.
    pub times: Times,
    /// FTL of the drive, with its options.
    pub ftl: Scheme,
}

/// Durations of flash operations, in microseconds. Operations run one after the other.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Times {
    /// Duration of a page read, for each page type.
    pub read_us: Vec<f64>,
    /// Duration of a page program, for each page type.
    pub program_us: Vec<f64>,
    /// Duration of a block erase.
    pub erase_us: f64,
    /// Time to transfer 1,024 bytes on the bus, in microseconds.
    pub transfer_us_per_kib: f64,
    /// True if page copies stay inside the chip, without a transfer on the bus.
    pub copyback: bool,
    /// Durations of a page read, a page program and a block erase in SLC mode; `None` without an SLC cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slc_us: Option<[f64; 3]>,
}

impl Default for Times {
    /// Returns the durations that the SBFAST and FASTer slides use.
    fn default() -> Self {
        let (read_us, program_us) = (vec![25.0], vec![200.0]);
        Self { read_us, program_us, erase_us: 2000.0, transfer_us_per_kib: 0.0, copyback: false, slc_us: None }
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
            slc_us: timing.slc.map(|SlcTimes { read, program, erase }| [read, program, erase].map(us)),
        }
    }
}

impl Times {
    /// Converts these durations to the timing model of a chip; fails unless there are 1 to 4 read durations and 1 to 4
    /// program durations.
    pub(crate) fn timing(&self) -> Result<Timing, String> {
        let ns = |us: f64| Nanos((us * 1000.0).round() as u64);
        let by_type = |times: &[f64]| {
            let times: Vec<Nanos> = times.iter().copied().map(ns).collect();
            PageTimes::of(&times).ok_or("page reads and page programs have 1 to 4 durations each")
        };
        Ok(Timing {
            read: by_type(&self.read_us)?,
            program: by_type(&self.program_us)?,
            erase: ns(self.erase_us),
            slc: self.slc_us.map(|times| {
                let [read, program, erase] = times.map(ns);
                SlcTimes { read, program, erase }
            }),
            transfer_per_kib: ns(self.transfer_us_per_kib),
            copyback: self.copyback,
            // Recorded host reads always transfer whole pages.
            partial_read: false,
        })
    }
}

/// FTL and its options.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scheme {
    /// Page mapping, with its options.
    Page(PageScheme),
    /// A log-block FTL, with its options.
    Log(LogScheme),
}

/// Options of page mapping.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PageScheme {
    /// Victim policy of garbage collection.
    pub victims: Named,
    /// Placement of the pages that garbage collection relocates.
    pub survivors: String,
    /// Parameters of the placement that differ from their defaults, in the same form as the parameters in [`Named`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub placement: BTreeMap<String, String>,
    /// Batched garbage collection starts when the number of free blocks falls below the first value, and ends when it
    /// reaches the second value.
    pub batch: Option<(u32, u32)>,
    /// Partial garbage collection: it runs while there are fewer free blocks than the first value. The second value is
    /// the number of pages of a victim that are copied before each host page.
    pub partial: Option<(u32, u32)>,
    /// Partial garbage collection: number of host pages written to a block between two collection steps; 1 by default.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub every: u32,
    /// Choice of the erased block that the FTL writes next: if true, the block with the fewest erases; if false, the
    /// block erased longest ago.
    pub least_worn: bool,
    /// Type of mapping table that page mapping uses, with the parameters of the table.
    pub map: Named,
    /// Options of the SLC cache; `None` without an SLC cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slc: Option<Slc>,
}

/// Options of an SLC cache; see [`SlcOptions`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Slc {
    pub own_blocks: u32,
    pub share: u32,
    pub fold: String,
    pub bypass: bool,
}

const FOLDS: [(&str, Fold); 3] = [("pressure", Fold::Pressure), ("idle", Fold::Idle), ("lazy", Fold::Lazy)];

impl Slc {
    fn new(options: SlcOptions) -> Self {
        let SlcOptions { own_blocks, share, fold, bypass, word_line: _ } = options;
        let (name, _) = FOLDS.iter().find(|(_, named)| *named == fold).expect("every fold has a name");
        Self { own_blocks, share, fold: (*name).into(), bypass }
    }

    fn options(&self, word_line: u32) -> Result<SlcOptions, String> {
        let Self { own_blocks, share, ref fold, bypass } = *self;
        let named = FOLDS.iter().find(|(name, _)| name == fold);
        let &(_, fold) = named.ok_or_else(|| format!("fold: unknown value {fold}"))?;
        Ok(SlcOptions { own_blocks, share, fold, bypass, word_line })
    }
}

const fn one() -> u32 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_one(every: &u32) -> bool {
    *every == 1
}

/// Options of a log-block FTL.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LogScheme {
    /// Name and parameters of the FTL.
    pub scheme: Named,
    /// Number of log blocks.
    pub log: u32,
}

/// A registered policy, FTL or map, with its parameters that differ from the defaults.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Named {
    /// Name of the policy, FTL or map.
    pub name: String,
    /// Changed parameters by name, with their values written as in configurations: `16`, `20%`, `true`, `lru`.
    pub parameters: BTreeMap<String, String>,
}

impl Named {
    fn new<R>(choice: &Choice<R>) -> Self {
        let values = choice.info.parameters.iter().zip(choice.values());
        let changed = values.filter(|(parameter, value)| parameter.default != **value);
        let parameters =
            changed.map(|(parameter, &value)| (parameter.name.into(), parameter.unit.write(value))).collect();
        Self { name: choice.info.name.into(), parameters }
    }

    fn choice<R>(&self, table: &Registry<R>) -> Result<Choice<R>, String> {
        let info = table.get(&self.name).map_err(|error| error.to_string())?;
        let changes = self.parameters.iter().map(|(name, text)| {
            let value = info.parameters.iter().find(|parameter| parameter.name == name);
            let value = value.and_then(|parameter| parse(parameter.unit, text));
            Ok((name.as_str(), value.ok_or_else(|| format!("{}: invalid parameter {name} = {text}", self.name))?))
        });
        info.set(&changes.collect::<Result<Vec<_>, String>>()?).map_err(|error| error.to_string())
    }
}

/// Parses a value written by [`Unit::write`]; returns it in the given unit.
fn parse(unit: Unit, text: &str) -> Option<u64> {
    match unit.quantity() {
        Quantity::Time(unit_ns) => Some(Nanos::parse(text).ok()?.0 / unit_ns),
        Quantity::Size(unit_bytes) => Some(Bytes::parse(text).ok()?.0 / unit_bytes),
        Quantity::Share => Some((parse_percent(text).ok()? * percent(100) as f64).round() as u64),
        Quantity::Decimal => text.parse().ok().map(decimal),
        Quantity::Name(names) => names.get().iter().position(|(name, _)| *name == text).map(|index| index as u64),
        Quantity::Switch => text.parse::<bool>().ok().map(u64::from),
        Quantity::Number => text.parse().ok(),
    }
}

impl Drive {
    /// Returns the description of a drive with the given shape and FTL.
    pub fn new(shape: &Shape, ftl: &FtlChoice, seed: u64) -> Self {
        let ftl = match ftl {
            FtlChoice::Log(choice, log) => Scheme::Log(LogScheme { scheme: Named::new(choice), log: *log }),
            FtlChoice::Page(options, map) => {
                let (batch, partial, every) = match options.trigger {
                    Trigger::Victim => (None, None, 1),
                    Trigger::Batch { low, high } => (Some((low, high)), None, 1),
                    Trigger::Partial { low, step, every } => (None, Some((low, step)), every),
                };
                Scheme::Page(PageScheme {
                    victims: Named::new(&options.gc),
                    survivors: options.placement.info.name.into(),
                    placement: Named::new(&options.placement).parameters,
                    batch,
                    partial,
                    every,
                    least_worn: options.allocation == Allocation::LeastWorn,
                    map: Named::new(map),
                    slc: options.slc.map(Slc::new),
                })
            }
        };
        Self {
            logical_pages: shape.logical_pages,
            blocks: shape.blocks,
            pages_per_block: shape.pages_per_block,
            page_bytes: shape.page_bytes,
            word_line: shape.program_unit,
            ascending: shape.order == ProgramOrder::Ascending,
            planes: shape.planes,
            filled: 0,
            seed,
            times: Times::default(),
            ftl,
        }
    }

    /// Returns the geometry of the device in the form that an FTL needs.
    pub(crate) const fn shape(&self) -> Shape {
        let Self { logical_pages, blocks, pages_per_block, page_bytes, planes, word_line: program_unit, .. } = *self;
        let order = if self.ascending { ProgramOrder::Ascending } else { ProgramOrder::Any };
        Shape { logical_pages, page_bytes, blocks, pages_per_block, order, planes, program_unit }
    }

    /// Returns the FTL with its options, looked up by the names in this description.
    pub fn choice(&self) -> Result<FtlChoice, String> {
        match &self.ftl {
            Scheme::Log(LogScheme { scheme, log }) => Ok(FtlChoice::Log(scheme.choice(&LOG_FTLS)?, *log)),
            Scheme::Page(page) => {
                let trigger = match (page.batch, page.partial) {
                    (Some((low, high)), _) => Trigger::Batch { low, high },
                    (None, Some((low, step))) => Trigger::Partial { low, step, every: page.every },
                    (None, None) => Trigger::Victim,
                };
                let placement = Named { name: page.survivors.clone(), parameters: page.placement.clone() };
                let options = PageOptions {
                    gc: page.victims.choice(&VICTIMS)?,
                    placement: placement.choice(&PLACEMENTS)?,
                    trigger,
                    allocation: if page.least_worn { Allocation::LeastWorn } else { Allocation::Fifo },
                    slc: page.slc.as_ref().map(|slc| slc.options(self.word_line)).transpose()?,
                };
                Ok(FtlChoice::Page(options, page.map.choice(&MAPS)?))
            }
        }
    }
}
