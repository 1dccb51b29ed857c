//! Settings of the SLC cache of page mapping.

use crate::checker::{Checker, Read};
use crate::kind::Choices;
use crate::sections::blocks::{Shape, largest};
use crate::sections::device::Device;
use crate::table::{Derived, Fallback, KIB, OptionSpec, TIB, bytes, option, percent, switch};
use crate::value::Value;
use ssdlab_core::units::{counted, write_bytes, write_percent};
use ssdlab_ftl::FtlChoice;
use ssdlab_ftl::page::{Fold, PageOptions, SlcOptions};
use ssdlab_sim::{Clock, Collect};

pub(crate) const SLC: &str = "ftl.page.slc";
const FOLD: &str = "ftl.page.fold";
const STATIC_SIZE: &str = "ftl.page.slc.static.size";
const HYBRID_SIZE: &str = "ftl.page.slc.hybrid.size";
const DYNAMIC_SHARE: &str = "ftl.page.slc.dynamic.share";
const HYBRID_SHARE: &str = "ftl.page.slc.hybrid.share";

/// Minimum number of cache blocks per plane: one is written while another is folded.
const LEAST_BLOCKS: u32 = 2;

/// Keys of the size settings of an SLC cache variant: the size of its dedicated blocks, and its share of free blocks.
/// `None` if the variant has no such setting.
type Sizes = (Option<&'static str>, Option<&'static str>);
static KINDS: Choices<Sizes, 4> = Choices::new([
    ("none", "no cache", (None, None)),
    ("static", "blocks reserved for the cache, always in SLC mode", (Some(STATIC_SIZE), None)),
    ("dynamic", "free blocks, whose number falls as the drive fills", (None, Some(DYNAMIC_SHARE))),
    ("hybrid", "first blocks reserved for the cache, then free blocks", (Some(HYBRID_SIZE), Some(HYBRID_SHARE))),
]);

static FOLDS: Choices<Fold, 3> = Choices::new([
    ("pressure", "once the cache is full, at the pace of the host's writes", Fold::Pressure),
    ("idle", "when the drive is idle", Fold::Idle),
    ("lazy", "when the drive needs the space", Fold::Lazy),
]);

/// The static caches of client drives of 1 TB hold a few GiB.
const SHARE_OF_CAPACITY: Derived = Derived {
    rule: "1/64 of `device.capacity`; 1GiB without a capacity",
    value: |entries| match entries.get("device.capacity").map(|entry| &entry.value) {
        Some(Value::Bytes(bytes)) => write_bytes((bytes / 64).max(KIB)),
        _ => "1GiB".into(),
    },
};

const fn size(key: &'static str) -> OptionSpec {
    bytes(key, KIB..=256 * TIB)
        .fallback(Fallback::Derived(SHARE_OF_CAPACITY))
        .example("64MiB")
        .help("Capacity of the blocks reserved for the cache, rounded up to an equal number of blocks per plane.")
}

const fn share(key: &'static str) -> OptionSpec {
    percent(key, 0.01..=100.0)
        .default("100%")
        .example("50%")
        .help("Maximum share of the free blocks that the cache uses; blocks in the cache count as free.")
}

pub(super) const OPTIONS: &[OptionSpec] = &[
    option(SLC, KINDS.kind()).default("none").example("dynamic").help(
        "SLC cache: blocks in SLC mode, with one flash page per word line, take host writes first. Needs \
         `nand.word_line` of 2 or more.",
    ),
    size(STATIC_SIZE),
    share(DYNAMIC_SHARE),
    size(HYBRID_SIZE),
    share(HYBRID_SHARE),
    option(FOLD, FOLDS.kind()).default("pressure").example("idle").help(
        "When the SLC cache folds: moves its pages to other blocks. Idle folding needs `drive.collect = \"idle\"`.",
    ),
    switch("ftl.page.bypass", true).help("Host writes bypass a full SLC cache; otherwise they wait until it has room."),
];

impl Checker<'_> {
    /// Reads the settings of the SLC cache. [`Self::slc_fits`] checks them against the device.
    pub(super) fn slc(&mut self) -> Read<Option<SlcOptions>> {
        let (size, share) = self.choice(SLC, &KINDS)?;
        if (size, share) == (None, None) {
            return Ok(None);
        }
        let word_line = self.small("nand.word_line")?;
        if word_line < 2 {
            self.report(SLC, "SLC mode needs nand.word_line of 2 or more, not 1; set it to \"none\"");
            return Ok(None);
        }
        let map = self.name("ftl.page.map")?;
        if map != "ram" {
            self.report("ftl.page.map", format!("{map:?} does not support an SLC cache; set it to \"ram\""));
        }
        let own_blocks = match size {
            None => 0,
            Some(key) => self.own_blocks(key)?,
        };
        let share = match share {
            None => 0,
            Some(key) => (self.share(key)? * f64::from(SlcOptions::ALL)).round() as u32,
        };
        let (fold, bypass) = (self.choice(FOLD, &FOLDS)?, self.flag("ftl.page.bypass")?);
        Ok(Some(SlcOptions { own_blocks, share, fold, bypass, word_line }))
    }

    /// Returns the size in bytes of a cache that has one block in each plane of the drive.
    fn slc_row_bytes(&self) -> Read<u64> {
        let per_plane = u64::from(self.small("nand.pages_per_block")? / self.small("nand.word_line")?);
        Ok(self.bytes("nand.page_size")? * per_plane * u64::from(self.parallelism()?.planes()))
    }

    /// Returns the number of blocks per plane in an SLC cache of the size that the option `key` sets.
    fn own_blocks(&mut self, key: &str) -> Read<u32> {
        let (bytes, row) = (self.bytes(key)?, self.slc_row_bytes()?.max(1));
        let blocks = u32::try_from(bytes.div_ceil(row)).unwrap_or(u32::MAX);
        if blocks < LEAST_BLOCKS {
            let [bytes, least] = [bytes, row * u64::from(LEAST_BLOCKS)].map(write_bytes);
            let message =
                format!("{bytes} is only one cache block per plane, but a cache needs {LEAST_BLOCKS} blocks per plane");
            self.report(key, format!("{message}; raise it to {least}"));
        }
        Ok(blocks)
    }

    /// Reports an error if the dedicated blocks of the SLC cache leave too few blocks for data and reserve. Returns
    /// true if it reported an error.
    pub(in crate::sections) fn slc_is_too_large(&mut self, shape: &Shape<'_>, logical_pages: u64) -> Read<bool> {
        let FtlChoice::Page(options @ PageOptions { slc: Some(slc), .. }, map) = *shape.ftl else { return Ok(false) };
        let with = |own_blocks: u64| {
            let slc = SlcOptions { own_blocks: own_blocks as u32, ..slc };
            FtlChoice::Page(PageOptions { slc: Some(slc), ..options }, map)
        };
        let fits = |own_blocks: u64| {
            let shape = Shape { ftl: &with(own_blocks), ..*shape };
            shape.numbers(logical_pages) && shape.blocks(logical_pages).suffice()
        };
        let is_possible =
            |own_blocks: u64| Shape { ftl: &with(own_blocks), ..*shape }.by_default().larger_capacity(0).is_some();
        let (Some(key), _) = self.choice(SLC, &KINDS)? else { return Ok(false) };
        let own_blocks = slc.own_blocks.into();
        if fits(own_blocks) || (!fits(0) && (is_possible(own_blocks) || !is_possible(0))) {
            return Ok(false);
        }
        let most = largest(own_blocks, fits).unwrap_or(0);
        let size = write_bytes(self.bytes(key)?);
        let message = format!(
            "{size} needs {} per {}, but data and reserve leave room for only {most}",
            counted(own_blocks, "cache block"),
            shape.area
        );
        let remedy = match most >= LEAST_BLOCKS.into() {
            true => format!("lower it to {}", write_bytes(most * self.slc_row_bytes()?)),
            false => format!("set {SLC} to \"none\""),
        };
        self.report(key, format!("{message}; {remedy}"));
        Ok(true)
    }

    /// Reports a violation if a dynamic SLC cache could never get enough blocks on this device.
    pub(crate) fn slc_fits(&mut self, ftl: &FtlChoice, device: &Device) -> Read<()> {
        let FtlChoice::Page(PageOptions { slc: Some(slc), .. }, _) = ftl else { return Ok(()) };
        if slc.own_blocks > 0 {
            return Ok(());
        }
        let planes = device.geometry.areas();
        let free = (device.geometry.blocks - device.reserve_blocks) / planes;
        let blocks = u64::from(free) * u64::from(slc.share) / u64::from(SlcOptions::ALL);
        if blocks < LEAST_BLOCKS.into() {
            let share = write_percent(f64::from(slc.share) / 100.0);
            let message = format!(
                "{share} of {} is {} per plane, but a cache needs {LEAST_BLOCKS}",
                counted(free.into(), "free block"),
                counted(blocks, "cache block")
            );
            let least = (f64::from(LEAST_BLOCKS) * 100.0 / f64::from(free.max(1))).ceil();
            let remedy = match least <= 100.0 {
                true => format!("raise it to {}", write_percent(least)),
                false => format!("set {SLC} to \"none\""),
            };
            self.report(DYNAMIC_SHARE, format!("{message}; {remedy}"));
        }
        Ok(())
    }

    /// Reports an error if the SLC cache is folded only in idle time, but the drive does not collect garbage in idle
    /// time.
    pub(crate) fn check_fold(&mut self, ftl: &FtlChoice, clock: &Clock) {
        let FtlChoice::Page(PageOptions { slc: Some(SlcOptions { fold: Fold::Idle, .. }), .. }, _) = ftl else {
            return;
        };
        match clock {
            Clock::Event(_, drive) if drive.collect == Collect::Foreground => {
                self.report(
                    "drive.collect",
                    format!("{FOLD} = \"idle\" needs idle-time garbage collection; set drive.collect to \"idle\""),
                );
            }
            Clock::Event(..) => {}
            _ => self.report(FOLD, "idle folding needs time = \"event\"; set it to \"pressure\""),
        }
    }
}
