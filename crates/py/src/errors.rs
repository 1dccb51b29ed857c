//! Rust errors and panics as Python exceptions.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use pyo3::create_exception;
use pyo3::exceptions::{PyBlockingIOError, PyException, PyOSError};
use pyo3::prelude::*;
use ssdlab_device::{DriveError, FileError};
use ssdlab_sim::SimError;
use ssdlab_trace::Placed;

create_exception!(ssdlab, SsdlabError, PyException, "Base of every error that ssdlab raises on purpose.");
create_exception!(
    ssdlab,
    ConfigError,
    SsdlabError,
    "A configuration is wrong; one line for each fault, with its remedy."
);
create_exception!(ssdlab, TraceError, SsdlabError, "A trace is wrong: file, place, fault and remedy in one line.");
create_exception!(
    ssdlab,
    SimulationError,
    SsdlabError,
    "A simulation cannot start or go on. Where a request lies beyond the device, `capacity_bytes` is its capacity."
);
create_exception!(
    ssdlab,
    InternalError,
    SsdlabError,
    "A defect of ssdlab itself. `config` holds the resolved configuration as TOML (or None) to report with it."
);

/// The Python exception for an error of the configuration.
pub fn config_error(error: &ssdlab_config::ConfigError) -> PyErr {
    ConfigError::new_err(error.to_string())
}

/// The Python exception for an error of a trace.
pub fn trace_error(error: &ssdlab_trace::TraceError) -> PyErr {
    match error {
        ssdlab_trace::TraceError::Workload { .. } | ssdlab_trace::TraceError::Full => {
            ConfigError::new_err(error.to_string())
        }
        _ => TraceError::new_err(error.to_string()),
    }
}

/// The Python exception for an error of a simulation.
pub fn sim_error(error: &SimError) -> PyErr {
    match error {
        SimError::Trace(error) => trace_error(error),
        SimError::Setup(message) => ConfigError::new_err(message.clone()),
        SimError::BeyondDevice { capacity_bytes, .. } => {
            let refused = SimulationError::new_err(error.to_string());
            let told = Python::attach(|py| refused.value(py).setattr("capacity_bytes", capacity_bytes));
            told.err().unwrap_or(refused)
        }
        _ => SimulationError::new_err(error.to_string()),
    }
}

/// What is wrong with a request beyond the device.
pub fn beyond_device(request: Placed, capacity_bytes: u64) -> String {
    SimError::BeyondDevice { request, capacity_bytes }.to_string()
}

/// The Python exception for an error of a drive that holds bytes, in the file at `path` if there is one: an `OSError`
/// with its number, but for a drive that cannot be.
pub fn drive_error(error: &DriveError, path: Option<&Path>) -> PyErr {
    match (error, path) {
        (DriveError::Options(text), _) => ConfigError::new_err(text.clone()),
        (_, Some(path)) => PyOSError::new_err((error.errno(), error.to_string(), path.as_os_str().to_owned())),
        (_, None) => PyOSError::new_err((error.errno(), error.to_string())),
    }
}

/// The Python exception for an error of a drive's file, whose text names it.
pub fn drive_file_error(error: &FileError) -> PyErr {
    match error {
        FileError::Differs { .. } => ConfigError::new_err(error.to_string()),
        _ => PyOSError::new_err((error.errno(), error.to_string())),
    }
}

thread_local! {
    /// Where the last panic of this thread happened; the payload that unwinding carries does not say.
    static PANIC_PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Makes panics silent and remembers their place: [`detached`] reports them as exceptions.
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

/// The Python exception where the system gives no more threads.
pub fn no_thread() -> PyErr {
    PyBlockingIOError::new_err("the system gives no more threads; raise its limit of processes, or end some")
}

/// How the standard library's panic begins where the system gives no more threads.
const NO_THREAD: &str = "failed to spawn thread";

fn internal_error(py: Python<'_>, payload: &(dyn Any + Send), config: Option<&str>) -> PyErr {
    let place = PANIC_PLACE.with(|last| last.borrow_mut().take()).unwrap_or_else(|| "an unknown place".into());
    let message = panic_message(payload);
    if message.starts_with(NO_THREAD) {
        return PyBlockingIOError::new_err(
            "the system gives no more threads; raise its limit of processes, or end some",
        );
    }
    let error = InternalError::new_err(format!("{message} (at {place}); this is a defect of ssdlab, please report it"));
    match error.value(py).setattr("config", config) {
        Ok(()) => error,
        Err(other) => other,
    }
}

/// Runs `work` with the interpreter released; a panic becomes an [`InternalError`] that carries `config`.
pub fn detached<T: Send>(py: Python<'_>, config: Option<&str>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    // Whatever `work` left half-done is unreachable afterwards or reports its own state.
    py.detach(|| catch_unwind(AssertUnwindSafe(work))).map_err(|payload| internal_error(py, &*payload, config))
}
