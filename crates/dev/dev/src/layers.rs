//! Rules of the source tree: a group of crates depends only on groups below it; model crates use no files, threads or
//! clocks.

use serde_json::Value;
use std::path::Path;

/// Crate groups of the product, lowest layer first: the folders below `crates/`. `core`, `ssdlab`, `conformance` and
/// `py` are single crates.
const GROUPS: &[&str] = &["core", "flash", "host", "lab", "ssdlab", "conformance", "drive", "pages", "py", PLUGINS];

/// Folder of components outside the product. Like user-written components, they may use only the `ssdlab` crate.
const PLUGINS: &str = "plugins";

/// Folder of the development crates, which product crates may use only in tests.
const DEVELOPMENT: &str = "dev";

/// Words that models must not use, because they would make results irreproducible. Short forms such as `fs::` also
/// detect uses after `use std::{env, fs}`. `HashMap::new` and `HashSet::new` use a random seed.
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

/// True if the crate in `folder` is a model crate, to which [`banned_words`] applies.
pub fn is_model(folder: &Path) -> bool {
    let group = folder.parent().and_then(Path::file_name);
    folder.ends_with("core")
        || folder.ends_with("codec")
        || group.is_some_and(|group| group == "flash" || group == "host")
}

/// Finds dependencies that violate the order of the groups, in the output of `cargo metadata`.
pub fn breaches(metadata: &Value) -> Vec<String> {
    let packages = items(metadata, "packages");
    let group_of = |name: &str| packages.iter().find(|package| text(package, "name") == name).map(group);
    let rank = |group: &str| GROUPS.iter().position(|known| *known == group);
    let mut breaches = Vec::new();
    for package in packages {
        let (name, own) = (text(package, "name"), group(package));
        if own == DEVELOPMENT {
            continue;
        }
        if rank(own).is_none() {
            breaches.push(format!("{name} is in the unknown group {own}; add it to GROUPS"));
            continue;
        }
        for dependency in items(package, "dependencies").iter().filter(|dependency| text(dependency, "kind") != "dev") {
            let used = text(dependency, "name");
            match group_of(used) {
                Some(DEVELOPMENT) => {
                    breaches.push(format!("{name} depends on the development crate {used}; use it only in tests"))
                }
                Some(other) if rank(other) > rank(own) || own == PLUGINS && other != "ssdlab" => {
                    breaches.push(format!("{name} (group {own}) must not depend on {used} (group {other})"));
                }
                _ => {}
            }
        }
    }
    breaches
}

/// Returns the group of a package: its folder directly below `crates/`, or `plugins`.
fn group(package: &Value) -> &str {
    let path = text(package, "manifest_path");
    let below = path.split_once("/crates/").map_or("", |(_, path)| path).split('/').next();
    if path.contains("/plugins/") { PLUGINS } else { below.unwrap_or_default() }
}

/// Finds banned words in the code of a source file of `package`, with line numbers. Comments are ignored.
pub fn banned_words(package: &str, source: &str) -> Vec<(usize, &'static str)> {
    let allowed = EXCEPTIONS.iter().find(|(name, _)| *name == package).map_or(&[][..], |(_, words)| words);
    let banned = || BANNED.iter().filter(|word| !allowed.contains(word));
    let mut hits = Vec::new();
    // Tests may use banned words. Test code is at the end of a file, or in a file that begins with `#![cfg(test)]`.
    let tests = |line: &&str| line.starts_with("#[cfg(test)]") || line.starts_with("#![cfg(test)]");
    for (number, line) in source.lines().take_while(|line| !tests(line)).enumerate() {
        let code = line.split("//").next().unwrap_or(line);
        hits.extend(banned().find(|word| mentions(code, word)).map(|word| (number + 1, *word)));
    }
    hits
}

/// True if `word` occurs in `code`, not counting longer names that end with `word`.
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

    /// Returns a workspace with the crates `used` and `user`; `user` depends on `used`.
    fn pair(used: &str, user: &str, kind: Value) -> Value {
        let package = |path: &str, dependencies: Value| {
            let name = path.rsplit('/').next().unwrap();
            json!({ "name": name, "manifest_path": format!("/home/crates/{path}/Cargo.toml"), "dependencies": dependencies })
        };
        let name = used.rsplit('/').next().unwrap();
        json!({ "packages": [package(used, json!([])), package(user, json!([{ "name": name, "kind": kind }]))] })
    }

    #[test]
    fn only_lower_groups_may_be_used() {
        for (used, user) in [("core", "flash/ftl"), ("flash/nand", "flash/ftl"), ("lab/sim", "dev/bench")] {
            assert!(breaches(&pair(used, user, Value::Null)).is_empty(), "{user} uses {used}");
        }
        assert!(breaches(&pair("dev/testkit", "flash/ftl", json!("dev"))).is_empty());
        let breach = |used, user| breaches(&pair(used, user, Value::Null));
        assert_eq!(breach("lab/sim", "flash/ftl"), ["ftl (group flash) must not depend on sim (group lab)"]);
        assert!(breach("ssdlab", "plugins/last").is_empty());
        assert_eq!(breach("lab/sim", "plugins/last"), ["last (group plugins) must not depend on sim (group lab)"]);
        assert_eq!(breach("host/trace", "flash/nand"), ["nand (group flash) must not depend on trace (group host)"]);
        assert_eq!(
            breach("dev/testkit", "flash/ftl"),
            ["ftl depends on the development crate testkit; use it only in tests"]
        );
        assert_eq!(breach("core", "new/log"), ["log is in the unknown group new; add it to GROUPS"]);
    }

    #[test]
    fn banned_words_are_found_in_code_only() {
        let source = "// std::fs is fine here\nuse std::fs::File;\nuse std::{env, io};\nlet home = env::var(name);\nbuffs::fill();\n#[cfg(test)]\nmod tests { use std::env; }";
        assert_eq!(banned_words("ssdlab-ftl", source), [(2, "std::fs"), (4, "env::")]);
        assert_eq!(banned_words("ssdlab-trace", source), [(4, "env::")]);
        assert_eq!(banned_words("ssdlab-ftl", "//! Tests.\n#![cfg(test)]\nuse std::fs::File;"), []);
    }
}
