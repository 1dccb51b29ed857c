//! Conversion of counter structs for Python.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use ssdlab_core::counters::Counters;

/// A counter as a row: name, unit, help and value.
pub type Row = (&'static str, &'static str, &'static str, u64);

pub fn rows(counters: &impl Counters) -> Vec<Row> {
    counters.rows().map(|(counter, value)| (counter.name, counter.unit, counter.help, value)).collect()
}

/// Returns the values of all counters of a struct, by name.
pub fn dict<'py>(py: Python<'py>, counters: &impl Counters) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    counters.rows().try_for_each(|(counter, value)| dict.set_item(counter.name, value))?;
    Ok(dict)
}
