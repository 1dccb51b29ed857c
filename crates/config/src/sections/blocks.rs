//! How many blocks a drive gets for its capacity, whether they suffice, and what to change where they do not.

use super::device::capacities_above;
use super::ftl::plan::Plan;
use super::nand::levels;
use super::provision::{DEFAULT_PERCENT, Provision};
use crate::checker::{Checker, Read};
use crate::remedies::first_enough;
use crate::table::MEBI;
use crate::value::Value;
use ssdlab_core::units::{counted, write_bytes, write_percent};
use ssdlab_nand::Parallelism;

const GIBIBYTE_BITS: u32 = 30;

/// What blocks are made of, whatever the capacity.
#[derive(Clone, Copy)]
pub(super) struct Shape<'a> {
    pub plan: &'a Plan,
    pub provision: Provision,
    pub page_bytes: u32,
    pub pages_per_block: u32,
    pub planes: u32,
    /// Whether the blocks that the FTL keeps are added to what over-provisioning gives.
    pub extra: bool,
}

/// Blocks for some capacity.
pub(super) struct Blocks {
    /// What over-provisioning gives.
    asked: u64,
    /// The same, equally many for each plane.
    pub provided: u64,
    /// Added to them.
    pub added: u64,
    /// Hold the data.
    full: u64,
    /// The FTL keeps them open, erased, or full of its map, of those that are provided.
    kept: u64,
    /// Planes that collect for themselves.
    parts: u64,
    /// All planes.
    planes: u64,
}

impl Shape<'_> {
    /// Blocks for this many logical pages.
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
            parts,
            planes,
        }
    }

    /// The capacities, powers of two above this one, that have enough blocks.
    pub fn capacities_beyond(&self, logical_pages: u64) -> impl Iterator<Item = u64> {
        let page_bytes = u64::from(self.page_bytes);
        capacities_above(logical_pages, page_bytes)
            .take_while(move |bytes| bytes / page_bytes <= u64::from(u32::MAX))
            .filter(move |bytes| self.blocks(bytes / page_bytes).suffice())
    }

    /// The shares, in whole percent from the largest down, that what is `share` of this many pages may be of a drive
    /// with enough blocks.
    fn fills_below(&self, logical_pages: u64, share: f64) -> impl Iterator<Item = u32> {
        let filled_pages = (logical_pages as f64 * share).ceil();
        let suffices = move |percent: &u32| {
            let logical_pages = (100.0 * filled_pages / f64::from(*percent)).ceil();
            logical_pages <= f64::from(u32::MAX) && self.blocks(logical_pages as u64).suffice()
        };
        (1..(100.0 * share) as u32).rev().filter(suffices)
    }

    /// Pages of blocks; none if 32 bits do not number them. The largest number stands for "none".
    pub fn physical_pages(&self, Blocks { provided, added, .. }: &Blocks) -> Option<u32> {
        u32::try_from((provided + added) * u64::from(self.pages_per_block)).ok()
    }

    /// Returns the largest capacity of whole gibibytes whose pages 32 bits can number; none if that has too few blocks.
    pub fn capacity_below(&self, logical_pages: u64) -> Option<u64> {
        let page_bytes = u64::from(self.page_bytes);
        let blocks = |gibibytes: u64| self.blocks((gibibytes << GIBIBYTE_BITS) / page_bytes);
        let (mut numbered, mut beyond) = (0, ((logical_pages * page_bytes) >> GIBIBYTE_BITS) + 1);
        while beyond - numbered > 1 {
            let middle = numbered + (beyond - numbered) / 2;
            let fits = self.physical_pages(&blocks(middle)).is_some();
            if fits { numbered = middle } else { beyond = middle }
        }
        (numbered > 0 && blocks(numbered).suffice()).then_some(numbered << GIBIBYTE_BITS)
    }

    /// Returns the smallest page size, in bytes, at which 32 bits can number the pages of as large a drive.
    pub fn page_bytes_enough(&self, logical_pages: u64) -> Option<u32> {
        let bytes = logical_pages * u64::from(self.page_bytes);
        let sizes = std::iter::successors(Some(self.page_bytes), |size| size.checked_mul(2));
        let mut sizes = sizes.take_while(|size| u64::from(*size) <= MEBI);
        sizes.find(|&page_bytes| {
            let shape = Shape { page_bytes, ..*self };
            let blocks = shape.blocks(bytes / u64::from(page_bytes));
            shape.physical_pages(&blocks).is_some() && blocks.suffice()
        })
    }

    /// The least over-provisioning that has enough blocks and is enough otherwise, in percent; none if none is that may
    /// be asked for.
    fn percent_beyond(&self, logical_pages: u64, most_percent: f64, is_enough: impl Fn(f64) -> bool) -> Option<f64> {
        let found = self.blocks(logical_pages);
        let least = (found.full + found.needed()).max(found.planes);
        let pages_per_block = u64::from(self.pages_per_block);
        let most = self.provision.with(most_percent).blocks(logical_pages, pages_per_block);
        let percent = |blocks| self.provision.percent_for(blocks, logical_pages, pages_per_block).min(most_percent);
        let suffices =
            |percent| Shape { provision: self.provision.with(percent), ..*self }.blocks(logical_pages).suffice();
        first_enough(least, most, |blocks| suffices(percent(blocks)) && is_enough(percent(blocks))).map(percent)
    }

    /// The most blocks, of `least` to `most`, that collection can keep erased in each plane; none if it can keep none.
    fn erased_within(&self, logical_pages: u64, least: u32, most: u32) -> Option<u32> {
        let suffices = |erased| {
            let plan = self.plan.keeping_erased(erased);
            Shape { plan: &plan, ..*self }.blocks(logical_pages).suffice()
        };
        if least > most || !suffices(least) {
            return None;
        }
        let (mut enough, mut beyond) = (least, most + 1);
        while beyond - enough > 1 {
            let middle = enough + (beyond - enough) / 2;
            if suffices(middle) { enough = middle } else { beyond = middle }
        }
        Some(enough)
    }
}

impl Blocks {
    /// Blocks beyond the data that collection needs: a victim yields space only if some block beyond the data is
    /// neither open nor kept erased.
    fn needed(&self) -> u64 {
        self.kept + self.parts
    }

    /// Blocks beyond the data.
    fn left(&self) -> u64 {
        self.provided.saturating_sub(self.full)
    }

    pub fn suffice(&self) -> bool {
        self.left() >= self.needed() && self.asked >= self.planes
    }
}

impl Checker<'_> {
    /// Whether collection is to keep more blocks erased than hold the data, which is reported: such a drive is mostly
    /// spare blocks, or has no size that suffices but an absurd one.
    pub(super) fn keeps_too_many(&mut self, shape: &Shape<'_>, logical_pages: u64) -> bool {
        let Some((key, erased, least)) = shape.plan.kept_erased() else { return false };
        let planes = u64::from(shape.planes);
        let data = logical_pages.div_ceil(u64::from(shape.pages_per_block));
        // The smallest drives have less data than collection keeps erased by default.
        let most = (data / planes).max(u64::from(least.max(USUAL_ERASED)));
        if u64::from(erased) <= most {
            return false;
        }
        let most = u32::try_from(most).unwrap_or(u32::MAX);
        let remedy = match shape.erased_within(logical_pages, least, most) {
            Some(erased) => format!("lower it to {erased}"),
            None => format!("lower it to {most} and set device.reserve to \"extra\""),
        };
        let where_kept = if planes > 1 { format!(" in each of {planes} planes") } else { String::new() };
        let message = format!("{erased} erased blocks{where_kept} are more than the {data} blocks of data; {remedy}");
        self.report(key, message);
        true
    }

    /// Reports that blocks are too few for collection to make progress, at the setting that somebody chose, with every
    /// single change that is enough. `provision` is the option of the space beyond the capacity.
    pub(super) fn report_blocks(
        &mut self,
        provision: &'static str,
        shape: &Shape<'_>,
        parallelism: &Parallelism,
        logical_pages: u64,
    ) -> Read<()> {
        let found = shape.blocks(logical_pages);
        let Blocks { asked, provided, full, kept, parts, planes, .. } = found;
        let levels = levels(parallelism);
        let (level, planes_of_level) = levels.into_iter().max_by_key(|(_, count)| *count).unwrap_or_default();
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
        let named = |other| if other == key { "it" } else { other };
        let filled = self.is_chosen(FILL);
        let capacity = |bytes| match filled {
            true => format!("set {CAPACITY} to {} instead of {FILL}", write_bytes(bytes)),
            false => format!("raise {} to {}", named(CAPACITY), write_bytes(bytes)),
        };
        let (most_percent, fill) = (self.most_percent(provision), if filled { self.share(FILL)? } else { 0.0 });
        let mut remedies = self.remedies(|is_enough| {
            let mut remedies = Vec::new();
            let of_provision = |percent| is_enough(&[(provision, Value::Percent(percent))]);
            if let Some(percent) = shape.percent_beyond(logical_pages, most_percent, of_provision) {
                let same = if few_by_plane { named(provision) } else { provision };
                remedies.push((provision, format!("raise {same} to {}", write_percent(percent))));
            }
            let of_fill = |percent: &u32| is_enough(&[(FILL, Value::Percent(f64::from(*percent)))]);
            if let Some(percent) = shape.fills_below(logical_pages, fill).find(of_fill) {
                remedies.push((FILL, format!("lower {} to {percent}%", named(FILL))));
            }
            let of_capacity = |bytes: &u64| is_enough(&[(CAPACITY, Value::Bytes(*bytes))]);
            if let Some(bytes) = shape.capacities_beyond(logical_pages).find(of_capacity) {
                remedies.push((CAPACITY, capacity(bytes)));
            }
            let fewer = (1..planes_of_level).rev().find(|&count| {
                let planes = shape.planes / planes_of_level * count;
                Shape { planes, ..*shape }.blocks(logical_pages).suffice()
                    && is_enough(&[(level, Value::Count(count.into()))])
            });
            if let Some(count) = fewer {
                remedies.push((level, format!("lower {} to {count}", named(level))));
            }
            let kept = shape.plan.kept_erased().filter(|(setting, ..)| self.is_chosen(setting));
            if let Some((setting, erased, least)) = kept
                && let Some(fewer) = shape.erased_within(logical_pages, least, erased - 1)
                && is_enough(&[(setting, Value::Count(fewer.into()))])
            {
                remedies.push((setting, format!("lower {setting} to {fewer}")));
            }
            if !shape.extra
                && (Shape { extra: true, ..*shape }).blocks(logical_pages).suffice()
                && is_enough(&[("device.reserve", Value::Choice("extra"))])
            {
                remedies.push(("device.reserve", "set device.reserve to \"extra\"".into()));
            }
            if remedies.is_empty() {
                let shape = Shape { provision: shape.provision.with(DEFAULT_PERCENT), ..*shape };
                let of_both = |bytes: &u64| {
                    is_enough(&[(CAPACITY, Value::Bytes(*bytes)), (provision, Value::Percent(DEFAULT_PERCENT))])
                };
                remedies.extend(shape.capacities_beyond(logical_pages).find(of_both).map(|bytes| {
                    let percent = write_percent(DEFAULT_PERCENT);
                    (CAPACITY, format!("{} and {} to {percent}", capacity(bytes), named(provision)))
                }));
            }
            remedies
        });
        // First what is done to the setting that somebody chose.
        remedies.sort_by_key(|(changed, _)| *changed != key);
        let remedies: Vec<String> = remedies.into_iter().map(|(_, remedy)| remedy).collect();
        self.report(key, with_remedies(told, &remedies.join(", or ")));
        Ok(())
    }
}

/// What is wrong, and what to do if anything helps.
pub(super) fn with_remedies(wrong: String, remedies: &str) -> String {
    if remedies.is_empty() { wrong } else { format!("{wrong}; {remedies}") }
}

pub(super) const CAPACITY: &str = "device.capacity";
const FILL: &str = "device.fill";

/// What `ftl.page.trigger.batch.high` is by default.
const USUAL_ERASED: u32 = 16;
