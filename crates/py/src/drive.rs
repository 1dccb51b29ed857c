//! Binding to a drive that stores bytes.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use numpy::PyArray1;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use ssdlab_device::{
    Backend, Drive, DriveError, FaultBackend, FaultPlan, FileBackend, MountReport, OpenError, PowerCut, open,
};
use ssdlab_nand::{Cause, Counts, Timing};
use ssdlab_serve::DriveFile;

use crate::columns::array;
use crate::config::Config;
use crate::counters;
use crate::errors::{ConfigError, OrRaise, Raise, detached, drive_error};
use crate::failures::{enough, options};
use crate::memory;

type Inner = Drive<FaultBackend<Box<dyn Backend>>>;

/// A drive that stores bytes; Python programs use `ssdlab.Drive`.
#[pyclass(frozen, module = "ssdlab._ssdlab")]
pub struct FlashDrive {
    inner: Mutex<Inner>,
    timing: Option<Timing>,
    path: Option<PathBuf>,
    /// Report of the latest mount; None for a new drive that was never mounted.
    mounted: Mutex<Option<MountReport>>,
}

#[pymethods]
impl FlashDrive {
    /// Opens a mounted drive in memory, or in the file at `path`, which is created if missing. `faults` are the fields
    /// of `FaultPlan` by name.
    #[new]
    #[pyo3(signature = (config, path, faults))]
    fn new(py: Python<'_>, config: &Config, path: Option<PathBuf>, faults: Vec<(String, u64)>) -> PyResult<Self> {
        config.require_built_in()?;
        let config = &config.inner;
        let setup = config.settings(None).or_raise()?.setup;
        memory::require_drive(config, &setup, path.is_some())?;
        let plan = plan(&faults)?;
        let options = options(&setup, &plan)?;
        if options.spare_for_failures > 0 {
            options
                .check(&setup.geometry)
                .map_err(|problem| ConfigError::new_err(format!("{problem}; {}", enough(config, &plan))))?;
        }
        let settings = config.drive_settings();
        let over = |flash| FaultBackend::new(flash, plan);
        let lines = setup.lines();
        let opened = detached(py, None, || {
            open(path.as_deref(), setup.geometry, options, (&lines, &settings), over, || Ok::<_, OpenError>(None))
        })?;
        let (inner, mounted) = opened.map_err(|error| match error {
            OpenError::File(error) => error.exception(),
            OpenError::Drive(error) => drive_error(&error, path.as_deref()),
        })?;
        let timing = setup.clock.timing().copied();
        Ok(Self { inner: Mutex::new(inner), timing, path, mounted: Mutex::new(mounted) })
    }

    #[getter]
    fn capacity_bytes(&self) -> u64 {
        self.locked().capacity_bytes()
    }

    #[getter]
    fn page_bytes(&self) -> u32 {
        self.locked().geometry().page_bytes
    }

    #[getter]
    fn is_on(&self) -> bool {
        self.locked().is_on()
    }

    #[getter]
    fn is_read_only(&self) -> bool {
        self.locked().is_worn_out()
    }

    fn read(&self, py: Python<'_>, offset: u64, size: u64) -> PyResult<Py<PyBytes>> {
        // Checks the range first, before allocating memory for it.
        self.check_range(offset, size)?;
        let bytes = self.work(py, |drive| {
            let mut bytes = vec![0; size as usize];
            drive.read(offset, &mut bytes).map(|()| bytes)
        })?;
        Ok(PyBytes::new(py, &bytes).unbind())
    }

    fn write(&self, py: Python<'_>, offset: u64, data: &Bound<'_, PyAny>, fua: bool) -> PyResult<()> {
        let bytes = PyBuffer::<u8>::get(data)?.to_vec(py)?;
        self.work(py, |drive| drive.write(offset, &bytes, fua))
    }

    fn trim(&self, py: Python<'_>, offset: u64, size: u64, fua: bool) -> PyResult<()> {
        self.work(py, |drive| drive.trim(offset, size, fua))
    }

    fn write_zeroes(&self, py: Python<'_>, offset: u64, size: u64, fua: bool) -> PyResult<()> {
        self.work(py, |drive| drive.write_zeroes(offset, size, fua))
    }

    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.work(py, Inner::flush)
    }

    fn shut_down(&self, py: Python<'_>) -> PyResult<()> {
        self.work(py, Inner::shut_down)
    }

    /// Cuts the power of the drive: at once, or after a given number of programs, erases and log writes.
    fn cut_power(&self, after: Option<u64>, torn: bool) {
        let mut drive = self.locked();
        match after {
            None => drive.cut_power(),
            Some(after) => drive.backend_mut().cut_power(PowerCut { after, torn }),
        }
    }

    fn mount(&self, py: Python<'_>) -> PyResult<()> {
        let report = self.work(py, |drive| {
            drive.backend_mut().restore_power();
            drive.mount()
        })?;
        *self.mounted.lock().unwrap_or_else(PoisonError::into_inner) = Some(report);
        Ok(())
    }

    /// Returns the values of the latest mount report by name.
    fn mounted<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let mounted = *self.mounted.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(report) = mounted else { return Ok(None) };
        let time_ns = self.timing.map(|timing| report.time(&timing, self.locked().geometry()).0);
        let MountReport { full_scan, clean, log_bytes_read, blocks_scanned, spares_read, pages_verified, operations } =
            report;
        let result = PyDict::new(py);
        result.set_item("full_scan", full_scan)?;
        result.set_item("clean", clean)?;
        result.set_item("log_bytes_read", log_bytes_read)?;
        result.set_item("blocks_scanned", blocks_scanned)?;
        result.set_item("spares_read", spares_read)?;
        result.set_item("pages_verified", pages_verified)?;
        result.set_item("operations", by_cause(py, &operations)?)?;
        result.set_item("time_ns", time_ns)?;
        Ok(Some(result))
    }

    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        by_cause(py, self.locked().counts())
    }

    fn health<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        counters::dict(py, &self.locked().health())
    }

    fn erase_counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u32>>> {
        array(py, self.locked().erase_counts().to_vec())
    }

    fn buffered_pages(&self) -> u32 {
        self.locked().buffered_pages()
    }

    /// Returns consecutive runs of bytes that are all written or all unwritten, as `(offset, bytes, written)`.
    fn allocation(&self, offset: u64, size: u64) -> PyResult<Vec<(u64, u64, bool)>> {
        let runs = self.locked().allocation(offset, size).map_err(|error| self.raised(&error))?;
        Ok(runs.into_iter().map(|(run, written)| (run.start, run.end - run.start, written)).collect())
    }
}

impl FlashDrive {
    fn locked(&self) -> MutexGuard<'_, Inner> {
        // A panic of an earlier call poisons the lock, but was already reported, and the drive can still be inspected.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check_range(&self, offset: u64, size: u64) -> PyResult<()> {
        let capacity = self.locked().capacity_bytes();
        let end = offset.saturating_add(size);
        if end <= capacity { Ok(()) } else { Err(self.raised(&DriveError::OutOfRange { offset, end, capacity })) }
    }

    fn work<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Inner) -> Result<T, DriveError> + Send,
    ) -> PyResult<T> {
        detached(py, None, || work(&mut self.locked()))?.map_err(|error| self.raised(&error))
    }

    fn raised(&self, error: &DriveError) -> PyErr {
        drive_error(error, self.path.as_deref())
    }
}

/// Returns the settings of the drive in a file, as keys and values.
#[pyfunction]
pub fn drive_settings(path: PathBuf) -> PyResult<Vec<(String, String)>> {
    FileBackend::settings(&path).or_raise()
}

/// Returns the kind of a drive file: `bytes` for a drive that stores bytes, `state` for a saved drive. Returns None for
/// other files.
#[pyfunction]
pub fn drive_file(path: PathBuf) -> PyResult<Option<&'static str>> {
    Ok(ssdlab_serve::drive_file(&path)?.map(|kind| match kind {
        DriveFile::Bytes => "bytes",
        DriveFile::State => "state",
    }))
}

fn plan(faults: &[(String, u64)]) -> PyResult<FaultPlan> {
    let mut plan = FaultPlan::default();
    for (name, value) in faults {
        let field = match name.as_str() {
            "programs" => &mut plan.programs,
            "erases" => &mut plan.erases,
            "reads" => &mut plan.reads,
            "flips" => &mut plan.flips,
            "factory" => &mut plan.factory,
            "seed" => &mut plan.seed,
            other => {
                return Err(PyValueError::new_err(format!(
                    "unknown fault {other:?}; use programs, erases, reads, flips, factory or seed"
                )));
            }
        };
        *field = *value;
    }
    Ok(plan)
}

/// Returns the counts of flash operations by cause as `{"reads": {cause: pages}, "programs": ..., "erases": ...}`;
/// omits causes with a count of 0.
fn by_cause<'py>(py: Python<'py>, counts: &Counts) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    for (name, counts) in [("reads", &counts.reads), ("programs", &counts.programs), ("erases", &counts.erases)] {
        let causes = PyDict::new(py);
        for (cause, &count) in Cause::ALL.iter().zip(counts).filter(|&(_, &count)| count > 0) {
            causes.set_item(cause.name(), count)?;
        }
        result.set_item(name, causes)?;
    }
    Ok(result)
}
