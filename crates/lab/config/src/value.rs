//! Values of options, read from TOML according to the type of the option and written in one canonical form.

use crate::kind::{Kind, Variant};
use ssdlab_core::suggest::{list, named, nearest};
use ssdlab_core::units::{
    parse_bandwidth, parse_count, parse_percent, parse_rate, write_bandwidth, write_bytes, write_nanos, write_percent,
    write_rate,
};
use ssdlab_core::{Bytes, Nanos, UnitError};
use ssdlab_nand::timing::MAX_PAGE_TYPES;
use ssdlab_trace::QUEUES_MAX;
use toml::de::DeValue;

/// Value of an option.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Value {
    Bytes(u64),
    Nanos(u64),
    /// Durations of an operation in nanoseconds, by page type.
    Durations(Vec<u64>),
    /// A share in percent: 7.0 means 7 %.
    Percent(f64),
    Count(u64),
    Counts(Vec<u64>),
    Float(f64),
    Bool(bool),
    /// Events per second.
    Rate(u64),
    /// Bandwidth in bytes per second; `None` means unlimited.
    Bandwidth(Option<u64>),
    /// Request sizes in bytes, each with its share in percent.
    Sizes(Vec<(u32, f64)>),
    /// Submission queues of a workload, as groups of identical queues; empty if the workload has no queues.
    Queues(Vec<QueueGroup>),
    /// Length of an address range in bytes; `None` means the whole device.
    Span(Option<u64>),
    LogSpace(LogSpace),
    Choice(&'static str),
}

/// A group of identical queues of a workload.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct QueueGroup {
    pub count: u64,
    /// True for exponential gaps between arrivals, false for equal gaps.
    pub poisson: bool,
    /// Requests per second of each queue.
    pub rate: u64,
    /// Share of reads, in percent.
    pub reads: f64,
}

/// Names of the arrival processes of queues: first the process with equal gaps, then the process with exponential gaps.
const ARRIVALS: [&str; 2] = ["fixed", "poisson"];

/// Number of log blocks as written in a setting.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum LogSpace {
    /// All blocks except those needed for the data and for the merge reserve.
    All,
    Blocks(u64),
    /// The given percentage of the data blocks.
    Percent(f64),
}

/// Word that means unlimited bandwidth or no queues in a configuration.
const NONE: &str = "none";
/// Word that means a span of the whole device in a configuration.
const DEVICE: &str = "device";
/// Word that means all available log blocks in a configuration.
const ALL: &str = "all";

impl Kind {
    /// Reads a value of this type from TOML. An error is a message with the problem and the expected form of the value.
    pub(crate) fn read(&self, value: &DeValue<'_>) -> Result<Value, String> {
        match *self {
            Self::Stepped(kind, _) => kind.read(value),
            Self::Bytes { min, max } => read_bytes(value, min, max).map(Value::Bytes),
            Self::Nanos { min, max } => {
                let read = |text: &str| bounded(text, nanos(text), [min, max], write_nanos);
                quantity(value, "a duration such as \"25us\"", read).map(Value::Nanos)
            }
            Self::Durations { max } => {
                const WHAT: &str = "a duration such as \"25us\", or one for each page type such as \"40us,80us\"";
                let read = |text: &str| bounded(text, nanos(text), [0, max], write_nanos);
                list_of(value, WHAT, MAX_PAGE_TYPES, |value| quantity(value, WHAT, read)).map(Value::Durations)
            }
            Self::Percent { min, max } => {
                let share = quantity(value, "a share such as \"7%\"", percent)?;
                in_range(share, min, max, write_percent).map(Value::Percent)
            }
            Self::Count { min, max } => read_count(value, "a whole number", min, max).map(Value::Count),
            Self::Counts { min, max, most } => {
                const WHAT: &str = "a whole number, or several such as \"4,2,1\"";
                list_of(value, WHAT, most, |value| read_count(value, WHAT, min, max)).map(Value::Counts)
            }
            Self::Float { min, max } => {
                let text = match value {
                    DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str(),
                    DeValue::Float(float) => float.as_str(),
                    _ => "",
                };
                let number: f64 = text.parse().map_err(|_| expected("a number such as 1.5", value))?;
                // An overflowing number parses as infinity; messages then quote the number as the user wrote it.
                let write = |number: f64| if number.is_infinite() { text.into() } else { write_float(number) };
                in_range(number, min, max, write).map(Value::Float)
            }
            Self::Bool => read_bool(value).map(Value::Bool).ok_or_else(|| expected("true or false", value)),
            Self::Rate => quantity(value, "a rate such as \"20k/s\"", rate).map(Value::Rate),
            Self::Bandwidth => match value.as_str() {
                Some(word) if is_word(word, NONE) => Ok(Value::Bandwidth(None)),
                _ => {
                    let limits = [1_000_000, 1_000_000_000_000];
                    let read = |text: &str| bounded(text, parse_bandwidth(text), limits, write_bandwidth);
                    quantity(value, "a bandwidth such as \"600MB/s\"", read)
                        .map(|bytes| Value::Bandwidth(Some(bytes)))
                        .map_err(|why| format!("{why}, or {NONE:?}"))
                }
            },
            Self::Sizes => {
                quantity(value, "a size or mix of sizes such as \"4KiB:70%,64KiB:30%\"", read_sizes).map(Value::Sizes)
            }
            Self::Queues => match value.as_str() {
                Some(word) if is_word(word, NONE) => Ok(Value::Queues(Vec::new())),
                _ => {
                    quantity(value, &format!("queues such as {QUEUES:?}, or {NONE:?}"), read_queues).map(Value::Queues)
                }
            },
            Self::Span => match value.as_str() {
                Some(word) if is_word(word, DEVICE) => Ok(Value::Span(None)),
                _ => read_bytes(value, 512, u64::MAX)
                    .map(|bytes| Value::Span(Some(bytes)))
                    .map_err(|why| format!("{why}, or {DEVICE:?}")),
            },
            Self::LogSpace => match value {
                DeValue::String(text) if is_word(text, ALL) => Ok(Value::LogSpace(LogSpace::All)),
                DeValue::String(text) if text.trim_end().ends_with('%') => {
                    let share = percent(text)?;
                    in_range(share, 0.0, 1000.0, write_percent).map(|share| Value::LogSpace(LogSpace::Percent(share)))
                }
                _ => {
                    const WHAT: &str = "a number of blocks, a share of the data blocks such as \"3%\", or \"all\"";
                    let blocks = read_count(value, WHAT, 1, u64::from(u32::MAX));
                    blocks.map(|blocks| Value::LogSpace(LogSpace::Blocks(blocks)))
                }
            },
            Self::Choice(variants) => match value.as_str() {
                Some(name) => read_choice(name, variants).map(Value::Choice),
                None => Err(expected(&format!("one of {}", list(variants.iter().map(|v| v.name))), value)),
            },
        }
    }

    /// Reads a value in the form of `--set`, where TOML's quotes are omitted.
    pub(crate) fn read_plain(&self, text: &str) -> Result<Value, String> {
        let quoted = with_quotes(Some(self), text);
        let value = DeValue::parse(&quoted).map_err(|error| error.message().to_string())?;
        self.read(value.get_ref())
    }
}

/// Returns a value of `--set` as TOML: unchanged if it is TOML and needs no further quotes, otherwise as a string.
pub(crate) fn with_quotes(kind: Option<&Kind>, text: &str) -> String {
    let is_toml = DeValue::parse(text).is_ok();
    let needs_no_quotes = matches!(kind, Some(Kind::Count { .. } | Kind::Float { .. } | Kind::Bool | Kind::LogSpace));
    let is_bare = needs_no_quotes || text.starts_with(['"', '\'', '{', '[']);
    if is_toml && is_bare { text.into() } else { toml::Value::String(text.into()).to_string() }
}

impl Value {
    /// Returns the value as TOML; equal values give equal text.
    pub(crate) fn to_toml(&self) -> String {
        match self {
            Self::Count(_) | Self::Float(_) | Self::Bool(_) | Self::LogSpace(LogSpace::Blocks(_)) => self.as_set(),
            _ => format!("{:?}", self.as_set()),
        }
    }

    /// Returns the value as text in the form of `--set`.
    pub(crate) fn as_set(&self) -> String {
        match self {
            Self::Bytes(bytes) | Self::Span(Some(bytes)) => write_bytes(*bytes),
            Self::Nanos(nanos) => write_nanos(*nanos),
            Self::Durations(all) => join(all, |nanos| write_nanos(*nanos)),
            Self::Percent(percent) | Self::LogSpace(LogSpace::Percent(percent)) => write_percent(*percent),
            Self::Count(count) | Self::LogSpace(LogSpace::Blocks(count)) => count.to_string(),
            Self::Counts(all) => join(all, u64::to_string),
            Self::Float(number) => write_float(*number),
            Self::Bool(yes) => yes.to_string(),
            Self::Rate(rate) => write_rate(*rate),
            Self::Bandwidth(None) => NONE.into(),
            Self::Bandwidth(Some(bytes)) => write_bandwidth(*bytes),
            Self::Sizes(sizes) => match sizes.as_slice() {
                [(bytes, _)] => write_bytes(u64::from(*bytes)),
                mix => {
                    join(mix, |&(bytes, share)| format!("{}:{}", write_bytes(u64::from(bytes)), write_percent(share)))
                }
            },
            Self::Queues(queues) if queues.is_empty() => NONE.into(),
            Self::Queues(queues) => join(queues, |&QueueGroup { count, poisson, rate, reads }| {
                let arrival = ARRIVALS[usize::from(poisson)];
                format!("{count}:{arrival}:{}:{}", write_rate(rate), write_percent(reads))
            }),
            Self::Span(None) => DEVICE.into(),
            Self::LogSpace(LogSpace::All) => ALL.into(),
            Self::Choice(name) => (*name).into(),
        }
    }
}

/// Describes a TOML value for a message.
pub(crate) fn describe(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("the string {text:?}"),
        DeValue::Integer(integer) => format!("the number {integer}"),
        DeValue::Float(float) => format!("the number {float}"),
        DeValue::Boolean(yes) => yes.to_string(),
        DeValue::Datetime(_) => "a date".into(),
        DeValue::Array(_) => "a list".into(),
        DeValue::Table(_) => "a table".into(),
    }
}

fn expected(what: &str, value: &DeValue<'_>) -> String {
    format!("expected {what}, found {}", describe(value))
}

/// Reads a quantity, such as `"4KiB"`, with `parse`. Also passes a number without quotes to `parse`, which reports the
/// missing unit.
fn quantity<T, E: ToString>(
    value: &DeValue<'_>,
    what: &str,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Result<T, String> {
    let text = match value {
        DeValue::String(text) => text.as_ref(),
        DeValue::Integer(integer) => integer.as_str(),
        DeValue::Float(float) => float.as_str(),
        _ => return Err(expected(what, value)),
    };
    parse(text).map_err(|error| error.to_string())
}

/// Reads one to `most` values from a comma-separated string or a TOML array.
fn list_of<T>(
    value: &DeValue<'_>,
    what: &str,
    most: usize,
    read: impl Fn(&DeValue<'_>) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    let values: Result<Vec<T>, String> = match value {
        DeValue::Array(values) => values.iter().map(|value| read(value.get_ref())).collect(),
        DeValue::String(text) => text.split(',').map(|part| read(&DeValue::String(part.trim().into()))).collect(),
        _ => read(value).map(|value| vec![value]),
    };
    let values = values?;
    match values.len() {
        0 => Err(format!("expected {what}, found an empty list")),
        count if count > most => Err(format!("{count} values; at most {most} are allowed")),
        _ => Ok(values),
    }
}

fn join<T>(values: &[T], write: impl Fn(&T) -> String) -> String {
    values.iter().map(write).collect::<Vec<_>>().join(",")
}

/// Checks that a parsed quantity is from `min` to `max`. A quantity that overflows 64 bits is out of range.
fn bounded(
    text: &str,
    parsed: Result<u64, UnitError>,
    [min, max]: [u64; 2],
    write: impl Fn(u64) -> String,
) -> Result<u64, String> {
    match parsed {
        Ok(number) => in_range(number, min, max, write),
        Err(UnitError::TooLarge(..)) => Err(format!("{text} is out of range: {} to {}", write(min), write(max))),
        Err(UnitError::Malformed(why)) => Err(why),
    }
}

fn nanos(text: &str) -> Result<u64, UnitError> {
    Nanos::parse(text).map(|Nanos(nanos)| nanos)
}

fn in_range<T: PartialOrd + Copy>(value: T, min: T, max: T, write: impl Fn(T) -> String) -> Result<T, String> {
    if value >= min && value <= max {
        Ok(value)
    } else {
        Err(format!("{} is out of range: {} to {}", write(value), write(min), write(max)))
    }
}

fn bytes(text: &str, limits: [u64; 2]) -> Result<u64, String> {
    bounded(text, Bytes::parse(text).map(|Bytes(bytes)| bytes), limits, write_bytes)
}

fn read_bytes(value: &DeValue<'_>, min: u64, max: u64) -> Result<u64, String> {
    quantity(value, "a size such as \"4KiB\"", |text| bytes(text, [min, max]))
}

fn read_count(value: &DeValue<'_>, what: &str, min: u64, max: u64) -> Result<u64, String> {
    let text = match value {
        DeValue::Integer(integer) => {
            let count = u64::from_str_radix(integer.as_str(), integer.radix())
                .map_err(|_| format!("{integer} is out of range: {min} to {max}"))?;
            return in_range(count, min, max, |count| count.to_string());
        }
        DeValue::Float(float) => float.as_str(),
        DeValue::String(text) => text,
        _ => return Err(expected(what, value)),
    };
    match parse_count(text) {
        Err(UnitError::Malformed(_)) => Err(expected(what, value)),
        parsed => bounded(text, parsed, [min, max], |count| count.to_string()),
    }
}

fn read_bool(value: &DeValue<'_>) -> Option<bool> {
    let word = |words: [&'static str; 3]| named(value.as_str()?, words);
    match value {
        DeValue::Boolean(yes) => Some(*yes),
        _ if word(["true", "yes", "on"]).is_some() => Some(true),
        _ if word(["false", "no", "off"]).is_some() => Some(false),
        _ => None,
    }
}

fn is_word(text: &str, word: &str) -> bool {
    named(text, [word]).is_some()
}

fn read_sizes(text: &str) -> Result<Vec<(u32, f64)>, String> {
    let size = |text: &str| bytes(text, [512, 1 << 30]).map(|bytes| bytes as u32);
    if !text.contains([':', ',']) {
        return Ok(vec![(size(text)?, 100.0)]);
    }
    let mut sizes = Vec::new();
    for part in text.split(',') {
        let (bytes, share) = part
            .split_once(':')
            .ok_or_else(|| format!("{part:?} has no share; write a mix like \"4KiB:70%,64KiB:30%\""))?;
        sizes.push((size(bytes)?, percent(share).and_then(|share| in_range(share, 0.01, 100.0, write_percent))?));
    }
    let total: f64 = sizes.iter().map(|(_, share)| share).sum();
    if (total - 100.0).abs() > 1e-6 {
        return Err(format!("the shares of {text:?} add up to {}, not 100%", write_percent(total)));
    }
    Ok(sizes)
}

/// Example value of [`Kind::Queues`].
const QUEUES: &str = "1:fixed:10k/s:50%,6:poisson:15k/s:1%";

fn read_queues(text: &str) -> Result<Vec<QueueGroup>, String> {
    let most = QUEUES_MAX as u64;
    let group = |part: &str| {
        let fields: Vec<&str> = part.split(':').map(str::trim).collect();
        let &[count, arrival, per_second, reads] = fields.as_slice() else {
            return Err(format!("{part:?} is not of the form count:arrival:rate:reads; write queues like {QUEUES:?}"));
        };
        Ok(QueueGroup {
            count: bounded(count, parse_count(count), [1, most], |count| count.to_string())?,
            poisson: named(arrival, ARRIVALS).ok_or_else(|| format!("{arrival:?} is not one of {}", list(ARRIVALS)))?
                == ARRIVALS[1],
            rate: rate(per_second)?,
            reads: percent(reads).and_then(|share| in_range(share, 0.0, 100.0, write_percent))?,
        })
    };
    let groups = text.split(',').map(group).collect::<Result<Vec<_>, String>>()?;
    let count: u64 = groups.iter().map(|group| group.count).sum();
    if count > most {
        return Err(format!("{count} queues exceed the maximum of {most}; use {most} or fewer"));
    }
    Ok(groups)
}

/// Reads a rate in events per second.
fn rate(text: &str) -> Result<u64, String> {
    // The cast loses nothing, because the float that `parse_rate` returns is a whole number.
    bounded(text, parse_rate(text).map(|rate| rate as u64), [1, 1_000_000_000], write_rate)
}

/// Reads a percentage such as `"7%"` and returns the number in front of the percent sign.
fn percent(text: &str) -> Result<f64, String> {
    let share = parse_percent(text).map_err(|error| error.to_string())?;
    // Parses the digits again, because `share * 100` may have rounding errors.
    let number = text.trim().trim_end_matches('%').trim_end();
    Ok(number.parse().unwrap_or(share * 100.0))
}

fn write_float(number: f64) -> String {
    format!("{number:?}")
}

fn read_choice(name: &str, variants: &'static [Variant]) -> Result<&'static str, String> {
    let names = || variants.iter().map(|variant| variant.name);
    if let Some(name) = named(name, names()) {
        return Ok(name);
    }
    Err(match nearest(name, names()) {
        Some(meant) => format!("{name:?} is not one of {}; did you mean {meant:?}?", list(names())),
        None => format!("{name:?} is not one of {}", list(names())),
    })
}
