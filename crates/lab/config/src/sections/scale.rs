//! Scale models: drives with a smaller capacity and smaller blocks than their nominal drive.

use super::blocks::{CAPACITY, FILL, MOST_BYTES, Shape};
use crate::checker::{Checker, Read};
use crate::kind::Choices;
use crate::table::{Derived, Fallback, KIB, OptionSpec, bytes, option, value_or};
use ssdlab_core::units::write_bytes;
use ssdlab_sim::{ScaleModel, Size};

pub(crate) const SCALE: &str = "device.scale";
pub(crate) const NOMINAL: &str = "device.scale.blocks.capacity";

/// Variants of `device.scale`; the value is true for scale models.
static SCALES: Choices<bool, 2> = Choices::new([
    ("none", "blocks have their full size, so a small drive has few blocks", false),
    (
        "blocks",
        "a scale model of the nominal drive: smaller blocks with fewer word lines, and about the same number of \
         blocks",
        true,
    ),
]);

const OF_PRESET: Derived =
    Derived { rule: "`device.capacity` of the preset", value: |entries| value_or(entries, CAPACITY, "1TB") };

pub(super) const OPTIONS: &[OptionSpec] = &[
    option(SCALE, SCALES.kind()).default("none").example("blocks").help(
        "Block size if `device.capacity` or the trace makes the drive smaller than the nominal drive. A scale model \
         has the channels, dies, planes and times of the nominal drive. Its lifetime is computed for the nominal \
         drive.",
    ),
    bytes(NOMINAL, KIB..=MOST_BYTES)
        .fallback(Fallback::Derived(OF_PRESET))
        .example("1TB")
        .help("Capacity of the nominal drive."),
];

/// Minimum number of mapping units per collected block. With smaller blocks, victims have clearly fewer valid pages.
/// For example, consider greedy collection of uniform random writes at 7 % over-provisioning. The write amplification
/// is 7.4 with 768 units per block, 7.0 with 128, and 5.3 with 16.
const LEAST_UNITS: u32 = 128;

/// Minimum number of data blocks per plane, die or drive (whichever is collected separately), unless the drive is too
/// small. Rounding to whole blocks then adds less than 1 % of over-provisioning, and a reserve of four blocks is about
/// 3 % of the flash.
const LEAST_BLOCKS: u64 = 128;

impl Shape<'_> {
    pub fn with_word_lines(&self, word_lines: u32) -> Self {
        Self { pages_per_block: self.pages_per_block / self.word_lines * word_lines, word_lines, ..*self }
    }

    /// Returns the shape of a drive with `logical_pages`. The blocks of a scale model have fewer word lines than the
    /// blocks of its nominal drive. The number of word lines depends only on capacity and geometry, so that drives with
    /// different FTLs have the same flash.
    pub fn at(&self, logical_pages: u64) -> Self {
        let Some(nominal_pages) = self.nominal_pages.filter(|nominal_pages| logical_pages < *nominal_pages) else {
            return *self;
        };
        // If blocks shrink in proportion to the capacity, the number of blocks stays the same.
        let as_nominal = u64::from(self.word_lines).saturating_mul(logical_pages) / nominal_pages;
        let word_lines = as_nominal.min(logical_pages / self.least_pages(1));
        let least = self.least_word_lines();
        self.with_word_lines(u32::try_from(word_lines).unwrap_or(self.word_lines).clamp(least, self.word_lines))
    }

    /// Returns the minimum number of word lines per block in a scale model.
    fn least_word_lines(&self) -> u32 {
        LEAST_UNITS.div_ceil(self.pages_per_block / self.word_lines).min(self.word_lines)
    }

    /// Returns the number of logical pages that fill [`LEAST_BLOCKS`] data blocks of `word_lines` word lines.
    fn least_pages(&self, word_lines: u32) -> u64 {
        let block = self.with_word_lines(word_lines).pages_per_block;
        LEAST_BLOCKS * u64::from(self.planes) * u64::from(block)
    }
}

impl Checker<'_> {
    /// Returns the number of logical pages of the nominal drive; `None` if the drive is not a scale model.
    pub(super) fn nominal_pages(&self, page_bytes: u32) -> Read<Option<u64>> {
        let scaled = self.choice(SCALE, &SCALES)?;
        scaled.then(|| Ok(self.bytes(NOMINAL)?.div_ceil(page_bytes.into()))).transpose()
    }

    /// Returns the shape as a scale model of the preset's drive; `None` if it is a scale model already, or the preset
    /// sets no capacity.
    pub(super) fn as_model<'s>(&self, shape: &Shape<'s>) -> Option<Shape<'s>> {
        let nominal_pages = self.preset_bytes?.div_ceil(shape.page_bytes.into());
        shape.nominal_pages.is_none().then_some(Shape { nominal_pages: Some(nominal_pages), ..*shape })
    }

    /// Returns the number of logical pages of a scale model for a trace that needs at least `logical_pages`; `None`
    /// after a violation.
    pub(super) fn modelled(&mut self, shape: &Shape<'_>, logical_pages: u64, nominal_pages: u64) -> Read<Option<u64>> {
        if logical_pages <= nominal_pages {
            let smallest_model = shape.least_pages(shape.least_word_lines());
            return Ok(Some(logical_pages.max(smallest_model).min(nominal_pages)));
        }
        let Some(larger) = shape.capacities(logical_pages - 1).next() else {
            // A separate check reports drives with too many pages, so this function reports no error.
            return Ok(Some(logical_pages));
        };
        let page_bytes = u64::from(shape.page_bytes);
        let [nominal, needed, larger] =
            [self.bytes(NOMINAL)?, logical_pages * page_bytes, larger * page_bytes].map(write_bytes);
        self.report(NOMINAL, format!("{nominal} is less than the {needed} that the trace needs; raise it to {larger}"));
        Ok(None)
    }

    /// Returns the relation of a drive with `logical_pages` to its nominal drive: full size, scale model, or sized by
    /// the trace. `needed_pages` is the number of logical pages before it was raised to the minimum for a scale model.
    pub(super) fn size(&mut self, shape: &Shape<'_>, logical_pages: u64, needed_pages: u64) -> Read<Size> {
        let by_trace = self.applies(FILL);
        let Some(nominal_pages) = shape.nominal_pages.filter(|pages| by_trace || logical_pages < *pages) else {
            return Ok(if by_trace { Size::OfTrace } else { Size::Full });
        };
        let page_bytes = u64::from(shape.page_bytes);
        let nominal_capacity_bytes = self.bytes(NOMINAL)?;
        if !shape.blocks(nominal_pages).suffice()
            && let Some(larger) = (Shape { nominal_pages: None, ..*shape }).larger_capacity(nominal_pages)
        {
            let [nominal, larger] = [nominal_capacity_bytes, larger].map(write_bytes);
            self.report(NOMINAL, format!("a capacity of {nominal} has too few blocks; raise it to {larger}"));
        }
        let ratio = shape.flash_pages(nominal_pages) as f64 / shape.flash_pages(logical_pages) as f64;
        Ok(Size::Model(ScaleModel { nominal_capacity_bytes, ratio, needed_bytes: needed_pages * page_bytes }))
    }
}
