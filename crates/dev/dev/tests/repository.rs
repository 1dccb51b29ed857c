//! Checks of the repository's rules.

use ssdlab_dev::layers::{banned_words, breaches, is_model};
use ssdlab_dev::pages::{root, stale};
use ssdlab_dev::{crates, sources};
use std::fs;
use std::process::Command;

#[test]
fn generated_pages_are_up_to_date() {
    let stale = stale(&root()).unwrap();
    assert!(stale.is_empty(), "run `cargo run -p ssdlab-dev -- generate`: {stale:?} differ");
}

#[test]
fn groups_depend_on_lower_groups_only() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let breaches = breaches(&serde_json::from_slice(&output.stdout).unwrap());
    assert!(breaches.is_empty(), "{}", breaches.join("\n"));
}

/// All property tests take their configuration from the tiers, so that they try the same cases every time.
#[test]
fn property_tests_take_their_cases_from_the_tiers() {
    let mut found = Vec::new();
    for path in sources(&root().join("crates")).unwrap() {
        let text = fs::read_to_string(&path).unwrap();
        let blocks = text.split("proptest! {\n").skip(1).filter(|_| !path.ends_with("tests/repository.rs"));
        found.extend(
            blocks
                .filter(|block| !block.lines().next().unwrap_or("").contains("ssdlab_tiers::cases("))
                .map(|_| path.clone()),
        );
    }
    assert!(found.is_empty(), "without #![proptest_config(ssdlab_tiers::cases(...))]: {found:?}");
}

#[test]
fn models_use_no_files_threads_or_clocks() {
    let mut violations = Vec::new();
    for folder in crates(&root()).unwrap().into_iter().filter(|folder| is_model(folder)) {
        let package = format!("ssdlab-{}", folder.file_name().unwrap().display());
        for path in sources(&folder.join("src")).unwrap() {
            for (line, word) in banned_words(&package, &fs::read_to_string(&path).unwrap()) {
                violations.push(format!("{}:{line}: {word}", path.display()));
            }
        }
    }
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}
