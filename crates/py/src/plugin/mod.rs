//! Components written in Python, registered like built-in components; `ssdlab.model.plugins` loads them.
//!
//! A failed decision ends the run, because the traits of components cannot return errors for decisions. The exception
//! becomes the payload of a panic, which [`crate::errors::detached`] catches.

mod cache;
mod format;
mod ftl;
mod placement;
mod request;
mod scheduler;
mod victim;
mod workload;

pub use ftl::Flash;
pub use scheduler::BlockRequest;

use std::cell::{Cell, RefCell};
use std::io;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use ssdlab_core::{Archive, Archived, Info, NameTaken};

use crate::errors::ConfigError;

/// Registers a component of the given kind. `source` is a `ssdlab.model.plugins.Named`.
#[pyfunction]
pub fn register_plugin(py: Python<'_>, kind: &str, name: String, help: String, source: Py<PyAny>) -> PyResult<()> {
    let entry = leaked(Entry { name: name.leak(), help: help.leak(), source });
    let registered = match kind {
        "cache" => cache::register(entry),
        "format" => format::register(entry),
        "ftl" => ftl::register(entry, entry.attribute(py, "reserve_blocks")?),
        "placement" => placement::register(entry),
        "scheduler" => scheduler::register(entry),
        "victim" => victim::register(entry),
        "workload" => workload::register(entry),
        _ => return Err(PyValueError::new_err(format!("unknown kind of plug-in {kind:?}"))),
    };
    registered.map_err(|error| ConfigError::new_err(error.to_string()))
}

/// Returns a reference to a part of a registered component. Like the registry, it is never freed.
fn leaked<T>(part: T) -> &'static T {
    Box::leak(Box::new(part))
}

/// A component to register.
#[derive(Debug)]
struct Entry {
    name: &'static str,
    help: &'static str,
    source: Py<PyAny>,
}

impl Entry {
    /// Returns the entry for a registry.
    fn info<R>(&self, role: R) -> &'static Info<R> {
        leaked(Info { name: self.name, help: self.help, source: "", parameters: &[], role })
    }

    /// Returns an attribute of the component's class. The class may change when its file is edited.
    fn attribute<'py, T: FromPyObjectOwned<'py>>(&self, py: Python<'py>, name: &str) -> PyResult<T> {
        let attribute = self.source.bind(py).getattr("cls")?.getattr(name)?;
        attribute.extract().map_err(Into::into)
    }
}

/// Counts the calls to a component during a run, and measures their time.
#[pyclass(frozen, module = "ssdlab._ssdlab")]
pub struct Calls {
    name: &'static str,
    begun: AtomicU64,
    ended: AtomicU64,
    decisions: AtomicU64,
    nanos: AtomicU64,
    overdue: AtomicBool,
}

#[pymethods]
impl Calls {
    /// Number of the current call; 0 between calls. Changes only while the calling thread holds the GIL.
    #[getter]
    fn running(&self) -> u64 {
        let begun = self.begun.load(Relaxed);
        if begun == self.ended.load(Relaxed) { 0 } else { begun }
    }

    /// Marks the running call as overdue, before an exception is raised in its thread.
    fn set_overdue(&self) {
        self.overdue.store(true, Relaxed);
    }
}

thread_local! {
    /// Call statistics of the components built on this thread since the last [`take_calls`].
    static BUILT: RefCell<Vec<Py<Calls>>> = const { RefCell::new(Vec::new()) };
}

/// Call statistics of a component: name, number of decisions, and total duration of the calls in seconds.
pub type CallRow = (&'static str, u64, f64);

/// Returns and clears the records of calls to all components that this thread has built.
pub fn take_calls() -> Vec<CallRow> {
    let row = |calls: Py<Calls>| {
        let calls = calls.get();
        (calls.name, calls.decisions.load(Relaxed), Duration::from_nanos(calls.nanos.load(Relaxed)).as_secs_f64())
    };
    BUILT.take().into_iter().map(row).collect()
}

/// A Python component (plug-in) that a run uses.
#[derive(Debug)]
struct Running {
    calls: Py<Calls>,
    /// Python object of the class `ssdlab.model.plugin_run.Running`, which turns faults into exceptions.
    inner: Py<PyAny>,
    plugin: Py<PyAny>,
    /// Thread of the last call.
    thread: Cell<ThreadId>,
}

impl Running {
    /// Starts a component.
    fn start(py: Python<'_>, entry: &Entry, seed: u64) -> PyResult<Self> {
        let [begun, ended, decisions, nanos] = [0; 4].map(AtomicU64::new);
        let overdue = AtomicBool::new(false);
        let calls = Py::new(py, Calls { name: entry.name, begun, ended, decisions, nanos, overdue })?;
        let inner = entry.source.call_method1(py, "start", (seed, &calls))?;
        BUILT.with_borrow_mut(|built| built.push(calls.clone_ref(py)));
        let plugin = inner.getattr(py, "plugin")?;
        Ok(Self { calls, inner, plugin, thread: Cell::new(thread::current().id()) })
    }

    /// Returns the names of the arguments that the component's method has.
    fn argument_names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.inner.getattr(py, "arguments")?.extract(py)
    }

    /// Calls a method of a plug-in and converts the returned value with `read`. The time to build `arguments` counts as
    /// part of the call. If `read` fails, its message is appended to a string such as "returned 7, ".
    fn ask<'py, A: PyCallArgs<'py>, T>(
        &self,
        py: Python<'py>,
        method: &Py<PyAny>,
        arguments: impl FnOnce() -> PyResult<A>,
        read: impl FnOnce(&Bound<'py, PyAny>) -> Result<T, String>,
    ) -> PyResult<T> {
        self.decided(1);
        let call = || arguments().and_then(|arguments| method.bind(py).call1(arguments));
        self.watch(py, method, call, |answer| read(&answer).map_err(|why| (answer, why)))
    }

    /// Counts decisions of the component.
    fn decided(&self, decisions: usize) {
        self.calls.get().decisions.fetch_add(decisions as u64, Relaxed);
    }

    /// True if a call took too long.
    fn is_overdue(&self) -> bool {
        self.calls.get().overdue.load(Relaxed)
    }

    /// Calls a plug-in with its time limit. `method` is the method or generator to name in messages. If the returned
    /// value is invalid, `read` returns it together with a message, which is appended as in [`Self::ask`].
    fn watch<'py, A, T>(
        &self,
        py: Python<'py>,
        method: &Py<PyAny>,
        call: impl FnOnce() -> PyResult<A>,
        read: impl FnOnce(A) -> Result<T, (Bound<'py, PyAny>, String)>,
    ) -> PyResult<T> {
        let thread = thread::current().id();
        if self.thread.replace(thread) != thread {
            self.inner.call_method0(py, "runs_here")?;
        }
        let calls = self.calls.get();
        calls.begun.fetch_add(1, Relaxed);
        let start = Instant::now();
        let answer = call();
        calls.nanos.fetch_add(start.elapsed().as_nanos() as u64, Relaxed);
        calls.ended.fetch_add(1, Relaxed);
        let fault = |fault: Bound<'py, PyAny>| PyErr::from_value(fault);
        let answer = match answer {
            Ok(answer) if !self.is_overdue() => answer,
            // The call may end before the exception for its time limit is raised. The exception is then raised here.
            Ok(_) => {
                return Err(fault(
                    self.describe(py, "overran", (method,)).or_else(|_| self.describe(py, "overran", (method,)))?,
                ));
            }
            Err(error) => return Err(fault(self.describe(py, "raised", (method, error.into_value(py)))?)),
        };
        read(answer).or_else(|(answer, why)| Err(fault(self.describe(py, "returned", (method, answer, why))?)))
    }

    /// Saves or loads the state of the plug-in, as the bytes that its method `save` returns.
    fn archive(&self, archive: &mut Archive<'_>) -> Archived {
        let mut bytes: Vec<u8> = Vec::new();
        if let Archive::Save(_) = archive {
            bytes = or_failed(|py| self.inner.call_method0(py, "save")?.extract(py))?;
        }
        archive.value(&mut bytes)?;
        if let Archive::Load(_) = archive {
            or_failed(|py| self.inner.call_method1(py, "load", (PyBytes::new(py, &bytes),)))?;
        }
        Ok(())
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

/// Returns the result of `work`. An exception ends the run.
fn or_unwind<T>(work: impl FnOnce(Python<'_>) -> PyResult<T>) -> T {
    Python::attach(work).unwrap_or_else(|error| resume_unwind(Box::new(error)))
}

/// Returns the result of `work`. An exception becomes an I/O error with the same message.
fn or_failed<T>(work: impl FnOnce(Python<'_>) -> PyResult<T>) -> io::Result<T> {
    Python::attach(|py| work(py).map_err(|error| io::Error::other(error.value(py).to_string())))
}

type Registered = Result<(), NameTaken>;
