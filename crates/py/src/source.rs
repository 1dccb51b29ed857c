//! Where requests come from: trace files, generators, Python; and what they look like as a whole.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use ssdlab_core::counters::Counters;
use ssdlab_trace::{
    Action, Columns, DeviceChoice, Files, Format, IngestCounts, IngestReport, Progress, ReadOptions, Request, Source,
    Target, TraceError, TraceReader,
};

use crate::config::Config;
use crate::counters;
use crate::errors::{beyond_device, config_error, detached, trace_error};
use crate::requests::Requests;

/// Requests looked through between two looks for Ctrl-C.
const LOOKED_THROUGH: usize = 1 << 18;

/// Reads at most `max` requests with the interpreter released.
fn read_batch(py: Python<'_>, source: &mut (dyn Source + Send), max: usize) -> PyResult<Requests> {
    let mut inner = Vec::new();
    detached(py, None, || source.fill(&mut inner, max))?.map_err(|error| trace_error(&error))?;
    Ok(Requests { inner })
}

/// The contents of a mutex nobody else holds: `&mut self` proves it.
pub fn exclusive<T>(mutex: &mut Mutex<T>) -> &mut T {
    mutex.get_mut().unwrap_or_else(PoisonError::into_inner)
}

/// How a trace is to be read, by the names of things.
pub fn options(
    format: Option<&str>,
    columns: Option<&str>,
    action: Option<&str>,
    skip_bad: bool,
) -> PyResult<ReadOptions> {
    Ok(ReadOptions {
        format: format.map(Format::parse).transpose().map_err(|error| trace_error(&error))?,
        columns: columns.map(Columns::parse).transpose().map_err(|error| trace_error(&error))?,
        action: action.map(Action::parse).transpose().map_err(|error| trace_error(&error))?,
        skip_bad,
        ..ReadOptions::default()
    })
}

/// Devices that are asked for: one by its name, `"all"`, `"overlay"`, or the device of the first request.
pub fn device_choice(device: Option<String>) -> DeviceChoice {
    match device {
        None => DeviceChoice::First,
        Some(name) if name == "all" => DeviceChoice::All,
        Some(name) if name == "overlay" => DeviceChoice::Overlay,
        Some(name) => DeviceChoice::Named(name),
    }
}

/// What was met while reading.
pub fn report<'py>(py: Python<'py>, report: &IngestReport) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("format", report.format.name())?;
    dict.set_item("device", report.device.as_deref())?;
    dict.set_item("counts", counters::rows(&report.counts))?;
    dict.set_item("other_devices", report.other_devices.clone())?;
    dict.set_item("first_bad", report.first_bad.as_deref())?;
    dict.set_item("notes", report.notes.clone())?;
    Ok(dict)
}

/// Every count of such a report as `(name, unit, help)`.
#[pyfunction]
pub fn ingest_counters() -> Vec<(&'static str, &'static str, &'static str)> {
    IngestCounts::COUNTERS.iter().map(|counter| (counter.name, counter.unit, counter.help)).collect()
}

/// A trace file being read from front to back.
#[pyclass(module = "ssdlab._ssdlab")]
pub struct Reader {
    // Python objects must be `Sync`, which a boxed reader is not.
    inner: Mutex<TraceReader>,
}

impl Reader {
    pub fn source(&mut self) -> &mut (dyn Source + Send) {
        exclusive::<TraceReader>(&mut self.inner)
    }
}

#[pymethods]
impl Reader {
    /// Opens one trace made of one or more files, each with the name that messages give it. `files` says what several
    /// are to each other: `concat`, `merge`, or None for parts of one recording. `device` is a name, `"all"`, `"overlay"`,
    /// or None for the first one met. `objects` is `objects` or `sized-objects`, or None where requests address a drive.
    #[new]
    #[pyo3(signature = (
        paths, format=None, columns=None, files=None, device=None, action=None, skip_bad=false, objects=None
    ))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        paths: Vec<(PathBuf, PathBuf)>,
        format: Option<&str>,
        columns: Option<&str>,
        files: Option<&str>,
        device: Option<String>,
        action: Option<&str>,
        skip_bad: bool,
        objects: Option<&str>,
    ) -> PyResult<Self> {
        let target = match objects {
            None => Target::Drive,
            Some("sized-objects") => Target::SizedObjects,
            Some("objects") => Target::CountedObjects,
            Some(other) => {
                let message = format!("objects are \"objects\" or \"sized-objects\", not {other:?}");
                return Err(PyValueError::new_err(message));
            }
        };
        let files = match files {
            None => Files::Parts,
            Some("concat") => Files::Concatenated,
            Some("merge") => Files::Merged,
            Some(other) => {
                return Err(PyValueError::new_err(format!("files are \"concat\" or \"merge\", not {other:?}")));
            }
        };
        let device = device_choice(device);
        let options = ReadOptions { files, device, target, ..options(format, columns, action, skip_bad)? };
        let reader =
            detached(py, None, || TraceReader::open_as(&paths, &options))?.map_err(|error| trace_error(&error))?;
        Ok(Self { inner: Mutex::new(reader) })
    }

    /// The next requests, at most `max`; none at the end.
    fn read(&mut self, py: Python<'_>, max: usize) -> PyResult<Requests> {
        read_batch(py, self.source(), max)
    }

    /// What is wrong with the first request that ends beyond a device, with its place in the files; None if none does.
    /// Of a reader at its beginning.
    fn beyond(&mut self, py: Python<'_>, capacity_bytes: u64) -> PyResult<Option<String>> {
        let reader = exclusive(&mut self.inner);
        loop {
            let found = detached(py, None, || reader.find_beyond(capacity_bytes, LOOKED_THROUGH))?;
            if let ControlFlow::Break(found) = found.map_err(|error| trace_error(&error))? {
                return Ok(found.map(|request| beyond_device(request, capacity_bytes)));
            }
            py.check_signals()?;
        }
    }

    /// `(bytes read, bytes in all or None)`.
    fn progress(&mut self) -> (u64, Option<u64>) {
        let progress = exclusive(&mut self.inner).progress();
        (progress.done, progress.total)
    }

    /// Name of the format.
    fn format(&mut self) -> &'static str {
        exclusive(&mut self.inner).format().name()
    }

    /// Names of the streams met so far; `stream` of a request is an index into it.
    fn streams(&mut self) -> Vec<String> {
        exclusive(&mut self.inner).streams().to_vec()
    }

    /// What was met: `counts` as (name, unit, help, value), and `notes` for a person; complete at the end.
    fn report<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        report(py, exclusive(&mut self.inner).report())
    }
}

/// The configured workload as requests.
#[pyclass(module = "ssdlab._ssdlab")]
pub struct Generator {
    inner: Mutex<ssdlab_trace::Generator>,
}

impl Generator {
    pub fn source(&mut self) -> &mut (dyn Source + Send) {
        exclusive::<ssdlab_trace::Generator>(&mut self.inner)
    }
}

#[pymethods]
impl Generator {
    /// Starts the workload of `config` at its first request.
    #[new]
    fn new(config: &Config) -> PyResult<Self> {
        let settings = config.inner.settings(None).map_err(|error| config_error(&error))?;
        let generator = ssdlab_trace::Generator::new(&settings.workload).map_err(|error| trace_error(&error))?;
        Ok(Self { inner: Mutex::new(generator) })
    }

    /// The next requests, at most `max`; none at the end.
    fn read(&mut self, py: Python<'_>, max: usize) -> PyResult<Requests> {
        read_batch(py, self.source(), max)
    }

    /// Names of the streams.
    fn streams(&mut self) -> Vec<String> {
        exclusive(&mut self.inner).streams().to_vec()
    }

    /// `(requests made, requests in all)`.
    fn progress(&mut self) -> (u64, Option<u64>) {
        let progress = exclusive(&mut self.inner).progress();
        (progress.done, progress.total)
    }
}

/// A source written in Python: `read(max) -> Requests`, `progress() -> (done, total)`, `rewind()`.
pub struct PythonSource {
    object: Py<PyAny>,
    /// The exception that ended reading; [`TraceError`] cannot carry it.
    pub error: Option<PyErr>,
}

impl PythonSource {
    pub fn new(object: Py<PyAny>) -> Self {
        Self { object, error: None }
    }

    fn failed(&mut self, error: PyErr) -> TraceError {
        let why = error.to_string();
        self.error = Some(error);
        TraceError::Invalid(why)
    }
}

impl Source for PythonSource {
    fn fill(&mut self, out: &mut Vec<Request>, max: usize) -> Result<usize, TraceError> {
        let result = Python::attach(|py| -> PyResult<usize> {
            let batch = self.object.call_method1(py, "read", (max,))?;
            let batch = batch.cast_bound::<Requests>(py)?.get();
            out.extend_from_slice(&batch.inner);
            Ok(batch.inner.len())
        });
        result.map_err(|error| self.failed(error))
    }

    fn rewind(&mut self) -> Result<(), TraceError> {
        let result = Python::attach(|py| self.object.call_method0(py, "rewind").map(drop));
        result.map_err(|error| self.failed(error))
    }

    fn progress(&self) -> Progress {
        // Progress is for display only; an object that cannot tell it must not end the run.
        let answer: PyResult<(u64, Option<u64>)> =
            Python::attach(|py| self.object.call_method0(py, "progress")?.extract(py));
        let (done, total) = answer.unwrap_or((0, None));
        Progress { done, total }
    }
}
