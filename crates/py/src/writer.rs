//! Python binding that writes trace files.

use std::path::PathBuf;
use std::sync::Mutex;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use ssdlab_trace::formats::parse;
use ssdlab_trace::{FORMATS, Format, TraceWriter, open_writer};

use crate::counters;
use crate::errors::{OrRaise, detached};
use crate::requests::Requests;

/// A trace file that is being written. The file has a temporary name until it is finished; an unfinished file is
/// removed.
#[pyclass(module = "ssdlab._ssdlab")]
pub struct Writer {
    // Protected by a mutex, because Python objects must be `Sync` and a boxed writer is not.
    inner: Mutex<Option<Box<dyn TraceWriter>>>,
}

fn finished() -> PyErr {
    PyValueError::new_err("the writer is finished")
}

#[pymethods]
impl Writer {
    /// Starts a trace file at `path`, compressed if the name ends in `.gz` or `.zst`.
    #[new]
    fn new(path: PathBuf, format: &str) -> PyResult<Self> {
        let format = parse(format).or_raise()?;
        let writer = open_writer(&path, format).or_raise()?;
        Ok(Self { inner: Mutex::new(Some(writer)) })
    }

    /// Appends requests to the trace; the stream numbers of the requests are indices into `streams`, a list of names.
    fn write(&mut self, py: Python<'_>, requests: &Requests, streams: Vec<String>) -> PyResult<()> {
        let inner = self.inner.get_mut().map_err(|_| finished())?;
        let writer = inner.as_mut().ok_or_else(finished)?;
        detached(py, None, || writer.write(&requests.inner, &streams))?.or_raise()
    }

    /// Completes the file and renames it to its final name. Returns counters of the requests as (name, unit, help,
    /// value).
    fn finish(&mut self, py: Python<'_>) -> PyResult<Vec<counters::Row>> {
        let writer = self.inner.get_mut().map_err(|_| finished())?.take().ok_or_else(finished)?;
        let report = detached(py, None, || writer.finish())?.or_raise()?;
        Ok(counters::rows(&report))
    }
}

/// Returns all trace formats as `(name, help, can_write, objects)`. `can_write` is true if ssdlab can write the format;
/// `objects` is true if its requests are for objects.
#[pyfunction]
pub fn formats() -> Vec<(&'static str, &'static str, bool, bool)> {
    let about = |format: &Format| (format.name, format.help, format.role.encoder.is_some(), format.role.objects);
    FORMATS.iter().map(about).collect()
}
