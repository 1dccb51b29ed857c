//! Generated files of the repository, and files with generated parts.

use crate::counters::with_tables;
use crate::formats::formats_markdown;
use crate::policies::policies_markdown;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Generated file.
pub struct Page {
    /// Path of the file from the root of the repository.
    pub path: &'static str,
    /// Generated contents of the file.
    pub text: String,
}

/// Generates all files. If only parts of a file are generated, reads the hand-written text from the file below `root`.
fn pages(root: &Path) -> io::Result<Vec<Page>> {
    const RESULTS: &str = "docs/results.md";
    Ok(vec![
        Page { path: "docs/reference/configuration.md", text: ssdlab_config::reference_markdown() },
        Page { path: "docs/reference/presets.md", text: ssdlab_config::presets_markdown() },
        Page { path: "docs/reference/config.schema.json", text: ssdlab_config::json_schema() },
        Page { path: "docs/reference/policies.md", text: policies_markdown() },
        Page { path: "docs/reference/formats.md", text: formats_markdown() },
        Page { path: RESULTS, text: with_tables(&fs::read_to_string(root.join(RESULTS))?)? },
    ])
}

/// Returns the root of the repository, three levels above this crate.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// Writes every page below `root`.
pub fn write(root: &Path) -> io::Result<()> {
    for Page { path, text } in pages(root)? {
        let path = root.join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, text)?;
    }
    Ok(())
}

/// Returns the pages below `root` that are missing or out of date.
pub fn stale(root: &Path) -> io::Result<Vec<&'static str>> {
    let differs = |page: &Page| fs::read_to_string(root.join(page.path)).ok().as_ref() != Some(&page.text);
    Ok(pages(root)?.iter().filter(|page| differs(page)).map(|page| page.path).collect())
}
