//! Rows as NumPy columns.

use numpy::{Element, IntoPyArray};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Columns by name from rows.
pub fn columns<'py, T: Element, const N: usize>(
    py: Python<'py>,
    names: [&str; N],
    rows: impl IntoIterator<Item = [T; N]>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut columns: [Vec<T>; N] = std::array::from_fn(|_| Vec::new());
    for row in rows {
        for (column, value) in columns.iter_mut().zip(row) {
            column.push(value);
        }
    }
    let dict = PyDict::new(py);
    for (name, column) in names.into_iter().zip(columns) {
        dict.set_item(name, column.into_pyarray(py))?;
    }
    Ok(dict)
}
