//! Binding to run simulations and read their results.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use ssdlab_config::Settings;
use ssdlab_nand::MergeCost;
use ssdlab_sim::{Control, LogFigures, Monitor, SoFar, States, Status};
use ssdlab_trace::{Packed, SliceSource, Source};

use crate::activity::activity_columns;
use crate::address_space::AddressSpace;
use crate::columns::{array, buckets, by_op};
use crate::config::Config;
use crate::errors::{OrRaise, detached};
use crate::memory;
use crate::plugin::{CallRow, take_calls};
use crate::requests::Requests;
use crate::source::{Generator, PythonSource, Reader};

/// Interval between progress calls to Python: short enough for a quick reaction to Ctrl-C, long enough for the calls to
/// cost no noticeable time.
const REPORT_EVERY: Duration = Duration::from_millis(50);

/// Results of a run. Columns are created on demand, because many runs need only metrics and importing numpy takes
/// longer than a small run.
#[pyclass(frozen, module = "ssdlab._ssdlab")]
pub struct Outcome {
    inner: ssdlab_sim::Outcome,
    /// Summary of the run as JSON.
    #[pyo3(get)]
    summary: String,
    /// Requests that the block layer sent to the drive; None if they were not recorded.
    #[pyo3(get)]
    dispatched: Option<Py<Requests>>,
    /// Notes for the user about the execution of the run.
    #[pyo3(get)]
    notes: Vec<String>,
    /// Statistics of calls to components written in Python: name, number of calls, and time in seconds.
    #[pyo3(get)]
    calls: Vec<CallRow>,
}

impl Outcome {
    fn new(py: Python<'_>, mut inner: ssdlab_sim::Outcome, notes: Vec<String>) -> PyResult<Self> {
        let dispatched = inner.activity.as_mut().and_then(|activity| activity.dispatched.take());
        let summary = serde_json::to_string(&inner.summary).or_raise()?;
        let dispatched = dispatched.map(|inner| Py::new(py, Requests { inner })).transpose()?;
        Ok(Self { inner, summary, dispatched, notes, calls: take_calls() })
    }
}

#[pymethods]
impl Outcome {
    /// Returns the columns of the time series by name, with one u64 per epoch.
    fn series<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let series = PyDict::new(py);
        for (name, column) in self.inner.series.columns() {
            series.set_item(name, array(py, column)?)?;
        }
        Ok(series)
    }

    fn erase_counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u32>>> {
        array(py, self.inner.erase_counts.clone())
    }

    /// Returns the response times per operation: (lower_ns, upper_ns, count) as u64, with one entry per non-empty
    /// bucket.
    fn latency<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        by_op(py, &self.inner.latency, |histogram| buckets(py, histogram))
    }

    /// Returns the distributions of a log-block FTL as u64 columns; None for other FTLs. Element i of `associativity`
    /// is the number of reclaims that merged i logical blocks. Element i of `utilisation` is the number of log blocks
    /// that were retired with i programmed pages. `reclaim_copies`, `reclaim_erases`, `reclaim_ns` and `reclaim_times`
    /// have one entry per distinct reclaim cost.
    fn log<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.inner.log.as_ref().map(|figures| log_columns(py, figures)).transpose()
    }

    /// Returns the columns of the drive's activity over time; None unless channels and dies are modelled. See
    /// `activity_columns`.
    fn activity<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.inner.activity.as_ref().map(|activity| activity_columns(py, activity)).transpose()
    }
}

fn log_columns<'py>(py: Python<'py>, figures: &LogFigures) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let costs = &figures.reclaim_costs;
    let column = |pick: fn(&(MergeCost, u64, u64)) -> u64| array(py, costs.iter().map(pick).collect());
    columns.set_item("reclaim_copies", column(|(cost, _, _)| u64::from(cost.copies))?)?;
    columns.set_item("reclaim_erases", column(|(cost, _, _)| u64::from(cost.erases))?)?;
    columns.set_item("reclaim_ns", column(|&(_, ns, _)| ns)?)?;
    columns.set_item("reclaim_times", column(|&(_, _, times)| times)?)?;
    columns.set_item("associativity", array(py, figures.associativity.clone())?)?;
    columns.set_item("utilisation", array(py, figures.utilisation.clone())?)?;
    Ok(columns)
}

/// Returns the name of the phase, followed by the write amplification while preconditioning overwrites pages.
fn phase_text(status: &Status) -> String {
    let name = status.phase.name();
    let with_ratio = |ratio| format!("{name}, write amplification {ratio:.2}");
    status.write_amplification.map_or_else(|| name.to_owned(), with_ratio)
}

/// Passes progress to Python, and passes signals and stop requests to the simulation.
pub struct PythonMonitor<'a> {
    callback: Option<&'a Py<PyAny>>,
    /// Callback that receives intermediate metrics before each progress report.
    watch: Option<&'a Py<PyAny>>,
    /// Time of the last progress report.
    last: Option<Instant>,
    pub error: Option<PyErr>,
    notes: Vec<String>,
}

impl<'a> PythonMonitor<'a> {
    pub fn new(callback: Option<&'a Py<PyAny>>) -> Self {
        Self { callback, watch: None, last: None, error: None, notes: Vec::new() }
    }

    fn is_due(&self) -> bool {
        self.last.is_none_or(|last| last.elapsed() >= REPORT_EVERY)
    }

    fn ask(&self, status: &Status) -> PyResult<bool> {
        Python::attach(|py| {
            py.check_signals()?;
            match self.callback {
                Some(callback) => {
                    callback.call1(py, (phase_text(status), status.done, status.total, status.requests))?.is_truthy(py)
                }
                None => Ok(false),
            }
        })
    }
}

impl Monitor for PythonMonitor<'_> {
    fn report(&mut self, status: &Status) -> Control {
        if !self.is_due() {
            return Control::Continue;
        }
        if self.error.is_some() {
            return Control::Stop;
        }
        let answer = self.ask(status);
        self.last = Some(Instant::now());
        match answer {
            Ok(false) => Control::Continue,
            Ok(true) => Control::Stop,
            Err(error) => {
                self.error = Some(error);
                Control::Stop
            }
        }
    }

    /// True if a Python exception is pending. The run then ends with this exception, and its results are not needed.
    fn abandons(&self) -> bool {
        self.error.is_some()
    }

    fn watches(&self) -> bool {
        self.watch.is_some() && self.error.is_none() && self.is_due()
    }

    fn watch(&mut self, so_far: &SoFar) {
        let Some(watch) = self.watch else { return };
        let figures = serde_json::to_string(so_far).or_raise();
        let called = figures.and_then(|figures| Python::attach(|py| watch.call1(py, (figures,))));
        self.error = called.err();
    }

    fn note(&mut self, text: &str) {
        self.notes.push(text.into());
    }
}

/// Runs a simulation of `source` on the device of `config`.
///
/// `source` is `Requests`, `Reader`, `Generator` or an object with `read(max) -> Requests`, `progress() -> (done,
/// total)` and, for repeated replays, `rewind()`. If `source` is None, the configured workload runs. `space` is the
/// address space of the trace, if `config.needs_extent()`. `monitor(phase, done, total, requests)` is called about
/// twenty times a second and stops the run by returning true. The string `phase` may have details after the name of the
/// phase, separated by a comma.
///
/// Before each call of the monitor, `watch(figures)` gets intermediate metrics: `SoFar` as JSON. `attribution` turns
/// latency attribution on.
///
/// `state` is the file of a saved drive from which the run continues. The preconditioned drive is loaded from `kept` if
/// that file exists, otherwise saved there. The drive is saved to the file `save_state` after the run.
#[pyfunction]
#[pyo3(signature = (
    config, source, space=None, monitor=None, *, watch=None, state=None, kept=None, save_state=None, attribution=false
))]
#[allow(clippy::too_many_arguments)]
pub fn simulate(
    py: Python<'_>,
    config: &Config,
    source: &Bound<'_, PyAny>,
    space: Option<&AddressSpace>,
    monitor: Option<Py<PyAny>>,
    watch: Option<Py<PyAny>>,
    state: Option<PathBuf>,
    kept: Option<PathBuf>,
    save_state: Option<PathBuf>,
    attribution: bool,
) -> PyResult<Outcome> {
    let space = space.map(AddressSpace::known);
    let mut settings = config.inner.settings(space.as_ref().map(|space| space.end_bytes)).or_raise()?;
    settings.setup.attribution = attribution;
    if source.is_none() && state.is_none() {
        memory::require_run(&settings)?;
    } else {
        memory::require(&settings.setup)?;
    }
    let toml = config.inner.to_toml();
    let mut monitor = PythonMonitor { watch: watch.as_ref(), ..PythonMonitor::new(monitor.as_ref()) };
    let packing = space.as_ref().and_then(|space| space.packing.as_ref());
    let states = States { from: state.as_deref(), cache: kept.as_deref(), save: save_state.as_deref() };
    take_calls();
    let mut run = |source: &mut (dyn Source + Send)| match packing {
        Some(packing) => run(py, &settings, &toml, states, &mut Packed::new(source, packing), &mut monitor),
        None => run(py, &settings, &toml, states, source, &mut monitor),
    };

    let outcome = if source.is_none() {
        let mut generator = ssdlab_trace::Generator::new(&settings.workload).or_raise()?;
        run(&mut generator)
    } else if let Ok(requests) = source.cast::<Requests>() {
        run(&mut SliceSource::new(&requests.get().inner))
    } else if let Ok(reader) = source.cast::<Reader>() {
        run(reader.try_borrow_mut()?.source())
    } else if let Ok(generator) = source.cast::<Generator>() {
        run(generator.try_borrow_mut()?.source())
    } else {
        let mut foreign = PythonSource::new(py, source.clone().unbind())?;
        let outcome = run(&mut foreign);
        match foreign.error {
            Some(error) => Err(error),
            None => outcome,
        }
    };
    match monitor.error {
        Some(error) => Err(error),
        None => Outcome::new(py, outcome?, monitor.notes),
    }
}

fn run(
    py: Python<'_>,
    settings: &Settings,
    toml: &str,
    states: States<'_>,
    source: &mut (dyn Source + Send),
    monitor: &mut PythonMonitor<'_>,
) -> PyResult<ssdlab_sim::Outcome> {
    detached(py, Some(toml), || ssdlab_sim::run_with_states(&settings.setup, states, source, monitor))?.or_raise()
}

/// Returns the key under which the preconditioned drive of `config` is cached: a string with all settings that
/// determine the drive. Returns None if caching the drive is not worthwhile. `space` has the same meaning as in
/// `simulate`.
#[pyfunction]
#[pyo3(signature = (config, space=None))]
pub fn kept_key(config: &Config, space: Option<&AddressSpace>) -> PyResult<Option<String>> {
    let space = space.map(AddressSpace::known);
    let settings = config.inner.settings(space.as_ref().map(|space| space.end_bytes)).or_raise()?;
    Ok(ssdlab_sim::cache_key(&settings.setup))
}

/// Panics, so that a test can check `InternalError`.
#[pyfunction]
pub fn _panic(py: Python<'_>, config: &Config) -> PyResult<()> {
    let toml = config.inner.to_toml();
    detached(py, Some(&toml), || panic!("asked to"))
}
