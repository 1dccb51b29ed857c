//! Python binding that measures write intervals: the number of page writes between two writes of a page.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use ssdlab_core::Bytes;
use ssdlab_trace::{LogSize, LogWindow};

use crate::columns::{array, columns};
use crate::errors::{OrRaise, TraceError, detached};
use crate::requests::Requests;

/// Set of pages that a trace writes, collected in a first pass over the trace; [`Intervals`] makes the second pass.
#[pyclass(module = "ssdlab._ssdlab")]
pub struct WrittenPages {
    inner: ssdlab_trace::WrittenPages,
}

#[pymethods]
impl WrittenPages {
    /// Starts the first pass. The page size is a string such as `"4KiB"`.
    #[new]
    fn new(page: &str) -> PyResult<Self> {
        let page = Bytes::parse(page).map_err(|error| TraceError::new_err(error.to_string()))?;
        let inner = ssdlab_trace::WrittenPages::new(page.0).or_raise()?;
        Ok(Self { inner })
    }

    fn add(&mut self, py: Python<'_>, requests: &Requests) -> PyResult<()> {
        detached(py, None, || self.inner.add(&requests.inner))?.or_raise()
    }

    fn page_bytes(&mut self) -> u64 {
        self.inner.page_bytes()
    }

    fn page_writes(&mut self) -> u64 {
        self.inner.page_writes()
    }

    /// Returns the number of distinct pages that the trace writes.
    fn pages(&mut self) -> u64 {
        self.inner.pages()
    }

    /// Returns the range of page numbers written: the lowest number, and the highest number plus one.
    fn extent(&mut self) -> (u64, u64) {
        let extent = self.inner.extent();
        (extent.start, extent.end)
    }
}

/// Fails if `text` is not a valid log size.
#[pyfunction]
pub fn check_log_size(text: &str) -> PyResult<()> {
    LogSize::parse(text).map(drop).or_raise()
}

/// Write intervals of a trace, compared with logs of several sizes.
#[pyclass(module = "ssdlab._ssdlab")]
pub struct Intervals {
    inner: ssdlab_trace::Intervals,
}

#[pymethods]
impl Intervals {
    /// Starts the second pass; `logs` are sizes such as `"10%"`, `"64MiB"` or `"4096"` pages.
    #[new]
    fn new(mut written: PyRefMut<'_, WrittenPages>, logs: Vec<String>) -> PyResult<Self> {
        let written = &mut written.inner;
        let pages = logs.iter().map(|log| LogSize::parse(log)?.pages(written));
        let pages = pages.collect::<Result<Vec<u64>, _>>().or_raise()?;
        Ok(Self { inner: ssdlab_trace::Intervals::new(written, &pages) })
    }

    fn add(&mut self, py: Python<'_>, requests: &Requests) -> PyResult<()> {
        detached(py, None, || self.inner.add(&requests.inner))?.or_raise()
    }

    /// Returns the writes and pages in each class of write interval as columns, with one row for each log size.
    fn windows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let names = ["log_pages", "hot_writes", "warm_writes", "cold_writes", "hot_pages", "warm_pages", "cold_pages"];
        let row = |w: LogWindow| {
            [w.log_pages, w.hot_writes, w.warm_writes, w.cold_writes, w.hot_pages, w.warm_pages, w.cold_pages]
        };
        columns(py, names, self.inner.windows().into_iter().map(row))
    }

    /// Returns the histogram of write intervals as columns: buckets that include `lower` and exclude `upper`, and the
    /// number of page writes in each bucket.
    fn histogram<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let rows = self.inner.histogram();
        columns(py, ["lower", "upper", "writes"], rows.into_iter().map(<[u64; 3]>::from))
    }

    /// Returns, as columns, the number of pages that were written once, twice and so on.
    fn frequencies<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let rows = self.inner.pages_by_writes();
        columns(py, ["writes", "pages"], rows.into_iter().map(<[u64; 2]>::from))
    }

    /// Returns a table of page writes by time and address: an array of its values, row by row, and the numbers of rows
    /// and columns.
    fn time_address<'py>(&mut self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (u64, u64))> {
        let (counts, steps) = self.inner.time_address();
        Ok((array(py, counts.to_vec())?.into_any(), steps))
    }
}
