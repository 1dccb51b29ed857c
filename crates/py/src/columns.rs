//! Creates NumPy arrays, and converts rows to columns.

use numpy::{Element, IntoPyArray, PyArray1};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use ssdlab_core::LatencyHistogram;
use ssdlab_trace::Op;

/// Returns the values as a NumPy array. Imports numpy explicitly first, because the bindings panic if their own import
/// fails, for example on Ctrl-C.
pub fn array<T: Element>(py: Python<'_>, values: Vec<T>) -> PyResult<Bound<'_, PyArray1<T>>> {
    py.import(intern!(py, "numpy"))?;
    Ok(values.into_pyarray(py))
}

/// Returns rows of numbers as named columns.
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
        dict.set_item(name, array(py, column)?)?;
    }
    Ok(dict)
}

/// Returns a dictionary by operation name. `values` has one value per operation, in the order of [`Op::ALL`].
pub fn by_op<'py, T, V: IntoPyObject<'py>>(
    py: Python<'py>,
    values: &[T],
    convert: impl Fn(&T) -> PyResult<V>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (op, value) in Op::ALL.iter().zip(values) {
        dict.set_item(op.name(), convert(value)?)?;
    }
    Ok(dict)
}

/// Returns the non-empty buckets of a histogram as three arrays: lower bounds and upper bounds in ns, and counts.
pub fn buckets<'py>(py: Python<'py>, histogram: &LatencyHistogram) -> PyResult<Bound<'py, PyTuple>> {
    let buckets = histogram.buckets();
    let column = |pick: fn(&(u64, u64, u64)) -> u64| array(py, buckets.iter().map(pick).collect());
    (column(|b| b.0)?, column(|b| b.1)?, column(|b| b.2)?).into_pyobject(py)
}
