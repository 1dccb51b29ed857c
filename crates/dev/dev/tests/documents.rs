//! Checks that references in ARCHITECTURE.md and docs/adding.md exist, and that every registry has a recipe.

use ssdlab_dev::documents::{items, missing, tables};
use ssdlab_dev::pages::root;
use ssdlab_dev::{crates, sources};
use std::fs;

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

#[test]
fn references_in_documents_exist() {
    for (folder, document) in [("", "ARCHITECTURE.md"), ("docs", "docs/adding.md")] {
        let missing = missing(&root(), folder, &read(document));
        assert!(missing.is_empty(), "{document} has broken references: {missing:?}");
    }
}

#[test]
fn the_architecture_is_short() {
    let lines = read("ARCHITECTURE.md").lines().count();
    assert!(lines <= 160, "{lines} lines; move notes on a subsystem to the top of its crate");
}

#[test]
fn every_table_has_a_recipe() {
    let recipes = items(&read("docs/adding.md"));
    let mut registries = Vec::new();
    for folder in crates(&root()).unwrap() {
        for path in sources(&folder.join("src")).unwrap() {
            registries.extend(tables(&root(), &path, &fs::read_to_string(&path).unwrap()));
        }
    }
    assert!(registries.len() >= 9, "{registries:?}");
    let without: Vec<_> = registries.iter().filter(|table| !recipes.contains(table)).collect();
    assert!(without.is_empty(), "docs/adding.md has no recipe for {without:?}");
}
