"""Axes of simulated time."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis

from ssdlab import text
from ssdlab.lazy import Numbers
from ssdlab.model.result import Result
from ssdlab.view.plots.style import written


def time_unit(longest_ns: float) -> tuple[str, float]:
    """The unit that suits an axis up to so many nanoseconds, and its length in nanoseconds."""
    for unit, scale in (("h", 3.6e12), ("min", 6e10), ("s", 1e9), ("ms", 1e6)):
        if longest_ns >= 3 * scale:
            return unit, scale
    return "µs", 1e3


def _decade(nanoseconds: float) -> str:
    """A power of ten of nanoseconds, as an axis names it."""
    number, unit = text.duration(nanoseconds).split()
    return f"{float(number.replace(',', '')):g} {unit}"


def durations(axis: Axis) -> None:
    """Names the powers of ten on a logarithmic axis of nanoseconds."""
    written(axis, _decade)


def bin_edges(result: Result, bin_ns: int, bins: int) -> Numbers:
    """Where bins of simulated time begin and end, in nanoseconds; the last ends with the run."""
    edges: Numbers = np.minimum(np.arange(bins + 1) * float(bin_ns), result.summary["time"]["elapsed_ns"])
    return edges


def course(result: Result, axes: Axes) -> Numbers:
    """Where on the x axis the epochs end: simulated time or, without time, requests."""
    if result.summary["time"] is None:
        axes.set_xlabel("requests replayed")
        written(axes.xaxis, text.short_count)
        return result.series["requests"].astype(float)
    unit, scale = course_unit(result)
    axes.set_xlabel(f"simulated time ({unit})")
    return result.series["time_ns"] / scale


def course_unit(result: Result) -> tuple[str, float]:
    """The unit that suits the whole run, and its length in nanoseconds."""
    return time_unit(float(result.series["time_ns"][-1]))
