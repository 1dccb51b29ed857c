//! Python binding that splits traces of many volumes into one file per volume.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use ssdlab_trace::{Parted as Batch, Partition as Files};

use crate::errors::{OrRaise, TraceError, detached};
use crate::requests::Requests;
use crate::source::{exclusive, options, report};

/// Reads the files of a trace in order, and determines the volume of each request.
#[pyclass(module = "ssdlab._ssdlab")]
pub struct VolumeReader {
    // Protected by a mutex, because Python objects must be `Sync` and a boxed reader is not.
    inner: Mutex<ssdlab_trace::VolumeReader>,
}

#[pymethods]
impl VolumeReader {
    /// Opens the files of a trace. `paths` pairs the path of each file with the path to show in messages.
    #[new]
    #[pyo3(signature = (paths, format=None, columns=None, action=None, skip_bad=false))]
    fn new(
        py: Python<'_>,
        paths: Vec<(PathBuf, PathBuf)>,
        format: Option<&str>,
        columns: Option<&str>,
        action: Option<&str>,
        skip_bad: bool,
    ) -> PyResult<Self> {
        let options = options(format, columns, action, skip_bad)?;
        let reader = detached(py, None, || ssdlab_trace::VolumeReader::open_as(&paths, &options))?;
        Ok(Self { inner: Mutex::new(reader.or_raise()?) })
    }

    /// Returns the next `max` or more requests, or all that remain if there are fewer. Returns an empty batch at the
    /// end of the trace.
    fn read(&mut self, py: Python<'_>, max: usize) -> PyResult<Parted> {
        let (reader, mut inner) = (exclusive(&mut self.inner), Batch::default());
        detached(py, None, || reader.fill(&mut inner, max))?.or_raise()?;
        Ok(Parted { inner })
    }

    /// Returns the progress of reading as `(bytes read, total bytes)`.
    fn progress(&mut self) -> (u64, Option<u64>) {
        let progress = exclusive(&mut self.inner).progress();
        (progress.done, progress.total)
    }

    fn format(&mut self) -> &'static str {
        exclusive(&mut self.inner).format().name
    }

    /// True if the trace names the volumes of the requests read so far; otherwise, each file counts as a volume.
    fn names_volumes(&mut self) -> bool {
        exclusive(&mut self.inner).names_volumes()
    }

    fn report<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        report(py, exclusive(&mut self.inner).report())
    }
}

/// Requests in file order, with the volume of each.
#[pyclass(frozen, module = "ssdlab._ssdlab")]
pub struct Parted {
    pub inner: Batch,
}

#[pymethods]
impl Parted {
    /// Creates a batch of requests with the timestamps of the trace. Volumes are numbered in order of appearance;
    /// `names` and `streams` list all volumes and streams seen so far.
    #[staticmethod]
    fn of(
        requests: &Requests,
        volumes: PyReadonlyArray1<'_, u32>,
        names: Vec<String>,
        streams: Vec<String>,
    ) -> PyResult<Self> {
        let (requests, volumes) = (requests.inner.clone(), volumes.as_slice()?.to_vec());
        if volumes.len() != requests.len() || volumes.iter().any(|&volume| volume as usize >= names.len()) {
            return Err(TraceError::new_err("each request needs a volume number, an index into the volume names"));
        }
        Ok(Self { inner: Batch { requests, volumes, names, streams, whole_seconds: false } })
    }

    fn __len__(&self) -> usize {
        self.inner.requests.len()
    }
}

/// Totals of a volume: name, file, requests, reads, writes, bytes read, bytes written, first byte past all requests,
/// and first and last timestamp in ns.
type Volume = (String, String, u64, u64, u64, u64, u64, u64, u64, u64);

/// Files to which the requests of each volume are written; any thread may write.
#[pyclass(frozen, module = "ssdlab._ssdlab")]
pub struct Partition {
    inner: Mutex<Files>,
}

#[pymethods]
impl Partition {
    /// Starts writing volumes to files in an existing, empty folder.
    #[new]
    fn new(folder: PathBuf) -> Self {
        Self { inner: Mutex::new(Files::new(&folder)) }
    }

    fn add(&self, py: Python<'_>, batch: &Parted) -> PyResult<()> {
        let add = || self.inner.lock().unwrap_or_else(PoisonError::into_inner).add(&batch.inner);
        detached(py, None, add)?.or_raise()
    }

    fn volumes(&self) -> Vec<Volume> {
        let files = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let row = |(number, volume): (usize, &ssdlab_trace::VolumeTotals)| {
            let (name, file) = (volume.name.clone(), Files::file_name(number));
            let (requests, reads, writes) = (volume.requests, volume.reads, volume.writes);
            let (read, written, end) = (volume.read_bytes, volume.written_bytes, volume.end_bytes);
            (name, file, requests, reads, writes, read, written, end, volume.first_ns, volume.last_ns)
        };
        files.volumes().iter().enumerate().map(row).collect()
    }
}
