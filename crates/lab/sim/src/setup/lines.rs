//! Settings that shape the state of a drive, as lines of text. A run can continue from a saved drive only if all these
//! lines match.

use ssdlab_core::Choice;
use ssdlab_core::difference::Line;
use ssdlab_core::units::write_bytes;
use ssdlab_ftl::page::{Allocation, Fold, PageOptions, SlcOptions, Trigger};
use ssdlab_ftl::{FtlChoice, Shape};
use ssdlab_nand::{ProgramOrder, Units};

use crate::setup::Setup;

impl Setup {
    /// Returns the settings that shape the state of a drive, each with its key in the configuration.
    pub fn lines(&self) -> Vec<Line> {
        let Shape { logical_pages, page_bytes, blocks, pages_per_block, order, planes, program_unit } = self.shape();
        let page = if self.geometry.units.per_flash_page > 1 { "device.unit" } else { "nand.page_size" };
        // Text in parentheses after a key means that the line's value is a count derived from the settings.
        let block = match self.geometry.units == Units::PAGE {
            true => "nand.pages_per_block",
            false => "nand.pages_per_block (pages per collected block)",
        };
        let order = match order {
            ProgramOrder::Any => "any",
            ProgramOrder::Ascending => "ascending",
        };
        // Messages report only the first difference, so settings come before the values derived from them; the map, for
        // example, comes before the number of blocks.
        let mut lines = Vec::new();
        ftl_lines(&self.ftl, &mut lines);
        lines.extend([
            line("device.capacity", write_bytes(u64::from(logical_pages) * u64::from(page_bytes))),
            line(page, write_bytes(page_bytes.into())),
            line(block, pages_per_block),
            line("nand.channels, ways, dies and planes (total planes)", planes),
            line("device.op (erase blocks)", blocks),
            line("nand.order", order),
        ]);
        // Drives that program single pages omit this line, so that their previously saved states remain valid.
        if program_unit > 1 {
            lines.push(line("nand.word_line, nand.planes and device.unit (pages programmed together)", program_unit));
        }
        if self.geometry.units.parity > 0 {
            lines.push(line("ftl.page.collect.superblock.parity", self.geometry.units.parity));
        }
        if let FtlChoice::Log(log, log_blocks) = &self.ftl {
            lines.push(line(&format!("ftl.{}.log (blocks)", log.info.name), log_blocks));
        }
        lines
    }
}

fn ftl_lines(ftl: &FtlChoice, lines: &mut Vec<Line>) {
    match ftl {
        FtlChoice::Page(PageOptions { gc, placement, trigger, allocation, slc }, map) => {
            let trigger = match trigger {
                Trigger::Victim => "victim".into(),
                Trigger::Batch { low, high } => format!("batch, low {low}, high {high}"),
                Trigger::Partial { low, step, every: 1 } => format!("partial, low {low}, step {step}"),
                Trigger::Partial { low, step, every } => format!("partial, low {low}, step {step}, every {every}"),
            };
            let allocation = match allocation {
                Allocation::Fifo => "fifo",
                Allocation::LeastWorn => "least_worn",
            };
            lines.push(line("ftl", "page"));
            choice("ftl.page.gc", gc, lines);
            choice("ftl.page.survivors", placement, lines);
            lines.push(line("ftl.page.trigger", trigger));
            lines.push(line("ftl.page.allocation", allocation));
            choice("ftl.page.map", map, lines);
            // Drives without an SLC cache omit this line, so that their previously saved states remain valid.
            lines.extend(slc.map(|slc| line("ftl.page.slc", slc_text(&slc))));
        }
        FtlChoice::Log(log, _) => choice("ftl", log, lines),
    }
}

fn slc_text(slc: &SlcOptions) -> String {
    let SlcOptions { own_blocks, share, fold, bypass, word_line: _ } = slc;
    let fold = match fold {
        Fold::Pressure => "pressure",
        Fold::Idle => "idle",
        Fold::Lazy => "lazy",
    };
    let bypass = if *bypass { "bypass" } else { "no bypass" };
    format!("{own_blocks} blocks per plane, {} % of the free blocks, {fold}, {bypass}", f64::from(*share) / 100.0)
}

/// Adds a line with the name of the chosen entry (such as a policy), and a line for each of its parameters.
fn choice<R>(key: &str, choice: &Choice<R>, lines: &mut Vec<Line>) {
    lines.push(line(key, choice.info.name));
    for parameter in choice.info.parameters.iter().filter(|parameter| !parameter.is_fixed()) {
        let key = format!("{key}.{}.{}", choice.info.name, parameter.name);
        lines.push((key, parameter.unit.write(choice.get(parameter.name))));
    }
}

pub(crate) fn line(key: &str, value: impl ToString) -> Line {
    (key.into(), value.to_string())
}
