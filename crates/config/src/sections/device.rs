//! The drive as the host and its data sheet see it: from capacity to whole blocks.

use super::blocks::{CAPACITY, FILL, Shape, largest};
use super::ftl::plan::Plan;
use super::host::Fitting;
use super::provision;
use crate::checker::{Checker, Read};
use crate::figures::DeviceFigures;
use crate::kind::{Choices, Kind};
use crate::table::{Fallback, KIB, MEBI, OptionSpec, Section, TIB, U32};
use ssdlab_core::units::write_bytes;
use ssdlab_nand::Geometry;

pub(crate) const SECTION: Section = Section {
    name: "device",
    help: "The drive as the host and its data sheet see it.",
    used: &[],
    options: || [SIZE, provision::OPTIONS, RESERVE].concat(),
};

/// The largest capacity: page numbers of 32 bits reach it with pages of 128 KiB.
pub(super) const MOST_BYTES: u64 = 256 * TIB;

const GIBIBYTE_BITS: u32 = 30;

const SIZE: &[OptionSpec] = &[
    OptionSpec {
        key: "device.capacity",
        kind: Kind::Bytes { min: KIB, max: MOST_BYTES },
        fallback: Fallback::Preset,
        help: "Bytes the host sees; a multiple of the page size.",
        example: "64GiB",
    },
    OptionSpec {
        key: "device.fill",
        kind: Kind::Percent { min: 1.0, max: 100.0 },
        fallback: Fallback::InsteadOf("device.capacity"),
        help: "Share of the capacity that the trace covers, which sizes the drive; `100%` for host.fit \"compact\", which \
               is less where so small a drive would have too few blocks. What lies beyond is written only by \
               preconditioning.",
        example: "80%",
    },
];

/// What a trace is taken to cover where it is empty, or not known yet.
const ASSUMED_BYTES: u64 = 1 << 30;

/// Whether the blocks are added to the over-provisioned space.
static RESERVES: Choices<bool, 2> = Choices::new([
    ("inside", "part of the over-provisioned space, as in a real drive", false),
    ("extra", "added to it, as the analytic models of write amplification assume", true),
]);

const RESERVE: &[OptionSpec] = &[OptionSpec {
    key: "device.reserve",
    kind: RESERVES.kind(),
    fallback: Fallback::Value("inside"),
    help: "Where the blocks come from that the FTL always keeps open or erased.",
    example: "extra",
}];

impl Checker<'_> {
    /// Geometry and figures, unless a violation leaves them without meaning.
    pub(crate) fn device(&mut self, plan: &Plan, extent_bytes: Option<u64>) -> Read<Option<(Geometry, DeviceFigures)>> {
        let page_bytes = self.small("nand.page_size")?;
        if !page_bytes.is_power_of_two() {
            let above = u64::from(page_bytes).next_power_of_two();
            let message = format!(
                "{} is not a power of two; set it to {}",
                write_bytes(u64::from(page_bytes)),
                write_bytes(above / 2)
            );
            self.report("nand.page_size", message);
            return Ok(None);
        }
        let Some(mut logical_pages) = self.logical_pages(u64::from(page_bytes), extent_bytes)? else {
            return Ok(None);
        };
        let pages_per_block = self.small("nand.pages_per_block")?;
        let parallelism = self.parallelism()?;
        let (key, provision) = self.provision()?;
        let extra = self.choice("device.reserve", &RESERVES)?;
        let planes = parallelism.planes();
        let shape = Shape { plan, provision, page_bytes, pages_per_block, planes, extra };
        if self.keeps_too_many(&shape, logical_pages) {
            return Ok(None);
        }
        if !shape.numbers(logical_pages) {
            self.report_pages(&shape, logical_pages, extent_bytes)?;
            return Ok(None);
        }
        let sized_by_trace = match self.applies(FILL) {
            true => self.share(FILL)? == 1.0,
            false => logical_pages > self.bytes(CAPACITY)? / u64::from(page_bytes),
        };
        if !shape.blocks(logical_pages).suffice()
            && sized_by_trace
            && let Some(bytes) = shape.larger_capacity(logical_pages)
        {
            // The trace sizes the drive, so it grows until it has the blocks it needs.
            logical_pages = bytes / u64::from(page_bytes);
        }
        let found = shape.blocks(logical_pages);
        let (Some(physical_pages), true) = (shape.physical_pages(&found), found.suffice()) else {
            self.report_blocks(key, &shape, &parallelism, logical_pages)?;
            return Ok(None);
        };
        let reserve_blocks = plan.reserve_blocks(logical_pages, page_bytes, pages_per_block, planes);
        let blocks = physical_pages / pages_per_block;
        let geometry = Geometry { page_bytes, pages_per_block, blocks, order: self.program_order()?, parallelism };
        // Flash has as many pages at least, and 32 bits number them.
        let logical_pages = logical_pages as u32;
        Ok(Some((geometry, DeviceFigures::new(page_bytes, pages_per_block, logical_pages, blocks, reserve_blocks))))
    }

    /// Reports a drive with more pages than 32 bits number.
    fn report_pages(&mut self, shape: &Shape<'_>, logical_pages: u64, extent_bytes: Option<u64>) -> Read<()> {
        let page_bytes = u64::from(shape.page_bytes);
        let capacity_pages = if self.applies(FILL) { 0 } else { self.bytes(CAPACITY)? / page_bytes };
        let larger_page = |logical_pages: u64| {
            let mut sizes = (1..).map(|doublings| page_bytes << doublings).take_while(|bytes| *bytes <= MEBI);
            let pages = |bytes: u64| logical_pages.div_ceil(bytes / page_bytes);
            sizes.find(|bytes| {
                let shape = Shape { page_bytes: *bytes as u32, ..*shape };
                shape.numbers(pages(*bytes)) && shape.blocks(pages(*bytes)).suffice()
            })
        };
        if logical_pages > capacity_pages {
            let end = write_bytes(extent_bytes.unwrap_or(0));
            let remedy = match larger_page(logical_pages) {
                Some(bytes) => format!("raise nand.page_size to {}", write_bytes(bytes)),
                None if self.applies(FILL) => {
                    format!("set it to \"wrap\" and {CAPACITY} to {} instead of {FILL}", write_bytes(ASSUMED_BYTES))
                }
                None => "set it to \"wrap\"".into(),
            };
            let pages = shape.page_bytes;
            let message =
                format!("the trace needs {end}, more than {U32} pages of {}; {remedy}", write_bytes(pages.into()));
            self.report("host.fit", message);
            return Ok(());
        }
        if let Some(bytes) = larger_page(logical_pages) {
            let (capacity, page) = (write_bytes(logical_pages * page_bytes), write_bytes(page_bytes));
            let remedy = format!("raise nand.page_size to {}", write_bytes(bytes));
            self.report(CAPACITY, format!("{capacity} and the space beyond it exceed {U32} pages of {page}; {remedy}"));
            return Ok(());
        }
        let pages_of = |gibibytes: u64| (gibibytes << GIBIBYTE_BITS) / page_bytes;
        let gibibytes = (logical_pages * page_bytes) >> GIBIBYTE_BITS;
        if let Some(most) = largest(gibibytes, |gibibytes| shape.numbers(pages_of(gibibytes))) {
            let (capacity, most) = (logical_pages * page_bytes, most << GIBIBYTE_BITS);
            let message = format!(
                "{} and the space beyond it exceed {U32} pages of {}; lower it to {}",
                write_bytes(capacity),
                write_bytes(page_bytes),
                write_bytes(most)
            );
            self.report(CAPACITY, message);
        } else {
            let logical_pages = logical_pages.min(pages_of(1));
            let numbers = |pages: u64| Shape { pages_per_block: pages as u32, ..*shape }.numbers(logical_pages);
            let most = largest(shape.pages_per_block.into(), numbers).unwrap_or(1);
            let (planes, pages) = (shape.planes, shape.pages_per_block);
            let message =
                format!("{planes} planes with blocks of {pages} pages exceed {U32} pages; lower it to {most}");
            self.report("nand.pages_per_block", message);
        }
        Ok(())
    }

    /// Pages the host sees; a device that grows or has a fill covers the trace.
    fn logical_pages(&mut self, page_bytes: u64, extent_bytes: Option<u64>) -> Read<Option<u64>> {
        if self.applies(FILL) {
            return self.filled_pages(page_bytes, extent_bytes);
        }
        let capacity = self.bytes(CAPACITY)?;
        let below = capacity / page_bytes;
        if capacity % page_bytes != 0 {
            let message = format!(
                "{} is not a multiple of the page size {}; raise it to {}",
                write_bytes(capacity),
                write_bytes(page_bytes),
                write_bytes((below + 1) * page_bytes)
            );
            self.report(CAPACITY, message);
            return Ok(None);
        }
        let extent_bytes = extent_bytes.unwrap_or(0);
        let fitting = self.fitting()?;
        if fitting == Fitting::Compact && extent_bytes > capacity {
            let remedy = match extent_bytes.div_ceil(page_bytes).saturating_mul(page_bytes) {
                most @ ..=MOST_BYTES => format!("raise it to {}", write_bytes(most)),
                _ => "set host.fit to \"wrap\"".into(),
            };
            let (capacity, covered) = (write_bytes(capacity), write_bytes(extent_bytes));
            let message = format!("{capacity} is less than the {covered} that the trace covers; {remedy}");
            self.report(CAPACITY, message);
            return Ok(None);
        }
        let grown = if fitting == Fitting::Grow { extent_bytes.div_ceil(page_bytes) } else { 0 };
        Ok(Some(below.max(grown)))
    }

    /// Pages of which the trace covers a share.
    fn filled_pages(&mut self, page_bytes: u64, extent_bytes: Option<u64>) -> Read<Option<u64>> {
        if !matches!(self.fitting()?, Fitting::Compact | Fitting::Grow) {
            let remedy = match extent_bytes {
                Some(_) => "set host.fit to \"compact\"".into(),
                None => format!("set {CAPACITY} to {} instead of {FILL}", write_bytes(ASSUMED_BYTES)),
            };
            let message =
                format!("sizes the drive by the trace, and host.fit = {:?} does not; {remedy}", self.name("host.fit")?);
            self.report(FILL, message);
            return Ok(None);
        }
        let covered_bytes = extent_bytes.filter(|&bytes| bytes > 0).unwrap_or(ASSUMED_BYTES);
        Ok(Some((covered_bytes.div_ceil(page_bytes) as f64 / self.share(FILL)?).ceil() as u64))
    }
}
