//! What ARCHITECTURE.md and docs/adding.md name exists, and every table of registered things has its recipe.

use ssdlab_dev::documents::{items, missing, tables};
use ssdlab_dev::pages::root;
use ssdlab_dev::sources;
use std::fs;

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

#[test]
fn what_documents_name_exists() {
    for (folder, document) in [("", "ARCHITECTURE.md"), ("docs", "docs/adding.md")] {
        let missing = missing(&root(), folder, &read(document));
        assert!(missing.is_empty(), "{document} names {missing:?}");
    }
}

#[test]
fn the_architecture_is_short() {
    let lines = read("ARCHITECTURE.md").lines().count();
    assert!(lines <= 150, "{lines} lines; notes on a subsystem belong to the top of its crate");
}

#[test]
fn every_table_has_a_recipe() {
    let recipes = items(&read("docs/adding.md"));
    let mut found = Vec::new();
    for folder in fs::read_dir(root().join("crates")).unwrap() {
        for path in sources(&folder.unwrap().path().join("src")).unwrap() {
            found.extend(tables(&root(), &path, &fs::read_to_string(&path).unwrap()));
        }
    }
    assert!(found.len() >= 9, "{found:?}");
    let without: Vec<_> = found.iter().filter(|table| !recipes.contains(table)).collect();
    assert!(without.is_empty(), "docs/adding.md does not tell how to add to {without:?}");
}
