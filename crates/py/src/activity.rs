//! What a drive was doing when, as columns for Python.

use numpy::{IntoPyArray, PyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use ssdlab_sim::{Activity, GanttBar};
use ssdlab_trace::Op;

use crate::run::buckets;

/// The fields of [`Activity`] by their names: integers, uint64 arrays (two-dimensional by die or channel, then bin),
/// `gantt` as a dictionary of equally long columns, `waiting` like the response times of an outcome.
pub fn activity_columns(py: Python<'_>, activity: Activity) -> PyResult<Py<PyDict>> {
    let columns = PyDict::new(py);
    columns.set_item("die_bin_ns", activity.die_bin_ns)?;
    columns.set_item("dies_busy_ns", PyArray2::from_vec2(py, &activity.dies_busy_ns)?)?;
    columns.set_item("channel_bin_ns", activity.channel_bin_ns)?;
    columns.set_item("channels_busy_ns", PyArray2::from_vec2(py, &activity.channels_busy_ns)?)?;
    columns.set_item("internal_bin_ns", activity.internal_bin_ns)?;
    columns.set_item("internal_busy_ns", activity.internal_busy_ns.into_pyarray(py))?;
    columns.set_item("queue_bin_ns", activity.queue_bin_ns)?;
    columns.set_item("outstanding_ns", activity.outstanding_ns.into_pyarray(py))?;
    let waiting = PyDict::new(py);
    for (op, histogram) in Op::ALL.iter().zip(&activity.waiting) {
        waiting.set_item(op.name(), buckets(py, histogram)?)?;
    }
    columns.set_item("waiting", waiting)?;
    columns.set_item("gantt", gantt_columns(py, &activity.gantt)?)?;
    columns.set_item("gantt_truncated", activity.gantt_truncated)?;
    Ok(columns.unbind())
}

fn gantt_columns<'py>(py: Python<'py>, bars: &[GanttBar]) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let column = |pick: fn(&GanttBar) -> u64| bars.iter().map(pick).collect::<Vec<u64>>().into_pyarray(py);
    columns.set_item("die", column(|bar| bar.die.into()))?;
    columns.set_item("plane", column(|bar| bar.plane.into()))?;
    columns.set_item("begin_ns", column(|bar| bar.begin_ns))?;
    columns.set_item("end_ns", column(|bar| bar.end_ns))?;
    columns.set_item("request", column(|bar| bar.request))?;
    columns.set_item("bus", bars.iter().map(|bar| bar.bus).collect::<Vec<bool>>().into_pyarray(py))?;
    columns.set_item("kind", bars.iter().map(|bar| bar.kind).collect::<Vec<_>>())?;
    columns.set_item("cause", bars.iter().map(|bar| bar.cause).collect::<Vec<_>>())?;
    Ok(columns)
}
