//! Quantities as people write them.

use pyo3::prelude::*;
use ssdlab_core::units::{parse_count, parse_percent};
use ssdlab_core::{Bytes, Nanos};
use ssdlab_trace::{Action, Op};

use crate::errors::{ConfigError, trace_error};

/// A share such as `"95%"` as a fraction of 1.
#[pyfunction]
pub fn share(text: &str) -> PyResult<f64> {
    parse_percent(text).map_err(|error| ConfigError::new_err(error.to_string()))
}

/// A number such as `"1M"` or `"1e6"`.
#[pyfunction]
pub fn count(text: &str) -> PyResult<u64> {
    parse_count(text).map_err(|error| ConfigError::new_err(error.to_string()))
}

/// A duration such as `"25us"` in nanoseconds.
#[pyfunction]
pub fn nanos(text: &str) -> PyResult<u64> {
    Nanos::parse(text).map(|nanos| nanos.0).map_err(|error| ConfigError::new_err(error.to_string()))
}

/// The number of an operation such as `"R"`, `"write"` or `"1"`; None if it is none.
#[pyfunction]
pub fn operation(text: &str) -> Option<u8> {
    Op::parse(text.trim().as_bytes()).map(|op| op as u8)
}

/// Fails with a `TraceError` unless it names an event of a request's life, such as `"queue"` or `"D"`.
#[pyfunction]
pub fn check_action(text: &str) -> PyResult<()> {
    Action::parse(text).map(drop).map_err(|error| trace_error(&error))
}

/// A size such as `"64KiB"` in bytes.
#[pyfunction]
pub fn size(text: &str) -> PyResult<u64> {
    Bytes::parse(text).map(|bytes| bytes.0).map_err(|error| ConfigError::new_err(error.to_string()))
}
