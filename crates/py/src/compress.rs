//! Python binding that measures page compressors.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyDict;
use ssdlab_codec::{CODECS, CodecSpec, form};
use ssdlab_measure::Time;
use ssdlab_measure::compress::{self, Measured, Options};

use crate::errors::{ConfigError, OrRaise, SimulationError, detached};

/// Returns all page compressors as `(name, help, syntax of the specification)`.
#[pyfunction]
pub fn codecs() -> Vec<(&'static str, &'static str, String)> {
    CODECS.iter().map(|info| (info.name, info.help, form(info))).collect()
}

/// Parses the specification of a page compressor, such as `"zstd:3"`.
pub fn codec(text: &str) -> PyResult<CodecSpec> {
    text.parse::<CodecSpec>().or_raise()
}

/// Returns the compression ratio of a modelled page compressor, and its microseconds to compress and to restore a page.
/// Returns None for a real compressor; fails for an unknown one.
#[pyfunction]
pub fn modelled_codec(text: &str) -> PyResult<Option<(f64, f64, f64)>> {
    let spec = codec(text)?;
    let built = spec.build().map_err(|error| SimulationError::new_err(format!("{spec}: {error}")))?;
    Ok(built.modelled().map(|costs| (costs.ratio, costs.compress_us, costs.decompress_us)))
}

/// Reports progress to a Python callback, which may stop the work, and handles Ctrl-C. Stores the first exception.
pub struct Watch<'a> {
    stop: &'a Py<PyAny>,
    error: Option<PyErr>,
}

impl<'a> Watch<'a> {
    pub fn new(stop: &'a Py<PyAny>) -> Self {
        Self { stop, error: None }
    }

    pub fn goes_on(&mut self, done: u64) -> bool {
        let stop = Python::attach(|py| -> PyResult<bool> {
            py.check_signals()?;
            self.stop.call1(py, (done,))?.extract(py)
        });
        let goes_on = stop.map(|stop| !stop);
        goes_on.unwrap_or_else(|error| {
            self.error.get_or_insert(error);
            false
        })
    }

    /// Returns the exception that Python raised, if any; otherwise converts `error` to an exception.
    pub fn exception(self, error: impl FnOnce() -> PyErr) -> PyErr {
        self.error.unwrap_or_else(error)
    }
}

/// Measures page compressors on the contents of files; returns a dictionary for each compressor. Periodically calls
/// `stop(done)`, where `done` is the number of finished runs of a codec, including warm-up runs. Raises
/// KeyboardInterrupt if `stop` returns true.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the only caller passes arguments by name")]
pub fn bench_codecs<'py>(
    py: Python<'py>,
    files: Vec<PyBackedBytes>,
    codecs: Vec<String>,
    page_bytes: Option<usize>,
    threads: usize,
    keep: f64,
    fresh: bool,
    runs: usize,
    stop: Py<PyAny>,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let codecs = codecs.iter().map(|text| codec(text)).collect::<PyResult<_>>()?;
    let options = Options { codecs, page_bytes, threads, keep, fresh, runs };
    let mut watch = Watch::new(&stop);
    match detached(py, None, || compress::measure(&files, &options, &mut |done| watch.goes_on(done)))? {
        Ok(found) => found.iter().map(|codec| columns(py, codec)).collect(),
        Err(error) => Err(watch.exception(|| match error {
            compress::Error::Modelled(_) => ConfigError::new_err(error.to_string()),
            compress::Error::Stopped => pyo3::exceptions::PyKeyboardInterrupt::new_err("stopped while measuring"),
            _ => SimulationError::new_err(error.to_string()),
        })),
    }
}

fn columns<'py>(py: Python<'py>, found: &Measured) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let of_files = |value: fn(&compress::Stored) -> u64| found.files.iter().map(value).collect::<Vec<_>>();
    dict.set_item("pages", of_files(|file| file.pages))?;
    dict.set_item("bytes", of_files(|file| file.bytes))?;
    dict.set_item("stored_bytes", of_files(|file| file.stored_bytes))?;
    dict.set_item("raw_pages", of_files(|file| file.raw_pages))?;
    dict.set_item("raw_bytes", of_files(|file| file.raw_bytes))?;
    let of_runs = |times: fn(&compress::Run) -> &[Time], value: fn(&Time) -> u64| {
        found.runs.iter().map(|run| times(run).iter().map(value).collect()).collect::<Vec<Vec<_>>>()
    };
    dict.set_item("compress_cpu_ns", of_runs(|run| &run.compress, |time| time.cpu_ns))?;
    dict.set_item("compress_elapsed_ns", of_runs(|run| &run.compress, |time| time.elapsed_ns))?;
    dict.set_item("decompress_cpu_ns", of_runs(|run| &run.decompress, |time| time.cpu_ns))?;
    dict.set_item("decompress_elapsed_ns", of_runs(|run| &run.decompress, |time| time.elapsed_ns))?;
    let walls = |wall: fn(&compress::Run) -> u64| found.runs.iter().map(wall).collect::<Vec<_>>();
    dict.set_item("compress_wall_ns", walls(|run| run.compress_span.ns()))?;
    dict.set_item("decompress_wall_ns", walls(|run| run.decompress_span.ns()))?;
    Ok(dict)
}
