//! Rust errors and panics as Python exceptions.

use std::any::Any;
use std::cell::RefCell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::OnceLock;

use pyo3::create_exception;
use pyo3::exceptions::{PyBlockingIOError, PyException, PyOSError, PyValueError};
use pyo3::prelude::*;
use ssdlab_device::{DriveError, FileError};
use ssdlab_measure::storage::StorageError;
use ssdlab_sim::SimError;
use ssdlab_trace::Placed;

create_exception!(ssdlab, SsdlabError, PyException, "Base class of ssdlab's errors.");
create_exception!(ssdlab, ConfigError, SsdlabError, "Invalid configuration; one line per error, with its remedy.");
create_exception!(ssdlab, TraceError, SsdlabError, "Invalid trace; one line with file, position, error and remedy.");
create_exception!(
    ssdlab,
    SimulationError,
    SsdlabError,
    "A simulation cannot start or continue. For a request past the end of the device, `capacity_bytes` is the \
     device's capacity."
);
create_exception!(
    ssdlab,
    InternalError,
    SsdlabError,
    "A bug in ssdlab. `config` is the resolved configuration as TOML, for the bug report, or None."
);

/// Error of another crate that can be converted to a Python exception.
pub trait Raise {
    fn exception(&self) -> PyErr;
}

/// Converts the error of a result to its Python exception.
pub trait OrRaise<T> {
    fn or_raise(self) -> PyResult<T>;
}

impl<T, E: Raise> OrRaise<T> for Result<T, E> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(|error| error.exception())
    }
}

macro_rules! config_errors {
    ($($error:ty),+ $(,)?) => {
        $(impl Raise for $error {
            fn exception(&self) -> PyErr {
                ConfigError::new_err(self.to_string())
            }
        })+
    };
}

config_errors! {
    ssdlab_config::ConfigError,
    ssdlab_cache::CacheError,
    ssdlab_cache::plan::PlanError,
    ssdlab_codec::SpecError,
    ssdlab_core::UnitError,
    ssdlab_core::registry::UnknownMember,
    ssdlab_pool::ConfigError,
}

impl Raise for ssdlab_trace::TraceError {
    fn exception(&self) -> PyErr {
        match self {
            Self::Workload { .. } | Self::Full => ConfigError::new_err(self.to_string()),
            _ => TraceError::new_err(self.to_string()),
        }
    }
}

impl Raise for SimError {
    fn exception(&self) -> PyErr {
        match self {
            Self::Trace(error) => error.exception(),
            Self::Setup(message) => ConfigError::new_err(message.clone()),
            Self::BeyondDevice { capacity_bytes, .. } => {
                let error = SimulationError::new_err(self.to_string());
                let set = Python::attach(|py| error.value(py).setattr("capacity_bytes", capacity_bytes));
                set.err().unwrap_or(error)
            }
            _ => SimulationError::new_err(self.to_string()),
        }
    }
}

impl Raise for serde_json::Error {
    fn exception(&self) -> PyErr {
        SsdlabError::new_err(self.to_string())
    }
}

pub fn beyond_device(request: Placed, capacity_bytes: u64) -> String {
    SimError::BeyondDevice { request, capacity_bytes }.to_string()
}

/// Returns the exception for an error of a drive that stores bytes, in the file at `path` if given: an `OSError` with
/// its error number, or a `ConfigError` for an invalid drive.
pub fn drive_error(error: &DriveError, path: Option<&Path>) -> PyErr {
    match (error, path) {
        (DriveError::Options(text), _) => ConfigError::new_err(text.clone()),
        (_, Some(path)) => PyOSError::new_err((error.errno(), error.to_string(), path.as_os_str().to_owned())),
        (_, None) => PyOSError::new_err((error.errno(), error.to_string())),
    }
}

impl Raise for StorageError {
    fn exception(&self) -> PyErr {
        match self {
            Self::Io { path, source } => match source.raw_os_error() {
                Some(number) => {
                    PyOSError::new_err((number, io::Error::from_raw_os_error(number).to_string(), path.clone()))
                }
                None => PyOSError::new_err(self.to_string()),
            },
            Self::Beyond { .. } => PyValueError::new_err(self.to_string()),
            Self::Simulated(_) => SimulationError::new_err(self.to_string()),
        }
    }
}

/// File errors already name the file in their messages.
impl Raise for FileError {
    fn exception(&self) -> PyErr {
        match self {
            Self::Differs { .. } => ConfigError::new_err(self.to_string()),
            _ => PyOSError::new_err((self.errno(), self.to_string())),
        }
    }
}

thread_local! {
    /// Location of this thread's last panic, which the payload of the panic does not contain.
    static PANIC_PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Silences panics and records their location for [`detached`].
pub fn install_panic_hook() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(ToString::to_string);
        PANIC_PLACE.with(|last| *last.borrow_mut() = place);
    }));
}

fn panic_message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("unknown cause")
}

pub fn no_thread() -> PyErr {
    PyBlockingIOError::new_err("cannot start a thread; raise the system's limit on processes (ulimit -u)")
}

/// Beginning of the standard library's panic message for a thread that cannot be started.
const NO_THREAD: &str = "failed to spawn thread";

/// Paths of the Cargo.toml files of the component crates that were compiled in.
static COMPONENTS: OnceLock<Vec<&'static str>> = OnceLock::new();

/// Sets the Cargo.toml paths of the component crates that were compiled in. A panic in one of these crates is reported
/// as the component's error; the messages of other panics list the paths as possible causes.
pub fn name_components(manifests: Vec<&'static str>) {
    COMPONENTS.get_or_init(|| manifests);
}

fn internal_error(py: Python<'_>, payload: &(dyn Any + Send), config: Option<&str>) -> PyErr {
    let place = PANIC_PLACE.with(|last| last.borrow_mut().take()).unwrap_or_else(|| "unknown place".into());
    let message = panic_message(payload);
    if message.starts_with(NO_THREAD) {
        return no_thread();
    }
    let components = COMPONENTS.get().map_or(&[][..], Vec::as_slice);
    let in_crate = |manifest: &&str| place.starts_with(manifest.trim_end_matches("Cargo.toml"));
    if components.iter().any(in_crate) {
        return SimulationError::new_err(format!("{place}: {message}"));
    }
    let cause = match components {
        [] => "this is a bug in ssdlab, please report it".into(),
        _ => format!("a component broke its contract ({}), or this is a bug in ssdlab", components.join(", ")),
    };
    let error = InternalError::new_err(format!("{message} (at {place}); {cause}"));
    match error.value(py).setattr("config", config) {
        Ok(()) => error,
        Err(other) => other,
    }
}

/// Runs `work` with the interpreter lock (GIL) released. A panic becomes an [`InternalError`] with `config`, unless its
/// payload is the exception of a component written in Python.
pub fn detached<T: Send>(py: Python<'_>, config: Option<&str>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    // `AssertUnwindSafe` is sound: data that a panic leaves inconsistent is either unreachable afterwards or reports
    // that it is unusable.
    py.detach(|| catch_unwind(AssertUnwindSafe(work))).map_err(|payload| match payload.downcast::<PyErr>() {
        Ok(error) => *error,
        Err(payload) => internal_error(py, &*payload, config),
    })
}
