//! Shares and numbers as text: each value in one form, which reads back as the same value.

use ssdlab_core::units::parse_percent;

/// The number before the percent sign; the unit reader checks the form but yields the share.
pub(crate) fn percent(text: &str) -> Result<f64, String> {
    let share = parse_percent(text).map_err(|error| error.to_string())?;
    let number = text.trim().trim_end_matches('%').trim_end();
    Ok(number.parse().unwrap_or(share * 100.0))
}

pub(crate) fn write_float(number: f64) -> String {
    format!("{number:?}")
}
