//! Components written in Python, registered beside the built-in ones; `ssdlab.model.plugins` loads them.
//!
//! A decision that fails ends the run: the exception unwinds as a panic's payload up to [`crate::errors::detached`],
//! because models have no errors of their own for decisions.

mod cache;
mod ftl;
mod victim;

pub use ftl::Flash;

use std::cell::RefCell;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use ssdlab_core::NameTaken;

use crate::errors::ConfigError;

/// Registers a component of the given kind. `build(seed, calls)` starts it for a run and returns a
/// `ssdlab.model.plugins.Running`. For an FTL, `reserve_blocks` is the number of blocks that it needs in addition to
/// those filled with data.
#[pyfunction]
#[pyo3(signature = (kind, name, help, build, reserve_blocks=0))]
pub fn register_plugin(kind: &str, name: String, help: String, build: Py<PyAny>, reserve_blocks: u32) -> PyResult<()> {
    let entry = Entry { name: name.leak(), help: help.leak(), build };
    let registered = match kind {
        "cache" => cache::register(entry),
        "ftl" => ftl::register(entry, reserve_blocks),
        "victim" => victim::register(entry),
        _ => return Err(PyValueError::new_err(format!("kind must be \"cache\", \"ftl\" or \"victim\", not {kind:?}"))),
    };
    registered.map_err(|error| ConfigError::new_err(error.to_string()))
}

/// A component to register.
struct Entry {
    name: &'static str,
    help: &'static str,
    build: Py<PyAny>,
}

/// Counts and times the calls of a component during a run.
#[pyclass(frozen, module = "ssdlab._ssdlab")]
pub struct Calls {
    name: &'static str,
    begun: AtomicU64,
    ended: AtomicU64,
    nanos: AtomicU64,
    overdue: AtomicBool,
}

#[pymethods]
impl Calls {
    /// Number of the call that is running; 0 between calls. Changes only while the calling thread holds the interpreter.
    #[getter]
    fn running(&self) -> u64 {
        let begun = self.begun.load(Relaxed);
        if begun == self.ended.load(Relaxed) { 0 } else { begun }
    }

    /// Marks the running call as too long, before an exception is raised in its thread.
    fn set_overdue(&self) {
        self.overdue.store(true, Relaxed);
    }
}

thread_local! {
    /// Components built on this thread since [`take_calls`] was called.
    static BUILT: RefCell<Vec<Py<Calls>>> = const { RefCell::new(Vec::new()) };
}

/// Calls of a component: its name, their number, and their duration in seconds.
pub type CallRow = (&'static str, u64, f64);

/// Returns and clears the records of calls to all components that this thread has built.
pub fn take_calls() -> Vec<CallRow> {
    let row = |calls: Py<Calls>| {
        let calls = calls.get();
        (calls.name, calls.ended.load(Relaxed), Duration::from_nanos(calls.nanos.load(Relaxed)).as_secs_f64())
    };
    BUILT.take().into_iter().map(row).collect()
}

/// A Python component (plug-in) that a run uses.
struct Running {
    calls: Py<Calls>,
    /// Python object of the class `ssdlab.model.plugins.Running`, which turns faults into exceptions.
    inner: Py<PyAny>,
    plugin: Py<PyAny>,
}

impl Running {
    /// Starts a component.
    fn new(entry: &Entry, seed: u64) -> Self {
        or_unwind(Python::attach(|py| {
            let counters = || AtomicU64::new(0);
            let (begun, ended, nanos) = (counters(), counters(), counters());
            let calls = Py::new(py, Calls { name: entry.name, begun, ended, nanos, overdue: AtomicBool::new(false) })?;
            let inner = entry.build.call1(py, (seed, &calls))?;
            BUILT.with_borrow_mut(|built| built.push(calls.clone_ref(py)));
            let plugin = inner.getattr(py, "plugin")?;
            Ok(Self { calls, inner, plugin })
        }))
    }

    /// Calls a method of a plug-in and converts its answer with `read`. The time to build `arguments` counts as part of
    /// the call. If `read` fails, its message follows the text "returned 7, ".
    fn ask<'py, A: PyCallArgs<'py>, T>(
        &self,
        py: Python<'py>,
        method: &Py<PyAny>,
        arguments: impl FnOnce() -> PyResult<A>,
        read: impl FnOnce(&Bound<'py, PyAny>) -> Result<T, String>,
    ) -> PyResult<T> {
        let calls = self.calls.get();
        calls.begun.fetch_add(1, Relaxed);
        let start = Instant::now();
        let answer = arguments().and_then(|arguments| method.bind(py).call1(arguments));
        calls.nanos.fetch_add(start.elapsed().as_nanos() as u64, Relaxed);
        calls.ended.fetch_add(1, Relaxed);
        let fault = |fault: Bound<'py, PyAny>| PyErr::from_value(fault);
        let answer = match answer {
            Ok(answer) if !calls.overdue.load(Relaxed) => answer,
            // The call may have ended before the exception of the time limit was raised; it is then raised here.
            Ok(_) => {
                return Err(fault(
                    self.describe(py, "overran", (method,)).or_else(|_| self.describe(py, "overran", (method,)))?,
                ));
            }
            Err(error) => return Err(fault(self.describe(py, "raised", (method, error.into_value(py)))?)),
        };
        match read(&answer) {
            Ok(read) => Ok(read),
            Err(why) => Err(fault(self.describe(py, "returned", (method, answer, why))?)),
        }
    }

    fn describe<'py>(
        &self,
        py: Python<'py>,
        fault: &str,
        arguments: impl PyCallArgs<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.inner.bind(py).call_method1(fault, arguments)
    }
}

/// Returns the value; an exception ends the run.
fn or_unwind<T>(result: PyResult<T>) -> T {
    result.unwrap_or_else(|error| resume_unwind(Box::new(error)))
}

type Registered = Result<(), NameTaken>;
