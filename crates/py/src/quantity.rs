//! Quantities as people write them.

use pyo3::prelude::*;
use ssdlab_core::Bytes;
use ssdlab_core::units::parse_percent;

use crate::errors::ConfigError;

/// A share such as `"95%"` as a fraction of 1.
#[pyfunction]
pub fn share(text: &str) -> PyResult<f64> {
    parse_percent(text).map_err(|error| ConfigError::new_err(error.to_string()))
}

/// A size such as `"64KiB"` in bytes.
#[pyfunction]
pub fn size(text: &str) -> PyResult<u64> {
    Bytes::parse(text).map(|bytes| bytes.0).map_err(|error| ConfigError::new_err(error.to_string()))
}
