//! Fields of a text line and the numbers in them, parsed directly from bytes.
//!
//! A single pass over the digits of a number converts it and finds its end. Unusual input takes a slower path, which
//! also explains any fault.

use crate::fault::Fault;

pub(crate) const NOT_WHOLE: &str = "is not a whole number";
const NOT_A_NUMBER: &str = "is not a number";
/// Fault description for surplus fields after the last field of a format.
pub(crate) const SURPLUS: &str = "follows the last column: an extra field, or a second record on this line";
pub(crate) const TOO_LARGE: &str = "does not fit 64 bits";

/// Splits a line at commas or at runs of blanks, from left to right.
pub(crate) struct Fields<'a, const BLANKS: bool> {
    /// Part of the line that has not been split yet; `None` after the last field.
    rest: Option<&'a [u8]>,
}

/// Fields separated by commas, with optional blanks around them.
pub(crate) type Commas<'a> = Fields<'a, false>;
/// Fields separated by runs of spaces and tabs.
pub(crate) type Blanks<'a> = Fields<'a, true>;

impl<'a, const BLANKS: bool> Fields<'a, BLANKS> {
    #[inline]
    pub fn new(line: &'a [u8]) -> Self {
        Self { rest: Some(line) }
    }

    #[inline]
    fn ends(byte: u8) -> bool {
        if BLANKS { byte == b' ' || byte == b'\t' } else { byte == b',' }
    }

    /// Returns the rest of the line. If fields are separated by blanks, leading blanks are dropped.
    #[inline]
    pub fn rest(&self) -> Option<&'a [u8]> {
        let rest = self.rest?;
        if !BLANKS {
            return Some(rest);
        }
        let start = rest.iter().position(|&byte| !Self::ends(byte))?;
        Some(&rest[start..])
    }

    /// Returns the next field, trimmed; `None` after the last field.
    #[inline]
    pub fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest()?;
        let end = rest.iter().position(|&byte| Self::ends(byte));
        self.rest = end.map(|end| &rest[end + 1..]);
        let field = &rest[..end.unwrap_or(rest.len())];
        Some(if BLANKS { field } else { field.trim_ascii() })
    }

    /// Returns the next field, which must not be missing or empty.
    #[inline]
    pub fn text(&mut self, name: &'static str) -> Result<&'a [u8], Fault<'a>> {
        self.next().filter(|field| !field.is_empty()).ok_or(Fault::missing(name))
    }

    /// Fails if the line has further fields.
    #[inline]
    pub fn end(&mut self) -> Result<(), Fault<'a>> {
        let Some(rest) = self.rest() else { return Ok(()) };
        let more = self.next().filter(|more| !more.is_empty()).unwrap_or(rest);
        Err(Fault::new("", if more.is_empty() { b"," } else { more }, SURPLUS))
    }

    /// Parses the next field as a whole number.
    #[inline]
    pub fn number(&mut self, name: &'static str) -> Result<u64, Fault<'a>> {
        let rest = self.rest().ok_or(Fault::missing(name))?;
        let mut value = 0_u64;
        let mut digits = 0;
        for &byte in rest {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            digits += 1;
        }
        // Numbers of up to 19 digits cannot overflow 64 bits.
        if (1..=19).contains(&digits) {
            match rest.get(digits) {
                None => {
                    self.rest = None;
                    return Ok(value);
                }
                Some(&byte) if Self::ends(byte) => {
                    self.rest = Some(&rest[digits + 1..]);
                    return Ok(value);
                }
                Some(_) => {}
            }
        }
        let text = self.text(name)?;
        whole(text).map_err(Fault::of(name, text))
    }

    /// Parses the next field as a whole number and multiplies it by `scale`.
    #[inline]
    pub fn scaled(&mut self, name: &'static str, scale: u64) -> Result<u64, Fault<'a>> {
        let before = self.rest().unwrap_or_default();
        let value = self.number(name)?;
        value.checked_mul(scale).ok_or_else(|| {
            let end = before.iter().position(|&byte| Self::ends(byte)).unwrap_or(before.len());
            Fault::overflow(name, &before[..end])
        })
    }

    /// Parses the next field as a decimal number in units of `10^digits` ns (9 for seconds, 6 for milliseconds).
    #[inline]
    pub fn decimal(&mut self, name: &'static str, digits: u32) -> Result<u64, Fault<'a>> {
        let text = self.text(name)?;
        decimal(text, digits).map_err(Fault::of(name, text))
    }
}

const NEGATIVE: &str = "is negative";

fn is_negative(text: &[u8]) -> bool {
    matches!(text, [b'-', b'0'..=b'9' | b'.', ..])
}

/// Parses a whole number in decimal digits.
pub(crate) fn whole(text: &[u8]) -> Result<u64, &'static str> {
    if is_negative(text) {
        return Err(NEGATIVE);
    }
    let mut value = 0_u64;
    for &byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return Err(NOT_WHOLE);
        }
        value = value.checked_mul(10).and_then(|v| v.checked_add(u64::from(digit))).ok_or(TOO_LARGE)?;
    }
    if text.is_empty() { Err(NOT_WHOLE) } else { Ok(value) }
}

/// Parses a whole number in any notation: `4096`, `4096.0`, `4.096e3`, `1e+06`, `0x1000`.
pub(crate) fn integer(text: &[u8]) -> Result<u64, &'static str> {
    match whole(text) {
        Err(NOT_WHOLE) if matches!(text, [b'0', b'x' | b'X', ..]) => hexadecimal(text),
        Err(NOT_WHOLE) => scientific(text),
        result => result,
    }
}

/// Parses a whole number with an all-zero fraction or an exponent, exactly.
fn scientific(text: &[u8]) -> Result<u64, &'static str> {
    let end = text.iter().position(|byte| matches!(byte, b'e' | b'E')).unwrap_or(text.len());
    let (mantissa, exponent) = (&text[..end], text.get(end + 1..).unwrap_or(b"0"));
    let exponent: i32 = std::str::from_utf8(exponent).ok().and_then(|text| text.parse().ok()).ok_or(NOT_WHOLE)?;
    let point = mantissa.iter().position(|&byte| byte == b'.').unwrap_or(mantissa.len());
    let (before, after) = (&mantissa[..point], mantissa.get(point + 1..).unwrap_or_default());
    let zeros = after.iter().rev().take_while(|&&byte| byte == b'0').count();
    let digits = [before, &after[..after.len() - zeros]].concat();
    let value = whole(&digits)?;
    let shift = i64::from(exponent) - (after.len() - zeros) as i64;
    let power = |shift: i64| 10_u64.checked_pow(u32::try_from(shift).unwrap_or(u32::MAX));
    match power(shift.abs()) {
        _ if value == 0 => Ok(0),
        Some(power) if shift >= 0 => value.checked_mul(power).ok_or(TOO_LARGE),
        Some(power) if value.is_multiple_of(power) => Ok(value / power),
        _ if shift >= 0 => Err(TOO_LARGE),
        _ => Err(NOT_WHOLE),
    }
}

/// Parses a hexadecimal number with prefix `0x`.
pub(crate) fn hexadecimal(text: &[u8]) -> Result<u64, &'static str> {
    let digits = text.strip_prefix(b"0x").or(text.strip_prefix(b"0X")).ok_or("does not start with 0x")?;
    if digits.is_empty() {
        return Err("has no digits");
    }
    digits.iter().try_fold(0_u64, |value, &byte| {
        let digit = (byte as char).to_digit(16).ok_or("is not a hexadecimal number")?;
        if value >> 60 != 0 { Err(TOO_LARGE) } else { Ok(value << 4 | u64::from(digit)) }
    })
}

/// Returns the decimal number `text` times `10^digits`, rounded down. A number with an exponent is rounded to the
/// nearest whole number instead.
#[inline]
pub(crate) fn decimal(text: &[u8], digits: u32) -> Result<u64, &'static str> {
    let mut value = 0_u64;
    let mut left = None;
    for (index, &byte) in text.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            match &mut left {
                Some(0) => continue,
                Some(left) => *left -= 1,
                None => {}
            }
            value = value.checked_mul(10).and_then(|v| v.checked_add(u64::from(digit))).ok_or(TOO_LARGE)?;
        } else if byte == b'.' && left.is_none() && text.len() > 1 {
            left = Some(digits);
        } else if matches!(byte, b'e' | b'E') && index > 0 {
            return exponential(text, 10_u64.pow(digits));
        } else if is_negative(text) {
            return Err(NEGATIVE);
        } else {
            return Err(NOT_A_NUMBER);
        }
    }
    if text.is_empty() {
        return Err(NOT_A_NUMBER);
    }
    let scale = 10_u64.pow(left.unwrap_or(digits));
    value.checked_mul(scale).ok_or(TOO_LARGE)
}

/// Returns the decimal number `text` times `scale`, rounded down. A number with an exponent is rounded to the nearest
/// whole number instead.
pub(crate) fn fraction(text: &[u8], scale: u64) -> Result<u64, &'static str> {
    if text.first().is_some_and(u8::is_ascii_digit) && text.iter().any(|byte| matches!(byte, b'e' | b'E')) {
        return exponential(text, scale);
    }
    let point = text.iter().position(|&byte| byte == b'.').unwrap_or(text.len());
    let (before, after) = (&text[..point], text.get(point + 1..).unwrap_or_default());
    // Ignores digits after the 18th decimal place, which are worth less than 10^-18.
    let after = &after[..after.len().min(18)];
    let digits = |text| whole(text).map_err(|why| if why == NOT_WHOLE { NOT_A_NUMBER } else { why });
    let part = if after.is_empty() { 0 } else { digits(after)? };
    let before = if before.is_empty() && !after.is_empty() { b"0" } else { before };
    let part = u128::from(part) * u128::from(scale) / 10_u128.pow(after.len() as u32);
    digits(before)?.checked_mul(scale).and_then(|value| value.checked_add(part as u64)).ok_or(TOO_LARGE)
}

#[cold]
fn exponential(text: &[u8], scale: u64) -> Result<u64, &'static str> {
    let value = std::str::from_utf8(text).ok().and_then(|text| text.parse::<f64>().ok()).ok_or(NOT_A_NUMBER)?;
    let scaled = value * scale as f64;
    if scaled < u64::MAX as f64 { Ok(scaled.round() as u64) } else { Err(TOO_LARGE) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_end_at_their_separator() {
        let mut fields = Commas::new(b"12, 7 ,18446744073709551615,");
        assert_eq!(fields.number("a").unwrap(), 12);
        assert_eq!(fields.number("b").unwrap(), 7);
        assert_eq!(fields.number("c").unwrap(), u64::MAX);
        assert_eq!(fields.number("d").unwrap_err().to_string(), "field \"d\" is missing");
        let mut fields = Blanks::new(b"  1\t\t 2 ");
        assert_eq!((fields.number("a").unwrap(), fields.number("b").unwrap(), fields.next()), (1, 2, None));
    }

    #[test]
    fn faults_name_the_field_and_its_content() {
        let error = |line: &'static [u8]| Commas::new(line).number("size").unwrap_err().to_string();
        assert_eq!(error(b"40x6,1"), "field \"size\": \"40x6\" is not a whole number");
        assert_eq!(error(b"18446744073709551616"), "field \"size\": \"18446744073709551616\" does not fit 64 bits");
        assert_eq!(error(b"-5"), "field \"size\": \"-5\" is negative");
        let long = [b'z'; 500];
        assert!(Commas::new(&long).number("size").unwrap_err().to_string().len() < 120);
        let text = Commas::new(b"36893488147419103,1").scaled("lba", 512).unwrap_err().to_string();
        assert_eq!(text, "field \"lba\": \"36893488147419103\" exceeds 64 bits when converted from this format's unit");
    }

    #[test]
    fn decimals_are_exact() {
        for (text, digits, value) in [
            ("0.000029345", 9, 29_345),
            ("1455504000.123456789", 9, 1_455_504_000_123_456_789),
            ("12", 9, 12_000_000_000),
            (".5", 6, 500_000),
            ("3.", 6, 3_000_000),
            ("0.0000001999", 6, 0),
            ("1.5e-05", 9, 15_000),
        ] {
            assert_eq!(decimal(text.as_bytes(), digits), Ok(value), "{text}");
        }
        for text in ["", ".", "-1.0", "1.2.3", "nan", "inf", "1e999", "e5", "18446744074.0", "0x5"] {
            assert!(decimal(text.as_bytes(), 9).is_err(), "{text} was accepted");
        }
    }

    #[test]
    fn fractions_of_any_unit_are_rounded_down() {
        for (text, scale, value) in [
            ("17.5", 1000, 17_500),
            ("3", 100, 300),
            ("1455592800.123456789", 1_000_000_000, 1_455_592_800_123_456_789),
            ("0.9", 1, 0),
            ("1.", 7, 7),
            (".5", 1000, 500),
            ("1e-05", 1_000_000_000, 10_000),
            ("2.5E3", 100, 250_000),
        ] {
            assert_eq!(fraction(text.as_bytes(), scale), Ok(value), "{text}");
        }
        for text in ["", ".", "-1", "-1e3", "e5", "1.2.3", "1e", "1e99", "99999999999999999999"] {
            assert!(fraction(text.as_bytes(), 1000).is_err(), "{text} was accepted");
        }
        for text in ["", ".", "x", "1.x", "1.2.3", "1e"] {
            assert_eq!(fraction(text.as_bytes(), 1000), Err("is not a number"), "{text}");
        }
    }

    /// 16777216.000000001 exceeds the precision of a float.
    #[test]
    fn integers_may_be_written_as_floats_or_in_hexadecimal() {
        for (text, value) in [
            ("4096", 4096),
            ("4096.0", 4096),
            ("4096.", 4096),
            ("0.0", 0),
            ("1e6", 1_000_000),
            ("1e+06", 1_000_000),
            ("1.5E6", 1_500_000),
            ("4.096e3", 4096),
            ("4096000e-3", 4096),
            ("0e99", 0),
            ("0x1000", 4096),
            ("0XfF", 255),
            ("18446744073709551615.0", u64::MAX),
        ] {
            assert_eq!(integer(text.as_bytes()), Ok(value), "{text}");
        }
        for text in [
            "",
            ".",
            "e5",
            "4096.5",
            "4.0961e3",
            "1e-1",
            "-1.0",
            "1e",
            "1ee3",
            "1.2.3",
            "nan",
            "inf",
            "x",
            "16777216.000000001",
        ] {
            assert!(integer(text.as_bytes()).is_err_and(|why| why != TOO_LARGE), "{text}");
        }
        for text in ["1e20", "1e9999999999", "18446744073709551616.0", "0x10000000000000000"] {
            assert!(integer(text.as_bytes()).is_err(), "{text}");
        }
        assert_eq!(integer(b"1e20"), Err(TOO_LARGE));
    }

    #[test]
    fn hexadecimal_needs_its_prefix() {
        assert_eq!(hexadecimal(b"0x901e"), Ok(0x901e));
        assert_eq!(hexadecimal(b"0xffffffffffffffff"), Ok(u64::MAX));
        assert!(
            hexadecimal(b"1e").is_err() && hexadecimal(b"0x").is_err() && hexadecimal(b"0x1ffffffffffffffff").is_err()
        );
    }
}
