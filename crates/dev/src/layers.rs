//! Layer rule: a crate depends only on lower layers; model crates use no files, threads or clocks.

use serde_json::Value;

/// Layer of every product crate, as in ARCHITECTURE.md.
const LAYERS: &[(&str, u8)] = &[
    ("ssdlab-core", 0),
    ("ssdlab-trace", 1),
    ("ssdlab-nand", 1),
    ("ssdlab-codec", 1),
    ("ssdlab-sched", 1),
    ("ssdlab-ftl", 2),
    ("ssdlab-cache", 2),
    ("ssdlab-device", 3),
    ("ssdlab-sim", 3),
    ("ssdlab-explain", 3),
    ("ssdlab-pool", 3),
    ("ssdlab-nbd", 3),
    ("ssdlab-advice", 4),
    ("ssdlab-config", 4),
    ("ssdlab-measure", 4),
    ("ssdlab-serve", 4),
    ("ssdlab-py", 5),
];

/// Development crates; product crates may use them only in tests.
const DEVELOPMENT: &[&str] = &["ssdlab-testkit", "ssdlab-tiers", "ssdlab-bench", "ssdlab-dev"];

/// Words that models, which are below layer 3, must not use, because results would not be reproducible.
/// The short forms catch uses after `use std::{env, fs}`. Maps made with `new` have a random seed.
const BANNED: &[&str] = &[
    "std::fs",
    "fs::",
    "std::thread",
    "thread::",
    "std::env",
    "env::",
    "Instant",
    "SystemTime",
    "RandomState",
    "HashMap::new",
    "HashSet::new",
];

/// Exceptions: banned words that a crate may use.
const EXCEPTIONS: &[(&str, &[&str])] = &[("ssdlab-trace", &["std::fs", "fs::"])];

/// Returns the layer of a product crate.
fn layer(name: &str) -> Option<u8> {
    LAYERS.iter().find(|(known, _)| *known == name).map(|(_, layer)| *layer)
}

/// True if [`banned_words`] applies to the crate.
pub fn is_model(name: &str) -> bool {
    layer(name).is_some_and(|layer| layer < 3)
}

/// Finds violations of the layer rule in the output of `cargo metadata`.
pub fn breaches(metadata: &Value) -> Vec<String> {
    let mut breaches = Vec::new();
    for package in items(metadata, "packages") {
        let name = text(package, "name");
        let Some(own) = layer(name) else {
            if !DEVELOPMENT.contains(&name) {
                breaches.push(format!("{name} has no layer; add it to LAYERS"));
            }
            continue;
        };
        for dependency in items(package, "dependencies") {
            let other = text(dependency, "name");
            let in_tests = text(dependency, "kind") == "dev";
            match layer(other) {
                Some(other_layer) if other_layer >= own && !in_tests => {
                    breaches.push(format!("{name} (layer {own}) depends on {other} (layer {other_layer})"));
                }
                None if DEVELOPMENT.contains(&other) && !in_tests => {
                    breaches.push(format!("{name} depends on {other}, which is for development only"));
                }
                _ => {}
            }
        }
    }
    breaches
}

/// Finds banned words in the code of a source file of `package`, with line numbers. Comments are ignored.
pub fn banned_words(package: &str, source: &str) -> Vec<(usize, &'static str)> {
    let allowed = EXCEPTIONS.iter().find(|(name, _)| *name == package).map_or(&[][..], |(_, words)| words);
    let banned = || BANNED.iter().filter(|word| !allowed.contains(word));
    let mut hits = Vec::new();
    // Tests may use banned words. They are at the end of a file, or fill a file marked at its head.
    let tests = |line: &&str| line.starts_with("#[cfg(test)]") || line.starts_with("#![cfg(test)]");
    for (number, line) in source.lines().take_while(|line| !tests(line)).enumerate() {
        let code = line.split("//").next().unwrap_or(line);
        hits.extend(banned().find(|word| mentions(code, word)).map(|word| (number + 1, *word)));
    }
    hits
}

/// True if `word` occurs in `code`, but not as the end of a longer name.
fn mentions(code: &str, word: &str) -> bool {
    code.match_indices(word).any(|(start, _)| !code[..start].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
}

fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn package(name: &str, dependency: &str, kind: Value) -> Value {
        json!({ "packages": [{ "name": name, "dependencies": [{ "name": dependency, "kind": kind }] }] })
    }

    #[test]
    fn only_lower_layers_may_be_used() {
        assert!(breaches(&package("ssdlab-ftl", "ssdlab-core", Value::Null)).is_empty());
        assert!(breaches(&package("ssdlab-ftl", "thiserror", Value::Null)).is_empty());
        assert!(breaches(&package("ssdlab-ftl", "ssdlab-testkit", json!("dev"))).is_empty());
        assert!(breaches(&package("ssdlab-bench", "ssdlab-sim", Value::Null)).is_empty());
        assert_eq!(
            breaches(&package("ssdlab-ftl", "ssdlab-sim", Value::Null)),
            ["ssdlab-ftl (layer 2) depends on ssdlab-sim (layer 3)"]
        );
        assert_eq!(
            breaches(&package("ssdlab-nand", "ssdlab-trace", Value::Null)),
            ["ssdlab-nand (layer 1) depends on ssdlab-trace (layer 1)"]
        );
        assert_eq!(
            breaches(&package("ssdlab-ftl", "ssdlab-testkit", Value::Null)),
            ["ssdlab-ftl depends on ssdlab-testkit, which is for development only"]
        );
        assert_eq!(
            breaches(&package("ssdlab-new", "ssdlab-core", Value::Null)),
            ["ssdlab-new has no layer; add it to LAYERS"]
        );
    }

    #[test]
    fn banned_words_are_found_in_code_only() {
        let source = "// std::fs is fine here\nuse std::fs::File;\nuse std::{env, io};\nlet home = env::var(name);\nbuffs::fill();\n#[cfg(test)]\nmod tests { use std::env; }";
        assert_eq!(banned_words("ssdlab-ftl", source), [(2, "std::fs"), (4, "env::")]);
        assert_eq!(banned_words("ssdlab-trace", source), [(4, "env::")]);
        assert_eq!(banned_words("ssdlab-ftl", "//! Tests.\n#![cfg(test)]\nuse std::fs::File;"), []);
    }
}
