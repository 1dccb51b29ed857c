//! How many processors there are to share work out to.

use std::num::NonZero;
use std::thread;

use pyo3::prelude::*;

/// Processors that this process may use, as the system tells: affinity and the quota of a container limit them.
#[pyfunction]
pub fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}
