//! Capacity and over-provisioning as on the data sheet, converted to whole blocks.

use super::blocks::{CAPACITY, FILL, MOST_BYTES, Shape, largest};
use super::ftl::reserve_blocks;
use super::host::Fitting;
use super::provision;
use super::scale;
use super::units::{DriveUnits, UNIT};
use crate::checker::{Checker, Read};
use crate::kind::Choices;
use crate::table::{Derived, Fallback, KIB, MEBI, OptionSpec, Section, U32, bytes, option, percent, value_or};
use ssdlab_core::units::write_bytes;
use ssdlab_ftl::FtlChoice;
use ssdlab_nand::{Collected, Geometry};
use ssdlab_sim::Size;

/// Device whose geometry and capacity have passed all checks of their configuration sections.
pub(crate) struct Device {
    pub geometry: Geometry,
    pub logical_pages: u32,
    pub size: Size,
    /// Number of blocks that the FTL reserves for open blocks, erased blocks or its map; part of `geometry.blocks`.
    pub reserve_blocks: u32,
}

/// Device that passed its checks; `None` if the checks found a violation.
pub(crate) type KnownDevice<'a> = Option<&'a Device>;

impl Device {
    pub fn capacity_bytes(&self) -> u64 {
        u64::from(self.logical_pages) * u64::from(self.geometry.page_bytes)
    }
}

pub(crate) const SECTION: Section = Section {
    name: "device",
    help: "Capacity and over-provisioning, as on the drive's data sheet.",
    used: &[],
    options: || [SIZE, scale::OPTIONS, provision::OPTIONS, REST].concat(),
};

const SIZE: &[OptionSpec] = &[
    bytes("device.capacity", KIB..=MOST_BYTES)
        .example("64GiB")
        .help("Capacity visible to the host; a multiple of the page size."),
    percent("device.fill", 1.0..=100.0).fallback(Fallback::InsteadOf("device.capacity")).example("80%").help(
        "Share of the capacity that the trace covers. The drive is sized accordingly, or larger if it would \
             otherwise have too few blocks. `host.fit = \"compact\"` sets the share to `100%`. Only preconditioning \
             writes the remaining capacity.",
    ),
];

/// Extent in bytes that is assumed for an empty or unknown trace.
const ASSUMED_BYTES: u64 = 1 << 30;

/// Variants of `device.reserve`; the value is true if the FTL's reserve is added to the over-provisioning.
static RESERVES: Choices<bool, 2> = Choices::new([
    ("inside", "part of the over-provisioning, as in a real drive", false),
    ("extra", "added to the over-provisioning, as analytic models of write amplification assume", true),
]);

const WHOLE_PAGE: Derived =
    Derived { rule: "`nand.page_size`", value: |entries| value_or(entries, "nand.page_size", "4KiB") };

const REST: &[OptionSpec] = &[
    option("device.reserve", RESERVES.kind())
        .default("inside")
        .example("extra")
        .help("Source of the FTL's reserve, the blocks that the FTL always keeps open or erased."),
    bytes(UNIT, 512..=MEBI).fallback(Fallback::Derived(WHOLE_PAGE)).example("4KiB").help(
        "Mapping unit: the smallest unit that the FTL maps, writes and relocates. Must be a power of two; a flash page \
         holds one or more units.",
    ),
];

impl Checker<'_> {
    /// Reads the settings of the device; `None` after a violation.
    pub(crate) fn device(&mut self, ftl: &FtlChoice, extent_bytes: Option<u64>) -> Read<Option<Device>> {
        let Some(DriveUnits { units, parallelism, page_bytes, pages_per_block, word_lines }) = self.units(ftl)? else {
            return Ok(None);
        };
        let Some(logical_pages) = self.logical_pages(u64::from(page_bytes), extent_bytes)? else {
            return Ok(None);
        };
        let (key, provision) = self.provision()?;
        let extra = self.choice("device.reserve", &RESERVES)?;
        let planes = parallelism.areas(units.collected);
        let area = match units.collected {
            Collected::Plane => "plane",
            Collected::Die => "die",
            Collected::Superblock => "drive",
        };
        let shape = Shape {
            ftl,
            provision,
            page_bytes,
            per_flash_page: units.per_flash_page,
            pages_per_block,
            word_lines,
            word_line: units.word_line,
            planes,
            nominal_pages: self.nominal_pages(page_bytes)?,
            area,
            extra,
        };
        let needed_pages = logical_pages;
        let sized_by_trace = match self.applies(FILL) {
            true => self.share(FILL)? == 1.0,
            false => needed_pages > self.bytes(CAPACITY)? / u64::from(page_bytes),
        };
        let logical_pages = match shape.nominal_pages.filter(|_| self.applies(FILL)) {
            Some(nominal_pages) => self.modelled(&shape, needed_pages, nominal_pages)?,
            None if sized_by_trace => Some(shape.with_spare(needed_pages)),
            None => Some(needed_pages),
        };
        let Some(logical_pages) = logical_pages else { return Ok(None) };
        if self.keeps_too_many(&shape, logical_pages) {
            return Ok(None);
        }
        let physical_pages = shape.physical_pages(logical_pages).filter(|_| shape.numbers(logical_pages));
        let Some(physical_pages) = physical_pages.filter(|_| shape.blocks(logical_pages).suffice()) else {
            if self.slc_is_too_large(&shape, logical_pages)? {
                return Ok(None);
            }
            let extent_bytes = extent_bytes.filter(|_| sized_by_trace || self.applies(FILL));
            match self.fits_no_drive(&shape, &parallelism) {
                true => {}
                false if shape.numbers(logical_pages) => {
                    self.report_blocks(key, &shape, &parallelism, logical_pages)?;
                }
                false => self.report_pages(&shape, logical_pages, extent_bytes),
            }
            return Ok(None);
        };
        let size = self.size(&shape, logical_pages, needed_pages)?;
        let pages_per_block = shape.at(logical_pages).pages_per_block;
        let reserve_blocks = reserve_blocks(ftl, logical_pages, page_bytes, pages_per_block, planes);
        let blocks = physical_pages / pages_per_block;
        let geometry =
            Geometry { page_bytes, pages_per_block, blocks, order: self.program_order()?, parallelism, units };
        // The cast is safe: there are at least as many physical pages as logical pages, and physical page numbers have
        // 32 bits.
        let logical_pages = logical_pages as u32;
        Ok(Some(Device { geometry, logical_pages, size, reserve_blocks }))
    }

    /// Reports an error if the drive has more pages than 32-bit page numbers allow. If a trace determines the size of
    /// the drive, `extent_bytes` is the extent of this trace.
    fn report_pages(&mut self, shape: &Shape<'_>, logical_pages: u64, extent_bytes: Option<u64>) {
        let page_bytes = u64::from(shape.page_bytes);
        let bytes = logical_pages.saturating_mul(page_bytes);
        let per_flash_page = u64::from(shape.per_flash_page);
        let with_page = |page: u64| {
            // With larger mapping units, a flash page and therefore a block hold fewer units.
            let pages_per_block = shape.pages_per_block / per_flash_page.min(page / page_bytes) as u32;
            let nominal_pages = shape.nominal_pages.map(|pages| pages.div_ceil(page / page_bytes));
            let shape = Shape { page_bytes: page as u32, pages_per_block, nominal_pages, ..*shape };
            let pages = logical_pages.div_ceil(page / page_bytes);
            shape.numbers(pages) && shape.blocks(pages).suffice()
        };
        let mut larger = (1..).map(|doublings| page_bytes << doublings).take_while(|bytes| *bytes <= MEBI);
        let sets_unit = shape.per_flash_page > 1 || self.is_set_by_user(UNIT);
        let raise = |page: u64| match (write_bytes(page), page > page_bytes * per_flash_page) {
            (page, true) if sets_unit => format!("raise nand.page_size to {page} and {UNIT} to {page}"),
            (page, true) => format!("raise nand.page_size to {page}"),
            (page, false) => format!("raise {UNIT} to {page}"),
        };
        let gibibytes = |gibibytes: u64| gibibytes << 30;
        let (key, remedy) = match (larger.find(|bytes| with_page(*bytes)), extent_bytes) {
            (Some(page), _) => (CAPACITY, raise(page)),
            (None, Some(_)) if self.applies(FILL) => {
                let instead = format!("{CAPACITY} to {} instead of {FILL}", write_bytes(ASSUMED_BYTES));
                ("host.fit", format!("set it to \"wrap\" and {instead}"))
            }
            (None, Some(_)) => ("host.fit", "set it to \"wrap\"".into()),
            (None, None) => {
                let most = largest(bytes >> 30, |count| shape.numbers(gibibytes(count) / page_bytes)).unwrap_or(1);
                (CAPACITY, format!("lower it to {}", write_bytes(gibibytes(most))))
            }
        };
        let key = if extent_bytes.is_some() { "host.fit" } else { key };
        let (size, page) = (write_bytes(bytes), write_bytes(page_bytes));
        self.report(
            key,
            format!("with over-provisioning, a drive of {size} exceeds the maximum of {U32} pages of {page}; {remedy}"),
        );
    }

    /// Returns the number of logical pages. With `host.fit = "grow"` or `device.fill`, the device covers the trace.
    fn logical_pages(&mut self, page_bytes: u64, extent_bytes: Option<u64>) -> Read<Option<u64>> {
        if self.applies(FILL) {
            return self.filled_pages(page_bytes, extent_bytes);
        }
        let capacity = self.bytes(CAPACITY)?;
        let below = capacity / page_bytes;
        if capacity % page_bytes != 0 {
            let [capacity, page, above] = [capacity, page_bytes, (below + 1) * page_bytes].map(write_bytes);
            self.report(CAPACITY, format!("{capacity} is not a multiple of the page size {page}; raise it to {above}"));
            return Ok(None);
        }
        let extent_bytes = extent_bytes.unwrap_or(0);
        let fitting = self.fitting()?;
        if fitting == Fitting::Compact && extent_bytes > capacity {
            let remedy = match extent_bytes.div_ceil(page_bytes).saturating_mul(page_bytes) {
                most @ ..=MOST_BYTES => format!("raise it to {}", write_bytes(most)),
                _ => "set host.fit to \"wrap\"".into(),
            };
            let [capacity, extent] = [capacity, extent_bytes].map(write_bytes);
            self.report(CAPACITY, format!("{capacity} is less than the {extent} that the trace covers; {remedy}"));
            return Ok(None);
        }
        let grown = if fitting == Fitting::Grow { extent_bytes.div_ceil(page_bytes) } else { 0 };
        Ok(Some(below.max(grown)))
    }

    /// Returns the capacity, in logical pages, at which the trace fills the share `device.fill` of the drive.
    fn filled_pages(&mut self, page_bytes: u64, extent_bytes: Option<u64>) -> Read<Option<u64>> {
        if !matches!(self.fitting()?, Fitting::Compact | Fitting::Grow) {
            let remedy = match extent_bytes {
                Some(_) => "set host.fit to \"compact\"".into(),
                None => format!("set {CAPACITY} to {} instead of {FILL}", write_bytes(ASSUMED_BYTES)),
            };
            let message =
                format!("needs host.fit = \"compact\" or \"grow\", not {:?}; {remedy}", self.name("host.fit")?);
            self.report(FILL, message);
            return Ok(None);
        }
        let covered_bytes = extent_bytes.filter(|&bytes| bytes > 0).unwrap_or(ASSUMED_BYTES);
        Ok(Some((covered_bytes.div_ceil(page_bytes) as f64 / self.share(FILL)?).ceil() as u64))
    }
}
