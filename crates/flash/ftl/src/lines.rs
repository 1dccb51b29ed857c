//! Settings that shape the state of a drive, as lines of text. A drive can only resume from a state with equal lines.

use ssdlab_core::Choice;
use ssdlab_core::units::write_bytes;
use ssdlab_nand::ProgramOrder;

use crate::page::{Allocation, PageOptions, Trigger};
use crate::{FtlChoice, Shape};

/// Key and value of a setting.
pub type Line = (String, String);

/// Lists the settings that shape the state of a drive, by their configuration keys.
pub fn lines(shape: &Shape, ftl: &FtlChoice) -> Vec<Line> {
    let Shape { logical_pages, page_bytes, blocks, pages_per_block, order, planes } = *shape;
    let order = match order {
        ProgramOrder::Any => "any",
        ProgramOrder::Ascending => "ascending",
    };
    // The first difference is reported. So choices come before values that follow from them, such as block counts that
    // follow from the map.
    let mut lines = Vec::new();
    ftl_lines(ftl, &mut lines);
    lines.extend([
        line("device.capacity", write_bytes(u64::from(logical_pages) * u64::from(page_bytes))),
        line("nand.page_size", write_bytes(page_bytes.into())),
        line("nand.pages_per_block", pages_per_block),
        line("nand.channels, ways, dies and planes (planes in all)", planes),
        line("device.op (erase blocks)", blocks),
        line("nand.order", order),
    ]);
    if let FtlChoice::Log(log, log_blocks) = ftl {
        lines.push(line(&format!("ftl.{}.log (blocks)", log.info.name), log_blocks));
    }
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
        FtlChoice::Log(log, _) => choice("ftl", log, lines),
    }
}

/// Adds a choice from a registry and its parameters.
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

/// Difference between two drives, in words for the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Value of the first drive, such as `ftl = page` or `77 erase blocks (device.op)`.
    pub then: String,
    /// Value of the second drive.
    pub now: String,
    /// Settings that make the second drive like the first.
    pub remedy: String,
}

/// Returns the first setting in which two drives differ.
pub fn difference(then: &[Line], now: &[Line]) -> Option<Difference> {
    let value = |lines: &[Line], key: &str| lines.iter().find(|line| line.0 == key).map(|line| line.1.clone());
    let (key, was, is) = then.iter().chain(now).find_map(|(key, _)| {
        let (was, is) = (value(then, key), value(now, key));
        (was != is).then_some((key, was, is))
    })?;
    // The key of a count lists the settings that determine it and, in brackets, its unit.
    let counted = key.strip_suffix(')').and_then(|key| key.split_once(" ("));
    let (was, remedy) = match (was, counted) {
        (None, _) => (format!("no {key}"), format!("remove {key}")),
        (Some(was), Some((keys, unit))) => {
            (format!("{was} {unit} ({keys})"), format!("restore the earlier value of {keys}"))
        }
        // A line with several values cannot be typed as a setting.
        (Some(was), None) if was.contains(", ") => {
            (format!("{key} = {was}"), format!("restore the earlier value of {key}"))
        }
        (Some(was), None) => (format!("{key} = {was}"), format!("set {key}={was}{}", others(then, now, key))),
    };
    Some(Difference { then: was, now: is.unwrap_or_else(|| "none".into()), remedy })
}

/// Returns the settings to type so that a configuration with the lines `now` makes a drive with the lines `then`; None
/// if both are equal.
pub fn restored(then: &[Line], now: &[Line]) -> Option<String> {
    const SHAPE: [&str; 7] = ["channels", "ways", "dies", "planes", "page_size", "pages_per_block", "order"];
    let shapes = |key: &str| match key.split_once('.') {
        None => key == "ftl",
        Some((section, name)) => matches!(section, "ftl" | "device") || section == "nand" && SHAPE.contains(&name),
    };
    let differs = |line: &&Line| shapes(&line.0) && !now.contains(line);
    let settings: Vec<_> = then.iter().filter(differs).map(|(key, was)| format!("{key}={was}")).collect();
    let had = |beginning: &str| then.iter().any(|(was, _)| was.starts_with(beginning));
    let new = now.iter().map(|(key, _)| key).filter(|key| !then.iter().any(|(was, _)| was == *key));
    // Alternatives to these settings must be left out. So must settings of another FTL or map, if they were typed.
    let mut out: Vec<_> = new
        .filter_map(|key| match key.split('.').collect::<Vec<_>>()[..] {
            ["device", ..] => Some(format!("; remove {key}")),
            ["ftl", name, ..] if !had(&format!("ftl.{name}.")) => Some(format!("; remove any ftl.{name}.*")),
            ["ftl", ..] => Some(format!("; remove any {key}")),
            _ => None,
        })
        .collect();
    out.dedup();
    (!settings.is_empty()).then(|| format!("set {}{}", settings.join(" and "), out.concat()))
}

/// Returns further settings in which both drives differ, after `first`. Leaves out counts, which follow from settings.
fn others(then: &[Line], now: &[Line], first: &str) -> String {
    let differs = |(key, was): &&Line| now.iter().any(|(other, is)| other == key && is != was);
    let plain = |(key, was): &&Line| key != first && !key.ends_with(')') && !was.contains(", ");
    then.iter().filter(differs).filter(plain).map(|(key, was)| format!(" and {key}={was}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_shape_a_drive_are_restored() {
        let then =
            [line("device.op", "7%"), line("ftl", "page"), line("ftl.page.map", "ram"), line("nand.read", "1us")];
        let now = [line("device.spare", "7%"), line("ftl", "fast"), line("nand.read", "2us")];
        assert_eq!(
            restored(&then, &now).as_deref(),
            Some("set device.op=7% and ftl=page and ftl.page.map=ram; remove device.spare")
        );
        assert_eq!(restored(&then, &then), None);
        let typed = [line("ftl", "bast"), line("ftl.bast.log", 4), line("ftl.bast.order", "fifo")];
        assert_eq!(
            restored(&then[1..3], &typed).as_deref(),
            Some("set ftl=page and ftl.page.map=ram; remove any ftl.bast.*")
        );
        let mapped = [line("ftl", "page"), line("ftl.page.map", "dftl"), line("ftl.page.map.dftl.cache", 8)];
        assert_eq!(
            restored(&then[1..3], &mapped).as_deref(),
            Some("set ftl.page.map=ram; remove any ftl.page.map.dftl.cache")
        );
    }

    #[test]
    fn the_first_difference_is_named() {
        let then = [line("a", 1), line("b", "x"), line("c", 3)];
        assert_eq!(difference(&then, &then), None);
        let told = |then: &[Line], now: &[Line]| {
            let Difference { then, now, remedy } = difference(then, now).expect("they differ");
            format!("{then}; {now}; {remedy}")
        };
        assert_eq!(told(&then, &[line("a", 1), line("b", "y"), line("c", 4)]), "b = x; y; set b=x and c=3");
        assert_eq!(told(&then[..2], &then), "no c; 3; remove c");
        assert_eq!(told(&then, &then[..2]), "c = 3; none; set c=3");
        let blocks = |count: u32| [line("device.op (erase blocks)", count)];
        assert_eq!(
            told(&blocks(77), &blocks(83)),
            "77 erase blocks (device.op); 83; restore the earlier value of device.op"
        );
        let trigger = |low: u32| [line("ftl.page.trigger", format!("batch, low {low}, high 9"))];
        let expected = "ftl.page.trigger = batch, low 2, high 9; batch, low 3, high 9; \
                        restore the earlier value of ftl.page.trigger";
        assert_eq!(told(&trigger(2), &trigger(3)), expected);
    }
}
