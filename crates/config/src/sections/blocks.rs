//! Number of blocks of a drive by its capacity, the check that they suffice, and a remedy where they do not.

use super::device::MOST_BYTES;
use super::ftl::plan::Plan;
use super::nand::levels;
use super::provision::{DEFAULT_PERCENT, Provision};
use crate::checker::{Checker, Read};
use crate::table::U32;
use ssdlab_core::units::{counted, write_bytes, write_percent};
use ssdlab_nand::Parallelism;

/// What decides the number of blocks, beside the capacity.
#[derive(Clone, Copy)]
pub(super) struct Shape<'a> {
    pub plan: &'a Plan,
    pub provision: Provision,
    pub page_bytes: u32,
    pub pages_per_block: u32,
    pub planes: u32,
    /// True if the blocks that the FTL keeps are added to the over-provisioning.
    pub extra: bool,
}

/// Blocks for some capacity.
pub(super) struct Blocks {
    /// Blocks that the over-provisioning gives.
    asked: u64,
    /// The same, rounded up to equally many for each plane.
    pub provided: u64,
    /// Blocks added to them.
    pub added: u64,
    /// Blocks for the data.
    full: u64,
    /// Of the provided blocks, those that the FTL keeps open, erased, or for its map.
    kept: u64,
    /// Blocks beyond these and the data that the FTL works with.
    work: u64,
    /// Planes that collect for themselves.
    parts: u64,
    /// All planes.
    planes: u64,
}

impl Shape<'_> {
    /// Blocks for this many logical pages, at most 2^32.
    pub fn blocks(&self, logical_pages: u64) -> Blocks {
        let reserve =
            u64::from(self.plan.reserve_blocks(logical_pages, self.page_bytes, self.pages_per_block, self.planes));
        let (pages_per_block, planes) = (u64::from(self.pages_per_block), u64::from(self.planes));
        let asked = self.provision.blocks(logical_pages, pages_per_block);
        let (added, kept) = if self.extra { (reserve, 0) } else { (0, reserve) };
        // Where each plane collects for itself, each must hold its part of the data.
        let parts = if self.plan.reserves_by_plane() { planes } else { 1 };
        Blocks {
            asked,
            provided: (asked + added).next_multiple_of(planes) - added,
            added,
            full: parts * logical_pages.div_ceil(parts).div_ceil(pages_per_block),
            kept,
            // A victim yields space only if a block beyond the data is neither open nor kept erased.
            work: parts.max(self.plan.least_log_blocks().into()),
            parts,
            planes,
        }
    }

    /// Number of pages of the blocks; None if it exceeds 32 bits.
    pub fn physical_pages(&self, Blocks { provided, added, .. }: &Blocks) -> Option<u32> {
        u32::try_from((provided + added) * u64::from(self.pages_per_block)).ok()
    }

    /// True if 32 bits number the pages of the flash for this many logical pages.
    pub fn numbers(&self, logical_pages: u64) -> bool {
        logical_pages <= U32 && self.physical_pages(&self.blocks(logical_pages)).is_some()
    }

    /// Smallest capacity with enough blocks that is a power of two above this many pages.
    pub fn larger_capacity(&self, logical_pages: u64) -> Option<u64> {
        let page_bytes = u64::from(self.page_bytes);
        let first = (logical_pages + 1).next_power_of_two();
        let capacities = std::iter::successors(Some(first), |pages| Some(2 * pages));
        let mut pages = capacities.take_while(|pages| pages * page_bytes <= MOST_BYTES && self.numbers(*pages));
        pages.find(|pages| self.blocks(*pages).suffice()).map(|pages| pages * page_bytes)
    }

    /// Least over-provisioning with enough blocks, in percent.
    fn enough_percent(&self, logical_pages: u64) -> f64 {
        let found = self.blocks(logical_pages);
        let least = (found.full + found.needed()).max(found.planes);
        self.provision.percent_for(least, logical_pages, self.pages_per_block.into())
    }

    /// The same with the default over-provisioning.
    fn by_default(self) -> Self {
        Self { provision: self.provision.with(DEFAULT_PERCENT), ..self }
    }
}

impl Blocks {
    /// Blocks beyond the data that the FTL needs.
    fn needed(&self) -> u64 {
        self.kept + self.work
    }

    /// Blocks beyond the data.
    fn left(&self) -> u64 {
        self.provided.saturating_sub(self.full)
    }

    pub fn suffice(&self) -> bool {
        self.left() >= self.needed() && self.asked >= self.planes
    }
}

/// The largest number from 1 to `most` that `holds`, where all smaller ones do so too.
pub(super) fn largest(most: u64, holds: impl Fn(u64) -> bool) -> Option<u64> {
    let (mut largest, mut beyond) = (0, most + 1);
    while beyond - largest > 1 {
        let middle = largest + (beyond - largest) / 2;
        if holds(middle) { largest = middle } else { beyond = middle }
    }
    (largest > 0).then_some(largest)
}

impl Checker<'_> {
    /// Reports a collection that keeps more blocks erased than hold the data: such a drive is mostly spare blocks, or no
    /// sensible size suffices. Returns true if it did.
    pub(super) fn keeps_too_many(&mut self, shape: &Shape<'_>, logical_pages: u64) -> bool {
        let Some((key, erased, least)) = shape.plan.kept_erased() else { return false };
        let planes = u64::from(shape.planes);
        let data = logical_pages.div_ceil(u64::from(shape.pages_per_block));
        // The smallest drives have less data than collection keeps erased by default.
        let most = (data / planes).max(USUAL_ERASED);
        if u64::from(erased) <= most {
            return false;
        }
        let plan = shape.plan.keeping_erased(u32::try_from(most).unwrap_or(u32::MAX));
        let found = Shape { plan: &plan, ..*shape }.blocks(logical_pages.min(U32));
        let missing = found.needed().saturating_sub(found.left()).div_ceil(planes);
        let fitting = most.checked_sub(missing).filter(|fitting| *fitting >= least.into()).unwrap_or(most);
        let remedy = match fitting {
            fitting if fitting >= least.into() => format!("lower it to {fitting}"),
            _ => WITHOUT_ERASED.into(),
        };
        let where_kept = if planes > 1 { format!(" in each of {planes} planes") } else { String::new() };
        let message = format!("{erased} erased blocks{where_kept} are more than the {data} blocks of data; {remedy}");
        self.report(key, message);
        true
    }

    /// Reports that the drive has too few blocks, at the setting that the user chose, with a change that gives it enough.
    /// `provision` is the option of the space beyond the capacity.
    pub(super) fn report_blocks(
        &mut self,
        provision: &'static str,
        shape: &Shape<'_>,
        parallelism: &Parallelism,
        logical_pages: u64,
    ) -> Read<()> {
        let can_be = |planes: u32, pages: u64| {
            Shape { planes, pages_per_block: pages as u32, ..*shape }.by_default().larger_capacity(0).is_some()
        };
        let levels = levels(parallelism);
        let (level, planes_of_level) = levels.into_iter().max_by_key(|(_, count)| *count).unwrap_or_default();
        if !can_be(shape.planes, shape.pages_per_block.into()) {
            if let Some((key, erased, _)) =
                shape.plan.kept_erased().filter(|(_, kept, _)| u64::from(*kept) > USUAL_ERASED)
            {
                let (percent, planes) = (write_percent(DEFAULT_PERCENT), shape.planes);
                let message = format!(
                    "no drive with {percent} of over-provisioning has {erased} erased blocks in each of {planes} planes; \
                     {WITHOUT_ERASED}"
                );
                self.report(key, message);
                return Ok(());
            }
            const PAGES: &str = "nand.pages_per_block";
            let (planes, pages) = (shape.planes, shape.pages_per_block);
            let most = |planes| largest(pages.into(), |pages| can_be(planes, pages)).filter(|most| *most > 1);
            let remedy = most(planes).map(|most| format!("lower it to {most}")).unwrap_or_else(|| {
                let planes_for = |count: u64| planes / planes_of_level * count as u32;
                let count = largest(planes_of_level.into(), |count| can_be(planes_for(count), 2)).unwrap_or(1);
                let most = most(planes_for(count)).unwrap_or(2);
                format!("set it to {most} and {level} to {count}")
            });
            self.report(PAGES, format!("{planes} planes with blocks of {pages} pages fit no drive; {remedy}"));
            return Ok(());
        }
        let found = shape.blocks(logical_pages);
        let Blocks { asked, provided, full, kept, parts, planes, .. } = found;
        let few_by_plane = planes > 1 && (parts > 1 || asked < planes);
        let (chosen, usual) = match few_by_plane {
            true => (&[level, CAPACITY, FILL, provision][..], level),
            false => (&[provision, FILL][..], provision),
        };
        let key = chosen.iter().copied().find(|key| self.is_chosen(key)).unwrap_or(usual);
        let told = if few_by_plane {
            let need = if parts > 1 {
                let (data, kept, all) = (full / planes, kept.div_ceil(planes), full + found.needed());
                let data = counted(data, "block");
                format!("{data} each for data, {kept} for the FTL and 1 to collect, {all} in all")
            } else {
                "a block each".into()
            };
            let product = levels.map(|(_, count)| count.to_string()).join(" x ");
            format!("{product} = {planes} planes need {need}; the device has {asked}")
        } else {
            let share = self.value(provision)?.to_toml();
            format!(
                "{}{} leaves {} of {provided} blocks beyond the data and the FTL needs {} of them here",
                if key == provision { String::new() } else { format!("{provision} = ") },
                share.trim_matches('"'),
                found.left(),
                found.needed()
            )
        };
        let remedy = self.more_blocks(key, provision, shape, logical_pages);
        self.report(key, format!("{told}; {remedy}"));
        Ok(())
    }

    /// The change that gives enough blocks: more over-provisioning, a larger capacity, or both if neither is enough.
    fn more_blocks(&self, key: &str, provision: &str, shape: &Shape<'_>, logical_pages: u64) -> String {
        let named = |other| if other == key { "it" } else { other };
        let percent = shape.enough_percent(logical_pages);
        let of_provision = (percent <= self.most_percent(provision))
            .then(|| format!("raise {} to {}", named(provision), write_percent(percent)));
        let capacity = |bytes| match self.applies(FILL) {
            true => format!("set {CAPACITY} to {} instead of {FILL}", write_bytes(bytes)),
            false => format!("raise {} to {}", named(CAPACITY), write_bytes(bytes)),
        };
        let of_capacity = shape.larger_capacity(logical_pages).map(capacity);
        let one = if key == CAPACITY { of_capacity.or(of_provision) } else { of_provision.or(of_capacity) };
        one.unwrap_or_else(|| {
            let bytes = shape.by_default().larger_capacity(logical_pages).unwrap_or(u64::MAX);
            let percent = write_percent(DEFAULT_PERCENT);
            let instead = if self.applies(FILL) { format!(" instead of {FILL}") } else { String::new() };
            format!("set {} to {percent} and {CAPACITY} to {}{instead}", named(provision), write_bytes(bytes))
        })
    }
}

pub(super) const CAPACITY: &str = "device.capacity";
pub(super) const FILL: &str = "device.fill";

/// What `ftl.page.trigger.batch.high` is by default.
const USUAL_ERASED: u64 = 16;

const WITHOUT_ERASED: &str = "set ftl.page.trigger to \"victim\"";
