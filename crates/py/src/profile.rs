//! Python binding that collects statistics on the requests of a trace.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::by_op;
use crate::errors::detached;
use crate::requests::Requests;

/// Maximum number of request sizes that the metrics list, most frequent first.
const SIZES_LISTED: usize = 10;

/// Statistical profile of a trace, collected in one pass.
#[pyclass(module = "ssdlab._ssdlab")]
pub struct Profile {
    inner: ssdlab_trace::Profile,
}

#[pymethods]
impl Profile {
    #[new]
    fn new() -> Self {
        Self { inner: ssdlab_trace::Profile::new() }
    }

    fn add(&mut self, py: Python<'_>, requests: &Requests) -> PyResult<()> {
        detached(py, None, || self.inner.add(&requests.inner))
    }

    fn requests(&self) -> u64 {
        self.inner.total_requests()
    }

    fn figures<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let profile = &self.inner;
        let dict = PyDict::new(py);
        dict.set_item("requests", by_op(py, &profile.requests, |&count| Ok(count))?)?;
        dict.set_item("bytes", by_op(py, &profile.bytes, |&bytes| Ok(bytes))?)?;
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
