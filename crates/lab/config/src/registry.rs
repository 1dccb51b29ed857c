//! The table of all options.

use crate::kind::Step;
use crate::sections::SECTIONS;
use crate::table::{Fallback, OptionSpec, below};
use ssdlab_core::registered;
use std::ops::Deref;
use std::sync::{PoisonError, RwLock};

/// All options, in the order of the reference page. An option comes before the parameters of its variants.
pub static OPTIONS: Options = Options { built: RwLock::new(None) };

/// The table of options. It is built from the registries on first use, and rebuilt after an entry is registered.
pub struct Options {
    /// The current table. Former tables are never freed, because they may still be in use.
    built: RwLock<Option<&'static Built>>,
}

struct Built {
    /// Number of registered entries when the table was built.
    registered: usize,
    options: Vec<OptionSpec>,
    /// Result of [`keys`].
    keys: Vec<String>,
}

impl Options {
    fn built(&self) -> &'static Built {
        let registered = registered();
        let built = *self.built.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(built) = built.filter(|built| built.registered == registered) {
            return built;
        }
        let options: Vec<_> = SECTIONS.iter().flat_map(|section| (section.options)()).map(spaced).collect();
        let built = &*Box::leak(Box::new(Built { registered, keys: keys(&options), options }));
        *self.built.write().unwrap_or_else(PoisonError::into_inner) = Some(built);
        built
    }

    /// Returns the result of [`keys`] for this table.
    pub(crate) fn keys(&self) -> &'static [String] {
        &self.built().keys
    }
}

impl Deref for Options {
    type Target = [OptionSpec];

    fn deref(&self) -> &'static [OptionSpec] {
        &self.built().options
    }
}

/// Returns the keys of all options and sections, and of all variants of options with parameters.
fn keys(options: &[OptionSpec]) -> Vec<String> {
    let sections = SECTIONS.iter().map(|section| section.name).filter(|name| !name.is_empty()).map(str::to_string);
    let keys = options.iter().map(|option| option.key.to_string());
    let variants = options
        .iter()
        .filter(|option| has_parameters(option, options))
        .flat_map(|choice| choice.variants().iter().map(|variant| format!("{}.{}", choice.key, variant.name)));
    sections.chain(keys).chain(variants).collect()
}

/// True if a variant of the option has parameters among `options`.
fn has_parameters(option: &OptionSpec, options: &[OptionSpec]) -> bool {
    !option.variants().is_empty() && options.iter().any(|other| below(option.key, other.key).is_some())
}

/// Rules for the values of options, in addition to their ranges. Sweeps and searches use them to draw values. The
/// option table adds a rule for parameters of schedulers and policies: values must be multiples of the parameter's
/// unit.
const STEPS: &[(&str, &[Step])] = &[
    ("device.capacity", &[Step::MultipleOf("nand.page_size"), Step::MultipleOf("cache.page")]),
    ("nand.page_size", &[Step::PowerOfTwo]),
    ("device.unit", &[Step::PowerOfTwo]),
    ("cache.page", &[Step::PowerOfTwo]),
    ("cache.dirty", &[Step::Multiple(1)]),
    ("cache.dirty_background", &[Step::Multiple(1)]),
    ("block.max_request", &[Step::Multiple(512)]),
    ("ftl.page.map.segments.cache", &[Step::MultipleOf("ftl.page.map.segments.segment")]),
    ("ftl.page.map.segments.segment", &[Step::PowerOfTwo]),
    ("ftl.page.map.segments.entry", &[Step::PowerOfTwo]),
    ("ftl.sbfast.sub_block", &[Step::DivisorOf("nand.pages_per_block")]),
    ("workload.align", &[Step::PowerOfTwo]),
    (
        "workload.pattern.streams.block",
        &[Step::MultipleOf("workload.align"), Step::MultipleOf("workload.pattern.streams.sub_block")],
    ),
    (
        "workload.pattern.streams.sub_block",
        &[Step::MultipleOf("workload.align"), Step::DivisorOf("workload.pattern.streams.block")],
    ),
    ("workload.pattern.oltp.block", &[Step::MultipleOf("workload.align")]),
    ("workload.pattern.locality.region", &[Step::MultipleOf("workload.align")]),
];

/// Restricts the values of an option to the steps that [`STEPS`] lists for its key, if any.
fn spaced(option: OptionSpec) -> OptionSpec {
    let steps = STEPS.iter().find(|(key, _)| *key == option.key);
    steps.map_or(option, |(_, steps)| OptionSpec { kind: option.kind.stepped(steps), ..option })
}

/// Renamed options and tables, as (former key, current key).
const RENAMED: &[(&str, &str)] = &[
    ("block.frame", "block.layer"),
    ("ftl.dftl.trigger", "ftl.page.trigger"),
    ("ftl.dftl", "ftl.page.map.dftl"),
    ("host.replay.open.time_scale", "host.replay.open.speed = 1 / time_scale"),
];

/// Describes what replaced a renamed option or option table; `None` for other keys.
pub fn renamed(key: &str) -> Option<String> {
    let now = RENAMED.iter().find_map(|(former, now)| match below(former, key) {
        Some(rest) => Some(format!("{now}.{rest}")),
        None => (key == *former).then(|| (*now).into()),
    })?;
    let variants = OptionSpec::of(&now).map_or(&[][..], |option| option.variants());
    let names: Vec<_> = variants.iter().map(|variant| format!("{:?}", variant.name)).collect();
    let values = if names.is_empty() { String::new() } else { format!(" = {}", names.join(" or ")) };
    Some(format!("was renamed to {now}{values}"))
}

impl OptionSpec {
    /// Finds an option by its key.
    pub fn of(key: &str) -> Option<&'static Self> {
        OPTIONS.iter().find(|option| option.key == key)
    }

    /// True if a variant of this option has parameters; the option may then be written as a table.
    pub fn has_parameters(&self) -> bool {
        has_parameters(self, &OPTIONS)
    }

    /// Returns the options that this option depends on, outermost first, each with the required variant.
    pub fn conditions(&self) -> impl Iterator<Item = (&'static OptionSpec, &'static str)> {
        let key = self.key;
        OPTIONS.iter().filter(|option| !option.variants().is_empty()).filter_map(move |choice| {
            let rest = below(choice.key, key)?;
            Some((choice, rest.split('.').next().unwrap_or(rest)))
        })
    }

    /// Returns the conditions under which the option is used, as text. The option's section declares them.
    pub fn used(&self) -> Vec<String> {
        let section = self.key.split_once('.').map_or("", |(section, _)| section);
        let section = SECTIONS.iter().find(|other| other.name == section);
        section.map_or_else(Vec::new, |section| section.used(self.key))
    }

    /// Returns the key of the option that sets the same quantity in another unit, if there is one.
    pub fn alternative(&self) -> Option<&'static str> {
        match self.fallback {
            Fallback::InsteadOf(other) => Some(other),
            _ => OPTIONS.iter().find(|other| other.fallback == Fallback::InsteadOf(self.key)).map(|other| other.key),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_refer_to_existing_options() {
        for (key, steps) in STEPS {
            let option = OptionSpec::of(key).unwrap_or_else(|| panic!("unknown option {key}"));
            assert_eq!(option.kind.steps(), *steps);
            for step in *steps {
                if let Step::MultipleOf(other) | Step::DivisorOf(other) = step {
                    assert!(OptionSpec::of(other).is_some(), "{key}: unknown option {other}");
                }
            }
        }
    }
}
