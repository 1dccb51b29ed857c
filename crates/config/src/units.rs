//! Quantities as text: each value in one form, which reads back as the same value.

use ssdlab_core::units::parse_percent;

const BYTE_UNITS: &[(&str, u64)] = &[
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("B", 1),
];

const TIME_UNITS: &[(&str, u64)] = &[("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];

const BANDWIDTH_UNITS: &[(&str, u64)] = &[
    ("GiB/s", 1 << 30),
    ("MiB/s", 1 << 20),
    ("KiB/s", 1 << 10),
    ("GB/s", 1_000_000_000),
    ("MB/s", 1_000_000),
    ("kB/s", 1_000),
];

const RATE_UNITS: &[(&str, u64)] = &[("M/s", 1_000_000), ("k/s", 1_000), ("/s", 1)];

/// The number before the percent sign; the unit reader checks the form but yields the share.
pub(crate) fn percent(text: &str) -> Result<f64, String> {
    let share = parse_percent(text).map_err(|error| error.to_string())?;
    let number = text.trim().trim_end_matches('%').trim_end();
    Ok(number.parse().unwrap_or(share * 100.0))
}

/// The unit in which the value is the smallest whole number; binary units win ties because they come first.
fn write_whole(value: u64, units: &[(&str, u64)]) -> String {
    let whole = units.iter().filter(|(_, scale)| value > 0 && value.is_multiple_of(*scale));
    match whole.min_by_key(|(_, scale)| value / scale) {
        Some((unit, scale)) => format!("{}{unit}", value / scale),
        None => format!("{value}{}", units.last().map_or("", |(unit, _)| unit)),
    }
}

pub(crate) fn write_bytes(bytes: u64) -> String {
    write_whole(bytes, BYTE_UNITS)
}

pub(crate) fn write_bandwidth(bytes: u64) -> String {
    write_whole(bytes, BANDWIDTH_UNITS)
}

pub(crate) fn write_rate(rate: u64) -> String {
    write_whole(rate, RATE_UNITS)
}

/// Durations keep their decimals: 70.06us, not 70060ns.
pub(crate) fn write_nanos(nanos: u64) -> String {
    let &(unit, scale) = TIME_UNITS.iter().find(|(_, scale)| nanos >= *scale).unwrap_or(&("ns", 1));
    let fraction = format!("{:0width$}", nanos % scale, width = scale.ilog10() as usize);
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{}{point}{fraction}{unit}", nanos / scale)
}

pub(crate) fn write_percent(percent: f64) -> String {
    format!("{percent}%")
}

pub(crate) fn write_float(number: f64) -> String {
    format!("{number:?}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdlab_core::{Bytes, Nanos};

    #[test]
    fn values_have_one_form() {
        for (bytes, text) in [
            (0, "0B"),
            (512, "512B"),
            (4096, "4KiB"),
            (1536, "1536B"),
            (480_000_000_000, "480GB"),
            (1_024_000, "1000KiB"),
            (30_480 << 20, "30480MiB"),
        ] {
            assert_eq!(write_bytes(bytes), text);
            assert_eq!(Bytes::parse(text), Ok(Bytes(bytes)));
        }
        for (nanos, text) in [
            (0, "0ns"),
            (7, "7ns"),
            (25_000, "25us"),
            (70_060, "70.06us"),
            (1_500_000, "1.5ms"),
            (1 << 40, "1099.511627776s"),
        ] {
            assert_eq!(write_nanos(nanos), text);
            assert_eq!(Nanos::parse(text), Ok(Nanos(nanos)));
        }
        assert_eq!(write_rate(20_000), "20k/s");
        assert_eq!(write_bandwidth(3_500_000_000), "3500MB/s");
        assert_eq!(write_percent(7.0), "7%");
        assert_eq!(write_percent(12.5), "12.5%");
    }
}
