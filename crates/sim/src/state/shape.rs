//! What shapes the state of a drive: the settings in which two drives must agree for one to go on from the other.
//!
//! Time is not among them: how long operations take, how dies are scheduled and how requests come in may differ.

use ssdlab_core::Choice;
use ssdlab_core::units::write_bytes;
use ssdlab_ftl::FtlChoice;
use ssdlab_ftl::page::{Allocation, PageOptions, Trigger};
use ssdlab_nand::{Geometry, ProgramOrder};

use crate::setup::{Overwrite, Precondition, Setup};

/// A setting and its value.
pub(super) type Line = (String, String);

/// What shapes the state, one line for each setting.
pub(super) fn shape(setup: &Setup) -> Vec<Line> {
    let Geometry { page_bytes, pages_per_block, blocks, order, parallelism } = setup.geometry;
    let order = match order {
        ProgramOrder::Any => "any",
        ProgramOrder::Ascending => "ascending",
    };
    let mut lines = vec![
        line("device.capacity", write_bytes(setup.capacity_bytes())),
        line("nand.page_size", write_bytes(page_bytes.into())),
        line("nand.pages_per_block", pages_per_block),
        line("nand.channels, ways, dies and planes (planes in all)", parallelism.planes()),
        line("device.op (erase blocks)", blocks),
        line("nand.order", order),
        line("check", setup.check),
    ];
    ftl(&setup.ftl, &mut lines);
    lines
}

/// What else a preconditioned drive depends on.
pub(super) fn preconditioning(setup: &Setup) -> Vec<Line> {
    let Precondition { fill, overwrite } = setup.precondition;
    let overwrite = match overwrite {
        Overwrite::None => "none".into(),
        Overwrite::Passes(passes) => format!("{passes} passes"),
        Overwrite::Trace(repeat) => format!("trace, {repeat:?}"),
        Overwrite::Steady(method) => format!("steady, {}", method.name()),
    };
    let fill = line("precondition.fill", fill);
    vec![fill, line("precondition.overwrite", overwrite), line("seed", setup.seed)]
}

fn ftl(ftl: &FtlChoice, lines: &mut Vec<Line>) {
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

/// The first setting in which a drive saved with `then` differs from one with `now`.
pub(super) fn difference(then: &[Line], now: &[Line]) -> Option<String> {
    let value = |lines: &[Line], key: &str| lines.iter().find(|line| line.0 == key).map(|line| line.1.clone());
    let (key, then, now) = then.iter().chain(now).find_map(|(key, _)| {
        let (then, now) = (value(then, key), value(now, key));
        (then != now).then_some((key, then, now))
    })?;
    let written = |value: Option<String>| value.unwrap_or_else(|| "without it".into());
    Some(format!("it was saved with {key} = {}, and this run has {}", written(then), written(now)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_named() {
        let then = [line("a", 1), line("b", "x"), line("c", 3)];
        assert_eq!(difference(&then, &then), None);
        let other = [line("a", 1), line("b", "y"), line("c", 4)];
        assert_eq!(difference(&then, &other).unwrap(), "it was saved with b = x, and this run has y");
        assert_eq!(difference(&then[..2], &then).unwrap(), "it was saved with c = without it, and this run has 3");
        assert_eq!(difference(&then, &then[..2]).unwrap(), "it was saved with c = 3, and this run has without it");
    }
}
