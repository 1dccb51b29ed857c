"""Charts of a comparison; each case has its own colour."""

from collections.abc import Iterator

from ssdlab import text
from ssdlab.lazy import Numbers, np
from ssdlab.model.metrics import BY_NAME, Metric
from ssdlab.model.result import Result
from ssdlab.study.compare import Comparison, Spread
from ssdlab.view.chart import (
    LONGEST_NAME,
    Axis,
    Bars,
    Chart,
    Form,
    Level,
    Line,
    Mark,
    Panel,
    Whiskers,
    beside,
    nothing,
    rows,
)
from ssdlab.view.charts.latency import by_percentile, percentile_axis, took_time
from ssdlab.view.charts.time import durations, time_unit
from ssdlab.view.colours import GREY, INK, colour, dash
from ssdlab.view.pages.figures import form_of
from ssdlab.view.pages.summary import HEADLINES

DRAWN = (*HEADLINES, BY_NAME["latency.read.p99_ns"], BY_NAME["latency.write.p99_ns"])
"""Metrics that are drawn with a bar for each case."""

MOST_CHANGE = 1_000.0
"""Maximum change drawn, in percent; larger changes would flatten the other bars."""
MOST_LENGTHS = 3
"""Runs share a time axis if the longest run takes at most this many times as long as the shortest run."""


def _headlines(comparison: Comparison) -> Iterator[tuple[Metric, dict[str, Spread]]]:
    """Yields the metrics that are not 0 in all cases, each with its spread in every case that has a value."""
    for metric in DRAWN:
        values = {
            label: [value for run in runs if (value := metric.value(run.summary)) is not None]
            for label, runs in comparison.runs.items()
        }
        if any(map(any, values.values())):
            yield metric, {label: Spread.of(known) for label, known in values.items() if known}


def headlines(comparison: Comparison) -> Chart:
    """Draws the metrics of `DRAWN` with a bar for each case; thin lines are standard deviations over seeds."""
    labels = [*comparison.runs]
    names = [text.path(label) for label in labels]
    panels = []
    for metric, spreads in _headlines(comparison):
        marks: list[Mark] = []
        for label, (mean, deviation, _) in spreads.items():
            at = labels.index(label)
            row = np.array([float(at)])
            marks.append(Bars(names[at], row, np.array([mean]), colour(at), 0.7))
            if deviation:
                low, high = np.array([mean - deviation]), np.array([mean + deviation])
                marks.append(Whiskers(names[at], row, low, high, INK, along=True))
        across = Axis("", form_of(metric), low=0)
        panels.append(Panel(marks, across, rows(names), title=metric.label))
    if not panels:
        return nothing("No case has values to draw.", 1.6)
    return Chart(panels, 0.4 + len(panels) * (0.7 + 0.2 * len(labels)), shared=False)


def differences(comparison: Comparison) -> Chart:
    """Draws the change of the metrics of `DRAWN` from the first case to each other case, in percent."""
    first, *others = comparison.runs
    changes: dict[str, dict[str, float]] = {}
    for metric, spreads in _headlines(comparison):
        base = spreads.get(first)
        if base and base.mean:
            changes[metric.label] = {
                label: 100 * (spreads[label].mean / base.mean - 1) for label in others if label in spreads
            }
    if not others or not changes:
        return nothing("There is only one case, so there is nothing to compare.", 1.6)
    marks: list[Mark] = []
    for number, label in enumerate(others):
        aside, thickness = beside(number, len(others))
        bars = [(row, of[label]) for row, of in enumerate(changes.values()) if label in of]
        at = np.array([row + aside for row, _ in bars])
        lengths = np.array([change for _, change in bars])
        marks.append(Bars(text.path(label), at, lengths, colour(number + 1), thickness))
    lengths = np.array([0.0, *(change for of in changes.values() for change in of.values())])
    shown = np.clip(lengths, None, MOST_CHANGE)
    low, high = float(shown.min()) * 1.05, float(shown.max()) * 1.05
    cut = "; bars that end at the frame are cut off" if lengths.max() > MOST_CHANGE else ""
    [name] = text.shortened([text.path(first)], LONGEST_NAME).values()
    words = f"change from {name} (%){cut}"
    across = Axis(words, low=low, high=high if high > low else low + 1)
    return Chart([Panel(marks, across, rows([*changes]))], 1.2 + len(changes) * max(0.25, 0.12 * len(others)))


def percentiles(comparison: Comparison, op: str = "read") -> Chart:
    """Draws response times of an operation by percentile, and their ratios to the first case, for the first seeds."""
    curves: dict[int, tuple[Numbers, Numbers]] = {}
    for at, result in enumerate(comparison.results.values()):
        times = result.latency.get(op)
        if times is not None and took_time(times):
            curves[at] = by_percentile(times)
    if not curves:
        return nothing(f"No {op} has a response time above 0.", 3.6)
    names = [text.path(label) for label in comparison.results]
    lines = [Line(names[at], x, y, colour(at), dash=dash(at), step=True) for at, (x, y) in curves.items()]
    right = max(1.0, *(float(x[-1]) for x, _ in curves.values()))
    across = percentile_axis(right)
    lowest = min(float(np.nanmin(y)) for _, y in curves.values())
    above = Panel(lines, across, durations(f"response time of {op}s", low=lowest / 1.5), height=2.0)
    if 0 not in curves or len(curves) == 1:
        return Chart([above], 3.6)
    ratios = [
        Line(names[at], *_times_of(curves[0], curve), colour(at), dash=dash(at), step=True)
        for at, curve in curves.items()
        if at
    ]
    below = Panel([Level("", 1.0, GREY), *ratios], across, Axis("ratio to the first case", log=True))
    return Chart([above, below], 5.0)


def _times_of(first: tuple[Numbers, Numbers], other: tuple[Numbers, Numbers]) -> tuple[Numbers, Numbers]:
    """Returns the ratio of two curves, at each percentile where one of them has a step."""
    x = np.union1d(first[0], other[0])
    x = x[x <= min(first[0][-1], other[0][-1])]
    here, there = (of[1][np.clip(np.searchsorted(of[0], x, side="right") - 1, 0, None)] for of in (other, first))
    return x, here / there


def write_amplification(comparison: Comparison) -> Chart:
    """Draws the cumulative write amplification of each case for its first seed."""
    lines = []
    names = [text.path(label) for label in comparison.results]
    for row, result in enumerate(comparison.results.values()):
        host = np.cumsum(result.series["host_pages_written"].astype(float))
        flash = np.cumsum(result.series["flash_pages_programmed"].astype(float))
        wrote = host > 0
        if wrote.sum() > 1:
            x = result.series["requests"].astype(float)[wrote]
            lines.append(Line(names[row], x, flash[wrote] / host[wrote], colour(row), 1.5, dash=dash(row)))
    if not lines:
        return nothing("The host wrote too little data for a curve.")
    return Chart([Panel(lines, Axis("requests replayed", "short count"), Axis("cumulative write amplification"))])


def course(comparison: Comparison) -> Chart:
    """Draws throughput and mean response times per epoch over simulated time, for the first seed of each case. If one
    run is much longer than another, the horizontal axis shows the elapsed share of each run's time instead.
    """
    timed = {
        at: result
        for at, result in enumerate(comparison.results.values())
        if result.summary["time"] is not None and result.summary["time"]["elapsed_ns"]
    }
    if not timed:
        return nothing("Time was not modelled.")
    names = [text.path(label) for label in comparison.results]
    lengths = {at: float(result.summary["time"]["elapsed_ns"]) for at, result in timed.items()}
    longest = max(lengths.values())
    unit, scale = time_unit(longest)
    scales = dict.fromkeys(lengths, scale)
    across = Axis(f"simulated time ({unit})", low=0, high=longest / scale, over_time=True)
    if longest > MOST_LENGTHS * min(lengths.values()):
        # On a common time axis, the curve of the shortest run would be too narrow to read.
        scales = {at: length / 100 for at, length in lengths.items()}
        across = Axis("simulated time (% of each run)", low=0, high=100)

    def drawn(title: str, form: Form, of: "dict[int, Numbers]", *, log: bool) -> Panel:
        lines = [
            Line(names[at], timed[at].series["time_ns"] / scales[at], values, colour(at), 1.3, dash=dash(at))
            for at, values in of.items()
            if np.isfinite(values).any()
        ]
        return Panel(lines, across, Axis(title, form, low=None if log else 0, log=log))

    panels = [drawn("requests/s", "short count", {at: _rate(run) for at, run in timed.items()}, log=False)]
    for op in ("read", "write"):
        means = drawn(f"{op}s, mean", "duration", {at: _mean_ns(run, op) for at, run in timed.items()}, log=True)
        panels += [means] if means.marks else []
    return Chart(panels, 0.8 + 1.7 * len(panels))


def _rate(result: Result) -> Numbers:
    """Returns the requests per second of each epoch; NaN if no time passed."""
    took_ns = np.diff(result.series["time_ns"].astype(float), prepend=0.0)
    done = np.diff(result.series["requests"].astype(float), prepend=0.0)
    rate: Numbers = np.divide(done, took_ns, out=np.full_like(done, np.nan), where=took_ns > 0) * 1e9
    return rate


def _mean_ns(result: Result, op: str) -> Numbers:
    """Returns the mean response time of each epoch; NaN if the epoch has no request."""
    total = result.series[f"{op}_latency_sum_ns"].astype(float)
    requests = result.series[f"{op}_requests"].astype(float)
    means: Numbers = np.divide(total, requests, out=np.full_like(total, np.nan), where=total > 0)
    return means
