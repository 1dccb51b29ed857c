//! Parses numbers, times of day and dates, such as `17:58:57.814` and `2026-01-02T03:04:05.678Z`, to nanoseconds.

use crate::fields::{fraction, whole};

const SECOND_NS: u64 = 1_000_000_000;
const MINUTE_S: u64 = 60;
const DAY_S: u64 = 24 * 60 * MINUTE_S;
const DAY_NS: u64 = DAY_S * SECOND_NS;
/// If the time steps back by less than this from one line to the next, the lines are out of order. A longer step back
/// means that midnight has passed.
const DISORDER_NS: u64 = 60 * MINUTE_S * SECOND_NS;

const NOT_A_TIME: &str = "is not a number, a clock time such as 17:58:57.814, or a date such as 2026-01-02T03:04:05";

/// Notation of a time in a trace. Times of different notations cannot be compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number,
    Clock,
    Date,
}

/// Parser of timestamps that remembers the notation and the last time from earlier lines.
#[derive(Default)]
pub(crate) struct Calendar {
    /// Notation of the first time, which all later times of the trace must share; `None` before the first time.
    kind: Option<Kind>,
    /// Last clock time, in ns since midnight on the day before the first line; 0 before the first clock time.
    last_ns: u64,
}

impl Calendar {
    /// Returns a time in ns: a number of units of `unit` ns, a clock time since an arbitrary midnight, or a date since
    /// 1970. A date without a clock time means midnight at the start of that date. Fails if the text is not a time, or
    /// not in the notation of the first time.
    #[inline]
    pub fn parse(&mut self, text: &[u8], unit: u64) -> Result<u64, &'static str> {
        let (kind, time_ns) = match fraction(text, unit) {
            Ok(time_ns) => (Kind::Number, time_ns),
            Err(_) if text.contains(&b':') || matches!(text.get(4), Some(b'-' | b'/')) => self.moment(text)?,
            Err(why) => return Err(why),
        };
        match *self.kind.get_or_insert(kind) {
            first if first == kind => Ok(time_ns),
            Kind::Number => Err("is not a number, but the earlier times are"),
            Kind::Clock => Err("is not a clock time, but the earlier times are"),
            Kind::Date => Err("is not a date, but the earlier times are"),
        }
    }

    /// Parses a clock time or a date. Assumes that a clock time is less than 1 hour earlier, or at most 23 hours later,
    /// than the time on the previous line. A larger step back means that midnight has passed.
    fn moment(&mut self, text: &[u8]) -> Result<(Kind, u64), &'static str> {
        let end = text.iter().position(|byte| matches!(byte, b'T' | b't' | b' '));
        let (date, time) = match end {
            Some(end) => (&text[..end], text[end + 1..].trim_ascii()),
            None if text.contains(&b':') => return Ok((Kind::Clock, self.after_midnight(clock(text)?))),
            None => (text, &b"00:00:00"[..]),
        };
        let (time, zone) = match time.iter().position(|byte| matches!(byte, b'Z' | b'z' | b'+' | b'-')) {
            Some(at) => time.split_at(at),
            None => (time, &b"Z"[..]),
        };
        let since_1970_s = i128::from(days_since_1970(date)?) * i128::from(DAY_S) - i128::from(zone_s(zone)?);
        let ns = since_1970_s * i128::from(SECOND_NS) + i128::from(clock(time)?);
        let ns = u64::try_from(ns).map_err(|_| "is before 1970 or after 2554")?;
        Ok((Kind::Date, ns))
    }

    fn after_midnight(&mut self, clock_ns: u64) -> u64 {
        // Counts from midnight on the day before the first line, so that a step back across midnight cannot produce a
        // negative time.
        let last_ns = if self.last_ns == 0 { DAY_NS + clock_ns } else { self.last_ns };
        let ahead_ns = (clock_ns + DAY_NS - last_ns % DAY_NS) % DAY_NS;
        let back = ahead_ns > DAY_NS - DISORDER_NS;
        self.last_ns = last_ns + ahead_ns - if back { DAY_NS } else { 0 };
        self.last_ns
    }
}

/// Parses a one-digit or two-digit number that is at most `most`.
fn small(text: &[u8], most: u64) -> Result<u64, &'static str> {
    if !(1..=2).contains(&text.len()) {
        return Err(NOT_A_TIME);
    }
    whole(text).ok().filter(|value| *value <= most).ok_or(NOT_A_TIME)
}

/// Parses `HH:MM:SS`, with or without a fraction, to ns.
fn clock(text: &[u8]) -> Result<u64, &'static str> {
    let mut parts = text.splitn(3, |&byte| byte == b':');
    let mut next = || parts.next().ok_or(NOT_A_TIME);
    let (hours, minutes, seconds) = (small(next()?, 23)?, small(next()?, 59)?, next()?);
    let before_point = seconds.split(|&byte| byte == b'.').next().unwrap_or_default();
    // Accepts a seconds value of 60, for leap seconds.
    small(before_point, 60)?;
    let seconds_ns = fraction(seconds, SECOND_NS).map_err(|_| NOT_A_TIME)?;
    Ok((hours * 60 + minutes) * MINUTE_S * SECOND_NS + seconds_ns)
}

/// Parses a time zone (`Z`, `+01:00`, `-0530`, `+02`) to seconds ahead of UTC.
fn zone_s(text: &[u8]) -> Result<i64, &'static str> {
    let (sign, digits) = match text {
        [b'Z' | b'z'] => return Ok(0),
        [b'+', digits @ ..] => (1, digits),
        [b'-', digits @ ..] => (-1, digits),
        _ => return Err(NOT_A_TIME),
    };
    let (hours, minutes) = match *digits {
        [a, b] => ([a, b], *b"00"),
        [a, b, c, d] | [a, b, b':', c, d] => ([a, b], [c, d]),
        _ => return Err(NOT_A_TIME),
    };
    Ok(sign * ((small(&hours, 23)? * 60 + small(&minutes, 59)?) * MINUTE_S) as i64)
}

/// Counts the days from 1970-01-01 to a Gregorian date, `YYYY-MM-DD` or `YYYY/MM/DD`.
fn days_since_1970(text: &[u8]) -> Result<i64, &'static str> {
    let mut parts = text.split(|byte| matches!(byte, b'-' | b'/'));
    let (Some(year), Some(month), Some(day), None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
        return Err(NOT_A_TIME);
    };
    let [century @ .., _, _] = year else { return Err(NOT_A_TIME) };
    if year.len() != 4 {
        return Err(NOT_A_TIME);
    }
    let year = small(century, 99)? * 100 + small(&year[2..], 99)?;
    let (month, day) = (small(month, 12)?, small(day, 31)?);
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let february = if leap { 29 } else { 28 };
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let before = lengths.get(..(month as usize).wrapping_sub(1)).ok_or(NOT_A_TIME)?;
    if day == 0 || day > lengths[before.len()] {
        return Err("is not a valid calendar date");
    }
    // Number of leap days before the given year.
    let leaps = |years: i64| years / 4 - years / 100 + years / 400;
    let years = year as i64;
    let whole_years = 365 * (years - 1970) + leaps(years - 1) - leaps(1969);
    Ok(whole_years + before.iter().sum::<u64>() as i64 + day as i64 - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(text: &str) -> Result<u64, &'static str> {
        Calendar::default().parse(text.as_bytes(), 1).map(|ns| ns / SECOND_NS)
    }

    /// Expected values from `date -u -d TEXT +%s` (GNU coreutils).
    #[test]
    fn dates_count_from_1970() {
        for (text, expected) in [
            ("1970-01-01T00:00:00", 0),
            ("2026-01-02T03:04:05.678", 1_767_323_045),
            ("2026-01-02 03:04:05Z", 1_767_323_045),
            ("2026/01/02 03:04:05", 1_767_323_045),
            ("2026-01-02", 1_767_312_000),
            ("2026/01/02", 1_767_312_000),
            ("2024-02-29T12:00:00+01:00", 1_709_204_400),
            ("2024-03-01T00:00:00-0530", 1_709_271_000),
            ("2000-03-01T00:00:00", 951_868_800),
            ("2100-03-01T00:00:00", 4_107_542_400),
        ] {
            assert_eq!(seconds(text), Ok(expected), "{text}");
        }
        let ns = Calendar::default().parse(b"2026-01-02T03:04:05.678", 1).unwrap();
        assert_eq!(ns, 1_767_323_045_678_000_000);
    }

    #[test]
    fn invalid_times_are_rejected() {
        for text in [
            "",
            ":",
            "1:2",
            "24:00:00",
            "17:60:00",
            "17:00:61",
            "17:00:1e1",
            "17:58:57.8x",
            "-1:00:00",
            "x17:00:00",
            "2026-13-01T00:00:00",
            "2026-00-01T00:00:00",
            "2026-01-00T00:00:00",
            "26-01-01T00:00:00",
            "2026-01-01T",
            "T00:00:00",
            "2026-01-01T00:00:00+1",
            "2026-01-01T00:00:00+25:00",
            "1:2:3:4",
        ] {
            assert!(seconds(text).is_err(), "{text} was accepted");
        }
        assert_eq!(seconds("2023-02-29T00:00:00"), Err("is not a valid calendar date"));
        assert_eq!(seconds("1969-12-31T23:59:59"), Err("is before 1970 or after 2554"));
        assert_eq!(seconds("2600-01-01T00:00:00"), Err("is before 1970 or after 2554"));
    }

    /// Each expected value is the time in seconds since the line above, computed by hand.
    #[test]
    fn midnight_and_slight_disorder_are_told_apart() {
        let mut calendar = Calendar::default();
        let mut seconds = |text: &str| (calendar.parse(text.as_bytes(), 1).unwrap() / SECOND_NS) as i64;
        let mut last = seconds("00:00:01");
        for (text, expected) in [
            ("00:00:00", -1),
            ("08:00:00", 28_800),
            ("23:59:59", 57_599),
            ("00:00:01", 2),
            ("23:59:58", -3),
            ("00:00:02", 4),
            ("13:00:00", 46_798),
            ("11:00:00", 22 * 3600),
        ] {
            let now = seconds(text);
            assert_eq!(now - last, expected, "{text}");
            last = now;
        }
    }
}
