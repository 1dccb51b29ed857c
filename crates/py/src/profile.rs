//! Python binding that collects statistics on the requests of a trace.

use std::sync::Mutex;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use ssdlab_trace::Op;

use crate::errors::detached;
use crate::requests::Requests;
use crate::source::exclusive;

/// Maximum number of request sizes that the metrics list, most frequent first.
const SIZES_LISTED: usize = 10;

/// Statistical profile of a trace, collected in one pass.
#[pyclass(module = "ssdlab._ssdlab")]
pub struct Profile {
    inner: Mutex<ssdlab_trace::Profile>,
}

/// Converts an array with one value per operation to a dictionary by operation name.
pub fn by_op<'py>(py: Python<'py>, values: &[u64; 4]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (op, value) in Op::ALL.iter().zip(values) {
        dict.set_item(op.name(), value)?;
    }
    Ok(dict)
}

#[pymethods]
impl Profile {
    #[new]
    fn new() -> Self {
        Self { inner: Mutex::new(ssdlab_trace::Profile::new()) }
    }

    /// Adds requests of the trace in replay order.
    fn add(&mut self, py: Python<'_>, requests: &Requests) -> PyResult<()> {
        let inner = exclusive(&mut self.inner);
        detached(py, None, || inner.add(&requests.inner))
    }

    /// Returns the number of requests added so far.
    fn requests(&mut self) -> u64 {
        exclusive(&mut self.inner).total_requests()
    }

    /// Returns all metrics of the trace by name.
    fn figures<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let profile = exclusive(&mut self.inner);
        let dict = PyDict::new(py);
        dict.set_item("requests", by_op(py, &profile.requests)?)?;
        dict.set_item("bytes", by_op(py, &profile.bytes)?)?;
        dict.set_item("duration_ns", profile.duration_ns())?;
        dict.set_item("requests_per_s", profile.rate_per_second())?;
        dict.set_item("min_offset", profile.min_offset)?;
        dict.set_item("extent_bytes", profile.extent_bytes)?;
        dict.set_item("footprint_bytes", profile.footprint_bytes)?;
        dict.set_item("read_footprint_bytes", profile.read_footprint_bytes)?;
        dict.set_item("write_footprint_bytes", profile.write_footprint_bytes)?;
        dict.set_item("footprint_exact", profile.footprint_exact)?;
        dict.set_item("sequential_share", profile.sequential_share())?;
        dict.set_item("aligned_4k_share", profile.aligned_share())?;
        dict.set_item("streams", profile.streams())?;
        dict.set_item("top_sizes", profile.top_sizes(SIZES_LISTED))?;
        Ok(dict)
    }
}
