//! Entries of the option table, and option defaults.
//!
//! A key is a dotted path. The value of an option of kind [`Kind::Choice`] is the name of a *variant*. Options whose
//! key continues with that name (`ftl.page.gc` and `ftl.page.gc.d_choices.d`) are the variant's parameters and exist
//! only while it is chosen. A chosen variant is written as a string, or as a table of its parameters.

use crate::kind::{Kind, Variant};
use crate::value::Value;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// One option of the configuration.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OptionSpec {
    /// Dotted key of the option, such as `nand.read`.
    pub key: &'static str,
    /// Type and range of the option's values.
    pub kind: Kind,
    /// Default of the option.
    pub fallback: Fallback,
    /// Help text: one sentence for the reference page.
    pub help: &'static str,
    /// Example value of the option, in the syntax of a `--set` value.
    pub example: &'static str,
}

/// Starts the declaration of an option. Every preset must set the option unless the option gets a default.
pub(crate) const fn option(key: &'static str, kind: Kind) -> OptionSpec {
    OptionSpec { key, kind, fallback: Fallback::Preset, help: "", example: "" }
}

/// Starts the declaration of a size; `range` is in bytes.
pub(crate) const fn bytes(key: &'static str, range: RangeInclusive<u64>) -> OptionSpec {
    option(key, Kind::Bytes { min: *range.start(), max: *range.end() })
}

/// Starts the declaration of a duration; `range` is in nanoseconds.
pub(crate) const fn nanos(key: &'static str, range: RangeInclusive<u64>) -> OptionSpec {
    option(key, Kind::Nanos { min: *range.start(), max: *range.end() })
}

/// Starts the declaration of a whole number.
pub(crate) const fn count(key: &'static str, range: RangeInclusive<u64>) -> OptionSpec {
    option(key, Kind::Count { min: *range.start(), max: *range.end() })
}

/// Starts the declaration of a share; `range` is in percent.
pub(crate) const fn percent(key: &'static str, range: RangeInclusive<f64>) -> OptionSpec {
    option(key, Kind::Percent { min: *range.start(), max: *range.end() })
}

/// Starts the declaration of a number that may have a fraction.
pub(crate) const fn float(key: &'static str, range: RangeInclusive<f64>) -> OptionSpec {
    option(key, Kind::Float { min: *range.start(), max: *range.end() })
}

/// Starts the declaration of a Boolean with a default; the example is the other value.
pub(crate) const fn switch(key: &'static str, default: bool) -> OptionSpec {
    let (default, example) = if default { ("true", "false") } else { ("false", "true") };
    option(key, Kind::Bool).default(default).example(example)
}

impl OptionSpec {
    /// Sets the default of the option, in the syntax of a `--set` value.
    pub(crate) const fn default(self, text: &'static str) -> Self {
        self.fallback(Fallback::Value(text))
    }

    pub(crate) const fn fallback(self, fallback: Fallback) -> Self {
        Self { fallback, ..self }
    }

    pub(crate) const fn example(self, example: &'static str) -> Self {
        Self { example, ..self }
    }

    pub(crate) const fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }

    /// Returns the variants that the option can have; empty if the option is not a choice between variants.
    pub fn variants(&self) -> &'static [Variant] {
        match self.kind {
            Kind::Choice(variants) => variants,
            _ => &[],
        }
    }
}

/// Default of an option: determines the option's value if users do not set it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Fallback {
    /// The default is this value, in the syntax of a `--set` value.
    Value(&'static str),
    /// The first case that applies determines the default. If no case applies, this value is the default.
    Unless(&'static str, &'static [Case]),
    /// No default: every preset sets the option and states the source of the value.
    Preset,
    /// The default is computed from the values of other options.
    Derived(Derived),
    /// No default: users who select the variant must also set this parameter.
    Required,
    /// No default: users set this option instead of the option with the given key, which sets the same quantity in
    /// another unit.
    InsteadOf(&'static str),
}

/// Default that is computed from other options.
#[derive(Clone, Copy, Debug)]
pub struct Derived {
    /// The rule for computing the default, in words.
    pub rule: &'static str,
    /// Computes the default of this option from the values of other options, including the defaults of options that
    /// are declared earlier. The default has the syntax of a `--set` value.
    pub(crate) value: fn(&Entries) -> String,
}

impl PartialEq for Derived {
    fn eq(&self, other: &Self) -> bool {
        self.rule == other.rule
    }
}

/// A condition under which an option has a different default.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Case {
    /// Key of the option on which the default depends. The default value of that option must not satisfy any case.
    pub key: &'static str,
    /// The case applies if the value of the option `key` satisfies this condition.
    pub is: Is,
    /// Default of the option in this case, in the syntax of a `--set` value.
    pub value: &'static str,
}

/// Value that a [`Case`] requires of its option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Is {
    /// The value is a count greater than one.
    Many,
    /// The option has this variant as its value.
    Variant(&'static str),
}

impl Case {
    /// Returns the condition as text, such as `nand.planes > 1`.
    pub fn condition(&self) -> String {
        match self.is {
            Is::Many => format!("{} > 1", self.key),
            Is::Variant(name) => format!("{} = {name:?}", self.key),
        }
    }

    fn holds(&self, entries: &Entries) -> bool {
        match (self.is, entries.get(self.key).map(|entry| &entry.value)) {
            (Is::Many, Some(Value::Count(count))) => *count > 1,
            (Is::Variant(name), Some(Value::Choice(chosen))) => *chosen == name,
            _ => false,
        }
    }
}

/// Value of an option and its origin, such as `my.toml:12`.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Entry {
    pub value: Value,
    pub origin: String,
}

/// Values of options, by key.
pub(crate) type Entries = BTreeMap<&'static str, Entry>;

/// Returns the value of the option `key` in the syntax of `--set`; `otherwise` if the option has no value.
pub(crate) fn value_or(entries: &Entries, key: &str, otherwise: &str) -> String {
    entries.get(key).map_or_else(|| otherwise.into(), |entry| entry.value.as_set())
}

impl OptionSpec {
    /// Returns the default of an option, given the other `entries`. If the option has no default, returns `None` if it
    /// needs no value, and fails if users must set it.
    pub(crate) fn default_entry(&self, entries: &Entries) -> Result<Option<Entry>, String> {
        let (text, origin) = match self.fallback {
            Fallback::Value(text) => (text.into(), "default".into()),
            Fallback::Unless(text, cases) => match cases.iter().find(|case| case.holds(entries)) {
                Some(case) => (case.value.into(), format!("default ({})", case.condition())),
                None => (text.into(), "default".into()),
            },
            Fallback::Derived(derived) => ((derived.value)(entries), "default".into()),
            Fallback::Preset | Fallback::Required => {
                return Err(format!("must be set, for example to \"{}\"", self.example));
            }
            Fallback::InsteadOf(_) => return Ok(None),
        };
        Ok(Some(Entry { value: self.kind.read_plain(&text)?, origin }))
    }
}

/// A section: a top-level table of options.
pub(crate) struct Section {
    /// Name of the section; empty for the options outside any table.
    pub name: &'static str,
    /// Help text: one sentence for the reference page.
    pub help: &'static str,
    /// Conditions under which the section's options are used; empty if they are always used. Parameters of a variant
    /// also require this variant.
    pub used: &'static [Use],
    /// Returns the section's options in the order of the reference page. An option precedes the parameters of its
    /// variants.
    pub options: fn() -> Vec<OptionSpec>,
}

/// Condition under which the options of a section are used.
pub(crate) enum Use {
    /// The options are used if the given option has the given variant.
    With(&'static str, &'static str),
    /// The options are used unless the given option has the given variant. The given option belongs to the section
    /// itself and is always used.
    Unless(&'static str, &'static str),
}

impl Section {
    /// Returns the conditions under which an option of this section is used, as text such as `KEY = VALUE`.
    pub fn used(&self, key: &str) -> Vec<String> {
        let words = |condition: &Use| match *condition {
            Use::With(choice, name) => Some(format!("{choice} = {name}")),
            Use::Unless(choice, name) => {
                (key != choice && below(choice, key).is_none()).then(|| format!("{choice} is not {name}"))
            }
        };
        self.used.iter().filter_map(words).collect()
    }

    /// Returns the section's help text, including the conditions under which its options are used.
    pub fn describe(&self) -> String {
        let used: Vec<String> = self.used(self.name).iter().map(|condition| format!("`{condition}`")).collect();
        match used.is_empty() {
            true => self.help.into(),
            false => format!("{} Only used if {}.", self.help, used.join(" and ")),
        }
    }
}

// Units and limits used in the value ranges of options.
pub(crate) const SECOND: u64 = 1_000_000_000;
pub(crate) const KIB: u64 = 1 << 10;
pub(crate) const MEBI: u64 = 1 << 20;
pub(crate) const TIB: u64 = 1 << 40;
pub(crate) const U32: u64 = u32::MAX as u64;

/// Returns the part of `key` after `prefix` and a dot; `None` if `key` does not start with them.
pub fn below<'a>(prefix: &str, key: &'a str) -> Option<&'a str> {
    key.strip_prefix(prefix)?.strip_prefix('.')
}
