//! Python binding that filters a request table by device.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{OrRaise, detached};
use crate::requests::{Requests, row_beyond};
use crate::source::{device_choice, report};
use crate::volumes::Parted;

/// Selects the requests to the chosen devices from a table of requests.
#[pyclass(module = "ssdlab._ssdlab")]
pub struct Devices {
    inner: ssdlab_trace::Devices,
}

#[pymethods]
impl Devices {
    /// Creates a selection of devices. `device` is the name of a device, `"all"`, `"overlay"` (all devices at the same
    /// addresses), or None for the device of the first request.
    #[new]
    #[pyo3(signature = (device=None))]
    fn new(device: Option<String>) -> Self {
        Self { inner: ssdlab_trace::Devices::new(&device_choice(device)) }
    }

    /// True during the first of two passes over the table. The method `lay_out` ends the first pass.
    fn measuring(&mut self) -> bool {
        self.inner.measuring()
    }

    fn lay_out(&mut self) -> PyResult<()> {
        self.inner.lay_out().or_raise()
    }

    /// Returns the requests of a batch that belong to the selected devices.
    fn take(&mut self, py: Python<'_>, batch: &Parted) -> PyResult<Requests> {
        let mut inner = Vec::new();
        detached(py, None, || self.inner.take(&batch.inner, &mut inner))?.or_raise()?;
        Ok(Requests { inner })
    }

    /// Returns an error message about the first selected request that extends past the end of its device; see
    /// `Requests.beyond`.
    fn beyond(
        &mut self,
        py: Python<'_>,
        batch: &Parted,
        capacity_bytes: u64,
        table: &str,
        first: usize,
    ) -> PyResult<Option<String>> {
        let beyond = detached(py, None, || self.inner.find_beyond(&batch.inner, capacity_bytes))?.or_raise()?;
        Ok(beyond.map(|(row, request)| row_beyond(&request, capacity_bytes, table, first + row)))
    }

    /// Completes the report on the table; fails if the selected device was not found.
    fn conclude(&mut self) -> PyResult<()> {
        self.inner.conclude().or_raise()
    }

    fn streams(&mut self) -> Vec<String> {
        self.inner.streams().to_vec()
    }

    fn report<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        report(py, self.inner.report())
    }
}
