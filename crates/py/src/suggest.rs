//! What a misspelt word may have meant.

use pyo3::prelude::*;

/// The known word nearest to `word`; None if none is near.
#[pyfunction]
pub fn nearest(word: &str, known: Vec<String>) -> Option<String> {
    ssdlab_core::suggest::nearest(word, known.iter().map(String::as_str)).map(str::to_owned)
}
