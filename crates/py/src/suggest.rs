//! Python binding that suggests known words for misspelt words.

use pyo3::prelude::*;

/// Returns the known word nearest to `word`; None if no word is near.
#[pyfunction]
pub fn nearest(word: &str, known: Vec<String>) -> Option<String> {
    ssdlab_core::suggest::nearest(word, known.iter().map(String::as_str)).map(str::to_owned)
}

/// Returns the known key nearest to `key`, such as `nand.read`. Tolerates a misspelt last part, a wrong table, or a
/// typing error anywhere in the key.
#[pyfunction]
pub fn nearest_key(key: &str, known: Vec<String>) -> Option<String> {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    ssdlab_core::suggest::nearest_key(key, &known).map(str::to_owned)
}

/// Returns the known word equal to `word`, or the only known word that differs just in case or in `-` versus `_`; None
/// if there is none.
#[pyfunction]
pub fn named(word: &str, known: Vec<String>) -> Option<String> {
    ssdlab_core::suggest::named(word, known.iter().map(String::as_str)).map(str::to_owned)
}
