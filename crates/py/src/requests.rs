//! Requests in memory, converted from and to NumPy columns.

use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use ssdlab_trace::{Op, Placed, Request};

use crate::columns::array;
use crate::errors::{TraceError, beyond_device};

/// Column names of request tables.
const COLUMNS: [&str; 6] = ["time_ns", "op", "offset", "bytes", "flags", "stream"];

/// Requests in replay order, 24 bytes each.
#[pyclass(frozen, module = "ssdlab._ssdlab")]
pub struct Requests {
    pub inner: Vec<Request>,
}

/// Builds a request from its column values. The error message is a fragment, which callers prefix with "row N: " or
/// "which is ".
pub fn request(time_ns: u64, op: u8, offset: u64, bytes: u32, flags: u8, stream: u16) -> Result<Request, String> {
    let Some(&op) = Op::ALL.get(usize::from(op)) else {
        return Err(format!("op is {op}; use 0 (read), 1 (write), 2 (trim) or 3 (flush)"));
    };
    match op {
        Op::Flush if bytes != 0 => return Err(format!("a flush of {bytes} bytes; set its size to 0")),
        Op::Read | Op::Write | Op::Trim if bytes == 0 => {
            return Err(format!("a {} of 0 bytes; remove it", op.name()));
        }
        _ => {}
    }
    if offset.checked_add(u64::from(bytes)).is_none() {
        return Err(format!("offset {offset} plus {bytes} bytes exceeds 64 bits"));
    }
    Ok(Request { time_ns, offset, bytes, op, flags, stream })
}

#[pymethods]
impl Requests {
    /// Builds requests from columns of equal length. Times must not decrease unless `in_order` is false.
    #[staticmethod]
    #[pyo3(signature = (time_ns, op, offset, bytes, flags, stream, in_order=true))]
    fn from_columns(
        time_ns: PyReadonlyArray1<'_, u64>,
        op: PyReadonlyArray1<'_, u8>,
        offset: PyReadonlyArray1<'_, u64>,
        bytes: PyReadonlyArray1<'_, u32>,
        flags: PyReadonlyArray1<'_, u8>,
        stream: PyReadonlyArray1<'_, u16>,
        in_order: bool,
    ) -> PyResult<Self> {
        let (time_ns, op, offset) = (time_ns.as_slice()?, op.as_slice()?, offset.as_slice()?);
        let (bytes, flags, stream) = (bytes.as_slice()?, flags.as_slice()?, stream.as_slice()?);
        let lengths = [time_ns.len(), op.len(), offset.len(), bytes.len(), flags.len(), stream.len()];
        if lengths.iter().any(|&length| length != lengths[0]) {
            return Err(TraceError::new_err(format!(
                "columns time_ns, op, offset, bytes, flags, stream have {lengths:?} rows; they must be equally long"
            )));
        }
        let mut inner = Vec::with_capacity(time_ns.len());
        let mut last = 0;
        for row in 0..time_ns.len() {
            let built = if in_order && time_ns[row] < last {
                Err(format!(
                    "time_ns {} is earlier than {last} in the previous row; sort the rows by time",
                    time_ns[row]
                ))
            } else {
                request(time_ns[row], op[row], offset[row], bytes[row], flags[row], stream[row])
            };
            inner.push(built.map_err(|why| TraceError::new_err(format!("row {row}: {why}")))?);
            last = time_ns[row];
        }
        Ok(Self { inner })
    }

    /// Concatenates several batches of requests.
    #[staticmethod]
    fn concatenate(batches: Vec<PyRef<'_, Self>>) -> Self {
        let mut inner = Vec::with_capacity(batches.iter().map(|batch| batch.inner.len()).sum());
        for batch in &batches {
            inner.extend_from_slice(&batch.inner);
        }
        Self { inner }
    }

    fn __len__(&self) -> usize {
        self.inner.len()
    }

    /// True if any request has a timestamp above 0.
    fn has_times(&self) -> bool {
        self.inner.iter().any(|request| request.time_ns > 0)
    }

    /// Returns an error message about the first request that ends past the device, with its row number in `table`; None
    /// if all requests fit. `first` is the row of the first request.
    fn beyond(&self, capacity_bytes: u64, table: &str, first: usize) -> Option<String> {
        let row = self.inner.iter().position(|request| request.ends_beyond(capacity_bytes))?;
        Some(row_beyond(&self.inner[row], capacity_bytes, table, first + row))
    }

    /// Returns a column by its name: `time_ns` u64, `op` u8, `offset` u64, `bytes` u32, `flags` u8 or `stream` u16.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let requests = &self.inner;
        match name {
            "time_ns" => column(py, requests, |r| r.time_ns),
            "op" => column(py, requests, |r| r.op as u8),
            "offset" => column(py, requests, |r| r.offset),
            "bytes" => column(py, requests, |r| r.bytes),
            "flags" => column(py, requests, |r| r.flags),
            "stream" => column(py, requests, |r| r.stream),
            _ => Err(PyKeyError::new_err(name.to_owned())),
        }
    }

    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = PyDict::new(py);
        for name in COLUMNS {
            columns.set_item(name, self.column(py, name)?)?;
        }
        Ok(columns)
    }
}

pub fn row_beyond(request: &Request, capacity_bytes: u64, table: &str, row: usize) -> String {
    beyond_device(Placed::at(format!("{table}: row {row}"), request), capacity_bytes)
}

fn column<'py, T: numpy::Element>(
    py: Python<'py>,
    requests: &[Request],
    field: impl Fn(&Request) -> T,
) -> PyResult<Bound<'py, PyAny>> {
    Ok(array(py, requests.iter().map(field).collect())?.into_any())
}
