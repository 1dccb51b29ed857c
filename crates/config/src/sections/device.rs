//! The drive as the host and its data sheet see it: from capacity to whole blocks.

use super::blocks::Shape;
use super::ftl::plan::Plan;
use super::host::Fitting;
use super::provision;
use crate::checker::{Checker, Read};
use crate::figures::DeviceFigures;
use crate::kind::{Choices, Kind};
use crate::table::{Fallback, KIB, OptionSpec, Section, TIB};
use ssdlab_core::units::write_bytes;
use ssdlab_nand::Geometry;

pub(crate) const SECTION: Section = Section {
    name: "device",
    help: "The drive as the host and its data sheet see it.",
    used: &[],
    options: || [CAPACITY, provision::OPTIONS, RESERVE].concat(),
};

/// The largest capacity: page numbers of 32 bits reach it with pages of 128 KiB.
const MOST_BYTES: u64 = 256 * TIB;

/// The capacities, powers of two that may be asked for, with more pages than these.
pub(super) fn capacities_above(logical_pages: u64, page_bytes: u64) -> impl Iterator<Item = u64> {
    let first = (logical_pages * page_bytes + 1).next_power_of_two();
    std::iter::successors(Some(first), |bytes| bytes.checked_mul(2)).take_while(|bytes| *bytes <= MOST_BYTES)
}

const CAPACITY: &[OptionSpec] = &[
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
                "{} is not a power of two; the nearest are {} and {}",
                write_bytes(u64::from(page_bytes)),
                write_bytes(above / 2),
                write_bytes(above)
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
        let mut found = shape.blocks(logical_pages);
        let sized_by_trace = match self.applies("device.fill") {
            true => self.share("device.fill")? == 1.0,
            false => logical_pages > self.bytes("device.capacity")? / u64::from(page_bytes),
        };
        if !found.suffice() && sized_by_trace {
            // Nobody asked for exactly this size: the drive grows until it has the blocks it needs.
            if let Some(bytes) = shape.capacities_beyond(logical_pages).next() {
                logical_pages = bytes / u64::from(page_bytes);
                found = shape.blocks(logical_pages);
            }
        }
        if !found.suffice() {
            self.report_blocks(key, &shape, &parallelism, logical_pages)?;
            return Ok(None);
        }
        let blocks = found.provided + found.added;
        let reserve_blocks = plan.reserve_blocks(logical_pages, page_bytes, pages_per_block, planes);
        let sizes = (shape.physical_pages(&found), u32::try_from(logical_pages));
        let (Some(physical_pages), Ok(logical_pages)) = sizes else {
            let exceed = format!(
                "{blocks} blocks of {pages_per_block} pages exceed the {} pages that 32 bits can number",
                u32::MAX
            );
            let larger = match shape.page_bytes_enough(logical_pages) {
                Some(bytes) => format!("raise nand.page_size to {}", write_bytes(bytes.into())),
                None => "raise nand.page_size".into(),
            };
            let fill = self.applies("device.fill");
            if fill || logical_pages > self.bytes("device.capacity")? / u64::from(page_bytes) {
                let end = write_bytes(extent_bytes.unwrap_or(0));
                let (covers, remedy) = match self.fitting()? {
                    Fitting::Compact => ("covers", ""),
                    _ => ("ends at", "set it to \"scale\" or \"wrap\", or "),
                };
                let message = format!("the trace {covers} {end}: {exceed}; {remedy}{larger}");
                self.report("host.fit", message);
            } else {
                let below = shape.capacity_below(logical_pages);
                let lower = below.map_or("lower it".into(), |bytes| format!("lower it to {}", write_bytes(bytes)));
                self.report("device.capacity", format!("{exceed}; {lower} or {larger}"));
            }
            return Ok(None);
        };
        let blocks = physical_pages / pages_per_block;
        let geometry = Geometry { page_bytes, pages_per_block, blocks, order: self.program_order()?, parallelism };
        Ok(Some((geometry, DeviceFigures::new(page_bytes, pages_per_block, logical_pages, blocks, reserve_blocks))))
    }

    /// Pages the host sees; a device that grows or has a fill covers the trace.
    fn logical_pages(&mut self, page_bytes: u64, extent_bytes: Option<u64>) -> Read<Option<u64>> {
        const CAPACITY: &str = "device.capacity";
        if self.applies("device.fill") {
            return self.filled_pages(page_bytes, extent_bytes);
        }
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
        let extent_bytes = extent_bytes.unwrap_or(0);
        let fitting = self.fitting()?;
        if fitting == Fitting::Compact && extent_bytes > capacity {
            let message = format!(
                "{} is less than the {} that the trace covers; raise it to {}, or set device.fill instead",
                write_bytes(capacity),
                write_bytes(extent_bytes),
                write_bytes(extent_bytes.next_multiple_of(page_bytes))
            );
            self.report(CAPACITY, message);
            return Ok(None);
        }
        let grown = if fitting == Fitting::Grow { extent_bytes.div_ceil(page_bytes) } else { 0 };
        Ok(Some(below.max(grown)))
    }

    /// Pages of which the trace covers a share.
    fn filled_pages(&mut self, page_bytes: u64, extent_bytes: Option<u64>) -> Read<Option<u64>> {
        const FILL: &str = "device.fill";
        if !matches!(self.fitting()?, Fitting::Compact | Fitting::Grow) {
            let message = format!(
                "sizes the drive by the trace, and host.fit {:?} does not; set device.capacity instead or, for a trace, \
                 host.fit to \"compact\" or \"grow\"",
                self.name("host.fit")?
            );
            self.report(FILL, message);
            return Ok(None);
        }
        let covered_bytes = extent_bytes.filter(|&bytes| bytes > 0).unwrap_or(ASSUMED_BYTES);
        Ok(Some((covered_bytes.div_ceil(page_bytes) as f64 / self.share(FILL)?).ceil() as u64))
    }
}
