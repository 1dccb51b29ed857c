//! Development tools: generated reference pages and checks of the repository's rules.

pub mod counters;
pub mod documents;
pub mod layers;
pub mod pages;
pub mod policies;

use std::path::{Path, PathBuf};
use std::{fs, io};

/// Finds all Rust files below `folder`.
///
/// # Errors
///
/// If a folder cannot be read.
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
