"""Charts of response times."""

from collections.abc import Sequence

from ssdlab import text
from ssdlab.lazy import Numbers, np
from ssdlab.model.columns import CourseColumns, LatencyColumns
from ssdlab.model.result import Result
from ssdlab.view.chart import Area, Axis, Chart, Dash, Intervals, Line, Mark, Panel, Points, nothing
from ssdlab.view.charts.time import bin_edges, course, durations, durations_between, time_axis, time_unit
from ssdlab.view.colours import AMBER, GREEN, GREY, INK, OF_OPERATION, PURPLE, SKY, YELLOW
from ssdlab.view.pages.diagnosis import PARTS
from ssdlab.view.pages.tables import below
from ssdlab.view.times import name_of_times

NO_TIME = "No read or write has a response time above 0."


def _timed(result: Result) -> None:
    if result.summary["latency"] is None:
        raise ValueError("time was not modelled, so response times cannot be drawn; set time to serial or event")


def _internal(result: Result) -> Sequence[Area]:
    """Returns an area on the right axis: the share of die time spent on internal work, if any was recorded."""
    activity = result.activity
    if activity is None or not activity.internal_busy_ns.any():
        return []
    edges = bin_edges(result, activity.internal_bin_ns, len(activity.internal_busy_ns))
    share = activity.internal_busy_ns / np.diff(edges) / len(activity.dies_busy_ns) * 100
    scaled = edges / time_axis(result)[1]
    return [Area("internal work", scaled, share, AMBER, opacity=0.35, outlined=False, right=True)]


def response_time(result: Result) -> Chart:
    """Draws mean and maximum response time per epoch by operation; internal work is shaded."""
    _timed(result)
    if max(np.count_nonzero(result.series[f"{op}_latency_max_ns"]) for op in ("read", "write")) == 1:
        return nothing("All requests with a response time completed in one epoch; a curve needs at least two.")
    x, axis = course(result)
    lines: list[Mark] = []
    for op in ("read", "write"):
        requests, total, longest = (
            result.series[f"{op}_{name}"].astype(float) for name in ("requests", "latency_sum_ns", "latency_max_ns")
        )
        # The axis is logarithmic, so the line has a gap where the response time is zero.
        took = longest > 0
        if not took.any():
            continue
        mean = np.divide(total, requests, out=np.full_like(total, np.nan), where=took)
        upper = np.where(took, longest, np.nan)
        lines.append(Line(f"{op}, maximum", x, upper, OF_OPERATION[op], width=0.9, opacity=0.6))
        lines.append(Line(f"{op}, mean", x, mean, OF_OPERATION[op]))
    if not lines:
        return nothing(NO_TIME)
    shading = _internal(result)
    right = Axis("internal work (% of die time)", low=0, high=100) if shading else None
    return Chart([Panel([*shading, *lines], axis, durations(name_of_times(result.config)), right)])


def histogram(result: Result) -> Chart:
    """Draws the distribution of the response times of each operation, in bins of equal width on a logarithmic axis."""
    _timed(result)
    # Operations that take no time, such as some flushes, are left out, because a logarithmic axis has no zero.
    shown = {op: columns for op, columns in result.latency.items() if took_time(columns)}
    if not shown:
        return nothing(NO_TIME)
    low = min(float(np.maximum(columns.lower_ns, 1).min()) for columns in shown.values())
    high = max(float(columns.upper_ns.max()) for columns in shown.values())
    edges = np.logspace(np.log10(low * 0.8), np.log10(high * 1.25), 90)
    areas = []
    for op, columns in shown.items():
        middle = np.sqrt(np.maximum(columns.lower_ns, 1) * columns.upper_ns.astype(float))
        share, _ = np.histogram(middle, edges, weights=columns.requests.astype(float))
        areas.append(Area(op, edges, share * 100 / columns.requests.sum(), OF_OPERATION[op]))
    y = Axis("share of the operation's requests (%)", low=0)
    return Chart([Panel(areas, durations(name_of_times(result.config)), y)])


def by_percentile(times: LatencyColumns) -> tuple[Numbers, Numbers]:
    """Returns the steps of a percentile curve. Its x values are -log10 of the share of slower requests; its y values
    are response times. A time of zero becomes NaN, because the axis is logarithmic.
    """
    requests = times.requests.astype(float)
    total = requests.sum()
    # Half a request counts as slower than the slowest request, so that the line ends at a finite percentile.
    slower = np.append(total - (np.cumsum(requests) - requests), 0.5) / total
    longest = np.append(times.upper_ns, times.upper_ns[-1]) - 1.0
    return -np.log10(slower), np.where(longest > 0, longest, np.nan)


def percentile_axis(right: float) -> Axis:
    """Returns the axis of percentiles for `by_percentile`."""
    nines = range(1, int(right) + 1)
    ticks = [(float(np.log10(2)), "50 %"), *((n, f"{100 - 100 / 10.0**n:.{max(n - 2, 0)}f} %") for n in nines)]
    title = "share of requests within this response time"
    return Axis(title, low=0, high=right, ticks=ticks, percentiles=True)


def took_time(times: LatencyColumns | None) -> bool:
    """True if any request in the histogram has a nonzero latency."""
    return times is not None and bool((times.upper_ns > 1).any())


def _waiting(result: Result) -> dict[str, LatencyColumns]:
    # With a cache, waiting times belong to requests below the cache.
    return {} if result.activity is None or result.summary["cache"] else result.activity.waiting


def _intervals(result: Result, op: str, kind: str) -> Intervals | None:
    """Returns the per-interval histograms of a percentile line; None if no intervals were recorded."""
    if not _waiting(result) or result.activity is None or result.activity.course is None:
        return None
    times, interval_ns = result.activity.course.times[op, kind], result.activity.course.interval_ns
    count = -(-int(result.summary["time"]["elapsed_ns"]) // interval_ns)
    # A request that completes at the very end of the run is counted in the last interval.
    interval = np.minimum(times.interval, count - 1)
    longest, bucket = np.unique(times.upper_ns - np.uint64(1), return_inverse=True)
    unit, scale = time_unit(float(result.summary["time"]["elapsed_ns"]))
    return Intervals(
        bin_edges(result, interval_ns, count) / scale,
        unit,
        np.searchsorted(interval, np.arange(count + 1)).astype(np.uint64),
        longest,
        bucket.astype(np.uint64),
        times.requests,
    )


def _over_the_run(result: Result) -> CourseColumns:
    if result.activity is None or result.activity.course is None:
        raise ValueError('parts of response times were not recorded; set time = "event" and diagnose = True')
    return result.activity.course


PARTS_SHOWN = 6
"""Maximum number of response-time parts that are drawn in different colours."""
COLOURS_OF_OTHERS = (GREEN, PURPLE, SKY, AMBER, YELLOW, INK)
"""Colours of response-time parts, largest part first; host reads and host writes have fixed colours."""


def parts(result: Result) -> Chart:
    """Draws the parts of the response times of reads and writes, as means per interval of simulated time."""
    over_the_run = _over_the_run(result)
    weights = {part: sum(int(over_the_run.parts_ns[op, part].sum()) for op in ("read", "write")) for part in PARTS}
    named = sorted((part for part in PARTS if weights[part]), key=lambda part: -weights[part])[:PARTS_SHOWN]
    colours = {f"host_{op}s": colour for op, colour in OF_OPERATION.items()}
    others = [part for part in named if part not in colours]
    colours |= dict(zip(others, COLOURS_OF_OTHERS, strict=False))
    x, scale = time_axis(result)
    panels = []
    for op in ("read", "write"):
        times = over_the_run.times[op, "response"]
        sums = {part: over_the_run.parts_ns[op, part].astype(float) for part in PARTS}
        count = len(sums["own_work"])
        requests: Numbers = np.bincount(times.interval.astype(np.int64), times.requests, count).astype(float)
        if not requests.any():
            continue
        edges = bin_edges(result, over_the_run.interval_ns, len(requests)) / scale
        drawn = [(PARTS[part], sums[part], colours[part]) for part in named]
        rest: Numbers = np.sum([sums[part] for part in PARTS if part not in named], axis=0)
        if rest.any():
            drawn.append(("the rest", rest, GREY))
        marks: list[Mark] = []
        for label, sum_ns, colour in drawn:
            mean = np.divide(sum_ns, requests, out=np.zeros_like(sum_ns), where=requests > 0)
            marks.append(Area(label, edges, mean, colour, opacity=0.9, outlined=False, stacked=True))
        title = below(f"{op}s: mean response time", result.summary)
        panels.append(Panel(marks, x, Axis(form="duration", low=0), title=title))
    return Chart(panels, 0.8 + 2.0 * len(panels)) if panels else nothing(NO_TIME)


def slowest(result: Result) -> Chart:
    """Draws the slowest read and write of each interval of simulated time.

    Tooltips show the address, the wait and the largest part of the response time.
    """
    slow = _over_the_run(result).slowest
    x, scale = time_axis(result)
    marks = []
    for op in ("read", "write"):
        chosen = [at for at, name in enumerate(slow.op) if name == op and slow.response_ns[at]]
        notes = [
            f"{text.size(int(slow.bytes[at]))} at byte {text.count(int(slow.offset[at]))}, waited "
            f"{text.duration(int(slow.waiting_ns[at]))}; {text.duration(int(slow.part_ns[at]))}: {PARTS[slow.part[at]]}"
            for at in chosen
        ]
        if chosen:
            when, took = (column[chosen].astype(float) for column in (slow.ended_ns, slow.response_ns))
            marks.append(Points(op, when / scale, took, OF_OPERATION[op], 5, notes))
    if not marks:
        return nothing(NO_TIME)
    shortest, longest = (float(end([end(points.y) for points in marks])) for end in (np.min, np.max))
    return Chart([Panel(marks, x, durations_between("response time", shortest, longest))])


def percentiles(result: Result) -> Chart:
    """Draws percentiles of response and waiting times; the axis is logarithmic in the share of slower requests."""
    _timed(result)
    waiting = _waiting(result)
    lines, right, lowest = [], 1.0, np.inf
    for op in ("read", "write"):
        measured: tuple[tuple[LatencyColumns | None, str, Dash], ...] = (
            (result.latency[op], op, "solid"),
            (waiting.get(op), f"{op}, waiting", "dashed"),
        )
        for times, label, dash in measured:
            if times is None or not took_time(times):
                continue
            x, y = by_percentile(times)
            intervals = _intervals(result, op, "waiting" if dash == "dashed" else "response")
            lines.append(Line(label, x, y, OF_OPERATION[op], dash=dash, step=True, intervals=intervals))
            right = max(right, float(x[-1]))
            if dash == "solid":
                lowest = min(lowest, float(np.nanmin(y)))
    if not lines:
        return nothing(NO_TIME, 3.6)
    # Starts the axis at a tenth of the lowest response time. The shortest wait may be a nanosecond, and an axis that
    # started there would flatten the response-time curves.
    y_axis = durations(name_of_times(result.config), low=lowest / 10)
    return Chart([Panel(lines, percentile_axis(right), y_axis)], 3.6)
