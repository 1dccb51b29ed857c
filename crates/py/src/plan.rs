//! Python binding that estimates the benefit of compressing part of a page cache.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use ssdlab_cache::plan::{Compressor, Correction, Memory, Point, Popularity};

use crate::errors::{ConfigError, OrRaise};

/// Plan of a page cache that compresses some of its pages.
#[pyclass(module = "ssdlab._ssdlab", frozen)]
pub struct Plan {
    inner: ssdlab_cache::plan::Plan,
}

/// Returns the corrections of Harper's cache model with the given names; an unknown name is an error.
fn named(names: &[String]) -> PyResult<Vec<Correction>> {
    let find = |name: &String| {
        Correction::ALL.iter().find(|(_, known)| known == name).map(|(correction, _)| *correction).ok_or_else(|| {
            let known = corrections().join(", ");
            ConfigError::new_err(format!("unknown correction {name}; choose one of {known}"))
        })
    };
    names.iter().map(find).collect()
}

/// Returns the names of all corrections of the model.
#[pyfunction]
pub fn corrections() -> Vec<&'static str> {
    Correction::ALL.iter().map(|(_, name)| *name).collect()
}

fn point<'py>(py: Python<'py>, point: &Point) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("share", point.share)?;
    dict.set_item("hit_ratio", point.hit_ratio)?;
    dict.set_item("compressed_hit_ratio", point.compressed_hit_ratio)?;
    dict.set_item("us", point.us)?;
    dict.set_item("p99_us", point.p99_us)?;
    Ok(dict)
}

#[pymethods]
impl Plan {
    /// Creates a plan. `memory` has the memory budget, the data size and the page size, in bytes. `compressor` has the
    /// compression ratio, the microseconds to compress and to decompress a page, and the share of pages that shrink.
    /// `distribution` is the name of a distribution, or the points of a hit-ratio curve.
    #[new]
    fn new(
        memory: (f64, f64, f64),
        device_us: f64,
        distribution: Distribution,
        compressor: (f64, f64, f64, f64),
    ) -> PyResult<Self> {
        let popularity = match distribution {
            Distribution::Named(name) => name.parse(),
            Distribution::Measured(points) => Popularity::measured(&points),
        };
        let memory = Memory {
            budget_bytes: memory.0,
            data_bytes: memory.1,
            page_bytes: memory.2,
            device_us,
            popularity: popularity.or_raise()?,
        };
        let (ratio, compress_us, decompress_us, shrinking) = compressor;
        let compressor = Compressor { ratio, compress_us, decompress_us, shrinking };
        let inner = ssdlab_cache::plan::Plan::new(memory, compressor).or_raise()?;
        Ok(Self { inner })
    }

    fn raw_hit_ratio(&self) -> f64 {
        self.inner.raw_hit_ratio()
    }

    fn raw_us(&self) -> f64 {
        self.inner.raw_us()
    }

    fn point<'py>(&self, py: Python<'py>, share: f64, corrections: Vec<String>) -> PyResult<Bound<'py, PyDict>> {
        point(py, &self.inner.point(share, &named(&corrections)?).or_raise()?)
    }

    fn best<'py>(&self, py: Python<'py>, corrections: Vec<String>) -> PyResult<Bound<'py, PyDict>> {
        point(py, &self.inner.best(&named(&corrections)?))
    }

    fn break_even(&self, corrections: Vec<String>) -> PyResult<Option<f64>> {
        Ok(self.inner.break_even(&named(&corrections)?))
    }

    fn passes(&self, other: &Self, corrections: Vec<String>) -> PyResult<Option<f64>> {
        Ok(self.inner.passes(&other.inner, &named(&corrections)?))
    }

    fn device_break_even_us(&self, corrections: Vec<String>) -> PyResult<Option<f64>> {
        Ok(self.inner.device_break_even_us(&named(&corrections)?))
    }
}

/// Distribution of requests over the cached data's pages: its name, or points of a hit-ratio curve.
#[derive(FromPyObject)]
enum Distribution {
    Named(String),
    Measured(Vec<(f64, f64)>),
}
