//! Reads typed values out of a merged configuration and collects what does not fit together.

use crate::error::Violation;
use crate::kind::{Choices, Kind};
use crate::table::{Entries, OptionSpec};
use crate::value::Value;
use ssdlab_core::Nanos;

/// What sections are read and checked with.
///
/// `Err` of its methods means that the table of options and the reader of a section disagree; a faulty configuration is
/// not an `Err` but adds to `violations`.
pub(crate) struct Checker<'a> {
    pub entries: &'a Entries,
    pub options: &'a [OptionSpec],
    /// First byte after the last one the trace addresses, if it is known.
    pub extent_bytes: Option<u64>,
    pub violations: Vec<Violation>,
}

pub(crate) type Read<T> = Result<T, Violation>;

/// Reads what a variant comes to with its parameters.
pub(crate) type Reader<T> = fn(&mut Checker<'_>) -> Read<T>;

macro_rules! getter {
    ($name:ident, $variant:ident, $type:ty) => {
        pub fn $name(&self, key: &str) -> Read<$type> {
            match self.value(key)? {
                Value::$variant(value) => Ok(value.clone()),
                _ => Err(self.wrong_type(key)),
            }
        }
    };
}

impl<'a> Checker<'a> {
    /// A checker of what the `options` are set to.
    pub const fn new(entries: &'a Entries, options: &'a [OptionSpec], extent_bytes: Option<u64>) -> Self {
        Self { entries, options, extent_bytes, violations: Vec::new() }
    }

    pub fn value(&self, key: &str) -> Read<&'a Value> {
        let entry = self.entries.get(key).ok_or_else(|| self.at(key, "is not in the table of options"))?;
        Ok(&entry.value)
    }

    getter!(bytes, Bytes, u64);
    getter!(durations, Durations, Vec<u64>);
    getter!(count, Count, u64);
    getter!(counts, Counts, Vec<u64>);
    getter!(float, Float, f64);
    getter!(flag, Bool, bool);
    getter!(rate, Rate, u64);
    getter!(bandwidth, Bandwidth, Option<u64>);
    getter!(sizes, Sizes, Vec<(u32, f64)>);
    getter!(span, Span, Option<u64>);
    getter!(name, Choice, &'static str);

    pub fn nanos(&self, key: &str) -> Read<Nanos> {
        match self.value(key)? {
            Value::Nanos(nanos) => Ok(Nanos(*nanos)),
            _ => Err(self.wrong_type(key)),
        }
    }

    /// A percentage as a share of 1.
    pub fn share(&self, key: &str) -> Read<f64> {
        match self.value(key)? {
            Value::Percent(percent) => Ok(percent / 100.0),
            _ => Err(self.wrong_type(key)),
        }
    }

    /// A size or count whose range ends within 32 bits.
    pub fn small(&self, key: &str) -> Read<u32> {
        let number = match self.value(key)? {
            Value::Bytes(number) | Value::Count(number) => *number,
            _ => return Err(self.wrong_type(key)),
        };
        u32::try_from(number).map_err(|_| self.at(key, "exceeds 32 bits"))
    }

    /// What the chosen name comes to, which `find` knows.
    pub fn named<T>(&self, key: &str, find: impl FnOnce(&str) -> Option<T>) -> Read<T> {
        let name = self.name(key)?;
        find(name).ok_or_else(|| self.at(key, format!("variant {name:?} is not implemented")))
    }

    /// What the chosen name comes to.
    pub fn choice<T: Copy, const N: usize>(&self, key: &str, choices: &Choices<T, N>) -> Read<T> {
        self.named(key, |name| choices.get(name))
    }

    /// What the chosen variant comes to with its parameters.
    pub fn variant<T, const N: usize>(&mut self, key: &str, choices: &Choices<Reader<T>, N>) -> Read<T> {
        let read = self.choice(key, choices)?;
        read(self)
    }

    /// A violation of `key`, placed where its value was written.
    fn at(&self, key: &str, message: impl Into<String>) -> Violation {
        let origin = self.entries.get(key).map_or("default", |entry| &entry.origin);
        Violation::new(origin, key, message)
    }

    /// Whether it has a value, be it a default.
    pub fn applies(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    /// Whether it has the value that it has where nobody sets it, whoever wrote it: a written configuration holds every
    /// setting, and does the same.
    pub fn is_default(&self, key: &str) -> bool {
        let option = self.options.iter().find(|option| option.key == key);
        let default = option.and_then(|option| option.default_entry(self.entries).ok().flatten());
        default.is_some_and(|default| self.entries.get(key).is_some_and(|entry| entry.value == default.value))
    }

    /// Whether a person set it, not a preset; for messages.
    pub fn is_chosen(&self, key: &str) -> bool {
        let by_person = |origin: &str| !origin.starts_with("default") && !origin.starts_with("preset ");
        self.entries.get(key).is_some_and(|entry| by_person(&entry.origin))
    }

    /// Type and range of an option.
    pub fn kind(&self, key: &str) -> Option<Kind> {
        self.options.iter().find(|option| option.key == key).map(|option| option.kind)
    }

    pub fn wrong_type(&self, key: &str) -> Violation {
        self.at(key, "has another type in the table of options")
    }

    pub fn report(&mut self, key: &str, message: String) {
        let violation = self.at(key, message);
        self.violations.push(violation);
    }
}
