//! Layout of text columns: the position and unit of each value, such as `time=0:us,op=2,offset=3:sectors,size=4`.
//!
//! - **Column**: a number from 0, or a heading.
//! - **Unit**, after a colon: `ns` (default), `us`, `ms`, `s` or a multiple such as `100ns` for times; bytes (default),
//!   `sectors` of 512 bytes, or a size such as `4KiB` for offsets and sizes.
//! - **Constant**, instead of a column for `op` and `size`: `op='W'`, `size=4KiB`.

use ssdlab_core::{Bytes, Nanos};

use crate::fields::integer;
use crate::request::SECTOR;
use crate::{Op, TraceError};

/// Maximum number of columns that a column layout may have.
pub(crate) const MOST: usize = 64;
/// Maximum number of bytes that a message quotes from the file's headings.
const HEADINGS_SHOWN: usize = 400;
/// Names of the values that a column layout can assign to columns. The first three values are required.
pub(crate) const NAMES: [&str; 7] = ["op", "offset", "size", "time", "stream", "device", "repeat"];
const REQUIRED: usize = 3;
pub(crate) const OP: usize = 0;
pub(crate) const OFFSET: usize = 1;
pub(crate) const SIZE: usize = 2;
pub(crate) const TIME: usize = 3;
pub(crate) const STREAM: usize = 4;
pub(crate) const DEVICE: usize = 5;
pub(crate) const REPEAT: usize = 6;

/// Source of a value: a column of the text, or a constant.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ValuePlace {
    Number(usize),
    /// Heading of the value's column, or an unquoted constant if no column has this heading.
    Heading(String),
    /// Constant in place of a column: the number of an operation, or a size in bytes.
    Constant(u64),
}

/// Example of a column layout, for messages.
pub(crate) const EXAMPLE: &str = "time=0:us,op=2,offset=3:sectors,size=4";

/// Location of a value in the current file.
#[derive(Clone, Copy)]
pub(crate) enum Value {
    Column { number: usize, unit: u64 },
    Constant(u64),
}

pub(crate) type Values = [Option<Value>; NAMES.len()];

/// Layout of the columns of a text file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// Source and unit of each value of a request (time, operation and so on), in the order of `NAMES`.
    held: [Option<(ValuePlace, u64)>; NAMES.len()],
}

impl Columns {
    /// Parses a layout such as `time=0:us,op=2,offset=3:sectors,size=4`. Errors show this example.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let wrong = |why: String| TraceError::Invalid(format!("columns {text:?}: {why}; example: {EXAMPLE}"));
        let mut held = [const { None }; NAMES.len()];
        for part in text.split(',').map(str::trim) {
            let pair = part.split_once('=').map(|(name, place)| (name.trim(), place.trim()));
            let Some((name, place)) = pair else { return Err(wrong(format!("{part:?} is not NAME=COLUMN"))) };
            let known = ssdlab_core::suggest::named(name, NAMES);
            let Some(at) = NAMES.iter().position(|name| Some(*name) == known) else {
                return Err(wrong(format!("{name:?} is not one of {}", NAMES.join(", "))));
            };
            let (place, unit) = place.split_once(':').map_or((place, None), |(place, unit)| (place, Some(unit.trim())));
            let unit = unit.map_or(Some(1), |unit| scale(at, unit));
            let Some(unit) = unit else {
                let units = match at {
                    TIME => "use ns, us, ms or s",
                    OFFSET | SIZE => "use bytes, sectors or a size such as 4KiB",
                    _ => "omit the unit",
                };
                return Err(wrong(format!("{part:?} has an invalid unit for {name}: {units}")));
            };
            let place = match (place.parse(), unquoted(place)) {
                (Ok(number), _) if number >= MOST => {
                    let instead =
                        if at == SIZE { format!("; for a constant, use size={number}B") } else { String::new() };
                    return Err(wrong(format!("column {number} exceeds the maximum of {}{instead}", MOST - 1)));
                }
                (Ok(number), _) => ValuePlace::Number(number),
                (_, Some(text)) => match constant(at, text, unit) {
                    Some(value) => ValuePlace::Constant(value),
                    None => {
                        let constants = match at {
                            OP => "use an operation such as 'read'",
                            SIZE => "use a size such as '4KiB'",
                            _ => "only op and size can be constants",
                        };
                        return Err(wrong(format!("{part:?} is not a valid constant for {name}: {constants}")));
                    }
                },
                _ if place.is_empty() => return Err(wrong(format!("{part:?} has no column"))),
                _ => ValuePlace::Heading(place.into()),
            };
            if held[at].replace((place, unit)).is_some() {
                return Err(wrong(format!("{name} occurs twice")));
            }
        }
        match held[..REQUIRED].iter().position(Option::is_none) {
            Some(at @ (OP | SIZE)) => {
                let constant = if at == OP { "op='read'" } else { "size=4KiB" };
                Err(wrong(format!("{} is missing; for a constant, use {constant}", NAMES[at])))
            }
            Some(at) => Err(wrong(format!("{} is missing", NAMES[at]))),
            None => Ok(Self { held }),
        }
    }

    /// Locates every value of a request, given the fields of the first line, which may be headings.
    pub(crate) fn find(&self, first: &[&[u8]]) -> Result<Values, String> {
        let mut values = [None; NAMES.len()];
        for (at, (held, value)) in self.held.iter().zip(&mut values).enumerate() {
            let Some((place, unit)) = held else { continue };
            *value = Some(match place {
                ValuePlace::Number(number) => Value::Column { number: *number, unit: *unit },
                ValuePlace::Constant(value) => Value::Constant(*value),
                ValuePlace::Heading(heading) => {
                    let number = first.iter().position(|field| field.eq_ignore_ascii_case(heading.as_bytes()));
                    let column = number.map(|number| Value::Column { number, unit: *unit });
                    let located = column.or_else(|| constant(at, heading, *unit).map(Value::Constant));
                    located.ok_or_else(|| {
                        let there = first.join(&b", "[..]);
                        let shown = String::from_utf8_lossy(&there[..there.len().min(HEADINGS_SHOWN)]);
                        format!(
                            "columns {}={heading}: no heading {heading:?}; the headings are {shown:?}: use one of \
                             them, or a column number from 0",
                            NAMES[at]
                        )
                    })?
                }
            });
        }
        Ok(values)
    }

    /// True if a column was located by its heading.
    pub(crate) fn by_heading(&self, values: &Values) -> bool {
        let mut both = self.held.iter().flatten().zip(values.iter().flatten());
        both.any(|((place, _), value)| matches!((place, value), (ValuePlace::Heading(_), Value::Column { .. })))
    }
}

/// Returns the text inside single or double quotes.
fn unquoted(text: &str) -> Option<&str> {
    ['\'', '"'].into_iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote))
}

/// Parses a constant that replaces a column. Returns the number of an operation or a size in bytes.
fn constant(at: usize, text: &str, unit: u64) -> Option<u64> {
    match at {
        OP => Op::parse(text.as_bytes()).map(|op| op as u64),
        SIZE => match integer(text.as_bytes()) {
            Ok(value) => value.checked_mul(unit),
            Err(_) => Bytes::parse_exact(text).ok().map(|bytes| bytes.0).filter(|_| unit == 1),
        },
        _ => None,
    }
}

/// Converts the unit of a column to nanoseconds or bytes; `None` if the unit is unknown.
fn scale(at: usize, unit: &str) -> Option<u64> {
    // Accepts a unit such as `us` as well as a multiple such as `100ns`.
    let counted = if unit.starts_with(|c: char| c.is_ascii_digit()) { unit.into() } else { format!("1{unit}") };
    let scale = match at {
        TIME => Nanos::parse(&counted).ok()?.0,
        OFFSET | SIZE if unit == "bytes" => 1,
        OFFSET | SIZE if unit == "sectors" => SECTOR,
        OFFSET | SIZE => Bytes::parse_exact(&counted).ok()?.0,
        _ => return None,
    };
    Some(scale).filter(|scale| *scale > 0)
}

impl Default for Columns {
    /// The default layout has time, operation, offset and size, in this order.
    fn default() -> Self {
        let at = |number| Some((ValuePlace::Number(number), 1));
        Self { held: [at(1), at(2), at(3), at(0), None, None, None] }
    }
}
