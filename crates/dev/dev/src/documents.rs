//! Checks the references of a document: files, links, and items in files, as in
//! `` `CODECS` in `crates/pages/codec/src/lib.rs` ``.

use std::fs;
use std::path::{Path, PathBuf};

/// Reference to an item declared in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Name of the function, type or constant that the document refers to.
    pub name: String,
    /// Path of the file from the root of the repository.
    pub file: String,
}

/// Finds all references of the form `` `ITEM` in `FILE` `` in `text`.
pub fn items(text: &str) -> Vec<Item> {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let parts: Vec<&str> = words.split('`').collect();
    let is_reference = |part: &&[&str]| part[1] == " in " && is_path(part[2]);
    let quoted = parts.windows(3).skip(1).step_by(2).filter(is_reference);
    quoted.map(|part| Item { name: part[0].into(), file: part[2].into() }).collect()
}

/// Returns the broken references in `text`, a document in `folder` below `root`.
pub fn missing(root: &Path, folder: &str, text: &str) -> Vec<String> {
    let mut missing = Vec::new();
    for line in text.lines() {
        let quoted = line.split('`').skip(1).step_by(2);
        // In a table row about a crate, paths may be relative to the sources of the crate.
        let sources = line.strip_prefix("| `").and_then(|row| row.split_once('`')).map(|(name, _)| src(root, name));
        let exists =
            |path: &str| root.join(path).exists() || sources.as_ref().is_some_and(|src| src.join(path).exists());
        missing.extend(quoted.filter(|part| is_path(part) && !exists(part)).map(String::from));
        let links = line.split("](").skip(1).filter_map(|link| link.split(')').next());
        let local = links.filter(|link| !link.starts_with("http"));
        missing.extend(local.filter(|link| !root.join(folder).join(link).exists()).map(String::from));
    }
    for Item { name, file } in items(text) {
        if !fs::read_to_string(root.join(&file)).is_ok_and(|source| declares(&source, &name)) {
            missing.push(format!("{name} in {file}"));
        }
    }
    missing
}

/// Finds the registries that a source file declares: public static slices and [`Registry`](ssdlab_core::Registry)
/// values. For each registry, returns the reference that a document should contain.
pub fn tables(root: &Path, path: &Path, source: &str) -> Vec<Item> {
    let declared = source.lines().filter_map(|line| {
        let declaration = line.trim_start().strip_prefix("pub static ")?;
        declaration.split_once(": &[").or_else(|| declaration.split_once(": Registry<"))
    });
    let file = path.strip_prefix(root).unwrap_or(path).display().to_string();
    declared.map(|(name, _)| Item { name: name.into(), file: file.clone() }).collect()
}

fn src(root: &Path, name: &str) -> PathBuf {
    let crates = crate::crates(root).unwrap_or_default();
    crates.into_iter().find(|folder| folder.ends_with(name)).unwrap_or_default().join("src")
}

/// True if the quoted text is the path of a file or folder.
fn is_path(quoted: &str) -> bool {
    let file = [".rs", ".py", ".toml", ".md"].iter().any(|end| quoted.ends_with(end));
    (file || quoted.contains('/')) && quoted.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c))
}

/// True if a Rust, Python or JavaScript source declares `name`.
fn declares(source: &str, name: &str) -> bool {
    source.lines().any(|line| {
        let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        let keyword =
            |word| ["static", "const", "enum", "struct", "trait", "fn", "def", "class", "function"].contains(&word);
        let assigned = line.strip_prefix(name).is_some_and(|rest| rest.starts_with([':', ' ']));
        assigned || words.windows(2).any(|pair| keyword(pair[0]) && pair[1] == name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::root;

    #[test]
    fn valid_references_are_accepted() {
        let text = "| `dev` | rules | `layers.rs` |\nSee `crates/dev/dev/`, [adding](adding.md); `items` in\n`crates/dev/dev/src/documents.rs`, `a + b`.";
        assert_eq!(missing(&root(), "docs", text), [""; 0]);
    }

    #[test]
    fn broken_references_are_reported() {
        let text = "| `dev` | `lawyers.rs` |\n`crates/dove/` [subtracting](subtracting.md) `item` in `crates/dev/dev/src/documents.rs` `x` in `y.rs`";
        assert_eq!(
            missing(&root(), "docs", text),
            [
                "lawyers.rs",
                "crates/dove/",
                "y.rs",
                "subtracting.md",
                "item in crates/dev/dev/src/documents.rs",
                "x in y.rs"
            ]
        );
    }

    #[test]
    fn tables_are_public_slices_and_registries() {
        let source = "pub static ONE: &[&Info] = &[];\nstatic TWO: &[&Info] = &[];\npub static THREE: u8 = 3;\npub static FOUR: Registry<u8> = f();";
        let items = ["ONE", "FOUR"].map(|name| Item { name: name.into(), file: "crates/a/src/lib.rs".into() });
        assert_eq!(tables(Path::new("/r"), Path::new("/r/crates/a/src/lib.rs"), source), items);
    }
}
