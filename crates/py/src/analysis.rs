//! Python binding for the workload analysis of a trace.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use ssdlab_core::{Bytes, LatencyHistogram};
use ssdlab_trace::Op;
use ssdlab_trace::analysis::{SequentialRuns, Step, WindowFigures, steps};

use crate::columns::{array, by_op, columns};
use crate::errors::{OrRaise, TraceError, detached};
use crate::requests::Requests;

/// Analysis of a trace, made in one pass over the trace and in bounded memory.
#[pyclass(module = "ssdlab._ssdlab")]
pub struct Analysis {
    inner: ssdlab_trace::Analysis,
}

fn distribution<'py>(py: Python<'py>, histogram: &LatencyHistogram) -> PyResult<Option<Bound<'py, PyDict>>> {
    if histogram.count() == 0 {
        return Ok(None);
    }
    let dict = PyDict::new(py);
    let mean = histogram.mean_ns();
    dict.set_item("count", histogram.count())?;
    dict.set_item("mean", mean)?;
    dict.set_item("cv", (mean > 0.0).then(|| histogram.std_dev_ns() / mean))?;
    dict.set_item("p50", histogram.quantile_ns(0.5))?;
    dict.set_item("p90", histogram.quantile_ns(0.9))?;
    dict.set_item("p99", histogram.quantile_ns(0.99))?;
    dict.set_item("max", histogram.max_ns())?;
    Ok(Some(dict))
}

fn sequential<'py>(py: Python<'py>, runs: &SequentialRuns) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("after_kind", runs.after_kind)?;
    dict.set_item("after_stream", runs.after_stream)?;
    dict.set_item("continuing", runs.continuing)?;
    dict.set_item("concurrent", runs.concurrent)?;
    dict.set_item("runs", distribution(py, &runs.lengths)?)?;
    Ok(dict)
}

#[pymethods]
impl Analysis {
    /// Creates an empty analysis that counts addresses in ranges of the given size, such as `"16MiB"`.
    #[new]
    fn new(range: &str) -> PyResult<Self> {
        let range = Bytes::parse(range).map_err(|error| TraceError::new_err(error.to_string()))?;
        let inner = ssdlab_trace::Analysis::new(range.0).or_raise()?;
        Ok(Self { inner })
    }

    fn add(&mut self, py: Python<'_>, requests: &Requests) -> PyResult<()> {
        detached(py, None, || self.inner.add(&requests.inner))
    }

    /// Returns all metrics of the analysis by name, except those that other methods return as columns.
    fn figures<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let analysis = &self.inner;
        let dict = PyDict::new(py);
        dict.set_item("requests", by_op(py, &analysis.requests(), |&count| Ok(count))?)?;
        dict.set_item("bytes", by_op(py, &analysis.bytes(), |&bytes| Ok(bytes))?)?;
        dict.set_item("duration_ns", analysis.duration_ns())?;
        dict.set_item("extent", analysis.extent())?;
        dict.set_item("range_bytes", analysis.range_bytes())?;
        dict.set_item("window_requests", analysis.windows().0)?;
        dict.set_item("footprints", analysis.working_set().footprints())?;
        dict.set_item("sampling", analysis.working_set().sampling())?;
        dict.set_item("streams", analysis.streams())?;
        dict.set_item("sequential", by_op(py, &analysis.runs(), |runs| sequential(py, runs))?)?;
        let gaps = PyDict::new(py);
        for (name, histogram) in ["all"].into_iter().chain(Op::ALL.map(Op::name)).zip(analysis.gaps()) {
            gaps.set_item(name, distribution(py, histogram)?)?;
        }
        dict.set_item("gaps", gaps)?;
        let dispersion = analysis.dispersion().into_iter().map(|scale| (scale.scale_ns, scale.stretches, scale.index));
        dict.set_item("dispersion", dispersion.collect::<Vec<_>>())?;
        Ok(dict)
    }

    /// Returns the number of requests that start in each address range, as columns; the column `range` numbers the
    /// ranges.
    fn ranges<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let rows = self.inner.ranges().into_iter();
        columns(py, ["range", "reads", "writes", "trims"], rows.map(|(range, [r, w, t])| [range, r, w, t]))
    }

    /// Returns a histogram of the distances between the starts of consecutive requests, as columns. The unit of
    /// distance is the address range. Each bucket includes `lower` and excludes `upper`.
    fn deviations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let rows = self.inner.deviations();
        let dict = columns(py, ["reads", "writes", "trims"], rows.iter().map(|row| row.2))?;
        dict.set_item("lower", array(py, rows.iter().map(|row| row.0).collect())?)?;
        dict.set_item("upper", array(py, rows.iter().map(|row| row.1).collect())?)?;
        Ok(dict)
    }

    /// Returns a histogram of the request sizes in sectors, as columns. Each bucket includes `lower` and excludes
    /// `upper`.
    fn sizes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let rows =
            self.inner.sizes().into_iter().map(|Step { lower, upper, requests: [r, w, t] }| [lower, upper, r, w, t]);
        columns(py, ["lower", "upper", "reads", "writes", "trims"], rows)
    }

    /// Returns the number of requests for each alignment of the address, and for each alignment of both address and
    /// size, as columns.
    fn alignments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let names = ["bytes", "reads", "writes", "trims", "whole_reads", "whole_writes", "whole_trims"];
        let rows = self.inner.alignments().into_iter().map(|row| {
            let ([r, w, t], [whole_r, whole_w, whole_t]) = (row.addresses, row.wholes);
            [row.bytes, r, w, t, whole_r, whole_w, whole_t]
        });
        columns(py, names, rows)
    }

    /// Returns a histogram of the lengths of sequential runs, in requests, as columns. Each bucket includes `lower` and
    /// excludes `upper`.
    fn runs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let runs = self.inner.runs();
        let rows = steps(runs.each_ref().map(|kind| &kind.lengths)).into_iter();
        let names = ["lower", "upper", "reads", "writes", "trims"];
        columns(py, names, rows.map(|(lower, upper, [r, w, t])| [lower, upper, r, w, t]))
    }

    /// Returns a histogram of the times between requests, as columns. Each bucket includes `lower_ns` and excludes
    /// `upper_ns`.
    fn gaps<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let rows = steps(self.inner.gaps()).into_iter();
        let names = ["lower_ns", "upper_ns", "all", "reads", "writes", "trims", "flushes"];
        columns(py, names, rows.map(|(lower, upper, [all, r, w, t, f])| [lower, upper, all, r, w, t, f]))
    }

    fn windows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (_, windows) = self.inner.windows();
        let names = [
            "first_request",
            "first_ns",
            "reads",
            "writes",
            "trims",
            "flushes",
            "bytes_read",
            "bytes_written",
            "bytes_trimmed",
            "pages",
            "new_pages",
            "pages_so_far",
        ];
        let rows = windows.into_iter().map(
            |WindowFigures { first_request, first_ns, requests, bytes, pages, new_pages, pages_so_far }| {
                let ([r, w, t, f], [read, written, trimmed]) = (requests, bytes);
                [first_request, first_ns, r, w, t, f, read, written, trimmed, pages, new_pages, pages_so_far]
            },
        );
        columns(py, names, rows)
    }
}
