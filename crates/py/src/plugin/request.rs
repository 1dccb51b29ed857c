//! Requests from workloads and trace formats in Python: tuples `(op, offset, bytes)` with optional further values.

use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use ssdlab_trace::Op;

/// A request as written in Python.
pub(super) struct Fields<'py> {
    pub op: Bound<'py, PyAny>,
    pub offset: Bound<'py, PyAny>,
    pub bytes: Bound<'py, PyAny>,
    pub time_ns: Option<Bound<'py, PyAny>>,
    pub stream: Option<Bound<'py, PyAny>>,
    pub device: Option<Bound<'py, PyAny>>,
}

impl<'py> Fields<'py> {
    /// Splits a tuple of 3 to `most` values; returns None for any other object. A value of None counts as missing.
    pub fn of(item: &Bound<'py, PyAny>, most: usize) -> Option<Self> {
        let tuple = item.cast::<PyTuple>().ok().filter(|tuple| (3..=most).contains(&tuple.len()))?;
        let value = |at: usize| tuple.get_item(at).ok();
        let given = |at: usize| value(at).filter(|value| !value.is_none());
        let [op, offset, bytes] = [value(0)?, value(1)?, value(2)?];
        Some(Self { op, offset, bytes, time_ns: given(3), stream: given(4), device: given(5) })
    }

    /// Returns the operation: a word such as `"R"` or `"write"`, or a number from 0 to 3.
    pub fn op(&self) -> Result<Op, String> {
        let op = match self.op.cast::<PyString>() {
            Ok(word) => word.to_str().ok().and_then(|word| Op::parse(word.as_bytes())),
            Err(_) => self.op.extract::<usize>().ok().and_then(|number| Op::ALL.get(number).copied()),
        };
        op.ok_or_else(|| "whose operation is unknown; use \"read\", \"write\", \"trim\" or \"flush\"".into())
    }

    pub fn offset(&self) -> Result<u64, String> {
        whole(&self.offset, "offset")
    }

    pub fn bytes(&self) -> Result<u64, String> {
        whole(&self.bytes, "number of bytes")
    }

    pub fn time_ns(&self) -> Result<Option<u64>, String> {
        self.time_ns.as_ref().map(|time| whole(time, "time in ns")).transpose()
    }
}

/// Converts a Python or NumPy integer that is not negative.
pub(super) fn whole(value: &Bound<'_, PyAny>, name: &str) -> Result<u64, String> {
    value.extract::<u64>().map_err(|_| format!("whose {name} is invalid; use a whole number of at least 0"))
}
