//! Number of available processors.

use std::num::NonZero;
use std::thread;

use pyo3::prelude::*;

/// Returns the number of processors that this process may use, limited by affinity and container quota.
#[pyfunction]
pub fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}
