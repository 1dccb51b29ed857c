//! What holds where nobody says anything.

use crate::document::{Entry, Form, Written, read};
use crate::error::Violation;
use crate::options::{Fallback, OptionSpec};
use crate::presets::{DEFAULT_PRESET, find_preset, presets};

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

    /// The default of an option, or that it must be set; `None` where there is nothing to set.
    pub(crate) fn of(&self, option: &OptionSpec) -> Result<Option<Entry>, String> {
        match option.fallback {
            Fallback::Value(text) => Ok(Some(Entry { value: option.read_plain(text)?, origin: "default".into() })),
            Fallback::Preset => match self.chip.entries.get(option.key) {
                Some(Entry { value, origin }) => {
                    Ok(Some(Entry { value: value.clone(), origin: format!("default ({origin})") }))
                }
                None => Err(format!("must be set; preset {DEFAULT_PRESET} lacks it")),
            },
            Fallback::Required => Err(format!("must be set; write it like \"{}\"", option.example)),
            Fallback::InsteadOf(_) => Ok(None),
        }
    }
}

impl OptionSpec {
    /// Its default as TOML; `None` where there is none.
    pub fn default_toml(&self) -> Option<String> {
        let entry = Defaults::read(&mut Vec::new()).of(self).ok()??;
        Some(entry.value.to_toml())
    }
}
