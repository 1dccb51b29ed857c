//! Python binding that sorts requests by time.

use pyo3::prelude::*;

use crate::errors::detached;
use crate::requests::Requests;

/// Sorts requests by time, as the file reader does. Times in each file are relative to the file's first request.
#[pyclass(module = "ssdlab._ssdlab")]
pub struct InOrder {
    inner: ssdlab_trace::InOrder,
}

#[pymethods]
impl InOrder {
    #[new]
    fn new() -> Self {
        Self { inner: ssdlab_trace::InOrder::default() }
    }

    /// Adds requests in file order.
    fn push(&mut self, py: Python<'_>, requests: &Requests) -> PyResult<()> {
        detached(py, None, || self.inner.push(&mut requests.inner.clone()))
    }

    /// Marks the end of a file; requests added later belong to the next file.
    fn turn(&mut self) {
        self.inner.turn();
    }

    fn take(&mut self, max: usize) -> Requests {
        Requests { inner: self.inner.take(max).to_vec() }
    }

    /// Returns the number of requests that were out of order, and the number of requests that came too late to be
    /// sorted.
    fn counts(&mut self) -> (u64, u64) {
        self.inner.counts()
    }
}
