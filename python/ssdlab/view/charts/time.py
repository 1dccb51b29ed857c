"""Builds axes of simulated time."""

from ssdlab.lazy import Numbers, np
from ssdlab.model.result import Result
from ssdlab.view.chart import Axis


def time_unit(longest_ns: float) -> tuple[str, float]:
    """Returns the unit for a time axis that reaches `longest_ns`, and the unit's length in nanoseconds."""
    for unit, scale in (("h", 3.6e12), ("min", 6e10), ("s", 1e9), ("ms", 1e6)):
        if longest_ns >= 3 * scale:
            return unit, scale
    return "µs", 1e3


def bin_edges(result: Result, bin_ns: int, bins: int) -> Numbers:
    """Returns the edges of bins of simulated time in nanoseconds; the last bin ends with the run."""
    edges: Numbers = np.minimum(np.arange(bins + 1) * float(bin_ns), result.summary["time"]["elapsed_ns"])
    return edges


def course(result: Result) -> tuple[Numbers, Axis]:
    """Returns the end of each epoch and the axis of epochs: simulated time or, if time is not modelled, requests."""
    if result.summary["time"] is None:
        return result.series["requests"].astype(float), Axis("requests replayed", form="short count")
    axis, scale = time_axis(result)
    return result.series["time_ns"] / scale, axis


def time_axis(result: Result) -> tuple[Axis, float]:
    """Returns a time axis for the simulated time of the run, and the length of its unit in nanoseconds."""
    elapsed_ns = float(result.summary["time"]["elapsed_ns"])
    unit, scale = time_unit(elapsed_ns)
    return Axis(f"simulated time ({unit})", low=0, high=elapsed_ns / scale, over_time=True), scale


def durations(title: str, low: float | None = None) -> Axis:
    """Returns a logarithmic axis of durations in nanoseconds."""
    return Axis(title, form="duration", log=True, low=low)


def durations_between(title: str, shortest: float, longest: float) -> Axis:
    """Returns an axis of durations in nanoseconds, logarithmic if the durations span two powers of ten."""
    powers = np.floor(np.log10(longest)) - np.ceil(np.log10(shortest)) + 1
    return durations(title) if powers >= 2 else Axis(title, form="duration")
