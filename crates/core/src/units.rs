//! Quantities with units, as people write them: `"4KiB"`, `"4g"`, `"25us"`, `"7%"`, `"20k/s"`, `"1e6"`.
//!
//! Prefixes of bytes are binary in `KiB` and `K`, and decimal in `kB`. Prefixes of counts and rates are decimal. Case
//! is ignored. A quantity without a unit is an error, except for counts, and for durations and percentages of 0.
//! Durations, counts and rates must be whole numbers of the smallest unit: `"1.5us"` is 1,500 ns, but `"1.3ns"` is an
//! error. Sizes and bandwidths are rounded to whole bytes, because ssdlab prints sizes with two decimals and users type
//! them back.

/// A size in bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Bytes(pub u64);

/// A duration or point in simulated time, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Nanos(pub u64);

/// Error: a quantity cannot be read. The message says what is wrong and how to write a quantity.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum UnitError {
    /// The text is not a quantity, or its unit is missing.
    #[error("{0}")]
    Malformed(String),
    /// The text is a quantity that exceeds 64 bits; the second string is the largest possible quantity.
    #[error("{0:?} is too large; the maximum is {1}")]
    TooLarge(String, String),
}

/// Binary units in ascending order, then decimal units.
const BYTE_UNITS: &[(&str, u64)] = &[
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
];

/// Size units that are accepted but never printed: prefixes without `B`, which are binary as in `dd`, `qemu` and fio.
const SHORT_BYTE_UNITS: &[(&str, u64)] = &[("K", 1 << 10), ("M", 1 << 20), ("G", 1 << 30), ("T", 1 << 40)];

const TIME_UNITS: &[(&str, u64)] = &[("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];

/// Spellings of microseconds that are accepted but never printed: with the micro sign or the Greek letter mu.
const SHORT_TIME_UNITS: &[(&str, u64)] = &[("\u{b5}s", 1_000), ("\u{3bc}s", 1_000)];

const BANDWIDTH_UNITS: &[(&str, u64)] = &[
    ("kB/s", 1_000),
    ("MB/s", 1_000_000),
    ("GB/s", 1_000_000_000),
    ("KiB/s", 1 << 10),
    ("MiB/s", 1 << 20),
    ("GiB/s", 1 << 30),
];

const RATE_UNITS: &[(&str, u64)] = &[("/s", 1), ("k/s", 1_000), ("M/s", 1_000_000)];

const COUNT_UNITS: &[(&str, u64)] = &[("k", 1_000), ("M", 1_000_000), ("G", 1_000_000_000)];

/// Splits `"1.5KiB"` into `("1.5", "KiB")`.
fn split_number(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

/// Handling of a quantity that is not a whole number of base units, such as `1.34GiB`.
#[derive(Clone, Copy, PartialEq)]
enum Fraction {
    Refused,
    /// Rounds the quantity to the nearest whole number of base units; halves are rounded up.
    Rounded,
}

const TOO_LARGE: &str = "the value is too large";

/// Splits `"e30GiB"` into 30 and `"GiB"`; without an exponent the number is 0.
fn split_exponent(unit: &str) -> (u32, &str) {
    let Some(rest) = unit.strip_prefix(['e', 'E']) else { return (0, unit) };
    let rest = rest.strip_prefix('+').unwrap_or(rest);
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    match rest[..end].parse() {
        Ok(exponent) => (exponent, rest[end..].trim_start()),
        // An exponent that overflows 32 bits is replaced by the largest possible exponent.
        Err(_) if end > 0 => (u32::MAX, rest[end..].trim_start()),
        Err(_) => (0, unit),
    }
}

/// Returns `number` times `multiplier` times 10 to the power of `exponent`. If `number` is invalid, the error says why.
fn product(number: &str, exponent: u32, multiplier: u64, rest: Fraction) -> Result<u64, &'static str> {
    let number: String = number.chars().filter(|&c| c != '_').collect();
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    if whole.is_empty() || (number.contains('.') && fraction.is_empty()) || fraction.contains('.') {
        return Err("the number is malformed");
    }
    if fraction.len() > 18 {
        return Err("the number has more than 18 decimal places");
    }
    let scale = 10_u128.pow(fraction.len() as u32);
    let digits: u128 = format!("{whole}{fraction}").parse().map_err(|_| TOO_LARGE)?;
    let multiplier = 10_u64.checked_pow(exponent).and_then(|power| power.checked_mul(multiplier)).ok_or(TOO_LARGE)?;
    let scaled = digits.checked_mul(u128::from(multiplier)).ok_or(TOO_LARGE)?;
    // A fraction of the smallest unit, such as half a byte, is always an error.
    if !scaled.is_multiple_of(scale) && (rest == Fraction::Refused || multiplier == 1) {
        return Err("fractions of the smallest unit are not allowed");
    }
    u64::try_from(scaled / scale + u128::from(scaled % scale >= scale.div_ceil(2))).map_err(|_| TOO_LARGE)
}

/// No two units differ in case only.
fn multiplier(units: &[(&str, u64)], unit: &str) -> Option<u64> {
    units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).map(|(_, multiplier)| *multiplier)
}

fn too_large(text: &str, units: &[(&str, u64)]) -> UnitError {
    let (unit, multiplier) = units.iter().max_by_key(|(_, multiplier)| multiplier).unwrap_or(&("", 1));
    UnitError::TooLarge(text.into(), format!("{}{unit}", u64::MAX / multiplier))
}

fn parse(
    text: &str,
    what: &str,
    units: &[(&str, u64)],
    short: &[(&str, u64)],
    rest: Fraction,
    examples: &str,
) -> Result<u64, UnitError> {
    let fail =
        |why: &str| Err(UnitError::Malformed(format!("{text:?} is not {what}: {why}; write it like {examples}")));
    let (number, unit) = split_number(text);
    if number.is_empty() {
        return fail("the text does not start with a number");
    }
    let (exponent, unit) = split_exponent(unit);
    if unit.starts_with("e-") || unit.starts_with("E-") {
        return fail("the exponent is negative");
    }
    if unit.is_empty() {
        return fail("the unit is missing");
    }
    let Some(multiplier) = multiplier(units, unit).or_else(|| multiplier(short, unit)) else {
        let known: Vec<&str> = units.iter().map(|(name, _)| *name).collect();
        return fail(&format!("unknown unit {unit:?} (known: {})", known.join(", ")));
    };
    match product(number, exponent, multiplier, rest) {
        Err(TOO_LARGE) => Err(too_large(text, units)),
        other => other.or_else(fail),
    }
}

impl Bytes {
    /// Reads sizes such as `"4KiB"`, `"64 gib"`, `"64G"` (binary), `"480GB"` (decimal) and `"512B"`. Rounds sizes such
    /// as `"1.34GiB"` to the nearest byte.
    pub fn parse(text: &str) -> Result<Self, UnitError> {
        Self::read(text, Fraction::Rounded)
    }

    /// Reads a size that must be a whole number of bytes; fractions of a byte are an error instead of being rounded.
    pub fn parse_exact(text: &str) -> Result<Self, UnitError> {
        Self::read(text, Fraction::Refused)
    }

    fn read(text: &str, rest: Fraction) -> Result<Self, UnitError> {
        parse(text, "a size", BYTE_UNITS, SHORT_BYTE_UNITS, rest, "\"4KiB\" (1024) or \"4kB\" (1000)").map(Bytes)
    }
}

impl Nanos {
    /// A duration of zero.
    pub const ZERO: Self = Self(0);

    /// Reads `"25us"`, `"1.5ms"`, `"70060ns"`, `"2s"`; `"0"` needs no unit.
    pub fn parse(text: &str) -> Result<Self, UnitError> {
        if text.trim() == "0" {
            return Ok(Self::ZERO);
        }
        parse(text, "a duration", TIME_UNITS, SHORT_TIME_UNITS, Fraction::Refused, "\"25us\" or \"1.5ms\"").map(Nanos)
    }
}

/// Writes a percentage with a percent sign: `12.5%`.
pub fn write_percent(percent: f64) -> String {
    format!("{percent}%")
}

/// Reads a share such as `"7%"` as the fraction 0.07.
pub fn parse_percent(text: &str) -> Result<f64, UnitError> {
    let fail =
        |why: &str, remedy: &str| UnitError::Malformed(format!("{text:?} is not a percentage: {why}; write {remedy}"));
    let malformed = |why| fail(why, "it like \"7%\" or \"12.5%\"");
    let Some(number) = text.trim().strip_suffix('%').map(str::trim_end) else {
        const UNSIGNED: &str = "the % sign is missing";
        return Err(match text.trim().parse::<f64>() {
            // A zero needs no % sign, because 0 % and the fraction 0 are the same value.
            Ok(0.0) => return Ok(0.0),
            Ok(number) if (0.0..=MOST_WHOLES).contains(&number) => ambiguous_share(text, number),
            Ok(number) if number.is_finite() && number > 0.0 => fail(UNSIGNED, &format!("{:?}", write_percent(number))),
            Ok(number) if number < 0.0 => malformed("the value is negative"),
            _ => malformed(UNSIGNED),
        });
    };
    if !number.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(malformed(if number.starts_with('-') {
            "the value is negative"
        } else {
            "the text does not start with a number"
        }));
    }
    if number.contains(['e', 'E']) {
        return Err(malformed("an exponent is not allowed"));
    }
    let value: f64 = number.parse().map_err(|_| malformed("the number is malformed"))?;
    Ok(value / 100.0)
}

/// Above this limit, a number without a unit can only be a percentage, because no setting accepts more than 1000 %.
const MOST_WHOLES: f64 = 10.0;

/// Error for a number without `%` that may mean percent or a fraction of 1; it shows both spellings.
fn ambiguous_share(text: &str, number: f64) -> UnitError {
    let text = text.trim();
    // Rounds the percentage to a billionth, because the multiplication by 100 has a binary rounding error.
    let of_one = (number * 1e11).round() / 1e9;
    let [percent, share] = [number, of_one].map(write_percent);
    UnitError::Malformed(format!(
        "{text:?} is ambiguous without a % sign; write \"{percent}\", or \"{share}\" if you mean a fraction"
    ))
}

/// Reads a number such as `"1000"`, `"1_000"`, `"20k"`, `"1.5M"` or `"1e6"`; prefixes such as `k` are decimal.
pub fn parse_count(text: &str) -> Result<u64, UnitError> {
    let (number, unit) = split_number(text);
    let (exponent, unit) = split_exponent(unit);
    let multiplier = if unit.is_empty() { Some(1) } else { multiplier(COUNT_UNITS, unit) };
    match multiplier.map(|multiplier| product(number, exponent, multiplier, Fraction::Refused)) {
        Some(Ok(count)) => Ok(count),
        Some(Err(TOO_LARGE)) => Err(too_large(text, COUNT_UNITS)),
        _ => Err(UnitError::Malformed(format!(
            "{text:?} is not a whole number; write it like \"1000\", \"20k\", \"1M\" or \"1e6\""
        ))),
    }
}

/// Reads a rate such as `"20k/s"` as events per second.
pub fn parse_rate(text: &str) -> Result<f64, UnitError> {
    parse(text, "a rate", RATE_UNITS, &[], Fraction::Refused, "\"500/s\", \"20k/s\" or \"1M/s\"")
        .map(|rate| rate as f64)
}

/// Reads a bandwidth such as `"600MB/s"` as bytes per second, rounded to the nearest whole number.
pub fn parse_bandwidth(text: &str) -> Result<u64, UnitError> {
    if text.trim_end().ends_with("b/s") {
        return Err(UnitError::Malformed(format!("{text:?} is in bits (b); use bytes (B), such as \"600MB/s\"")));
    }
    parse(text, "a bandwidth", BANDWIDTH_UNITS, &[], Fraction::Rounded, "\"600MB/s\" or \"3.5GB/s\"")
}

/// Writes a value in the given unit, with decimals if necessary. The scale of the unit must be a power of ten.
fn with_decimals(value: u64, &(unit, scale): &(&str, u64)) -> String {
    let fraction = format!("{:0width$}", value % scale, width = scale.ilog10() as usize);
    let fraction = fraction.trim_end_matches('0');
    let fraction = if scale == 1 { "" } else { fraction };
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{}{point}{fraction}{unit}", value / scale)
}

/// Writes a value in the largest unit in which it is a whole number, or else with decimals in the first unit.
fn write_whole(value: u64, units: &[(&str, u64)]) -> String {
    let whole = units.iter().filter(|(_, scale)| value > 0 && value.is_multiple_of(*scale));
    match whole.min_by_key(|(_, scale)| value / scale) {
        Some((unit, scale)) => format!("{}{unit}", value / scale),
        None => with_decimals(value, &units[0]),
    }
}

/// Writes a size without rounding, in the canonical form: `4KiB`. [`Bytes::parse`] reads it back.
pub fn write_bytes(bytes: u64) -> String {
    write_whole(bytes, BYTE_UNITS)
}

/// Writes a bandwidth without rounding, in the canonical form: `600MB/s`. [`parse_bandwidth`] reads it back.
pub fn write_bandwidth(bytes: u64) -> String {
    write_whole(bytes, BANDWIDTH_UNITS)
}

/// Writes a rate without rounding, in the canonical form: `20k/s`. [`parse_rate`] reads it back.
pub fn write_rate(rate: u64) -> String {
    write_whole(rate, RATE_UNITS)
}

/// Writes a duration without rounding, perhaps with decimals: `70.06us`. [`Nanos::parse`] reads it back.
pub fn write_nanos(nanos: u64) -> String {
    with_decimals(nanos, TIME_UNITS.iter().rev().find(|(_, scale)| nanos >= *scale).unwrap_or(&TIME_UNITS[0]))
}

/// Writes a count with its noun in singular or plural: `2 blocks`, `1 block`.
pub fn counted(count: u64, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// Writes a value with three significant digits, in the largest unit in which the value is at least one.
fn scaled(value: u64, units: &[(&str, u64)]) -> String {
    let &(name, scale) = units.iter().rev().find(|(_, scale)| value >= *scale).unwrap_or(&units[0]);
    let number = value as f64 / scale as f64;
    let decimals = if scale == 1 || number >= 100.0 {
        0
    } else if number >= 10.0 {
        1
    } else {
        2
    };
    format!("{number:.decimals$} {name}")
}

/// Writes the size with a binary prefix.
impl std::fmt::Display for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&scaled(self.0, &BYTE_UNITS[..5]))
    }
}

impl std::fmt::Display for Nanos {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&scaled(self.0, TIME_UNITS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_exact() {
        assert_eq!(Bytes::parse("4KiB"), Ok(Bytes(4096)));
        assert_eq!(Bytes::parse("1.5KiB"), Ok(Bytes(1536)));
        assert_eq!(Bytes::parse("480 GB"), Ok(Bytes(480_000_000_000)));
        assert_eq!(Bytes::parse("1_024B"), Ok(Bytes(1024)));
        for (text, bytes) in [("4G", 4 << 30), ("4gib", 4 << 30), ("4 GiB", 4 << 30), ("4kb", 4000), ("1.5m", 3 << 19)]
        {
            assert_eq!(Bytes::parse(text), Ok(Bytes(bytes)), "{text}");
        }
        for wrong in ["1.3B", "4", "4Kbit", "KiB", "", "-4KiB", "99999999TiB", "4.KiB", "1..5KiB", ".5KiB"] {
            assert!(Bytes::parse(wrong).is_err(), "{wrong} was accepted");
        }
    }

    /// Users can type printed sizes back, although `1.34 GiB` is not a whole number of bytes.
    #[test]
    fn fractions_of_units_of_bytes_are_rounded_to_whole_bytes() {
        for (text, bytes) in [
            ("1.34GiB", 1_438_814_044),
            ("0.1MiB", 104_858),
            ("2.7 GiB", 2_899_102_925),
            ("0.0005KiB", 1),
            ("0.0004KiB", 0),
            ("0.0005kB", 1),
            ("1.0000000000000001TiB", 1 << 40),
        ] {
            assert_eq!(Bytes::parse(text), Ok(Bytes(bytes)), "{text}");
        }
        for bytes in [1 << 30, 1_438_814_044, 36_100_001, 5_000_000_000_000] {
            let shown = Bytes(bytes).to_string();
            assert!(Bytes::parse(&shown).unwrap().0.abs_diff(bytes) <= bytes / 200, "{shown}");
        }
        assert_eq!(parse_bandwidth("0.1MiB/s"), Ok(104_858));
        let why = |text| Bytes::parse(text).unwrap_err().to_string();
        assert!(why("1.3B").contains("is not a size: fractions of the smallest unit are not allowed; write it like"));
        // 2^64 - 1 bytes are 16,777,216 TiB less one byte.
        let most = "is too large; the maximum is 16777215TiB";
        assert_eq!(why("99999999TiB"), format!("\"99999999TiB\" {most}"));
        assert_eq!(why("1e30GiB"), format!("\"1e30GiB\" {most}"));
        assert_eq!(why("1e99999999999GiB"), format!("\"1e99999999999GiB\" {most}"));
        assert_eq!(
            why("1e-5B"),
            "\"1e-5B\" is not a size: the exponent is negative; write it like \"4KiB\" (1024) or \"4kB\" (1000)"
        );
        assert_eq!([Bytes::parse("1.5e3B"), Bytes::parse("0.1e+1KiB")], [Ok(Bytes(1500)), Ok(Bytes(1024))]);
        assert_eq!((Bytes::parse("1e3KiB"), Bytes::parse("2E0 GiB")), (Ok(Bytes(1_024_000)), Ok(Bytes(2 << 30))));
        assert!(why("99999999999999999999999999999999999999999B").contains("is too large"));
        assert!(why("16777215.999999999999999TiB").contains("is too large"));
        assert!(why("4.KiB").contains("the number is malformed"));
        assert!(why("1.0000000000000000001KiB").contains("the number has more than 18 decimal places"));
        assert!(Bytes::parse_exact("1.3KiB").is_err() && Bytes::parse_exact("1.5KiB") == Ok(Bytes(1536)));
        assert!(
            Nanos::parse("1.3ns").is_err() && Nanos::parse("1.0001us").is_err() && parse_rate("1.0005k/s").is_err()
        );
    }

    #[test]
    fn durations_rates_and_shares() {
        assert_eq!(Nanos::parse("70.06us"), Ok(Nanos(70_060)));
        assert_eq!(Nanos::parse("2ms"), Ok(Nanos(2_000_000)));
        assert_eq!(["25\u{b5}s", "25\u{3bc}s", "25 US"].map(Nanos::parse), [const { Ok(Nanos(25_000)) }; 3]);
        assert_eq!(Nanos::parse("0"), Ok(Nanos::ZERO));
        assert!(Nanos::parse("25").unwrap_err().to_string().contains("unit is missing"));
        assert!(Nanos::parse("25µm").unwrap_err().to_string().contains("known: ns, us, ms, s"));
        assert_eq!((write_percent(7.0), write_percent(12.5)), ("7%".into(), "12.5%".into()));
        assert_eq!(parse_percent("7%"), Ok(0.07));
        assert_eq!(parse_percent("12.5 %"), Ok(0.125));
        assert_eq!((parse_percent("0"), parse_percent("0.0")), (Ok(0.0), Ok(0.0)));
        assert!(parse_percent("-7%").unwrap_err().to_string().contains("the value is negative"));
        assert!(parse_percent("1e1%").unwrap_err().to_string().contains("an exponent is not allowed"));
        assert!(
            parse_percent("device.op=7%").unwrap_err().to_string().contains("the text does not start with a number")
        );
        assert!(parse_percent("7").is_err() && parse_percent("%").is_err() && parse_percent("nan%").is_err());
        let ambiguous = |text| parse_percent(text).unwrap_err().to_string();
        assert_eq!(
            ambiguous("7"),
            "\"7\" is ambiguous without a % sign; write \"7%\", or \"700%\" if you mean a fraction"
        );
        assert_eq!(
            ambiguous("0.07"),
            "\"0.07\" is ambiguous without a % sign; write \"0.07%\", or \"7%\" if you mean a fraction"
        );
        assert_eq!(ambiguous("95"), "\"95\" is not a percentage: the % sign is missing; write \"95%\"");
        assert!(ambiguous("-7").ends_with("negative; write it like \"7%\" or \"12.5%\""));
        assert_eq!([parse_rate("20k/s"), parse_rate("20K/s")], [Ok(20_000.0), Ok(20_000.0)]);
        assert_eq!(parse_bandwidth("3.5GB/s"), Ok(3_500_000_000));
        assert!(parse_bandwidth("600Mb/s").unwrap_err().to_string().contains("is in bits (b)"));
        assert!(parse_bandwidth("600MB").is_err() && parse_bandwidth("600Mb/s").is_err());
    }

    #[test]
    fn counts_have_decimal_prefixes_and_exponents() {
        for (text, count) in [
            ("1000", 1000),
            ("1_000", 1000),
            ("20k", 20_000),
            ("1M", 1_000_000),
            ("1m", 1_000_000),
            ("1e6", 1_000_000),
            ("1E+3", 1000),
            ("2.5k", 2500),
            ("1000000.0", 1_000_000),
            (" 7 ", 7),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(parse_count(text), Ok(count), "{text}");
        }
        let too_large = |text: &str| Err(UnitError::TooLarge(text.into(), "18446744073G".into()));
        for text in ["1e30", "18446744073709551616", "1e99999999999"] {
            assert_eq!(parse_count(text), too_large(text));
        }
        for wrong in ["", "k", "1.5", "-1", "1e-3", "1e30", "1e", "1Ki", "18446744073709551616", "1 000", "NaN"] {
            assert!(parse_count(wrong).is_err(), "{wrong} was accepted");
        }
    }

    #[test]
    fn display_keeps_three_digits() {
        assert_eq!(Bytes(4096).to_string(), "4.00 KiB");
        assert_eq!(Bytes(512).to_string(), "512 B");
        assert_eq!(Nanos(70_060).to_string(), "70.1 us");
        assert_eq!(Nanos(0).to_string(), "0 ns");
    }
    #[test]
    fn quantities_have_one_exact_form_that_reads_back() {
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
        assert_eq!((write_rate(20_000), parse_rate("20k/s")), ("20k/s".into(), Ok(20_000.0)));
        for (bytes, text) in [(3_500_000_000, "3500MB/s"), (1_000_500, "1000.5kB/s")] {
            assert_eq!(write_bandwidth(bytes), text);
            assert_eq!(parse_bandwidth(text), Ok(bytes));
        }
    }
}
