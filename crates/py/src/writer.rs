//! Traces to files.

use std::path::PathBuf;
use std::sync::Mutex;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use ssdlab_trace::{Format, TraceWriter, open_writer};

use crate::counters;
use crate::errors::{detached, trace_error};
use crate::requests::Requests;

/// A trace file being written; it takes its name when finished, and leaves nothing behind if it never is.
#[pyclass(module = "ssdlab._ssdlab")]
pub struct Writer {
    // Python objects must be `Sync`, which a boxed writer is not.
    inner: Mutex<Option<Box<dyn TraceWriter>>>,
}

fn finished() -> PyErr {
    PyValueError::new_err("the writer is finished")
}

#[pymethods]
impl Writer {
    /// Starts a trace at `path`; `.gz` and `.zst` at its end compress.
    #[new]
    fn new(path: PathBuf, format: &str) -> PyResult<Self> {
        let format = Format::parse(format).map_err(|error| trace_error(&error))?;
        let writer = open_writer(&path, format).map_err(|error| trace_error(&error))?;
        Ok(Self { inner: Mutex::new(Some(writer)) })
    }

    /// Appends requests; `streams` are the names that their `stream` points into.
    fn write(&mut self, py: Python<'_>, requests: &Requests, streams: Vec<String>) -> PyResult<()> {
        let inner = self.inner.get_mut().map_err(|_| finished())?;
        let writer = inner.as_mut().ok_or_else(finished)?;
        detached(py, None, || writer.write(&requests.inner, &streams))?.map_err(|error| trace_error(&error))
    }

    /// Completes the file under its name; returns what became of the requests as (name, unit, help, value).
    fn finish(&mut self, py: Python<'_>) -> PyResult<Vec<counters::Row>> {
        let writer = self.inner.get_mut().map_err(|_| finished())?.take().ok_or_else(finished)?;
        let report = detached(py, None, || writer.finish())?.map_err(|error| trace_error(&error))?;
        Ok(counters::rows(&report))
    }
}

/// Every format of a trace as `(name, help, whether it can be written)`.
#[pyfunction]
pub fn formats() -> Vec<(&'static str, &'static str, bool, bool)> {
    let about = |format: &Format| (format.name(), format.help(), format.writable(), format.holds_objects());
    Format::ALL.iter().map(about).collect()
}
