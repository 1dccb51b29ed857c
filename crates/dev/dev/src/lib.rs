//! Development tools: generated reference pages and checks of the rules of the repository.

pub mod counters;
pub mod documents;
pub mod formats;
pub mod layers;
pub mod pages;
pub mod policies;

use std::path::{Path, PathBuf};
use std::{fs, io};

/// Finds the folder of every crate of the workspace, sorted.
pub fn crates(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut crates = Vec::new();
    for group in folders(&root.join("crates"))? {
        if group.join("Cargo.toml").exists() {
            crates.push(group);
        } else {
            crates.extend(folders(&group)?);
        }
    }
    crates.sort();
    Ok(crates)
}

fn folders(folder: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect()
}

/// Finds all Rust files below `folder`.
pub fn sources(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(sources(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(files)
}
