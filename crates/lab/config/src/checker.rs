//! Reads the typed values of a merged configuration, and collects violations of rules that concern several options.

use crate::error::Violation;
use crate::kind::{Choices, Kind};
use crate::presets::OF_DEFAULT_DRIVE;
use crate::table::{Entries, OptionSpec};
use crate::value::{QueueGroup, Value};
use ssdlab_core::Nanos;
use ssdlab_core::units::write_bytes;

/// Reads settings of a configuration, and collects the violations found so far.
///
/// Methods return `Err` only if the option table and a section disagree. Errors in the configuration are added to
/// `violations` instead.
pub(crate) struct Checker<'a> {
    pub entries: &'a Entries,
    /// Capacity in bytes that the preset sets; `None` if it sets no capacity.
    pub preset_bytes: Option<u64>,
    pub violations: Vec<Violation>,
}

pub(crate) type Read<T> = Result<T, Violation>;

/// Function that reads the parameters of a variant and returns the variant with its parameters.
pub(crate) type Reader<T> = fn(&mut Checker<'_>) -> Read<T>;

macro_rules! getter {
    ($name:ident, $type:ty, $pattern:pat => $value:expr) => {
        pub fn $name(&self, key: &str) -> Read<$type> {
            match self.value(key)? {
                $pattern => Ok($value),
                _ => Err(self.wrong_type(key)),
            }
        }
    };
}

impl<'a> Checker<'a> {
    pub fn value(&self, key: &str) -> Read<&'a Value> {
        let entry = self.entries.get(key).ok_or_else(|| self.at(key, "is not in the table of options"))?;
        Ok(&entry.value)
    }

    getter!(bytes, u64, Value::Bytes(bytes) => *bytes);
    getter!(nanos, Nanos, Value::Nanos(nanos) => Nanos(*nanos));
    getter!(durations, Vec<u64>, Value::Durations(all) => all.clone());
    getter!(count, u64, Value::Count(count) => *count);
    getter!(counts, Vec<u64>, Value::Counts(all) => all.clone());
    getter!(float, f64, Value::Float(number) => *number);
    // Returns a percentage as a fraction of 1.
    getter!(share, f64, Value::Percent(percent) => percent / 100.0);
    getter!(flag, bool, Value::Bool(yes) => *yes);
    getter!(rate, u64, Value::Rate(rate) => *rate);
    getter!(bandwidth, Option<u64>, Value::Bandwidth(bandwidth) => *bandwidth);
    getter!(sizes, Vec<(u32, f64)>, Value::Sizes(sizes) => sizes.clone());
    getter!(queues, Vec<QueueGroup>, Value::Queues(queues) => queues.clone());
    getter!(span, Option<u64>, Value::Span(span) => *span);
    getter!(name, &'static str, Value::Choice(name) => name);
    /// Reads a size or count whose largest valid value fits in 32 bits.
    pub fn small(&self, key: &str) -> Read<u32> {
        match self.value(key)? {
            Value::Bytes(number) | Value::Count(number) => u32::try_from(*number).map_err(|_| self.wrong_type(key)),
            _ => Err(self.wrong_type(key)),
        }
    }

    /// Reads the name of a variant, and returns the value that `find` returns for this name.
    pub fn named<T>(&self, key: &str, find: impl FnOnce(&str) -> Option<T>) -> Read<T> {
        let name = self.name(key)?;
        find(name).ok_or_else(|| self.at(key, format!("variant {name:?} is not implemented")))
    }

    /// Reads an option whose value is one of the variants in `choices`.
    pub fn choice<T: Copy, const N: usize>(&self, key: &str, choices: &Choices<T, N>) -> Read<T> {
        self.named(key, |name| choices.get(name))
    }

    /// Reads an option whose value is one of several variants, and the parameters of the chosen variant.
    pub fn variant<T, const N: usize>(&mut self, key: &str, choices: &Choices<Reader<T>, N>) -> Read<T> {
        let read = self.choice(key, choices)?;
        read(self)
    }

    /// Creates a violation of the option `key`, located where its value was set.
    fn at(&self, key: &str, message: impl Into<String>) -> Violation {
        let origin = self.entries.get(key).map_or("default", |entry| &entry.origin);
        Violation::new(origin, key, message)
    }

    /// True if the other settings make the option applicable, so that it has a value.
    pub fn applies(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    /// True if the option has its default value. This includes defaults that are set explicitly, because complete
    /// configurations set all options.
    pub fn is_default(&self, key: &str) -> bool {
        let default = OptionSpec::of(key).and_then(|option| option.default_entry(self.entries).ok().flatten());
        default.is_some_and(|default| self.entries.get(key).is_some_and(|entry| entry.value == default.value))
    }

    /// True if the option was set by the user, not by a preset.
    pub fn is_set_by_user(&self, key: &str) -> bool {
        let by_user = |origin: &str| !origin.starts_with("default") && !origin.starts_with("preset ");
        self.entries.get(key).is_some_and(|entry| by_user(&entry.origin))
    }

    /// True if the option's value comes from the default drive, which is used if no valid preset is chosen.
    pub fn is_of_default_drive(&self, key: &str) -> bool {
        self.entries.get(key).is_some_and(|entry| entry.origin.starts_with(OF_DEFAULT_DRIVE))
    }

    /// Returns the largest percentage that the option allows.
    pub fn most_percent(&self, key: &str) -> f64 {
        match OptionSpec::of(key).map(|option| option.kind) {
            Some(Kind::Percent { max, .. }) => max,
            _ => 0.0,
        }
    }

    pub fn wrong_type(&self, key: &str) -> Violation {
        self.at(key, "has a different type in the table of options")
    }

    pub fn report(&mut self, key: &str, message: impl Into<String>) {
        let violation = self.at(key, message);
        self.violations.push(violation);
    }

    /// Returns true if the size is a power of two; otherwise, reports a violation and returns false.
    pub fn check_power_of_two(&mut self, key: &str, bytes: u32) -> bool {
        let is_power = bytes.is_power_of_two();
        if !is_power {
            let below = write_bytes(1 << bytes.ilog2());
            self.report(key, format!("{} is not a power of two; set it to {below}", write_bytes(bytes.into())));
        }
        is_power
    }
}
