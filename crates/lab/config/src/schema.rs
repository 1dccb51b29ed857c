//! JSON schema (draft 2020-12) of a configuration file, for editors and other programs.

use crate::kind::Kind;
use crate::presets::presets;
use crate::registry::OPTIONS;
use crate::sections::SECTIONS;
use crate::table::{Fallback, OptionSpec, below};
use serde_json::{Map, Value, json};
use ssdlab_core::suggest::split;
use ssdlab_nand::timing::MAX_PAGE_TYPES;

const NUMBER: &str = r"[0-9][0-9_]*(\.[0-9]+)?";
const BYTES: &str = "(B|KiB|MiB|GiB|TiB|kB|MB|GB|TB)";
const PERCENT: &str = " *%";

/// Returns the JSON schema as indented text.
pub fn json_schema() -> String {
    let mut root = table("");
    let names: Vec<&str> = presets().iter().map(|preset| preset.name).collect();
    if let Some(properties) = root.get_mut("properties").and_then(Value::as_object_mut) {
        let preset = json!({ "enum": names, "description": "Preset that this file builds on." });
        properties.insert("preset".into(), preset);
    }
    root.insert("$schema".into(), "https://json-schema.org/draft/2020-12/schema".into());
    root.insert("title".into(), "ssdlab configuration".into());
    format!("{:#}\n", Value::Object(root))
}

/// Returns the JSON schema of the table `path`.
fn table(path: &str) -> Map<String, Value> {
    let mut properties = Map::new();
    for option in OPTIONS.iter() {
        let rest = if path.is_empty() { Some(option.key) } else { below(path, option.key) };
        let Some(name) = rest.map(|rest| rest.split('.').next().unwrap_or(rest)) else {
            continue;
        };
        if properties.contains_key(name) {
            continue;
        }
        let inner = if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
        let schema = if inner == option.key { leaf(option) } else { section(&inner) };
        properties.insert(name.into(), schema);
    }
    let mut object = Map::new();
    for option in OPTIONS.iter().filter(|option| split(option.key).0 == path) {
        if let Fallback::InsteadOf(other) = option.fallback {
            object.insert("not".into(), json!({ "required": [split(other).1, split(option.key).1] }));
        }
    }
    object.insert("type".into(), "object".into());
    object.insert("additionalProperties".into(), false.into());
    object.insert("properties".into(), properties.into());
    object
}

fn section(path: &str) -> Value {
    let mut schema = table(path);
    if let Some(section) = SECTIONS.iter().find(|section| section.name == path) {
        schema.insert("description".into(), section.describe().into());
    }
    schema.into()
}

fn leaf(option: &OptionSpec) -> Value {
    let mut schema = match option.kind {
        Kind::Stepped(&kind, _) => return leaf(&OptionSpec { kind, ..*option }),
        Kind::Bytes { .. } => pattern(&format!("^{NUMBER} *{BYTES}$")),
        Kind::Nanos { .. } => pattern(&format!("^{NUMBER} *(ns|us|ms|s)$")),
        Kind::Durations { .. } => {
            let duration = format!("{NUMBER} *(ns|us|ms|s)");
            list(pattern(&format!("^{duration}( *, *{duration})*$")), pattern(&format!("^{duration}$")), MAX_PAGE_TYPES)
        }
        Kind::Percent { .. } => pattern(&format!("^{NUMBER}{PERCENT}$")),
        Kind::Rate => pattern(&format!("^{NUMBER} *(/s|k/s|M/s)$")),
        Kind::Count { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Kind::Counts { min, max, most } => {
            let count = json!({ "type": "integer", "minimum": min, "maximum": max });
            list(pattern("^[0-9]+( *, *[0-9]+)*$"), count, most)
        }
        Kind::Float { min, max } => json!({ "type": "number", "minimum": min, "maximum": max }),
        Kind::Bandwidth => pattern(&format!("^(none|{NUMBER} *([kMG]B|[KMG]iB)/s)$")),
        Kind::Bool => json!({ "type": "boolean" }),
        Kind::Sizes => {
            let size = format!("{NUMBER} *{BYTES}");
            let part = format!(" *{size} *: *{NUMBER}{PERCENT} *");
            pattern(&format!("^({size}|{part}(,{part})*)$"))
        }
        Kind::Queues => {
            let part = format!(" *[0-9]+ *: *(fixed|poisson) *: *{NUMBER} *(/s|k/s|M/s) *: *{NUMBER}{PERCENT} *");
            pattern(&format!("^(none|{part}(,{part})*)$"))
        }
        Kind::Span => pattern(&format!("^(device|{NUMBER} *{BYTES})$")),
        Kind::LogSpace => json!({
            "oneOf": [{ "type": "integer", "minimum": 1 }, pattern(&format!("^(all|{NUMBER}{PERCENT})$"))],
        }),
        Kind::Choice(_) => choice(option),
    };
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("description".into(), option.help.into());
    }
    schema
}

fn pattern(pattern: &str) -> Value {
    json!({ "type": "string", "pattern": pattern })
}

/// Returns the JSON schema of a list option: comma-separated text, an array, or a single value.
fn list(text: Value, item: Value, most: usize) -> Value {
    json!({ "anyOf": [text, item, { "type": "array", "items": item, "minItems": 1, "maxItems": most }] })
}

/// Returns the JSON schema of an option that has variants: the name of a variant, or a table with one variant.
fn choice(option: &OptionSpec) -> Value {
    let names: Vec<&str> = option.variants().iter().map(|variant| variant.name).collect();
    if !option.has_parameters() {
        return json!({ "enum": names });
    }
    let mut forms = vec![json!({ "enum": names })];
    for variant in option.variants() {
        let mut parameters = table(&format!("{}.{}", option.key, variant.name));
        parameters.insert("description".into(), variant.help.into());
        forms.push(json!({
            "type": "object",
            "additionalProperties": false,
            "required": [variant.name],
            "properties": { variant.name: parameters },
        }));
    }
    json!({ "oneOf": forms })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Finds the schema of a dotted key, also within the alternatives of `oneOf`.
    fn lookup<'a>(schema: &'a Value, key: &str) -> Option<&'a Value> {
        let (name, rest) = key.split_once('.').map_or((key, None), |(name, rest)| (name, Some(rest)));
        let forms = schema["oneOf"].as_array().map_or(std::slice::from_ref(schema), Vec::as_slice);
        let inner = forms.iter().find_map(|form| form["properties"].get(name))?;
        rest.map_or(Some(inner), |rest| lookup(inner, rest))
    }

    #[test]
    fn every_option_is_in_the_schema() {
        let schema: Value = serde_json::from_str(&json_schema()).unwrap();
        for option in OPTIONS.iter() {
            let schema = lookup(&schema, option.key).unwrap_or_else(|| panic!("{} is missing", option.key));
            assert_eq!(schema["description"], option.help, "{}", option.key);
        }
    }
}
