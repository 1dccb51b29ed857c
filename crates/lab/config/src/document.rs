//! Reads a layer (a TOML document, or single settings) into keys and values, each with its position in the layer.

use crate::error::Violation;
use crate::kind::Kind;
use crate::registry::{OPTIONS, renamed};
use crate::table::{Entries, Entry, OptionSpec, below};
use crate::value::{Value, describe, with_quotes};
use ssdlab_core::suggest::{list, named, nearest, nearest_key, split};
use std::collections::BTreeMap;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Text with its origin: a TOML document, a setting `key=value`, or the name of a preset.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layer {
    /// Origin of the text in messages: the path of a file, or an option such as `--set`.
    pub origin: String,
    /// Text of the layer: a TOML document, a setting `key=value`, or the name of a preset.
    pub text: String,
}

/// Contents of a layer, as written by the user.
#[derive(Default, Debug)]
pub(crate) struct Written {
    /// Values of options in the layer, by key.
    pub entries: Entries,
    /// Name of the base preset, given by the key `preset` in a file or by the key `extends` in a preset.
    pub base: Option<Named>,
}

/// Name of a preset, and the origin of the reference to it.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub name: String,
    pub origin: String,
}

/// Source of a layer of settings: a file, a preset or a single setting.
#[derive(Clone, Copy)]
pub(crate) enum Form<'a> {
    /// A configuration file. Messages refer to its lines. Its key `preset` names the base preset.
    File(&'a str),
    /// A preset. Messages refer to it by its name. Its key `extends` names the base preset.
    Preset(&'a str),
    /// A single setting, such as an argument of `--set`. Messages refer to its origin only. It has no base preset.
    Set(&'a str),
}

/// Reads a TOML document; errors are added to `violations`.
pub(crate) fn read(form: Form<'_>, text: &str, violations: &mut Vec<Violation>) -> Written {
    let mut written = Written::default();
    read_into(&mut written, form, text, violations);
    written
}

/// Reads the settings of one command, each `key=value`, as one layer. If a key is repeated, the last value is used.
/// Apart from that, the order of settings affects only the order of errors.
pub(crate) fn read_sets(sets: &[Layer], violations: &mut Vec<Violation>) -> Written {
    let mut written = Written::default();
    let mut last = BTreeMap::new();
    let mut faults = Vec::new();
    for (place, Layer { origin, text }) in sets.iter().enumerate() {
        match text.split_once('=').map(|(key, value)| (key.trim(), value.trim())) {
            Some((key, value)) if is_key(key) => drop(last.insert(known_key(key), (place, origin, value))),
            _ => faults.push((place, Violation::new(origin, "", format!("{text:?} is not of the form key=value")))),
        }
    }
    for (key, (place, origin, value)) in last {
        let kind = OptionSpec::of(key).map(|option| &option.kind);
        let document = format!("{key} = {}", with_quotes(kind, value));
        let mut errors = Vec::new();
        read_into(&mut written, Form::Set(origin), &document, &mut errors);
        faults.extend(errors.into_iter().map(|fault| (place, fault)));
    }
    faults.sort_by_key(|(place, _)| *place);
    violations.extend(faults.into_iter().map(|(_, fault)| fault));
    written
}

/// True if `text` is a dotted path of bare TOML keys.
fn is_key(text: &str) -> bool {
    text.split('.')
        .all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b)))
}

fn read_into(written: &mut Written, form: Form<'_>, text: &str, violations: &mut Vec<Violation>) {
    let mut reader = Reader { form, text, written, faults: Vec::new() };
    match DeTable::parse(text) {
        Ok(table) => reader.table("", table.get_ref()),
        Err(error) => {
            let start = error.span().map_or(0, |span| span.start);
            reader.fault(start, Place::Value, "", format!("not valid TOML: {}", error.message().replace('\n', ", ")));
        }
    }
    let mut faults = reader.faults;
    faults.sort_by_key(|(start, _)| *start);
    violations.extend(faults.into_iter().map(|(_, violation)| violation));
}

/// Part of a setting `key = value` that an error concerns: the key or the value. For a value, messages also show the
/// column.
#[derive(Clone, Copy)]
enum Place {
    Key,
    Value,
}

struct Reader<'a> {
    form: Form<'a>,
    text: &'a str,
    written: &'a mut Written,
    /// Errors with their byte offsets in the text. Tables are read in alphabetical order; the offsets are used to
    /// report errors in text order.
    faults: Vec<(usize, Violation)>,
}

impl Reader<'_> {
    /// Returns the origin of a setting: `my.toml:12` or `my.toml:12:7` in a file; presets and single settings have no
    /// lines.
    fn origin(&self, start: usize, place: Place) -> String {
        let before = self.text.get(..start).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
        match (self.form, place) {
            (Form::File(name), Place::Key) => format!("{name}:{line}"),
            (Form::File(name), Place::Value) => format!("{name}:{line}:{column}"),
            (Form::Preset(name), _) => format!("preset {name}"),
            (Form::Set(origin), _) => origin.into(),
        }
    }

    fn fault(&mut self, start: usize, place: Place, key: &str, message: String) {
        let origin = self.origin(start, place);
        self.faults.push((start, Violation::new(origin, key, message)));
    }

    fn table(&mut self, path: &str, table: &DeTable<'_>) {
        for (name, value) in table {
            let key = if path.is_empty() { name.get_ref().to_string() } else { format!("{path}.{}", name.get_ref()) };
            self.entry(known_key(&key), name.span().start, value);
        }
    }

    fn entry(&mut self, key: &str, key_start: usize, value: &Spanned<DeValue<'_>>) {
        let value_start = value.span().start;
        match (OptionSpec::of(key), value.get_ref()) {
            (Some(choice @ OptionSpec { kind: Kind::Choice(_), .. }), DeValue::Table(table))
                if choice.has_parameters() =>
            {
                self.variant(choice, key_start, table);
            }
            (Some(option), value) => match option.kind.read(value) {
                Ok(value) => self.set(option, key_start, value, None),
                Err(message) => {
                    let hint = value.as_str().and_then(|name| chosen_elsewhere(option, name));
                    let hint = hint.map_or_else(String::new, |hint| format!("; {hint}"));
                    self.fault(value_start, Place::Value, key, message + &hint);
                }
            },
            (None, value) if key == "preset" || key == "extends" => self.base(key, key_start, value_start, value),
            (None, DeValue::Table(table)) if is_table(key) => self.table(key, table),
            (None, value) if is_table(key) => {
                let message =
                    format!("expected a table of settings ({}), found {}", list(children(key)), describe(value));
                self.fault(value_start, Place::Value, key, message);
            }
            (None, _) => {
                let known: Vec<&str> = OPTIONS.keys().iter().map(String::as_str).collect();
                let message = match (renamed(key), nearest_key(key, &known)) {
                    (Some(renamed), _) => renamed,
                    (None, Some(meant)) => format!("unknown setting; did you mean {meant}?"),
                    (None, None) => {
                        format!("unknown setting; known settings are {}", list(children(nearest_table(key))))
                    }
                };
                self.fault(key_start, Place::Key, key, message);
            }
        }
    }

    /// Reads a table that names one variant and contains its parameters, such as `[ftl.page.gc.d_choices]`.
    fn variant(&mut self, choice: &'static OptionSpec, start: usize, table: &DeTable<'_>) {
        if table.is_empty() {
            let names = list(choice.variants().iter().map(|variant| variant.name));
            self.fault(start, Place::Key, choice.key, format!("empty table; choose one of {names}"));
        }
        let mut in_order: Vec<_> = table.iter().collect();
        in_order.sort_by_key(|(name, _)| name.span().start);
        for (name, value) in in_order {
            let start = name.span().start;
            let key = format!("{}.{}", choice.key, name.get_ref());
            let meant = named(name.get_ref(), choice.variants().iter().map(|variant| variant.name));
            let variant = choice.variants().iter().find(|variant| Some(variant.name) == meant);
            match (variant, value.get_ref()) {
                (Some(variant), DeValue::Table(parameters)) => {
                    let parameter = first_setting(&key, parameters);
                    self.set(choice, start, Value::Choice(variant.name), parameter.as_deref());
                    self.table(&key, parameters);
                }
                (Some(variant), other) => {
                    let (value, choice, name) = (describe(other), choice.key, variant.name);
                    let message = format!("a table of settings cannot be set to {value}; use {choice} = {name:?}");
                    self.fault(start, Place::Key, &key, message);
                }
                // The name is not a variant. It is either a parameter that the table sets in addition to the variant,
                // or unknown.
                (None, _) => self.entry(&key, start, value),
            }
        }
    }

    /// Sets an option. If the file names the variant only implicitly, through one of its parameters, `parameter` is the
    /// key of that parameter.
    fn set(&mut self, option: &'static OptionSpec, start: usize, value: Value, parameter: Option<&str>) {
        let origin = self.origin(start, Place::Key);
        if let Some(first) = self.written.entries.get(option.key)
            && first.value != value
        {
            let (first, value, choice) = (first, value.to_toml(), option.key);
            let (chosen, place) = (first.value.to_toml(), &first.origin);
            let (key, message) = match parameter {
                Some(key) => {
                    (key, format!("needs {choice} = {value}, but {place} sets {chosen}; keep only one of the two"))
                }
                None => (choice, format!("{value} conflicts with {chosen} ({place}); keep only one of the two")),
            };
            return self.fault(start, Place::Key, key, message);
        }
        let alternative = option.alternative().and_then(|other| self.written.entries.get_key_value(other));
        if let Some((other, Entry { origin, .. })) = alternative {
            let message = format!("{other} sets the same quantity ({origin}); keep only one of the two");
            return self.fault(start, Place::Key, option.key, message);
        }
        self.written.entries.insert(option.key, Entry { value, origin });
    }

    fn base(&mut self, key: &str, key_start: usize, value_start: usize, value: &DeValue<'_>) {
        let message = match (self.form, key, value) {
            (Form::File(_), "preset", DeValue::String(name)) | (Form::Preset(_), "extends", DeValue::String(name)) => {
                let origin = self.origin(value_start, Place::Value);
                self.written.base = Some(Named { name: name.to_string(), origin });
                return;
            }
            (Form::File(_), "preset", other) => format!("expected a preset name, found {}", describe(other)),
            (Form::File(_), ..) => "allowed only in presets; use preset = \"...\"".into(),
            (Form::Preset(_), ..) => "allowed only in files; use extends = \"...\"".into(),
            (Form::Set("--set"), ..) => "not a setting; use --preset NAME".into(),
            (Form::Set(_), ..) => "not a setting; use Config(\"NAME\", overrides=...)".into(),
        };
        self.fault(key_start, Place::Key, key, message);
    }
}

/// Returns the key of the first setting in a TOML table.
fn first_setting(path: &str, table: &DeTable<'_>) -> Option<String> {
    let (name, value) = table.iter().min_by_key(|(name, _)| name.span().start)?;
    let key = format!("{path}.{}", name.get_ref());
    match value.get_ref() {
        DeValue::Table(inner) => first_setting(&key, inner).or(Some(key)),
        _ => Some(key),
    }
}

/// Suggests another option that has the variant `name`. Of several such options, suggests the option whose key has the
/// longest prefix in common with `choice`. Returns `None` if `choice` itself has a similar variant.
fn chosen_elsewhere(choice: &OptionSpec, name: &str) -> Option<String> {
    if choice.variants().is_empty() || nearest(name, choice.variants().iter().map(|variant| variant.name)).is_some() {
        return None;
    }
    let variant = |other: &OptionSpec| other.variants().iter().find(|variant| variant.name.eq_ignore_ascii_case(name));
    let common =
        |other: &OptionSpec| other.key.split('.').zip(choice.key.split('.')).take_while(|(a, b)| a == b).count();
    let others = OPTIONS.iter().filter(|other| other.key != choice.key && variant(other).is_some());
    // If several options have equally long common prefixes, the first is suggested.
    let nearest = others.rev().max_by_key(|other| common(other))?;
    Some(format!("did you mean {} = {:?}?", nearest.key, variant(nearest)?.name))
}

/// True if `key` is a table: a section, or a variant with parameters.
fn is_table(key: &str) -> bool {
    OPTIONS.iter().any(|option| below(key, option.key).is_some())
}

/// Returns the nearest table that encloses the table `key`.
fn nearest_table(key: &str) -> &str {
    let (table, _) = split(key);
    if table.is_empty() || is_table(table) { table } else { nearest_table(table) }
}

/// Returns a known key with the capitalization used in the table of options; returns unknown keys unchanged.
fn known_key(key: &str) -> &str {
    named(key, OPTIONS.keys().iter().map(String::as_str)).unwrap_or(key)
}

/// Returns the names of a table's direct children: options, sections and variants.
fn children(table: &str) -> Vec<&'static str> {
    let mut names: Vec<&str> = OPTIONS
        .iter()
        .filter_map(|option| if table.is_empty() { Some(option.key) } else { below(table, option.key) })
        .filter_map(|rest| rest.split('.').next())
        .collect();
    names.dedup();
    names
}
