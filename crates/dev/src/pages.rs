//! The generated files of the repository, and whether they are up to date.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// A generated file.
pub struct Page {
    /// Path from the root of the repository.
    pub path: &'static str,
    /// What it must contain.
    pub text: String,
}

/// Every generated file.
pub fn pages() -> Vec<Page> {
    vec![
        Page { path: "docs/reference/configuration.md", text: ssdlab_config::reference_markdown() },
        Page { path: "docs/reference/presets.md", text: ssdlab_config::presets_markdown() },
        Page { path: "docs/reference/config.schema.json", text: ssdlab_config::json_schema() },
    ]
}

/// The root of the repository: two levels above this crate.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Writes every page below `root`.
///
/// # Errors
///
/// A file that cannot be written.
pub fn write(root: &Path) -> io::Result<()> {
    for Page { path, text } in pages() {
        let path = root.join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, text)?;
    }
    Ok(())
}

/// The pages below `root` that are missing or differ from what would be generated.
pub fn stale(root: &Path) -> Vec<&'static str> {
    let differs = |page: &Page| fs::read_to_string(root.join(page.path)).ok().as_ref() != Some(&page.text);
    pages().iter().filter(|page| differs(page)).map(|page| page.path).collect()
}
