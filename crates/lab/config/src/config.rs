//! Second stage of configuration: merges layers into one value per option, and keeps the origin of the value.

use crate::document::{Form, Layer, Named, Written, read, read_sets};
use crate::error::{ConfigError, Violation};
use crate::presets::{DEFAULT_PRESET, OF_DEFAULT_DRIVE, Preset, find_preset, presets};
use crate::registry::OPTIONS;
use crate::sections::scale::{NOMINAL, SCALE};
use crate::table::{Entries, Entry, OptionSpec, below};
use crate::value::Value;

/// One setting with its origin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Leaf {
    /// Dotted key of the option.
    pub key: &'static str,
    /// The value in TOML syntax.
    pub value: String,
    /// Origin of the value, such as `default`, `preset tlc-nvme`, `my.toml:12`, `--set`.
    pub origin: String,
}

/// Merged configuration: a value for every option that applies.
#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    pub(crate) entries: Entries,
    /// Capacity in bytes that the preset sets. A later layer may have replaced it in `entries`.
    pub(crate) preset_bytes: Option<u64>,
}

impl Config {
    /// Merges, in this order, the defaults, the preset with the presets that it extends, `files`, and the settings
    /// `sets` of one command. Later layers win.
    ///
    /// `preset` overrides presets named in files. Of several presets named in files, the last wins. The default is
    /// [`DEFAULT_PRESET`].
    ///
    /// # Errors
    /// Returns all unknown keys, invalid values and conflicting settings of every layer.
    pub fn resolve(preset: Option<&str>, files: &[Layer], sets: &[Layer]) -> Result<Self, ConfigError> {
        Self::resolve_on(
            preset.map(|name| Layer { origin: "preset".into(), text: name.into() }),
            files,
            &[sets.to_vec()],
        )
    }

    /// Like [`Self::resolve`], but takes the preset with its origin, and several groups of settings. Later groups
    /// override earlier groups; only settings of the same group can contradict each other.
    pub fn resolve_on(preset: Option<Layer>, files: &[Layer], sets: &[Vec<Layer>]) -> Result<Self, ConfigError> {
        let mut violations = Vec::new();
        let files: Vec<Written> =
            files.iter().map(|layer| read(Form::File(&layer.origin), &layer.text, &mut violations)).collect();
        let sets: Vec<Written> = sets.iter().map(|sets| read_sets(sets, &mut violations)).collect();
        let named = files.iter().rev().find_map(|written| written.base.clone());
        let base = preset.map(|Layer { origin, text }| Named { name: text, origin }).or(named);

        let mut layers = base.map_or_else(Vec::new, |base| preset_chain(presets(), base, &mut violations));
        // An unknown preset provides no settings. The default drive replaces it, so that missing settings cause no
        // further errors.
        if layers.is_empty() {
            layers = default_drive(&mut violations);
        }
        layers.extend(files);
        layers.extend(sets);
        let mut entries = Entries::new();
        let mut capacity = None;
        for layer in layers {
            let of_layer = layer.entries.get("device.capacity").filter(|entry| is_of_preset(&entry.origin));
            capacity = of_layer.cloned().or(capacity);
            merge(&mut entries, layer.entries);
        }
        let preset_bytes = match capacity.as_ref().map(|entry| &entry.value) {
            Some(Value::Bytes(bytes)) => Some(*bytes),
            _ => None,
        };
        scale_from(&mut entries, capacity);
        size_by_trace(&mut entries);
        complete(&mut entries, &mut violations);
        if violations.is_empty() { Ok(Self { entries, preset_bytes }) } else { Err(ConfigError(violations)) }
    }

    /// Returns all settings of the configuration, sorted by key.
    pub fn leaves(&self) -> Vec<Leaf> {
        let leaf = |(&key, entry): (&&'static str, &Entry)| Leaf {
            key,
            value: entry.value.to_toml(),
            origin: entry.origin.clone(),
        };
        self.entries.iter().map(leaf).collect()
    }
}

/// Returns the preset and the presets that it extends, lowest first; a cycle ends the chain.
fn preset_chain(presets: &'static [Preset], base: Named, violations: &mut Vec<Violation>) -> Vec<Written> {
    let mut chain = Vec::new();
    let mut seen = Vec::new();
    let mut next = Some(base);
    while let Some(Named { name, origin }) = next {
        next = None;
        match find_preset(presets, &name) {
            Ok(preset) if !seen.contains(&preset.name) => {
                seen.push(preset.name);
                let written = read(Form::Preset(preset.name), preset.text, violations);
                next = written.base.clone();
                chain.push(written);
            }
            Ok(preset) => violations.push(Violation::new(origin, "extends", format!("{} extends itself", preset.name))),
            Err(message) => violations.push(Violation::new(origin, "", message)),
        }
    }
    chain.reverse();
    chain
}

/// Returns the layers of the default preset, marked as defaults.
fn default_drive(violations: &mut Vec<Violation>) -> Vec<Written> {
    let base = Named { name: DEFAULT_PRESET.into(), origin: "default".into() };
    let mut chain = preset_chain(presets(), base, violations);
    for entry in chain.iter_mut().flat_map(|written| written.entries.values_mut()) {
        entry.origin = format!("{OF_DEFAULT_DRIVE}{})", entry.origin.trim_start_matches("preset "));
    }
    chain
}

/// Adds the entries of `higher` to `lower`; entries of `higher` replace entries of `lower` with the same key.
pub(crate) fn merge(lower: &mut Entries, higher: Entries) {
    for (key, entry) in higher {
        if let Value::Choice(variant) = entry.value {
            // Drops the parameters of the option's other variants.
            lower.retain(|other, _| match below(key, other) {
                Some(rest) => rest.split('.').next() == Some(variant),
                None => true,
            });
        }
        if let Some(alternative) = OptionSpec::of(key).and_then(OptionSpec::alternative) {
            lower.remove(alternative);
        }
        lower.insert(key, entry);
    }
}

/// Sets the nominal capacity of a scale model to the preset's capacity, unless the nominal capacity is already set. A
/// later layer may have replaced the preset's capacity.
fn scale_from(entries: &mut Entries, capacity: Option<Entry>) {
    if matches!(entries.get(SCALE), Some(Entry { value: Value::Choice("blocks"), .. }))
        && let Some(capacity) = capacity
    {
        entries.entry(NOMINAL).or_insert(capacity);
    }
}

/// True if a value with this origin comes from a preset, and not from the user.
fn is_of_preset(origin: &str) -> bool {
    origin.starts_with("preset ") || origin.starts_with(OF_DEFAULT_DRIVE)
}

/// With `host.fit = "compact"`, lets the trace determine the capacity of the drive. A capacity set by the user has
/// priority, but a preset's capacity does not.
fn size_by_trace(entries: &mut Entries) {
    let packed = matches!(entries.get("host.fit"), Some(Entry { value: Value::Choice("compact"), .. }));
    let own = |entry: &Entry| !is_of_preset(&entry.origin);
    if packed && !entries.contains_key("device.fill") && !entries.get("device.capacity").is_some_and(own) {
        entries.remove("device.capacity");
        let origin = "default (host.fit = \"compact\")".into();
        entries.insert("device.fill", Entry { value: Value::Percent(100.0), origin });
    }
}

/// Adds the defaults of the options that apply. In the table of options, an option precedes the parameters of its
/// variants.
fn complete(entries: &mut Entries, violations: &mut Vec<Violation>) {
    for option in OPTIONS.iter() {
        let chosen = |(choice, variant): (&OptionSpec, &str)| match entries.get(choice.key) {
            Some(Entry { value: Value::Choice(name), .. }) => *name == variant,
            _ => false,
        };
        let replaced = option.alternative().is_some_and(|other| entries.contains_key(other));
        if entries.contains_key(option.key) || replaced || !option.conditions().all(chosen) {
            continue;
        }
        let chooser = option.conditions().last().and_then(|(choice, _)| entries.get(choice.key));
        let origin = chooser.map_or("default", |entry| &entry.origin);
        match option.default_entry(entries) {
            Ok(Some(entry)) => {
                entries.insert(option.key, entry);
            }
            Ok(None) => {}
            // The invalid value of this option was already reported.
            Err(_) if violations.iter().any(|violation| violation.key == option.key) => {}
            Err(message) => violations.push(Violation::new(origin, option.key, message)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static FAMILY: &[Preset] = &[
        Preset { name: "parent", text: "[nand]\nread = \"1us\"\nerase = \"1ms\"" },
        Preset { name: "child", text: "extends = \"parent\"\nnand.read = \"2us\"" },
        Preset { name: "snake", text: "extends = \"snake\"" },
    ];

    fn chain(name: &str) -> (Entries, Vec<Violation>) {
        let mut violations = Vec::new();
        let mut entries = Entries::new();
        for layer in preset_chain(FAMILY, Named { name: name.into(), origin: "test".into() }, &mut violations) {
            merge(&mut entries, layer.entries);
        }
        (entries, violations)
    }

    #[test]
    fn a_preset_overrides_the_preset_that_it_extends() {
        let (entries, violations) = chain("child");
        assert_eq!(violations, []);
        let origins: Vec<(&str, &str)> = entries.iter().map(|(key, entry)| (*key, entry.origin.as_str())).collect();
        assert_eq!(origins, [("nand.erase", "preset parent"), ("nand.read", "preset child")]);
    }

    #[test]
    fn a_preset_that_extends_itself_is_an_error() {
        let (_, violations) = chain("snake");
        assert_eq!(violations.len(), 1);
        assert_eq!(violations[0].to_string(), "preset snake: extends: snake extends itself");
    }
}
