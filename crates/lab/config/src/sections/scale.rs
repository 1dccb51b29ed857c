//! Scale models: drives that the trace sizes, and whose blocks shrink with the drive.

use super::blocks::{CAPACITY, FILL, MOST_BYTES, Shape, largest};
use crate::checker::{Checker, Read};
use crate::kind::{Choices, Kind};
use crate::table::{Derived, Fallback, KIB, OptionSpec, option};
use ssdlab_core::units::write_bytes;
use ssdlab_sim::{ScaleModel, Size};

pub(crate) const SCALE: &str = "device.scale";
pub(crate) const NOMINAL: &str = "device.scale.blocks.capacity";

/// Variants of `device.scale`; the value is true for scale models.
static SCALES: Choices<bool, 2> = Choices::new([
    ("none", "blocks keep their size, so a small drive has few of them", false),
    ("blocks", "a scale model of the nominal drive: fewer word lines per block, about as many blocks", true),
]);

const OF_PRESET: Derived = Derived {
    rule: "`device.capacity` of the preset",
    value: |entries| entries.get(CAPACITY).map_or_else(|| "1TB".into(), |entry| entry.value.as_set()),
};

pub(super) const OPTIONS: &[OptionSpec] = &[
    option(SCALE, SCALES.kind()).default("none").example("blocks").help(
        "Blocks of a drive that the trace sizes (`host.fit = \"compact\"` or `device.fill`). A scale model has the \
         channels, dies, planes and times of the nominal drive, and lifetimes are those of the nominal drive. Not \
         used with `device.capacity`.",
    ),
    option(NOMINAL, Kind::Bytes { min: KIB, max: MOST_BYTES })
        .fallback(Fallback::Derived(OF_PRESET))
        .example("1TB")
        .help("Capacity of the nominal drive."),
];

/// Maximum share of the flash that the FTL's reserve takes in a scale model.
const MOST_RESERVE: f64 = 0.03;

/// Maximum over-provisioning that rounding to whole blocks adds in a scale model, as a share of the capacity.
const MOST_ROUNDING: f64 = 0.01;

/// Minimum number of mapping units per collected block. With fewer, victims have clearly fewer valid pages: greedy
/// collection of uniform random writes at 7 % over-provisioning amplifies writes 7.4 times with 768 units per block, 7.0
/// times with 128, and 5.3 times with 16.
const LEAST_UNITS: u32 = 128;

impl Shape<'_> {
    fn with_word_lines(&self, word_lines: u32) -> Self {
        Self { pages_per_block: self.pages_per_block / self.word_lines * word_lines, word_lines, ..*self }
    }

    /// True if a scale model may have this shape: over-provisioning is close to its setting, and the FTL's reserve is
    /// small.
    fn is_model(&self, logical_pages: u64) -> bool {
        if !self.numbers(logical_pages) {
            return false;
        }
        let blocks = self.blocks(logical_pages);
        let rounding = (blocks.provided * u64::from(self.pages_per_block)) as f64 - self.provision.pages(logical_pages);
        let (reserve, flash) = (blocks.kept + blocks.added, blocks.provided + blocks.added);
        blocks.suffice()
            && reserve as f64 <= MOST_RESERVE * flash as f64
            && rounding <= MOST_ROUNDING * logical_pages as f64
    }

    /// Returns the scale model for a drive with `nominal_pages` logical pages: its shape, and its number of logical
    /// pages, at least `logical_pages`. `None` if no scale model is possible.
    fn model(&self, logical_pages: u64, nominal_pages: u64) -> Option<(Self, u64)> {
        let least = LEAST_UNITS.div_ceil(self.pages_per_block / self.word_lines).min(self.word_lines);
        // Blocks that shrink as much as the capacity leave the number of blocks as it is.
        let most = u64::from(self.word_lines).saturating_mul(logical_pages) / nominal_pages;
        let most = u32::try_from(most).map_or(self.word_lines, |most| most.clamp(least, self.word_lines));
        let mut shapes = (least..=most).rev().map(|word_lines| self.with_word_lines(word_lines));
        if let Some(shape) = shapes.find(|shape| shape.is_model(logical_pages)) {
            return Some((shape, logical_pages));
        }
        let shape = self.with_word_lines(least);
        let larger = shape.capacities(logical_pages).find(|pages| shape.is_model(*pages))?;
        let less = largest(larger - logical_pages, |less| shape.is_model(larger - less)).unwrap_or(0);
        Some((shape, larger - less))
    }
}

impl Checker<'_> {
    /// Returns the shape, the number of logical pages and the size of the drive. For scale models, changes the given
    /// shape, and the number of pages if it is too small. `None` after a violation.
    pub(super) fn scaled<'a>(&mut self, shape: Shape<'a>, logical_pages: u64) -> Read<Option<(Shape<'a>, u64, Size)>> {
        if !self.applies(FILL) {
            return Ok(Some((shape, logical_pages, Size::Full)));
        }
        if !self.choice(SCALE, &SCALES)? {
            return Ok(Some((shape, logical_pages, Size::OfTrace)));
        }
        let page_bytes = u64::from(shape.page_bytes);
        let nominal_capacity_bytes = self.bytes(NOMINAL)?;
        let nominal_pages = nominal_capacity_bytes.div_ceil(page_bytes);
        let model = |nominal_pages| {
            let model = shape.model(logical_pages, nominal_pages);
            model.filter(|(_, pages)| *pages <= nominal_pages && shape.blocks(nominal_pages).suffice())
        };
        if let Some((scaled, pages)) = model(nominal_pages) {
            let ratio = shape.flash_pages(nominal_pages) as f64 / scaled.flash_pages(pages) as f64;
            let needed_bytes = logical_pages * page_bytes;
            let model = ScaleModel { nominal_capacity_bytes, ratio, needed_bytes };
            return Ok(Some((scaled, pages, Size::Model(model))));
        }
        if let Some(pages) = shape.capacities(logical_pages.max(nominal_pages)).find(|pages| model(*pages).is_some()) {
            let [nominal, needed, larger] =
                [nominal_capacity_bytes, logical_pages * page_bytes, pages * page_bytes].map(write_bytes);
            let why = if logical_pages > nominal_pages {
                format!("{nominal} is less than the {needed} that the trace needs")
            } else if !shape.blocks(nominal_pages).suffice() {
                format!("the drive of {nominal} has too few blocks")
            } else {
                format!("the drive of {nominal} is smaller than its smallest scale model")
            };
            self.report(NOMINAL, format!("{why}; raise it to {larger}"));
        } else if shape.larger_capacity(0).is_some() {
            let share = 100.0 * MOST_RESERVE;
            let why = format!("the FTL's reserve exceeds {share} % of the flash, the maximum of a scale model");
            self.report(SCALE, format!("{why}; set it to \"none\""));
        } else {
            // Other checks report a drive that is not possible at any size.
            return Ok(Some((shape, logical_pages, Size::OfTrace)));
        }
        Ok(None)
    }
}
