//! Finds the settings that a user must restore to open a drive stored in a file.

use ssdlab_core::difference::Line;

/// Returns a remedy: changes to the configuration `now` that make it fit a drive created with the settings `then`.
/// Returns None if all settings that shape the drive are equal.
pub(super) fn restored(then: &[Line], now: &[Line]) -> Option<String> {
    const SHAPE: [&str; 8] =
        ["channels", "ways", "dies", "planes", "page_size", "pages_per_block", "order", "word_line"];
    let shapes = |key: &str| match key.split_once('.') {
        None => key == "ftl",
        Some((section, name)) => matches!(section, "ftl" | "device") || section == "nand" && SHAPE.contains(&name),
    };
    let differs = |line: &&Line| shapes(&line.0) && !now.contains(line);
    let settings: Vec<_> = then.iter().filter(differs).map(|(key, was)| format!("{key}={was}")).collect();
    let had = |beginning: &str| then.iter().any(|(was, _)| was.starts_with(beginning));
    let new = now.iter().map(|(key, _)| key).filter(|key| !then.iter().any(|(was, _)| was == *key));
    // The user must also remove settings that conflict with the restored settings, and settings of an FTL or map that
    // the stored drive does not use.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn line(key: &str, value: impl ToString) -> Line {
        (key.into(), value.to_string())
    }

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
}
