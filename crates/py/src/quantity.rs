//! Python binding that parses quantities, such as sizes and durations.

use pyo3::prelude::*;
use ssdlab_core::units::{parse_count, parse_percent};
use ssdlab_core::{Bytes, Nanos};
use ssdlab_trace::{Action, Op};

use crate::errors::OrRaise;

/// Parses a share such as `"95%"` and returns it as a fraction, such as 0.95.
#[pyfunction]
pub fn share(text: &str) -> PyResult<f64> {
    parse_percent(text).or_raise()
}

/// Parses a number such as `"1M"` or `"1e6"` and returns an integer.
#[pyfunction]
pub fn count(text: &str) -> PyResult<u64> {
    parse_count(text).or_raise()
}

/// Parses a duration such as `"25us"` and returns nanoseconds.
#[pyfunction]
pub fn nanos(text: &str) -> PyResult<u64> {
    Nanos::parse(text).map(|nanos| nanos.0).or_raise()
}

/// Parses the name of an operation such as `"R"`, `"write"` or `"1"`; None if unknown.
#[pyfunction]
pub fn operation(text: &str) -> Option<u8> {
    Op::parse(text.trim().as_bytes()).map(|op| op as u8)
}

/// Fails with a `TraceError` unless the text names an event of a request, such as `"queue"` or `"D"`.
#[pyfunction]
pub fn check_action(text: &str) -> PyResult<()> {
    Action::parse(text).map(drop).or_raise()
}

/// Parses a size such as `"64KiB"` and returns bytes.
#[pyfunction]
pub fn size(text: &str) -> PyResult<u64> {
    Bytes::parse(text).map(|bytes| bytes.0).or_raise()
}
