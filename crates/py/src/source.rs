//! Sources of requests for Python: trace files, generators and Python objects.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use ssdlab_core::counters::Counters;
use ssdlab_trace::{
    Action, Columns, DeviceChoice, Files, IngestCounts, IngestReport, Job, JobOutcome, Progress, ReadOptions, Request,
    Source, Target, TraceError, TraceReader, formats,
};

use crate::columns::buckets;
use crate::config::Config;
use crate::counters;
use crate::errors::{OrRaise, beyond_device, detached};
use crate::requests::Requests;

/// Number of requests examined between two checks for Ctrl-C.
const LOOKED_THROUGH: usize = 1 << 18;

/// Reads at most `max` requests from a source with the interpreter lock (GIL) released.
fn read_batch(py: Python<'_>, source: &mut (dyn Source + Send), max: usize) -> PyResult<Requests> {
    while detached(py, None, || source.prepare())?.or_raise()? {
        py.check_signals()?;
    }
    let mut inner = Vec::new();
    detached(py, None, || source.fill(&mut inner, max))?.or_raise()?;
    Ok(Requests { inner })
}

/// Returns the contents of a mutex without locking it, because the caller has exclusive access.
pub fn exclusive<T>(mutex: &mut Mutex<T>) -> &mut T {
    mutex.get_mut().unwrap_or_else(PoisonError::into_inner)
}

/// Parses the format, the columns and the action, and builds the options for reading a trace.
pub fn options(
    format: Option<&str>,
    columns: Option<&str>,
    action: Option<&str>,
    skip_bad: bool,
) -> PyResult<ReadOptions> {
    Ok(ReadOptions {
        format: format.map(formats::parse).transpose().or_raise()?,
        columns: columns.map(Columns::parse).transpose().or_raise()?,
        action: action.map(Action::parse).transpose().or_raise()?,
        skip_bad,
        ..ReadOptions::default()
    })
}

/// Parses a selection of devices: the name of a device, `"all"`, `"overlay"` (all devices at the same addresses), or
/// None for the device of the first request.
pub fn device_choice(device: Option<String>) -> DeviceChoice {
    match device {
        None => DeviceChoice::First,
        Some(name) if name == "all" => DeviceChoice::All,
        Some(name) if name == "overlay" => DeviceChoice::Overlay,
        Some(name) => DeviceChoice::Named(name),
    }
}

pub fn report<'py>(py: Python<'py>, report: &IngestReport) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("format", report.format.name)?;
    dict.set_item("device", report.device.as_deref())?;
    dict.set_item("counts", counters::rows(&report.counts))?;
    dict.set_item("other_devices", report.other_devices.clone())?;
    dict.set_item("first_bad", report.first_bad.as_deref())?;
    dict.set_item("notes", report.notes.clone())?;
    Ok(dict)
}

/// Returns all counters of the report on a trace as `(name, unit, help)`.
#[pyfunction]
pub fn ingest_counters() -> Vec<(&'static str, &'static str, &'static str)> {
    IngestCounts::COUNTERS.iter().map(|counter| (counter.name, counter.unit, counter.help)).collect()
}

/// Reads a trace once, from the first request to the last.
#[pyclass(module = "ssdlab._ssdlab")]
pub struct Reader {
    // Protected by a mutex, because Python objects must be `Sync` and a boxed reader is not.
    inner: Mutex<TraceReader>,
}

impl Reader {
    pub fn source(&mut self) -> &mut (dyn Source + Send) {
        exclusive::<TraceReader>(&mut self.inner)
    }
}

#[pymethods]
impl Reader {
    /// Opens a trace of one or more files. `paths` pairs the path of each file with the path to show in messages.
    /// `files` is `concat`, `merge`, or None for parts of one recording. `device` is a name, `"all"`, `"overlay"`, or
    /// None for the device of the first request. `objects` is `objects` or `sized-objects`, or None if requests address
    /// a drive.
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
                let message = format!("objects must be \"objects\" or \"sized-objects\", not {other:?}");
                return Err(PyValueError::new_err(message));
            }
        };
        let files = match files {
            None => Files::Parts,
            Some("concat") => Files::Concatenated,
            Some("merge") => Files::Merged,
            Some(other) => {
                return Err(PyValueError::new_err(format!("files must be \"concat\" or \"merge\", not {other:?}")));
            }
        };
        let device = device_choice(device);
        let options = ReadOptions { files, device, target, ..options(format, columns, action, skip_bad)? };
        let reader = detached(py, None, || TraceReader::open_as(&paths, &options))?.or_raise()?;
        Ok(Self { inner: Mutex::new(reader) })
    }

    /// Returns the next requests, at most `max`; an empty batch at the end.
    fn read(&mut self, py: Python<'_>, max: usize) -> PyResult<Requests> {
        read_batch(py, self.source(), max)
    }

    /// Returns an error message about the first request that ends past the device, with its position in the files; None
    /// if all requests fit. The reader must be at its start.
    fn beyond(&mut self, py: Python<'_>, capacity_bytes: u64) -> PyResult<Option<String>> {
        let reader = exclusive(&mut self.inner);
        loop {
            let found = detached(py, None, || reader.find_beyond(capacity_bytes, LOOKED_THROUGH))?;
            if let ControlFlow::Break(found) = found.or_raise()? {
                return Ok(found.map(|request| beyond_device(request, capacity_bytes)));
            }
            py.check_signals()?;
        }
    }

    /// Returns the progress of reading as `(bytes read, total bytes or None)`.
    fn progress(&mut self) -> (u64, Option<u64>) {
        let progress = exclusive(&mut self.inner).progress();
        (progress.done, progress.total)
    }

    fn format(&mut self) -> &'static str {
        exclusive(&mut self.inner).format().name
    }

    /// Returns the names of the streams seen so far; the field `stream` of a request is an index into this list.
    fn streams(&mut self) -> Vec<String> {
        exclusive(&mut self.inner).streams().to_vec()
    }

    /// Returns the report on the trace: `counts` as (name, unit, help, value), and `notes` for the user. It is complete
    /// at the end of the trace.
    fn report<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        report(py, exclusive(&mut self.inner).report())
    }
}

/// Generator of the configured workload.
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
    /// Starts generating the workload of `config`.
    #[new]
    fn new(config: &Config) -> PyResult<Self> {
        let settings = config.inner.settings(None).or_raise()?;
        let generator = ssdlab_trace::Generator::new(&settings.workload).or_raise()?;
        Ok(Self { inner: Mutex::new(generator) })
    }

    /// Returns the next requests, at most `max`; an empty batch at the end.
    fn read(&mut self, py: Python<'_>, max: usize) -> PyResult<Requests> {
        read_batch(py, self.source(), max)
    }

    fn streams(&mut self) -> Vec<String> {
        exclusive(&mut self.inner).streams().to_vec()
    }

    /// Returns the progress as `(requests generated, total requests)`.
    fn progress(&mut self) -> (u64, Option<u64>) {
        let progress = exclusive(&mut self.inner).progress();
        (progress.done, progress.total)
    }
}

/// Source of requests written in Python: `read(max) -> Requests`, `progress() -> (done, total)`, `rewind()`.
///
/// A source that provides fio jobs has `jobs`, a list of tuples with the fields of [`Job`] in order, `read_job(number,
/// max) -> Requests`, and `done(outcomes)`. The outcome of a job is a tuple: start and end in ns, then per operation
/// the bytes and the histogram of response times with its mean, standard deviation, minimum and maximum.
pub struct PythonSource {
    object: Py<PyAny>,
    jobs: Vec<Job>,
    /// Exception that the Python source raised; kept here, because a [`TraceError`] cannot hold an exception.
    pub error: Option<PyErr>,
}

impl PythonSource {
    pub fn new(py: Python<'_>, object: Py<PyAny>) -> PyResult<Self> {
        let jobs = match object.bind(py).getattr_opt("jobs")? {
            Some(jobs) => jobs.extract::<Vec<(u32, u32, u64, u64, u64, u64)>>()?,
            None => Vec::new(),
        };
        let jobs = jobs
            .into_iter()
            .map(|(group, depth, think_ns, think_requests, delay_ns, runtime_ns)| Job {
                group,
                depth,
                think_ns,
                think_requests,
                delay_ns,
                runtime_ns,
            })
            .collect();
        Ok(Self { object, jobs, error: None })
    }

    /// Calls a method of the Python object through `call`, and appends the returned requests to `out`.
    fn append(
        &mut self,
        out: &mut Vec<Request>,
        call: impl FnOnce(Python<'_>, &Py<PyAny>) -> PyResult<Py<PyAny>>,
    ) -> Result<usize, TraceError> {
        let result = Python::attach(|py| -> PyResult<usize> {
            let batch = call(py, &self.object)?;
            let batch = batch.cast_bound::<Requests>(py)?.get();
            out.extend_from_slice(&batch.inner);
            Ok(batch.inner.len())
        });
        result.map_err(|error| self.failed(error))
    }

    fn failed(&mut self, error: PyErr) -> TraceError {
        let why = error.to_string();
        self.error = Some(error);
        TraceError::Invalid(why)
    }
}

impl Source for PythonSource {
    fn fill(&mut self, out: &mut Vec<Request>, max: usize) -> Result<usize, TraceError> {
        self.append(out, |py, object| object.call_method1(py, "read", (max,)))
    }

    fn jobs(&self) -> &[Job] {
        &self.jobs
    }

    fn fill_job(&mut self, job: usize, out: &mut Vec<Request>, max: usize) -> Result<usize, TraceError> {
        self.append(out, |py, object| object.call_method1(py, "read_job", (job, max)))
    }

    fn jobs_done(&mut self, outcomes: Vec<JobOutcome>) {
        let result = Python::attach(|py| -> PyResult<()> {
            let outcomes = outcomes.iter().map(|outcome| job_outcome(py, outcome)).collect::<PyResult<Vec<_>>>()?;
            self.object.call_method1(py, "done", (outcomes,)).map(drop)
        });
        if let Err(error) = result {
            self.error = Some(error);
        }
    }

    fn rewind(&mut self) -> Result<(), TraceError> {
        let result = Python::attach(|py| self.object.call_method0(py, "rewind").map(drop));
        result.map_err(|error| self.failed(error))
    }

    fn progress(&self) -> Progress {
        // Errors are ignored, because progress is used only for display.
        let answer: PyResult<(u64, Option<u64>)> =
            Python::attach(|py| self.object.call_method0(py, "progress")?.extract(py));
        let (done, total) = answer.unwrap_or((0, None));
        Progress { done, total }
    }
}

/// Returns the outcome of a job as Python objects; see [`PythonSource`].
fn job_outcome<'py>(py: Python<'py>, outcome: &JobOutcome) -> PyResult<Bound<'py, PyAny>> {
    let by_op = outcome.bytes.iter().zip(&outcome.latency).map(|(&bytes, latency)| -> PyResult<_> {
        let moments = (latency.mean_ns(), latency.std_dev_ns(), latency.min_ns(), latency.max_ns());
        Ok((bytes, buckets(py, latency)?, moments))
    });
    let by_op = by_op.collect::<PyResult<Vec<_>>>()?;
    Ok((outcome.start_ns, outcome.end_ns, by_op).into_pyobject(py)?.into_any())
}
