//! Every option there is, in one table put together from the sections: from it come validation, suggestions, the JSON
//! schema and the reference page.

use crate::kind::Step;
use crate::sections::{block, cache, device, drive, ftl, general, host, nand, precondition, workload};
use crate::table::{Fallback, Former, OptionSpec, Section, below};
use std::borrow::Cow;
use std::sync::LazyLock;

/// Every section in the order of the reference page.
pub(crate) static SECTIONS: &[Section] = &[
    general::SECTION,
    device::SECTION,
    nand::SECTION,
    drive::SECTION,
    cache::SECTION,
    block::SECTION,
    ftl::SECTION,
    host::SECTION,
    precondition::SECTION,
    workload::SECTION,
];

/// Every option in the order of the reference page; a choice comes before the parameters of its variants. Schedulers
/// and caches bring tables of their own, so this one is put together when it is first needed.
pub static OPTIONS: LazyLock<Vec<OptionSpec>> =
    LazyLock::new(|| SECTIONS.iter().flat_map(|section| (section.options)()).map(spaced).collect());

/// Spacing of the values that an option may have, where a check needs more than its range. Ranges of sweeps and searches
/// are drawn by it. Parameters of schedulers and policies add the units that they are counted in.
const STEPS: &[(&str, &[Step])] = &[
    ("device.capacity", &[Step::MultipleOf("nand.page_size"), Step::MultipleOf("cache.page")]),
    ("nand.page_size", &[Step::PowerOfTwo]),
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

/// The option with the steps of its values.
fn spaced(option: OptionSpec) -> OptionSpec {
    let steps = STEPS.iter().find(|(key, _)| *key == option.key);
    steps.map_or(option, |(_, steps)| OptionSpec { kind: option.kind.stepped(steps), ..option })
}

/// Every variant that was written in another way before.
static FORMER: &[Former] = &[ftl::DFTL_AS_FTL];

/// The option with this key.
pub(crate) fn find(key: &str) -> Option<&'static OptionSpec> {
    OPTIONS.iter().find(|option| option.key == key)
}

/// The former variant of this name of a choice.
pub(crate) fn find_former(choice: &str, name: &str) -> Option<&'static Former> {
    FORMER.iter().find(|former| former.choice == choice && former.variant.eq_ignore_ascii_case(name))
}

/// The key by which an option goes now.
pub(crate) fn current_key(key: &str) -> Cow<'_, str> {
    let parameter = |former: &Former| {
        let name = below(former.variant, below(former.choice, key)?)?;
        Some(former.parameter(name))
    };
    FORMER.iter().find_map(parameter).map_or(Cow::Borrowed(key), Cow::Owned)
}

impl OptionSpec {
    /// Whether some variant of this choice has parameters, so that a table may be written.
    pub fn has_parameters(&self) -> bool {
        !self.variants().is_empty() && OPTIONS.iter().any(|option| below(self.key, option.key).is_some())
    }

    /// The choices this option depends on, outermost first, each with the variant it needs.
    pub fn conditions(&self) -> impl Iterator<Item = (&'static OptionSpec, &'static str)> {
        let key = self.key;
        OPTIONS.iter().filter(|option| !option.variants().is_empty()).filter_map(move |choice| {
            let rest = below(choice.key, key)?;
            Some((choice, rest.split('.').next().unwrap_or(rest)))
        })
    }

    /// Where else it is used, in words, beside those choices; empty for everywhere.
    pub fn used(&self) -> Vec<String> {
        let section = self.key.split_once('.').map_or("", |(section, _)| section);
        SECTIONS.iter().find(|one| one.name == section).map_or_else(Vec::new, |one| one.used(self.key))
    }

    /// The option that says the same in another way, if there is one.
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
    fn steps_name_options() {
        for (key, steps) in STEPS {
            let option = find(key).unwrap_or_else(|| panic!("{key} is no option"));
            assert_eq!(option.kind.steps(), *steps);
            for step in *steps {
                if let Step::MultipleOf(other) | Step::DivisorOf(other) = step {
                    assert!(find(other).is_some(), "{key}: {other} is no option");
                }
            }
        }
    }
}
