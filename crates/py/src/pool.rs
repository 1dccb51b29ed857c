//! Binding to the two-pool page cache and its measurement.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use numpy::PyReadonlyArray1;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt, PyPermissionError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};
use ssdlab_core::Bytes;
use ssdlab_measure::clock::Wait;
use ssdlab_measure::load::{self, Access};
use ssdlab_measure::storage::{Kind, PagedFile, Storage, StorageError};
use ssdlab_pool::{Demotion, Loader, Options, PageId, PoolError, Share, Usage, policy};

use crate::compress::{Watch, codec};
use crate::config::Config;
use crate::counters;
use crate::errors::{ConfigError, OrRaise, Raise, SimulationError, detached};
use crate::memory;
use crate::run::PythonMonitor;

/// Options of a page cache: the fields of [`Options`] that Python can set.
#[derive(FromPyObject)]
pub struct Settings {
    budget_bytes: u64,
    page_bytes: u32,
    codec: String,
    share: String,
    policy: String,
    compressed_policy: String,
    workers: u32,
    miss_us: Option<f64>,
    restore_us: Option<f64>,
}

impl Settings {
    fn options(&self) -> PyResult<Options> {
        memory::require_budget(self.budget_bytes)?;
        let mut options = Options::new(Bytes(self.budget_bytes), self.page_bytes);
        options.codec = codec(&self.codec)?;
        options.share = self.share()?;
        options.raw_policy = policy::policy(&self.policy).or_raise()?;
        options.compressed_policy = policy::policy(&self.compressed_policy)
            .map_err(|error| ssdlab_pool::ConfigError { field: "policy of compressed pages", ..error })
            .or_raise()?;
        options.demotion = match (self.workers, options.demotion) {
            (0, _) => Demotion::Synchronous,
            (workers, Demotion::Background { batch, .. }) => Demotion::Background { workers, batch },
            (workers, Demotion::Synchronous) => Demotion::Background { workers, batch: 1 },
        };
        Ok(options)
    }

    fn share(&self) -> PyResult<Share> {
        let text = self.share.trim();
        if text == "adaptive" {
            let (Some(miss_us), Some(restore_us)) = (self.miss_us, self.restore_us) else {
                return Err(ConfigError::new_err(
                    "an adaptive share needs miss_us (time to load a page) and restore_us (time to restore a page and \
                     compress another page)",
                ));
            };
            return Ok(Share::Adaptive { miss_us, restore_us });
        }
        let percent = text
            .trim_end_matches('%')
            .trim_end()
            .parse()
            .map_err(|_| ConfigError::new_err(format!("invalid share \"{text}\"; write 25% or adaptive")))?;
        Ok(Share::Fixed { percent })
    }
}

/// Error number of "permission denied" on every Unix.
const EACCES: i32 = 13;

/// Storage below a page cache.
enum Below {
    /// A Python object. The second field keeps an exception of its methods that must end the program, such as
    /// KeyboardInterrupt.
    Python(Py<PyAny>, Arc<Mutex<Option<PyErr>>>),
    File(PagedFile),
}

impl Below {
    /// Converts an exception that the Python object raised. An exception that is not an `Exception`, such as
    /// KeyboardInterrupt, is kept, because it must reach the cache's caller.
    fn failed(kept: &Mutex<Option<PyErr>>, error: PyErr) -> BelowError {
        let ends = Python::attach(|py| !error.is_instance_of::<PyException>(py));
        if ends {
            let copy = Python::attach(|py| error.clone_ref(py));
            kept.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(copy);
        }
        BelowError::Python(error)
    }
}

#[derive(Debug, thiserror::Error)]
enum BelowError {
    #[error("{0}")]
    Python(PyErr),
    #[error(transparent)]
    File(#[from] StorageError),
}

impl Loader for Below {
    type Error = BelowError;

    fn load(&self, id: PageId, page: &mut [u8]) -> Result<(), BelowError> {
        let (object, kept) = match self {
            Self::File(file) => return Ok(file.load(id, page)?),
            Self::Python(object, kept) => (object, kept),
        };
        Python::attach(|py| {
            let bytes: PyBackedBytes = object.call_method1(py, "load", (id,))?.extract(py)?;
            if bytes.len() != page.len() {
                let (got, needed) = (bytes.len(), page.len());
                let message = format!("load({id}) returned {got} bytes, but a page has {needed} bytes");
                return Err(PyValueError::new_err(message));
            }
            page.copy_from_slice(&bytes);
            Ok(())
        })
        .map_err(|error| Self::failed(kept, error))
    }

    fn store(&self, id: PageId, page: &[u8]) -> Result<(), BelowError> {
        let (object, kept) = match self {
            Self::File(file) => return Ok(file.store(id, page)?),
            Self::Python(object, kept) => (object, kept),
        };
        Python::attach(|py| object.call_method1(py, "store", (id, PyBytes::new(py, page))).map(drop))
            .map_err(|error| Self::failed(kept, error))
    }
}

/// Returns the Python exception for an error of the cache. If the loader raised an exception, returns that exception
/// with a note that names the page.
fn exception(py: Python<'_>, error: PoolError<BelowError>) -> PyErr {
    let note = match &error {
        PoolError::Load { page, .. } => format!("while loading page {page} into the cache"),
        PoolError::Store { page, .. } => format!("while storing page {page}; the page stays in the cache"),
        PoolError::WrongLength { .. } => return PyValueError::new_err(error.to_string()),
        _ => return SimulationError::new_err(error.to_string()),
    };
    let (PoolError::Load { source, .. } | PoolError::Store { source, .. }) = error else {
        return SimulationError::new_err(note);
    };
    let exception = match source {
        BelowError::Python(exception) => exception.clone_ref(py),
        BelowError::File(error) => error.exception(),
    };
    match exception.value(py).call_method1("add_note", (note,)) {
        Ok(_) => exception,
        Err(other) => other,
    }
}

/// A page cache with an uncompressed and a compressed pool.
#[pyclass(module = "ssdlab._ssdlab", frozen)]
pub struct PagePool {
    inner: RwLock<Option<Arc<ssdlab_pool::Pool<Below>>>>,
    /// Exception that the loader has raised and that must end the program, such as KeyboardInterrupt; None if there is
    /// none.
    ended: Arc<Mutex<Option<PyErr>>>,
    direct: bool,
    /// Reason why the cache is read-only; None if it can be written.
    read_only: Option<String>,
}

impl PagePool {
    fn pool(&self) -> PyResult<Arc<ssdlab_pool::Pool<Below>>> {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        inner.clone().ok_or_else(|| PyValueError::new_err("the cache is closed"))
    }

    /// Returns the loader's exception if it raised one that must end the program; otherwise returns `result`.
    fn unless_ended<T>(&self, py: Python<'_>, result: Result<T, PoolError<BelowError>>) -> PyResult<T> {
        let result = result.map_err(|error| exception(py, error));
        match self.ended.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Err(error),
            None => result,
        }
    }
}

#[pymethods]
impl PagePool {
    /// Creates a cache above an object with `load(page) -> bytes` and `store(page, bytes)`, or above a file.
    #[new]
    fn new(py: Python<'_>, settings: Settings, loader: Option<Py<PyAny>>, path: Option<PathBuf>) -> PyResult<Self> {
        let options = settings.options()?;
        let ended = Arc::default();
        let below = match (loader, path) {
            (_, Some(path)) => Below::File(PagedFile::open(&path, settings.page_bytes as usize).or_raise()?),
            (Some(object), None) => Below::Python(object, Arc::clone(&ended)),
            (None, None) => return Err(ConfigError::new_err("a cache needs a loader or a file")),
        };
        let direct = matches!(&below, Below::File(file) if file.direct());
        let read_only = match &below {
            Below::File(file) if !file.writable() => Some(file.path().display().to_string()),
            _ => None,
        };
        let pool = detached(py, None, || ssdlab_pool::Pool::new(options, below))?.or_raise()?;
        Ok(Self { inner: RwLock::new(Some(Arc::new(pool))), ended, direct, read_only })
    }

    fn read<'py>(&self, py: Python<'py>, page: u64) -> PyResult<Bound<'py, PyBytes>> {
        let pool = self.pool()?;
        let (result, out) = detached(py, None, move || {
            let mut out = vec![0; pool.options().page_bytes as usize];
            let result = pool.read(page, &mut out);
            // Dropping the last reference to the pool writes back dirty pages, so this reference is dropped here, while
            // the interpreter lock (GIL) is released.
            drop(pool);
            (result, out)
        })?;
        self.unless_ended(py, result)?;
        Ok(PyBytes::new(py, &out))
    }

    fn write(&self, py: Python<'_>, page: u64, bytes: PyBackedBytes) -> PyResult<()> {
        if let Some(path) = &self.read_only {
            let why = "you have no permission to write the file; change its permissions, or only read pages";
            return Err(PyPermissionError::new_err((EACCES, why, path.clone())));
        }
        let pool = self.pool()?;
        let last = i64::MAX as u64 / u64::from(pool.options().page_bytes);
        if page > last {
            return Err(PyValueError::new_err(format!(
                "page {page} is past {last}, the highest page number that a file can hold"
            )));
        }
        self.unless_ended(py, detached(py, None, move || pool.write(page, &bytes))?)
    }

    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        let pool = self.pool()?;
        self.unless_ended(py, detached(py, None, move || pool.flush())?)
    }

    /// Writes back dirty pages and stops the workers; a second call does nothing.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let Some(pool) = self.inner.write().unwrap_or_else(PoisonError::into_inner).take() else { return Ok(()) };
        self.unless_ended(py, detached(py, None, move || pool.flush())?)
    }

    /// Returns two dictionaries: counters and memory usage of the cache.
    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>)> {
        let pool = self.pool()?;
        let (counts, usage) = detached(py, None, move || (pool.transitions(), pool.usage()))?;
        Ok((counters::dict(py, &counts)?, usage_dict(py, usage)?))
    }

    fn direct(&self) -> bool {
        self.direct
    }
}

impl Drop for PagePool {
    fn drop(&mut self) {
        if let Some(pool) = self.inner.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            // Worker threads may be waiting for the interpreter lock (GIL), so this thread releases the lock until they
            // have ended.
            Python::attach(|py| py.detach(|| drop(pool)));
        }
    }
}

/// Returns the memory usage by name, with the total that counts against the budget.
fn usage_dict(py: Python<'_>, usage: Usage) -> PyResult<Bound<'_, PyDict>> {
    let dict = counters::dict(py, &usage)?;
    dict.set_item("total_bytes", usage.total_bytes())?;
    Ok(dict)
}

/// Simulated drive that serves as storage for the caches of a benchmark, one cache at a time.
#[pyclass(module = "ssdlab._ssdlab", frozen)]
pub struct SimulatedDrive {
    inner: Arc<ssdlab_measure::simulated::SimulatedDrive>,
}

#[pymethods]
impl SimulatedDrive {
    /// Creates the drive of a configuration, and writes data to at least its first `bytes` bytes. Waiting threads spin
    /// if `busy` is true; otherwise they sleep. `monitor` has the same meaning as in `simulate`.
    #[new]
    fn new(py: Python<'_>, config: &Config, bytes: u64, busy: bool, monitor: Option<Py<PyAny>>) -> PyResult<Self> {
        config.require_built_in()?;
        let mut setup = config.inner.settings(Some(bytes)).or_raise()?.setup;
        let capacity_bytes = setup.capacity_bytes();
        if bytes > capacity_bytes {
            return Err(ConfigError::new_err(format!(
                "the simulated drive has {capacity_bytes} bytes, but the pages take {bytes}; raise device.capacity, or \
                 use fewer pages"
            )));
        }
        memory::require(&setup)?;
        // The pages must be written first, because reads of unwritten pages would take no time.
        setup.precondition.fill = setup.precondition.fill.max(bytes as f64 / capacity_bytes as f64);
        let toml = config.inner.to_toml();
        let mut monitor = PythonMonitor::new(monitor.as_ref());
        let drive = detached(py, Some(&toml), || ssdlab_sim::live(&setup, &mut monitor))?;
        if let Some(error) = monitor.error {
            return Err(error);
        }
        let Some(drive) = drive.or_raise()? else {
            return Err(PyKeyboardInterrupt::new_err("stopped while preparing the drive"));
        };
        Ok(Self { inner: Arc::new(ssdlab_measure::simulated::SimulatedDrive::new(drive, wait(busy))) })
    }
}

fn wait(busy: bool) -> Wait {
    if busy { Wait::Busy } else { Wait::Sleep }
}

/// Storage below a measured page cache: a drive, a file, or a fixed cost.
#[derive(FromPyObject)]
pub struct BenchStorage {
    drive: Option<Py<SimulatedDrive>>,
    path: Option<PathBuf>,
    cost_us: f64,
    busy: bool,
}

/// Sends accesses to a new page cache. The first `warm_up` accesses are not measured. An access is encoded as twice the
/// page number, plus one for a write. Periodically calls `stop(done)` with the number of finished accesses; if `stop`
/// returns true, raises KeyboardInterrupt.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the only caller passes arguments by name")]
pub fn bench_cache<'py>(
    py: Python<'py>,
    settings: Settings,
    below: BenchStorage,
    contents: PyBackedBytes,
    accesses: PyReadonlyArray1<'py, u64>,
    warm_up: usize,
    threads: usize,
    stop: Py<PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let options = settings.options()?;
    let contents = Arc::new(contents);
    let kind = match (below.drive, below.path) {
        (Some(drive), _) => Kind::Simulated(Shared(Arc::clone(&contents)), Arc::clone(&drive.get().inner)),
        (None, Some(path)) => Kind::File(PagedFile::open(&path, settings.page_bytes as usize).or_raise()?),
        (None, None) => {
            let cost = Duration::from_nanos((below.cost_us * 1e3) as u64);
            Kind::Fixed(Shared(Arc::clone(&contents)), cost, wait(below.busy))
        }
    };
    let direct = matches!(&kind, Kind::File(file) if file.direct());
    let accesses: Vec<_> = accesses.as_slice()?.iter().map(|&access| Access(access)).collect();
    let (before, measured) = accesses.split_at(warm_up.min(accesses.len()));
    let pool = detached(py, None, || ssdlab_pool::Pool::new(options, Storage::new(kind)))?.or_raise()?;
    let mut watch = Watch::new(&stop);
    let outcome = detached(py, None, || {
        load::send(&pool, before, &contents, threads, &mut |done| watch.goes_on(done))?;
        let (counts, done) = (pool.transitions(), pool.loader().done());
        let warmed_up = before.len() as u64;
        let taken = load::send(&pool, measured, &contents, threads, &mut |done| watch.goes_on(warmed_up + done))?;
        let (counts, now, usage) = (pool.transitions() - counts, pool.loader().done(), pool.usage());
        drop(pool);
        Ok((taken, counts, done, now, usage))
    })?;
    let (taken, counts, before, after, usage) = outcome.map_err(|error: load::Error<StorageError>| {
        watch.exception(|| match &error {
            load::Error::Stopped => PyKeyboardInterrupt::new_err("stopped while measuring"),
            load::Error::Pool(PoolError::Load { source, .. } | PoolError::Store { source, .. }) => source.exception(),
            load::Error::Pool(_) | load::Error::Threads(_) => SimulationError::new_err(error.to_string()),
        })
    })?;
    let dict = PyDict::new(py);
    dict.set_item("elapsed_ns", taken.elapsed_ns)?;
    dict.set_item("access_ns", taken.accesses.sum_ns() as u64)?;
    dict.set_item("access_p50_ns", taken.accesses.quantile_ns(0.5))?;
    dict.set_item("access_p99_ns", taken.accesses.quantile_ns(0.99))?;
    dict.set_item("cpu_ns", taken.cpu_ns)?;
    dict.set_item("loads", after.loads - before.loads)?;
    dict.set_item("stores", after.stores - before.stores)?;
    dict.set_item("load_ns", after.load_ns - before.load_ns)?;
    dict.set_item("late_ns", after.late_ns - before.late_ns)?;
    dict.set_item("direct", direct)?;
    dict.set_item("transitions", counters::dict(py, &counts)?)?;
    dict.set_item("memory", usage_dict(py, usage)?)?;
    Ok(dict)
}

/// A Python `bytes` object that several owners share.
struct Shared(Arc<PyBackedBytes>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}
