//! Checks that a drive has enough blocks, and suggests remedies if it does not.

use super::ftl::{USUAL_ERASED, WITHOUT_ERASED, kept_erased, least_log_blocks, reserve_blocks};
use super::provision::{DEFAULT_PERCENT, Provision};
use super::scale::SCALE;
use crate::checker::{Checker, Read};
use crate::table::{TIB, U32};
use ssdlab_core::units::{counted, write_bytes, write_percent};
use ssdlab_ftl::FtlChoice;
use ssdlab_nand::Parallelism;

pub(super) const CAPACITY: &str = "device.capacity";
pub(super) const FILL: &str = "device.fill";

/// Maximum capacity of a drive, given by 32-bit page numbers and pages of 128 KiB.
pub(super) const MOST_BYTES: u64 = 256 * TIB;

/// Minimum number of blocks per plane, in addition to the data blocks, if a trace determines the drive's size: an open
/// block each for host writes and for copies, a spare block, and a block that lets garbage collection free space.
const SPARE_BLOCKS: u64 = 4;

/// Blocks per plane that drives with several planes need in addition to [`SPARE_BLOCKS`], because their default trigger
/// keeps four erased blocks.
const ERASED_BLOCKS: u64 = 4;

/// All settings that determine the number of blocks, except the capacity.
#[derive(Clone, Copy)]
pub(super) struct Shape<'a> {
    pub ftl: &'a FtlChoice,
    pub provision: Provision,
    pub page_bytes: u32,
    /// Number of mapping units per flash page.
    pub per_flash_page: u32,
    pub pages_per_block: u32,
    /// Number of word lines per erase block of a plane; `word_line` is the number of flash pages per word line.
    pub word_lines: u32,
    pub word_line: u32,
    /// Number of parts in which the FTL collects garbage separately; `area` is the name of such a part.
    pub planes: u32,
    /// Number of logical pages of the nominal drive if smaller drives are scale models of it; otherwise `None`.
    pub nominal_pages: Option<u64>,
    /// Plane, die or drive.
    pub area: &'static str,
    /// True if the FTL's reserve is added to the over-provisioning.
    pub extra: bool,
}

/// Numbers of blocks in a drive with a given capacity.
pub(super) struct Blocks {
    /// Number of blocks that the over-provisioning requires.
    asked: u64,
    /// Number of blocks provided, rounded up to an equal number per plane.
    pub provided: u64,
    /// Number of further blocks for the FTL's reserve, in addition to `provided`.
    pub added: u64,
    /// Number of blocks that the data fills.
    data: u64,
    /// Number of blocks that the FTL keeps in reserve.
    pub kept: u64,
    /// Minimum number of blocks that the FTL needs in addition to data and reserve.
    work: u64,
    planes: u64,
    pub pages_per_block: u32,
}

impl Shape<'_> {
    /// Computes the numbers of blocks in a drive with `logical_pages` logical pages, at most 2^32.
    pub fn blocks(&self, logical_pages: u64) -> Blocks {
        let Self { pages_per_block, planes, .. } = self.at(logical_pages);
        let reserve = reserve_blocks(self.ftl, logical_pages, self.page_bytes, pages_per_block, planes).into();
        let asked = self.provision.blocks(logical_pages, pages_per_block.into());
        let planes = u64::from(planes);
        let (added, kept) = if self.extra { (reserve, 0) } else { (0, reserve) };
        // Page mapping collects garbage in each plane separately. So each plane gets an equal part of the data. Each
        // plane also needs one block in addition to data and reserve, so that collecting a victim frees space.
        let parts = if matches!(self.ftl, FtlChoice::Page(..)) { planes } else { 1 };
        Blocks {
            asked,
            provided: (asked + added).next_multiple_of(planes) - added,
            added,
            data: parts * logical_pages.div_ceil(parts).div_ceil(pages_per_block.into()),
            kept,
            work: parts.max(least_log_blocks(self.ftl).into()),
            planes,
            pages_per_block,
        }
    }

    /// Returns `logical_pages`, or the first larger capacity at which each plane has enough blocks beyond its data.
    /// The result does not depend on the FTL, so that drives with different FTLs have the same flash.
    pub fn with_spare(&self, logical_pages: u64) -> u64 {
        let spare = match self.extra {
            true => 1,
            false if self.planes > 1 => SPARE_BLOCKS + ERASED_BLOCKS,
            false => SPARE_BLOCKS,
        };
        let suffices = |pages: u64| {
            let Blocks { asked, provided, planes, pages_per_block, .. } = self.blocks(pages);
            let data = pages.div_ceil(planes).div_ceil(pages_per_block.into());
            asked >= planes && provided >= planes * (data + spare)
        };
        if !self.numbers(logical_pages) || suffices(logical_pages) {
            return logical_pages;
        }
        self.capacities(logical_pages).find(|pages| suffices(*pages)).unwrap_or(logical_pages)
    }

    /// Returns the number of physical pages; `None` if the number exceeds 32 bits.
    pub fn physical_pages(&self, logical_pages: u64) -> Option<u32> {
        u32::try_from(self.flash_pages(logical_pages)).ok()
    }

    /// True if page numbers of 32 bits suffice for `logical_pages`.
    pub fn numbers(&self, logical_pages: u64) -> bool {
        logical_pages <= U32 && self.physical_pages(logical_pages).is_some()
    }

    /// Returns the number of physical pages, which may exceed 32 bits.
    pub fn flash_pages(&self, logical_pages: u64) -> u64 {
        let Blocks { provided, added, pages_per_block, .. } = self.blocks(logical_pages);
        (provided + added).saturating_mul(pages_per_block.into())
    }

    /// Lists larger capacities in pages: the powers of two above `logical_pages`.
    pub fn capacities(&self, logical_pages: u64) -> impl Iterator<Item = u64> {
        let first = logical_pages.saturating_add(1).checked_next_power_of_two();
        let fits = |pages: u64| pages.saturating_mul(self.page_bytes.into()) <= MOST_BYTES && self.numbers(pages);
        std::iter::successors(first, |pages| pages.checked_mul(2)).take_while(move |pages| fits(*pages))
    }

    /// Returns the next larger sufficient capacity in bytes. Its number of pages is a power of two above
    /// `logical_pages`.
    pub fn larger_capacity(&self, logical_pages: u64) -> Option<u64> {
        let pages = self.capacities(logical_pages).find(|pages| self.blocks(*pages).suffice());
        pages.map(|pages| pages * u64::from(self.page_bytes))
    }

    /// Returns the same settings with the default over-provisioning.
    pub fn by_default(self) -> Self {
        Self { provision: self.provision.with(DEFAULT_PERCENT), ..self }
    }
}

impl Blocks {
    /// Returns the minimum number of blocks that the drive needs for its data, and for the reserve and the operation of
    /// the FTL.
    fn needed(&self) -> u64 {
        (self.data + self.kept + self.work).max(self.planes)
    }

    pub fn suffice(&self) -> bool {
        self.provided >= self.needed() && self.asked >= self.planes
    }
}

/// Returns the largest number from 1 to `most` that satisfies `holds`; all smaller numbers must satisfy it too.
pub(super) fn largest(most: u64, holds: impl Fn(u64) -> bool) -> Option<u64> {
    let (mut largest, mut beyond) = (0, most + 1);
    while beyond - largest > 1 {
        let middle = largest + (beyond - largest) / 2;
        if holds(middle) { largest = middle } else { beyond = middle }
    }
    (largest > 0).then_some(largest)
}

impl Checker<'_> {
    /// Reports an error if the garbage collection trigger requires more erased blocks than there are data blocks.
    /// Returns true if it reported the error.
    pub(super) fn keeps_too_many(&mut self, shape: &Shape<'_>, logical_pages: u64) -> bool {
        let Some((key, erased, least)) = kept_erased(shape.ftl) else { return false };
        let data = logical_pages.div_ceil(shape.at(logical_pages).pages_per_block.into());
        // The default number of erased blocks is always allowed, because it exceeds the number of data blocks on the
        // smallest drives.
        let most = (data / u64::from(shape.planes)).max(USUAL_ERASED);
        let too_many = u64::from(erased) > most;
        if too_many {
            let remedy = if most >= least.into() { format!("lower it to {most}") } else { WITHOUT_ERASED.into() };
            let message = format!(
                "at {erased} per {}, erased blocks would outnumber the drive's {data} data blocks; {remedy}",
                shape.area
            );
            self.report(key, message);
        }
        too_many
    }

    /// Reports an error if the dimensions of the flash array are invalid at every capacity. Returns true if it reported
    /// the error.
    pub(super) fn fits_no_drive(&mut self, shape: &Shape<'_>, parallelism: &Parallelism) -> bool {
        let Shape { planes, pages_per_block, word_lines, word_line, .. } = *shape;
        let fits = |word_lines: u64| shape.with_word_lines(word_lines as u32).by_default().larger_capacity(0).is_some();
        if fits(word_lines.into()) {
            return false;
        }
        let flash_pages = |word_lines| word_lines * u64::from(word_line);
        let message = format!(
            "a drive with {planes} planes and blocks of {pages_per_block} pages is not possible at any capacity"
        );
        match (kept_erased(shape.ftl), largest(word_lines.into(), fits).map(flash_pages).filter(|pages| *pages > 1)) {
            (Some((key, erased, _)), _) if u64::from(erased) > USUAL_ERASED => {
                self.report(key, format!("{message} if {erased} blocks per plane stay erased; {WITHOUT_ERASED}"));
            }
            (_, Some(pages)) => self.report("nand.pages_per_block", format!("{message}; lower it to {pages}")),
            _ => self.report(largest_level(parallelism), format!("{message}; lower it to 1")),
        }
        true
    }

    /// Reports that the drive has too few blocks. The error names the setting that the user specified, and suggests a
    /// sufficient change. `provision` is the key of the option for over-provisioning.
    pub(super) fn report_blocks(
        &mut self,
        provision: &'static str,
        shape: &Shape<'_>,
        parallelism: &Parallelism,
        logical_pages: u64,
    ) -> Read<()> {
        let blocks = shape.blocks(logical_pages);
        let Blocks { asked, data, kept, planes, .. } = blocks;
        let keys = [provision, CAPACITY, FILL, largest_level(parallelism)];
        let key = keys.into_iter().find(|key| self.is_set_by_user(key)).unwrap_or(provision);
        let (needed, share) = (blocks.needed(), self.value(provision)?.as_set());
        let set = if key == provision { share } else { format!("{provision} = {share}") };
        let remedy = self.more_blocks(key, provision, shape, logical_pages);
        let message = format!(
            "{set} provides {} in {}, but {needed} are needed: {data} for data, {kept} for the FTL's reserve and {} \
             spare; {remedy}",
            counted(asked, "block"),
            counted(planes, shape.area),
            needed - data - kept
        );
        self.report(key, message);
        Ok(())
    }

    /// Returns a change that provides enough blocks: a scale model, more over-provisioning, a larger capacity, or a
    /// larger capacity with more over-provisioning.
    fn more_blocks(&self, key: &str, provision: &str, shape: &Shape<'_>, logical_pages: u64) -> String {
        let named = |other| if other == key { "it" } else { other };
        if key == CAPACITY && self.as_model(shape).is_some_and(|model| model.blocks(logical_pages).suffice()) {
            return format!("set {SCALE} to \"blocks\"");
        }
        let blocks = shape.blocks(logical_pages);
        let percent = shape.provision.percent_for(blocks.needed(), logical_pages, blocks.pages_per_block.into());
        let of_provision = (percent <= self.most_percent(provision))
            .then(|| format!("raise {} to {}", named(provision), write_percent(percent)));
        let capacity = |bytes| match self.applies(FILL) {
            true => format!("set {CAPACITY} to {} instead of {FILL}", write_bytes(bytes)),
            false => format!("raise {} to {}", named(CAPACITY), write_bytes(bytes)),
        };
        let of_capacity = shape.larger_capacity(logical_pages).map(capacity);
        let remedy = if key == provision { of_provision.or(of_capacity) } else { of_capacity.or(of_provision) };
        remedy.unwrap_or_else(|| {
            let usual = shape.by_default();
            // A scale model has smaller blocks, so a smaller capacity may be valid even if no larger capacity is.
            let bytes = usual.larger_capacity(logical_pages).or_else(|| usual.larger_capacity(0)).unwrap_or(u64::MAX);
            let percent = write_percent(DEFAULT_PERCENT);
            let instead = if self.applies(FILL) { format!(" instead of {FILL}") } else { String::new() };
            format!("set {} to {percent} and {CAPACITY} to {}{instead}", named(provision), write_bytes(bytes))
        })
    }
}

/// Returns the key of the setting with the largest value among channels, ways, dies and planes.
fn largest_level(parallelism: &Parallelism) -> &'static str {
    let levels = [
        ("nand.channels", parallelism.channels),
        ("nand.ways", parallelism.ways),
        ("nand.dies", parallelism.dies),
        ("nand.planes", parallelism.planes),
    ];
    levels.into_iter().max_by_key(|(_, count)| *count).map_or("nand.planes", |(key, _)| key)
}
