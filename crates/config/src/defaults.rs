//! What holds where nobody says anything.

use crate::document::{Form, Written, read};
use crate::error::Violation;
use crate::presets::{DEFAULT_PRESET, find_preset, presets};
use crate::table::{Case, Entries, Entry, Fallback, Is, OptionSpec};
use crate::value::Value;

/// The defaults of all options; those of the chip are read from the default preset, which gives their sources.
pub(crate) struct Defaults {
    chip: Written,
}

impl Defaults {
    /// Reads the default preset; what is wrong with it goes to `violations`.
    pub(crate) fn read(violations: &mut Vec<Violation>) -> Self {
        // Were the preset missing, every option that needs it would say so.
        let chip = find_preset(presets(), DEFAULT_PRESET)
            .map_or_else(|_| Written::default(), |chip| read(Form::Preset(chip.name), chip.text, violations));
        Self { chip }
    }

    /// The default of an option beside what is set, or that it must be set; `None` where there is nothing to set.
    pub(crate) fn of(&self, option: &OptionSpec, entries: &Entries) -> Result<Option<Entry>, String> {
        let entry = |text, origin| Ok(Some(Entry { value: option.kind.read_plain(text)?, origin }));
        match option.fallback {
            Fallback::Value(text) => entry(text, "default".into()),
            Fallback::Unless(text, cases) => match cases.iter().find(|case| case.holds(entries)) {
                Some(case) => entry(case.value, format!("default ({})", case.condition())),
                None => entry(text, "default".into()),
            },
            Fallback::Preset => match self.chip.entries.get(option.key) {
                Some(Entry { value, origin }) => {
                    Ok(Some(Entry { value: value.clone(), origin: format!("default ({origin})") }))
                }
                None => Err(format!("must be set; preset {DEFAULT_PRESET} lacks it")),
            },
            Fallback::Derived(derived) => entry(&(derived.value)(entries), "default".into()),
            Fallback::Required => Err(format!("must be set; write it like \"{}\"", option.example)),
            Fallback::InsteadOf(_) => Ok(None),
        }
    }
}

impl Case {
    /// Whether it holds. What is not set has its default, by which it does not.
    fn holds(&self, entries: &Entries) -> bool {
        match (self.is, entries.get(self.key).map(|entry| &entry.value)) {
            (Is::Many, Some(Value::Count(count))) => *count > 1,
            (Is::Variant(name), Some(Value::Choice(chosen))) => *chosen == name,
            _ => false,
        }
    }
}

impl OptionSpec {
    /// Its default as TOML where nothing else is set; `None` where there is none.
    pub fn default_toml(&self) -> Option<String> {
        let entry = Defaults::read(&mut Vec::new()).of(self, &Entries::new()).ok()??;
        Some(entry.value.to_toml())
    }
}
