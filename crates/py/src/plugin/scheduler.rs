//! I/O schedulers written in Python. The Rust side keeps the waiting requests, and checks what the scheduler picks.

use std::collections::BTreeMap;

use pyo3::prelude::*;
use ssdlab::Settings;
use ssdlab::io_scheduler::{
    self, BlockLayerKind, Device, Direction, IoScheduler, MergeIndex, Request, RequestId, Requests, SchedulerRules,
    TunableError,
};

use super::{Entry, Registered, Running, leaked, or_unwind};

/// Size of a sector in bytes.
const SECTOR: u64 = 512;

pub(super) fn register(entry: &'static Entry) -> Registered {
    let build = |_: &Settings, _: &Device| -> Result<Box<dyn IoScheduler>, TunableError> {
        Ok(Box::new(Scheduler::new(entry)))
    };
    let role = SchedulerRules {
        kind: BlockLayerKind::MultiQueue,
        merge_index: MergeIndex::Latest,
        by_queue: false,
        work_conserving: false,
        sorted_drain: false,
        bounded_wait: false,
        by_process: false,
        by_sync: false,
        part_of_device: None,
        build: leaked(build),
    };
    io_scheduler::register(entry.info(role))
}

/// A request of the block layer, as a scheduler in Python sees it.
#[pyclass(frozen, module = "ssdlab._ssdlab")]
pub struct BlockRequest {
    number: u64,
    /// Offset of the request's first byte on the drive.
    #[pyo3(get)]
    offset: u64,
    #[pyo3(get)]
    bytes: u64,
    /// True for a read, false for a write.
    #[pyo3(get)]
    is_read: bool,
    /// True for a read, and for a write that a process waits for.
    #[pyo3(get)]
    is_sync: bool,
    /// Number of the process (stream) that submitted the request.
    #[pyo3(get)]
    process: u32,
    /// Time at which the request reached the block layer.
    #[pyo3(get)]
    arrived_ns: u64,
}

#[pymethods]
impl BlockRequest {
    fn __repr__(&self) -> String {
        let op = if self.is_read { "read" } else { "write" };
        format!("<{op} of {} bytes at {} by process {}>", self.bytes, self.offset, self.process)
    }
}

#[derive(Debug)]
struct Scheduler {
    running: Running,
    add: Py<PyAny>,
    next: Py<PyAny>,
    done: Option<Py<PyAny>>,
    waiting: BTreeMap<u64, Py<BlockRequest>>,
    /// Requests that were sent to the drive and are not complete.
    dispatched: BTreeMap<u64, Py<BlockRequest>>,
}

impl Scheduler {
    fn new(entry: &Entry) -> Self {
        or_unwind(|py| {
            let running = Running::start(py, entry, 0)?;
            let (add, next) = (running.plugin.getattr(py, "add")?, running.plugin.getattr(py, "next")?);
            let done = running.plugin.bind(py).getattr_opt("done")?.map(Bound::unbind);
            Ok(Self { running, add, next, done, waiting: BTreeMap::new(), dispatched: BTreeMap::new() })
        })
    }

    fn added(&mut self, py: Python<'_>, rq: &Request) -> PyResult<()> {
        let request = BlockRequest {
            number: rq.id.0,
            offset: rq.start * SECTOR,
            bytes: u64::from(rq.sectors) * SECTOR,
            is_read: rq.direction == Direction::Read,
            is_sync: rq.is_sync(),
            process: rq.pid,
            arrived_ns: rq.arrived,
        };
        let request = Py::new(py, request)?;
        self.waiting.insert(rq.id.0, request.clone_ref(py));
        self.running.ask(py, &self.add, || Ok((request,)), |_| Ok(()))
    }

    fn picked(&mut self, py: Python<'_>, now: u64, force: bool) -> PyResult<Option<RequestId>> {
        let Self { running, next, waiting, dispatched, .. } = self;
        if waiting.is_empty() {
            return Ok(None);
        }
        let number = running.ask(
            py,
            next,
            || Ok((now,)),
            |answer| {
                if answer.is_none() {
                    return match dispatched.is_empty() || force {
                        true => Err(format!(
                            "while the drive is idle and {} requests wait; return a waiting request",
                            waiting.len()
                        )),
                        false => Ok(None),
                    };
                }
                let request = answer.cast::<BlockRequest>().ok().map(|request| request.get().number);
                let request = request.filter(|number| waiting.contains_key(number));
                request.map(Some).ok_or_else(|| "which is not a waiting request; return one that was added".into())
            },
        )?;
        Ok(number.map(|number| {
            if let Some(request) = waiting.remove(&number) {
                dispatched.insert(number, request);
            }
            RequestId(number)
        }))
    }

    fn ended(&mut self, py: Python<'_>, rq: &Request, now: u64) -> PyResult<()> {
        let request = self.dispatched.remove(&rq.id.0);
        match self.done.as_ref().zip(request) {
            Some((done, request)) => self.running.ask(py, done, || Ok((request, now)), |_| Ok(())),
            None => Ok(()),
        }
    }
}

impl IoScheduler for Scheduler {
    fn insert(&mut self, rq: &Request, _requests: &Requests, _now: u64) -> bool {
        or_unwind(|py| self.added(py, rq));
        false
    }

    fn dispatch(&mut self, _queue: u16, _requests: &Requests, now: u64, force: bool) -> Option<RequestId> {
        or_unwind(|py| self.picked(py, now, force))
    }

    fn completed(&mut self, rq: &Request, now: u64) {
        or_unwind(|py| self.ended(py, rq, now));
    }
}
