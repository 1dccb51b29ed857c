//! Workloads written in Python, which yield single requests or arrays of requests.

use std::ops::Range;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyTuple};
use ssdlab_core::{Rng, Settings};
use ssdlab_trace::generate::{Clock, Requests as Generated};
use ssdlab_trace::{PATTERNS, PatternRules, Request, TraceError, Workload};

use super::request::{Fields, whole};
use super::{Entry, Registered, Running, leaked, or_unwind};
use crate::requests::{Requests, request};

/// Number of requests that are taken from a workload in one call, unless it yields arrays.
const BATCH: usize = 256;

pub(super) fn register(entry: &'static Entry) -> Registered {
    let start = leaked(move |workload: &Workload, _: &Settings| -> Box<dyn Generated> {
        Box::new(PythonWorkload::new(entry, workload))
    });
    PATTERNS.register(entry.info(PatternRules::whole(start)))
}

#[derive(Debug)]
struct PythonWorkload {
    entry: &'static Entry,
    workload: Workload,
    /// Generates arrival times for requests that have no time of their own.
    clock: Clock,
    streams: Vec<String>,
    /// True if the class sets the time of each request.
    timed: bool,
    /// Time of the last request.
    last_ns: u64,
    started: Option<Started>,
    /// Requests that the workload has yielded; the first `taken` of them have been passed on.
    yielded: Vec<Request>,
    taken: usize,
}

/// A workload that yields requests.
#[derive(Debug)]
struct Started {
    running: Running,
    requests: Py<PyIterator>,
    /// Object to name in messages: the generator if there is one, because it has a current line number; otherwise the
    /// method.
    shown: Py<PyAny>,
    ended: bool,
}

impl PythonWorkload {
    fn new(entry: &'static Entry, workload: &Workload) -> Self {
        let (streams, timed) = or_unwind(|py| Ok((entry.attribute(py, "streams")?, entry.attribute(py, "timed")?)));
        let clock = Clock::new(&workload.arrival, Rng::named(workload.seed, "workload.arrival"));
        Self {
            entry,
            workload: workload.clone(),
            clock,
            streams,
            timed,
            last_ns: 0,
            started: None,
            yielded: Vec::new(),
            taken: 0,
        }
    }

    /// Takes the next batch of requests from the workload; returns false at the workload's end.
    fn refill(&mut self, py: Python<'_>) -> PyResult<bool> {
        if self.started.is_none() {
            self.started = Some(Started::new(py, self.entry, &self.workload)?);
        }
        let Self { workload, streams, timed, last_ns, started: Some(started), yielded, taken, .. } = self else {
            return Ok(false);
        };
        (*taken, *last_ns) = (0, yielded.last().map_or(*last_ns, |last| last.time_ns));
        yielded.clear();
        let Started { running, requests, shown, ended } = started;
        let running = &*running;
        if *ended {
            return Ok(false);
        }
        let rules = Rules { span: workload.span_bytes, streams: streams.len(), timed: *timed };
        let mut items = requests.bind(py).clone();
        let take = || -> PyResult<Option<(Bound<'_, PyAny>, String)>> {
            while yielded.len() < BATCH {
                let Some(item) = items.next().transpose()? else {
                    *ended = true;
                    break;
                };
                let before = yielded.len();
                let taken = rules.take(running, &item, yielded)?;
                let fault = taken.and_then(|()| rules.check(&yielded[before..], last_ns));
                if let Err(why) = fault {
                    return Ok(Some((item, why)));
                }
            }
            Ok(None)
        };
        running.watch(py, shown, take, |fault| fault.map_or(Ok(()), Err))?;
        running.decided(yielded.len());
        Ok(!yielded.is_empty())
    }
}

impl Started {
    fn new(py: Python<'_>, entry: &Entry, workload: &Workload) -> PyResult<Self> {
        let running = Running::start(py, entry, workload.seed)?;
        let method = running.plugin.getattr(py, "requests")?;
        let names = running.argument_names(py)?;
        let argument = |name: &String| match name.as_str() {
            "span" => workload.span_bytes.into_bound_py_any(py),
            "align" => workload.align_bytes.into_bound_py_any(py),
            "count" => workload.requests.into_bound_py_any(py),
            "reads" => workload.reads.into_bound_py_any(py),
            "sizes" => workload.sizes.clone().into_bound_py_any(py),
            _ => workload.seed.into_bound_py_any(py),
        };
        let call = || {
            let arguments = names.iter().map(argument).collect::<PyResult<Vec<_>>>()?;
            method.bind(py).call1(PyTuple::new(py, arguments)?)
        };
        let why = "which yields no requests; use yield, or return a list of requests";
        let requests = running.watch(py, &method, call, |answer| {
            answer.try_iter().map(Bound::unbind).map_err(|_| (answer, why.to_owned()))
        })?;
        let is_generator = requests.bind(py).hasattr("gi_frame")?;
        let shown = if is_generator { requests.clone_ref(py).into_any() } else { method };
        Ok(Self { running, requests, shown, ended: false })
    }
}

/// Rules for the requests of a workload.
struct Rules {
    span: u64,
    streams: usize,
    timed: bool,
}

impl Rules {
    /// Appends the requests of a yielded item: a request, or arrays of requests. The inner error is a message that is
    /// appended to a string such as "yielded 7, ".
    fn take(&self, running: &Running, item: &Bound<'_, PyAny>, out: &mut Vec<Request>) -> PyResult<Result<(), String>> {
        let Some(fields) = Fields::of(item, 5) else {
            return Ok(Err("which is not a request; yield (op, offset, bytes), or arrays".into()));
        };
        match (fields.time_ns.is_some(), self.timed) {
            (true, false) => return Ok(Err("which has a time; set timed = True in the class".into())),
            (false, true) => return Ok(Err("which has no time; yield (op, offset, bytes, time_ns)".into())),
            _ => {}
        }
        if fields.offset.hasattr("__len__")? {
            let columns = match running.inner.call_method1(item.py(), "columns", (item,)) {
                Ok(columns) => columns,
                Err(error) if error.is_instance_of::<crate::errors::TraceError>(item.py()) => {
                    return Ok(Err(format!("where {}", error.value(item.py()))));
                }
                Err(error) => return Err(error),
            };
            out.extend_from_slice(&columns.cast_bound::<Requests>(item.py())?.get().inner);
            return Ok(Ok(()));
        }
        Ok(Self::one(&fields).map(|request| out.push(request)))
    }

    fn one(fields: &Fields<'_>) -> Result<Request, String> {
        let too_long = |_| "whose size in bytes exceeds 32 bits; split the request".to_owned();
        let bytes = u32::try_from(fields.bytes()?).map_err(too_long)?;
        let stream = fields.stream.as_ref().map_or(Ok(0), |stream| whole(stream, "stream"))?;
        let stream = u16::try_from(stream).unwrap_or(u16::MAX);
        let time_ns = fields.time_ns()?.unwrap_or(0);
        request(time_ns, fields.op()? as u8, fields.offset()?, bytes, 0, stream)
            .map_err(|why| format!("which is {why}"))
    }

    /// Checks a batch of requests. `last_ns` is the time of the request before the batch; sets it to the time of the
    /// last request in the batch.
    fn check(&self, requests: &[Request], last_ns: &mut u64) -> Result<(), String> {
        for request in requests {
            if request.ends_beyond(self.span) {
                let (end, span) = (request.end(), self.span);
                return Err(format!(
                    "which ends at byte {end}, beyond the span of {span} bytes; take the offset modulo the span"
                ));
            }
            if usize::from(request.stream) > self.streams {
                let (stream, streams) = (request.stream, self.streams);
                return Err(format!(
                    "whose stream is {stream}, but the class lists only {streams} names in streams; add a name"
                ));
            }
            if request.time_ns < *last_ns {
                let (time, last) = (request.time_ns, *last_ns);
                return Err(format!(
                    "whose time {time} ns is earlier than the previous request's {last} ns; sort the requests \
                     by time"
                ));
            }
            *last_ns = request.time_ns;
        }
        Ok(())
    }
}

impl Generated for PythonWorkload {
    fn streams(&self) -> Vec<String> {
        self.streams.clone()
    }

    fn fill(&mut self, out: &mut Vec<Request>, indices: Range<u64>) -> Result<(), TraceError> {
        let mut index = indices.start;
        while index < indices.end {
            if self.taken == self.yielded.len() && !or_unwind(|py| self.refill(py)) {
                break;
            }
            let count = (self.yielded.len() - self.taken).min((indices.end - index) as usize);
            let from = out.len();
            out.extend_from_slice(&self.yielded[self.taken..self.taken + count]);
            self.taken += count;
            for request in &mut out[from..] {
                if !self.timed {
                    request.time_ns = self.clock.tick(index);
                }
                index += 1;
            }
        }
        Ok(())
    }
}
