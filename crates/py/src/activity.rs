//! Activity of a drive over time, as columns for Python.

use numpy::PyArray2;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use ssdlab_nand::backend::parallel::Segment;
use ssdlab_sim::{Activity, InInterval, PART_NAMES, Slow, Timeline};
use ssdlab_trace::Op;

use crate::columns::{array, buckets, by_op};

/// Returns the fields of [`Activity`] by name. Sums are uint64 arrays with one value per bin. The sums for dies and for
/// channels are two-dimensional, with bins in the second dimension. `gantt` is a dictionary of columns. `waiting` has
/// histograms of waiting times by operation. `course` has the result of [`course_columns`], or None.
pub fn activity_columns<'py>(py: Python<'py>, activity: &Activity) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    columns.set_item("die_bin_ns", activity.die_bin_ns)?;
    columns.set_item("dies_busy_ns", PyArray2::from_vec2(py, &activity.dies_busy_ns)?)?;
    columns.set_item("channel_bin_ns", activity.channel_bin_ns)?;
    columns.set_item("channels_busy_ns", PyArray2::from_vec2(py, &activity.channels_busy_ns)?)?;
    columns.set_item("internal_bin_ns", activity.internal_bin_ns)?;
    columns.set_item("internal_busy_ns", array(py, activity.internal_busy_ns.clone())?)?;
    columns.set_item("queue_bin_ns", activity.queue_bin_ns)?;
    columns.set_item("outstanding_ns", array(py, activity.outstanding_ns.clone())?)?;
    columns.set_item("waiting", by_op(py, &activity.waiting, |histogram| buckets(py, histogram))?)?;
    columns.set_item("course", activity.timeline.as_ref().map(|timeline| course_columns(py, timeline)).transpose()?)?;
    columns.set_item("gantt", gantt_columns(py, &activity.gantt)?)?;
    columns.set_item("gantt_truncated", activity.gantt_truncated)?;
    Ok(columns)
}

/// Returns the columns of a timeline with intervals of `interval_ns`. `times` has the bounds and counts of
/// [`InInterval`] as columns: for response times and for waiting times, by operation. `slowest` has the fields of
/// [`Slow`] as columns. `parts_ns` sums each part of the response time by operation.
fn course_columns<'py>(py: Python<'py>, timeline: &Timeline) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    columns.set_item("interval_ns", timeline.interval_ns)?;
    let times = PyDict::new(py);
    for (kind, by_op) in [("response", &timeline.response), ("waiting", &timeline.waiting)] {
        for (op, counted) in Op::ALL.iter().zip(by_op) {
            let column = |pick: fn(&InInterval) -> u64| array(py, counted.iter().map(pick).collect());
            let of_op = PyDict::new(py);
            of_op.set_item("interval", column(|sample| sample.interval.into())?)?;
            of_op.set_item("lower_ns", column(|sample| sample.bounds_ns().0)?)?;
            of_op.set_item("upper_ns", column(|sample| sample.bounds_ns().1)?)?;
            of_op.set_item("requests", column(|sample| sample.requests.into())?)?;
            times.set_item((op.name(), kind), of_op)?;
        }
    }
    columns.set_item("times", times)?;
    let slowest = PyDict::new(py);
    let column = |pick: fn(&Slow) -> u64| array(py, timeline.slowest.iter().map(pick).collect());
    slowest.set_item("op", timeline.slowest.iter().map(|slow| slow.op.name()).collect::<Vec<_>>())?;
    slowest.set_item("offset", column(|slow| slow.offset)?)?;
    slowest.set_item("bytes", column(|slow| slow.bytes.into())?)?;
    slowest.set_item("ended_ns", column(|slow| slow.ended_ns)?)?;
    slowest.set_item("response_ns", column(|slow| slow.latency_ns)?)?;
    slowest.set_item("waiting_ns", column(|slow| slow.waited_ns)?)?;
    slowest.set_item("part", timeline.slowest.iter().map(|slow| slow.part).collect::<Vec<_>>())?;
    slowest.set_item("part_ns", column(|slow| slow.part_ns)?)?;
    columns.set_item("slowest", slowest)?;
    let parts = PyDict::new(py);
    for (op, by_interval) in Op::ALL.iter().zip(&timeline.parts_ns) {
        for (number, name) in PART_NAMES.into_iter().enumerate() {
            let sums = by_interval.iter().map(|parts| parts[number]).collect();
            parts.set_item((op.name(), name), array(py, sums)?)?;
        }
    }
    columns.set_item("parts_ns", parts)?;
    Ok(columns)
}

fn gantt_columns<'py>(py: Python<'py>, segments: &[Segment]) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let column = |pick: fn(&Segment) -> u64| array(py, segments.iter().map(pick).collect());
    columns.set_item("die", column(|segment| segment.die.into())?)?;
    columns.set_item("plane", column(|segment| segment.plane.into())?)?;
    columns.set_item("begin_ns", column(|segment| segment.begin_ns)?)?;
    columns.set_item("end_ns", column(|segment| segment.end_ns)?)?;
    columns.set_item("request", column(|segment| segment.requester.number)?)?;
    columns.set_item("arrived_ns", column(|segment| segment.requester.arrived_ns)?)?;
    columns.set_item("bus", array(py, segments.iter().map(|segment| segment.bus).collect())?)?;
    columns.set_item("kind", segments.iter().map(|segment| segment.kind.name()).collect::<Vec<_>>())?;
    columns.set_item("cause", segments.iter().map(|segment| segment.cause.name()).collect::<Vec<_>>())?;
    Ok(columns)
}
