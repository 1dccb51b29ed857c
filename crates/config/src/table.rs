//! An entry of the table of options, and what it is set to.
//!
//! A key is a dotted path. An option of kind [`Kind::Choice`] names a *variant*; options whose key continues with that
//! name (`ftl.page.gc` and `ftl.page.gc.d_choices.d`) are the variant's parameters and exist only while it is chosen.
//! A chosen variant is written as a string, or as a table of its parameters.

use crate::kind::{Kind, Variant};
use crate::value::Value;
use std::collections::BTreeMap;

/// One option: where it is, what it may be, and what it means.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OptionSpec {
    /// Dotted path, such as `nand.read`.
    pub key: &'static str,
    /// Type and range.
    pub kind: Kind,
    /// What holds when nobody sets it.
    pub fallback: Fallback,
    /// One sentence for the reader of the reference page.
    pub help: &'static str,
    /// A value as `--set` takes it.
    pub example: &'static str,
}

/// What holds when an option is not set.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Fallback {
    /// This value, as `--set` takes it.
    Value(&'static str),
    /// The value of the first case that holds, else this one.
    Unless(&'static str, &'static [Case]),
    /// Nothing: every preset says it, with its source.
    Preset,
    /// What follows from other options.
    Derived(Derived),
    /// Nothing: whoever chooses the variant must set it.
    Required,
    /// Nothing: it is another way to say this option, and replaces it.
    InsteadOf(&'static str),
}

/// A default that follows from other options.
#[derive(Clone, Copy, Debug)]
pub struct Derived {
    /// The rule in words.
    pub rule: &'static str,
    /// The default, as `--set` takes it, beside what is set.
    pub(crate) value: fn(&Entries) -> String,
}

impl PartialEq for Derived {
    fn eq(&self, other: &Self) -> bool {
        self.rule == other.rule
    }
}

/// When an option has another default.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Case {
    /// The option that decides. By its default no case holds.
    pub key: &'static str,
    /// What it must be.
    pub is: Is,
    /// The default then, as `--set` takes it.
    pub value: &'static str,
}

/// What decides a [`Case`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Is {
    /// A count of more than one.
    Many,
    /// This variant.
    Variant(&'static str),
}

impl Case {
    /// The condition in words.
    pub fn condition(&self) -> String {
        match self.is {
            Is::Many => format!("{} > 1", self.key),
            Is::Variant(name) => format!("{} = {name:?}", self.key),
        }
    }
}

impl OptionSpec {
    /// The names of its variants; empty unless it is a choice.
    pub fn variants(&self) -> &'static [Variant] {
        match self.kind {
            Kind::Choice(variants) => variants,
            _ => &[],
        }
    }
}

/// A value and where it was written, such as `my.toml:12`.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Entry {
    pub value: Value,
    pub origin: String,
}

/// What options are set to, by key.
pub(crate) type Entries = BTreeMap<&'static str, Entry>;

/// A top-level table of options.
pub(crate) struct Section {
    /// Its name; empty for the options outside any table.
    pub name: &'static str,
    /// A sentence for the reference page.
    pub help: &'static str,
    /// Where its options are used, beside the choices of which they are parameters; empty for everywhere.
    pub used: &'static [Use],
    /// Its options in the order of the reference page, a choice before the parameters of its variants.
    pub options: fn() -> Vec<OptionSpec>,
}

/// What must be chosen for the options of a section to be used.
pub(crate) enum Use {
    /// This variant of this choice.
    With(&'static str, &'static str),
    /// Any other variant of this choice, which is in the section itself and used without that.
    Unless(&'static str, &'static str),
}

impl Section {
    /// Where one of its options is used, in words.
    pub fn used(&self, key: &str) -> Vec<String> {
        let words = |one: &Use| match *one {
            Use::With(choice, name) => Some(format!("{choice} = {name}")),
            Use::Unless(choice, name) => {
                (key != choice && below(choice, key).is_none()).then(|| format!("{choice} is not {name}"))
            }
        };
        self.used.iter().filter_map(words).collect()
    }

    /// What it is and where it is used.
    pub fn describe(&self) -> String {
        match self.used(self.name).as_slice() {
            [] => self.help.into(),
            used => {
                let used: Vec<String> = used.iter().map(|one| format!("`{one}`")).collect();
                format!("{} Used where {}.", self.help, used.join(" and "))
            }
        }
    }
}

/// A variant that is written in another way now; as it was written before, it is still read.
pub(crate) struct Former {
    /// The choice.
    pub choice: &'static str,
    /// Its former name.
    pub variant: &'static str,
    /// What it comes to: these choices with these variants, outermost first.
    pub now: &'static [(&'static str, &'static str)],
    /// Where its parameters are.
    pub parameters: &'static str,
    /// Those that are elsewhere, with their keys.
    pub moved: &'static [(&'static str, &'static str)],
}

impl Former {
    /// The key that the parameter `name` has now.
    pub fn parameter(&self, name: &str) -> String {
        for (former, now) in self.moved {
            if name == *former {
                return (*now).into();
            }
            if let Some(inner) = below(former, name) {
                return format!("{now}.{inner}");
            }
        }
        format!("{}.{name}", self.parameters)
    }
}

// Ends of ranges.
pub(crate) const SECOND: u64 = 1_000_000_000;
pub(crate) const KIB: u64 = 1 << 10;
pub(crate) const MEBI: u64 = 1 << 20;
pub(crate) const TIB: u64 = 1 << 40;
pub(crate) const U32: u64 = u32::MAX as u64;

/// What follows `prefix` and a dot in `key`.
pub fn below<'a>(prefix: &str, key: &'a str) -> Option<&'a str> {
    key.strip_prefix(prefix)?.strip_prefix('.')
}
