//! What a word means, or may have meant.

use pyo3::prelude::*;

/// The known word nearest to `word`; None if none is near.
#[pyfunction]
pub fn nearest(word: &str, known: Vec<String>) -> Option<String> {
    ssdlab_core::suggest::nearest(word, known.iter().map(String::as_str)).map(str::to_owned)
}

/// The same of a key such as `nand.read`: its last part misspelt, the right name in the wrong table, or a slip anywhere.
#[pyfunction]
pub fn nearest_key(key: &str, known: Vec<String>) -> Option<String> {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    ssdlab_core::suggest::nearest_key(key, &known).map(str::to_owned)
}

/// The known word that `word` is, whatever its case; None if it is none of them.
#[pyfunction]
pub fn named(word: &str, known: Vec<String>) -> Option<String> {
    ssdlab_core::suggest::named(word, known.iter().map(String::as_str)).map(str::to_owned)
}
