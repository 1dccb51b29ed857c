//! Counters for Python, whichever they are.

use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use ssdlab_core::counters::Counters;

/// A counter as (name, unit, help, value).
pub type Row = (&'static str, &'static str, &'static str, u64);

/// Every counter with what is known of it.
pub fn rows(counters: &impl Counters) -> Vec<Row> {
    counters.rows().map(|(counter, value)| (counter.name, counter.unit, counter.help, value)).collect()
}

/// Values by name.
pub fn dict<'py>(py: Python<'py>, counters: &impl Counters) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    counters.rows().try_for_each(|(counter, value)| dict.set_item(counter.name, value))?;
    Ok(dict)
}

/// Columns by name, u64, with an entry for each struct.
pub fn columns<C: Counters>(py: Python<'_>, all: impl Iterator<Item = C>) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    C::columns(all).try_for_each(|(counter, column)| dict.set_item(counter.name, column.into_pyarray(py)))?;
    Ok(dict)
}
