//! A device and its FTL as lines of text: what two drives must agree in for one to go on from the other.

use ssdlab_core::Choice;
use ssdlab_core::units::write_bytes;
use ssdlab_nand::ProgramOrder;

use crate::page::{Allocation, PageOptions, Trigger};
use crate::{FtlChoice, Shape};

/// A setting and its value.
pub type Line = (String, String);

/// What shapes the state of a drive, one line for each setting, by the names of the configuration.
pub fn lines(shape: &Shape, ftl: &FtlChoice) -> Vec<Line> {
    let Shape { logical_pages, page_bytes, blocks, pages_per_block, order, planes } = *shape;
    let order = match order {
        ProgramOrder::Any => "any",
        ProgramOrder::Ascending => "ascending",
    };
    let mut lines = Vec::new();
    ftl_lines(ftl, &mut lines);
    // The first that differs is told, so the choice of the FTL, on which others depend, comes first.
    let of_shape = [
        line("device.capacity", write_bytes(u64::from(logical_pages) * u64::from(page_bytes))),
        line("nand.page_size", write_bytes(page_bytes.into())),
        line("nand.pages_per_block", pages_per_block),
        line("nand.channels, ways, dies and planes (planes in all)", planes),
        line("device.op (erase blocks)", blocks),
        line("nand.order", order),
    ];
    lines.splice(1..1, of_shape);
    lines
}

fn ftl_lines(ftl: &FtlChoice, lines: &mut Vec<Line>) {
    match ftl {
        FtlChoice::Page(PageOptions { gc, placement, trigger, allocation }, map) => {
            let trigger = match trigger {
                Trigger::Victim => "victim".into(),
                Trigger::Batch { low, high } => format!("batch, low {low}, high {high}"),
                Trigger::Partial { low, step } => format!("partial, low {low}, step {step}"),
            };
            let allocation = match allocation {
                Allocation::Fifo => "fifo",
                Allocation::LeastWorn => "least_worn",
            };
            lines.push(line("ftl", "page"));
            choice("ftl.page.gc", gc, lines);
            lines.push(line("ftl.page.survivors", placement.name));
            lines.push(line("ftl.page.trigger", trigger));
            lines.push(line("ftl.page.allocation", allocation));
            choice("ftl.page.map", map, lines);
        }
        FtlChoice::Log(log, log_blocks) => {
            choice("ftl", log, lines);
            lines.push(line(&format!("ftl.{}.log (blocks)", log.info.name), log_blocks));
        }
    }
}

/// What was chosen from a table, and its parameters.
fn choice<R>(key: &str, choice: &Choice<R>, lines: &mut Vec<Line>) {
    lines.push(line(key, choice.info.name));
    for parameter in choice.info.parameters.iter().filter(|parameter| !parameter.is_fixed()) {
        let key = format!("{key}.{}.{}", choice.info.name, parameter.name);
        lines.push((key, parameter.unit.write(choice.get(parameter.name))));
    }
}

fn line(key: &str, value: impl ToString) -> Line {
    (key.into(), value.to_string())
}
