//! Flash units that may be larger than a mapping unit: flash page, word line, and blocks that are erased together.

use crate::checker::{Checker, Read};
use crate::kind::Choices;
use crate::table::U32;
use ssdlab_core::units::{counted, write_bytes, write_nanos};
use ssdlab_ftl::FtlChoice;
use ssdlab_nand::{Collected, Parallelism, ProgramOrder, Units};

/// Maximum number of mapping units per block: a drive has at least two blocks, and page numbers have 32 bits.
const MOST_PAGES: u32 = U32 as u32 / 2;

pub(super) const UNIT: &str = "device.unit";
pub(super) const SURVIVORS: &str = "ftl.page.survivors";
pub(super) const COLLECT: &str = "ftl.page.collect";
const PAGES_PER_BLOCK: &str = "nand.pages_per_block";
pub(super) const PARITY: &str = "ftl.page.collect.superblock.parity";
pub(super) const PASSES: &str = "nand.passes";
const WORD_LINE: &str = "nand.word_line";

pub(super) static COLLECTED: Choices<Collected, 3> = Choices::new([
    ("plane", "each block separately", Collected::Plane),
    ("die", "one block of every plane of a die", Collected::Die),
    ("superblock", "one block of every plane of the drive", Collected::Superblock),
]);

/// Variants of `nand.passes`; the value is true for two passes.
pub(super) static PASS_COUNTS: Choices<bool, 2> = Choices::new([
    ("one", "one program per word line", false),
    ("two", "a coarse pass, then a fine pass after the coarse passes of the next `distance` word lines", true),
]);

/// Geometry of a drive in the mapping units of its FTL.
pub(super) struct DriveUnits {
    pub units: Units,
    pub parallelism: Parallelism,
    /// Size of a mapping unit in bytes.
    pub page_bytes: u32,
    /// Number of mapping units per block of the FTL.
    pub pages_per_block: u32,
    /// Number of word lines per erase block of a plane.
    pub word_lines: u32,
}

impl Checker<'_> {
    /// Reads the geometry of the drive in mapping units. Returns `None` if a setting violates a rule.
    pub(super) fn units(&mut self, ftl: &FtlChoice) -> Read<Option<DriveUnits>> {
        let (flash_page, page_bytes) = (self.small("nand.page_size")?, self.small(UNIT)?);
        if !self.check_power_of_two("nand.page_size", flash_page) || !self.check_power_of_two(UNIT, page_bytes) {
            return Ok(None);
        }
        if page_bytes > flash_page {
            let [unit, page] = [page_bytes, flash_page].map(|bytes| write_bytes(bytes.into()));
            self.report(UNIT, format!("{unit} is more than nand.page_size = {page}; lower it to {page}"));
            return Ok(None);
        }
        let collected = match ftl {
            FtlChoice::Page(..) => self.choice(COLLECT, &COLLECTED)?,
            FtlChoice::Log(..) => Collected::Plane,
        };
        let word_line = self.small(WORD_LINE)?;
        let parallelism = self.parallelism()?;
        let Some(parity) = self.parity(collected, parallelism.dies())? else { return Ok(None) };
        let pass_distance =
            if self.choice(PASSES, &PASS_COUNTS)? { self.small("nand.passes.two.distance")? } else { 0 };
        let units = Units { per_flash_page: flash_page / page_bytes, word_line, collected, parity, pass_distance };
        let before = self.violations.len();
        self.check_commands(ftl, &units, &parallelism, flash_page)?;
        let flash_pages = self.small(PAGES_PER_BLOCK)?;
        let pages_per_block = self.check_block(&units, &parallelism, flash_pages);
        if self.violations.len() > before {
            return Ok(None);
        }
        let word_lines = flash_pages / word_line;
        Ok(pages_per_block.map(|pages_per_block| DriveUnits {
            units,
            parallelism,
            page_bytes,
            pages_per_block,
            word_lines,
        }))
    }

    /// Returns the number of program units that one parity unit protects; 0 without parity. `None` if the dies cannot
    /// be divided into groups of that many units plus the parity unit.
    fn parity(&mut self, collected: Collected, dies: u32) -> Read<Option<u32>> {
        let parity = if collected == Collected::Superblock { self.small(PARITY)? } else { 0 };
        let is_possible = |parity: u32| dies.is_multiple_of(parity + 1);
        if parity == 0 || is_possible(parity) {
            return Ok(Some(parity));
        }
        let remedy = match (1..parity).rev().find(|&parity| is_possible(parity)) {
            Some(less) => format!("lower it to {less}"),
            None => "set it to 0".into(),
        };
        let all = counted(dies.into(), "die");
        let message = format!("the drive's {all} cannot be divided into stripes of {} dies", parity + 1);
        self.report(PARITY, format!("{message}; {remedy}"));
        Ok(None)
    }

    /// Reports settings of commands and FTLs that do not fit the number of pages that the drive programs at a time.
    fn check_commands(
        &mut self,
        ftl: &FtlChoice,
        units: &Units,
        parallelism: &Parallelism,
        flash_page: u32,
    ) -> Read<()> {
        let Units { per_flash_page, word_line, collected, parity: _, pass_distance } = *units;
        if matches!(ftl, FtlChoice::Log(..)) {
            if per_flash_page > 1 && self.is_of_default_drive(UNIT) {
                let name = self.name("ftl")?;
                let message = format!("{name} maps whole flash pages, but the default drive maps smaller units");
                self.report("ftl", format!("{message}; use preset small-tlc"));
                return Ok(());
            }
            if per_flash_page > 1 {
                let page = write_bytes(flash_page.into());
                self.report(UNIT, format!("log-block FTLs program whole flash pages; raise it to {page}"));
            }
            if word_line > 1 {
                self.report(WORD_LINE, "log-block FTLs program one flash page at a time; lower it to 1");
            }
        }
        if let FtlChoice::Page(options, _) = ftl
            && options.placement.info.role.by_page.is_some()
            && per_flash_page * word_line > 1
        {
            let name = self.name(SURVIVORS)?;
            let message = format!(
                "{name:?} programs single pages, but this drive programs several pages at once; use preset small-tlc"
            );
            self.report(SURVIVORS, message);
        }
        if collected != Collected::Plane && parallelism.planes > 1 && !self.flag("nand.multiplane")? {
            let name = self.name(COLLECT)?;
            let message = format!("{name:?} programs all planes of a die together; set nand.multiplane to true");
            self.report(COLLECT, message);
        }
        if pass_distance > 0 && word_line == 1 {
            self.report(PASSES, "two passes need nand.word_line of at least 2; set nand.passes to \"one\"");
        }
        let times = self.durations("nand.program")?;
        match &times[..] {
            [first, _, ..] if word_line > 1 && pass_distance == 0 => {
                let message = format!(
                    "needs a single duration, because one command programs {word_line} pages with nand.word_line = \
                     {word_line}"
                );
                self.report("nand.program", format!("{message}; set it to {}", write_nanos(*first)));
            }
            [first, others @ ..] if word_line > 1 && pass_distance > 0 && others.len() != 1 => {
                let [coarse, fine] = [first, others.last().unwrap_or(first)].map(|nanos| write_nanos(*nanos));
                let message = "needs two durations with nand.passes = \"two\": for the coarse and the fine pass";
                self.report("nand.program", format!("{message}; set it to {coarse},{fine}"));
            }
            _ => {}
        }
        let single = (per_flash_page, word_line) == (1, 1);
        let joined = collected != Collected::Plane;
        if self.program_order()? == ProgramOrder::Any && (joined || !single) {
            self.report(
                "nand.order",
                "pages in one program unit must be programmed in ascending order; set it to \"ascending\"",
            );
        }
        if self.flag("nand.copyback")? && (joined || !single) {
            self.report(
                "nand.copyback",
                "copyback moves single flash pages, but this drive maps, programs or collects units of another size; \
                 set it to false",
            );
        }
        Ok(())
    }

    /// Returns the number of mapping units per block. Reports an error if a block has too many mapping units or does
    /// not consist of whole word lines.
    fn check_block(&mut self, units: &Units, parallelism: &Parallelism, flash_pages: u32) -> Option<u32> {
        let Units { per_flash_page, word_line, collected, parity, .. } = *units;
        let planes = parallelism.planes() / parallelism.areas(collected);
        let planes = if parity == 0 { planes } else { planes / (parity + 1) * parity };
        let per_word_line = u64::from(per_flash_page) * u64::from(planes) * u64::from(word_line);
        let most = u64::from(MOST_PAGES) / per_word_line * u64::from(word_line);
        let pages = u64::from(flash_pages) * u64::from(per_flash_page) * u64::from(planes);
        if pages > MOST_PAGES.into() {
            let of_planes = if planes > 1 { format!(" on {planes} planes") } else { String::new() };
            let message = format!(
                "blocks of {flash_pages} pages{of_planes} have {pages} mapping units, more than the maximum of \
                 {MOST_PAGES}"
            );
            match most {
                0 | 1 => self.report(COLLECT, format!("{message}; set it to \"plane\"")),
                most => self.report(PAGES_PER_BLOCK, format!("{message}; lower it to {most}")),
            }
            return None;
        }
        if !flash_pages.is_multiple_of(word_line) {
            let above = u64::from(flash_pages.next_multiple_of(word_line));
            let remedy = match above <= most {
                true => format!("raise it to {above}"),
                false => format!("lower it to {most}"),
            };
            let message = format!("{flash_pages} is not a multiple of nand.word_line = {word_line}; {remedy}");
            self.report(PAGES_PER_BLOCK, message);
            return None;
        }
        Some(pages as u32)
    }
}
