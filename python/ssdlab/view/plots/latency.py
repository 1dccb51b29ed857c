"""Figures of response times."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ssdlab.model.result import Result
from ssdlab.view.plots.style import AMBER, OP_COLOURS, canvas, nothing, styled
from ssdlab.view.plots.time import bin_edges, course, course_unit, durations
from ssdlab.view.times import name_of_times


def _timed(result: Result) -> None:
    if result.summary["latency"] is None:
        raise ValueError("time was not modelled: there are no response times to draw (set time to serial or event)")


def _shade_internal(result: Result, axes: Axes) -> None:
    """Shades what share of the dies' time went to work that was not for the host's data, on an axis to the right."""
    activity = result.activity
    if activity is None or not activity.internal_busy_ns.any():
        return
    edges = bin_edges(result, activity.internal_bin_ns, len(activity.internal_busy_ns))
    share = activity.internal_busy_ns / np.diff(edges) / len(activity.dies_busy_ns) * 100
    right = axes.twinx()
    right.stairs(share, edges / course_unit(result)[1], color=AMBER, alpha=0.35, fill=True, label="internal work")
    right.set_ylim(0, 100)
    right.set_ylabel("internal work (% of dies)")
    right.spines["right"].set_visible(True)
    right.grid(visible=False)
    # Behind the lines.
    axes.set_zorder(right.get_zorder() + 1)
    axes.patch.set_visible(False)


@styled
def response_time(result: Result) -> Figure:
    """Mean and maximum response time of each epoch by operation, over simulated time; internal work is shaded."""
    _timed(result)
    figure, axes = canvas()
    if max(np.count_nonzero(result.series[f"{op}_latency_max_ns"]) for op in ("read", "write")) == 1:
        nothing(axes, "Requests took time in a single epoch, which makes no course.")
        return figure
    for op in ("read", "write"):
        requests, total, longest = (
            result.series[f"{op}_{name}"].astype(float) for name in ("requests", "latency_sum_ns", "latency_max_ns")
        )
        # What took no time has no place on a logarithmic axis: the line is broken there.
        took = longest > 0
        if not took.any():
            continue
        if not axes.lines:
            x = course(result, axes)
        mean = np.divide(total, requests, out=np.full_like(total, np.nan), where=took)
        colour = OP_COLOURS[op]
        # Beside the line of the other operation a single epoch is a dot.
        marker = "." if took.sum() == 1 else ""
        upper = np.where(took, longest, np.nan)
        axes.plot(x, upper, marker=marker, color=colour, alpha=0.6, linewidth=0.9, label=f"{op}, maximum")
        axes.plot(x, mean, marker=marker, color=colour, linewidth=1.6, label=f"{op}, mean")
    if not axes.lines:
        nothing(axes, "No request took any time.")
        return figure
    axes.set_yscale("log")
    durations(axes.yaxis)
    axes.set_ylabel(name_of_times(result.config))
    _shade_internal(result, axes)
    axes.margins(x=0.01)
    # Above the axes: lines may be anywhere in them.
    figure.legend(loc="outside upper center", ncols=len(axes.lines) if len(figure.axes) == 1 else 3)
    return figure


@styled
def histogram(result: Result) -> Figure:
    """Share of the requests of each operation by response time, in bins of equal width on a logarithmic axis."""
    _timed(result)
    figure, axes = canvas()
    # A flush costs nothing here; what takes no time has no place on a logarithmic axis.
    shown = {op: columns for op, columns in result.latency.items() if (columns.upper_ns > 1).any()}
    if not shown:
        nothing(axes, "No request took any time.")
        return figure
    low = min(float(np.maximum(columns.lower_ns, 1).min()) for columns in shown.values())
    high = max(float(columns.upper_ns.max()) for columns in shown.values())
    edges = np.logspace(np.log10(low * 0.8), np.log10(high * 1.25), 90)
    for op, columns in shown.items():
        middle = np.sqrt(np.maximum(columns.lower_ns, 1) * columns.upper_ns.astype(float))
        share, _ = np.histogram(middle, edges, weights=columns.requests.astype(float))
        share *= 100 / columns.requests.sum()
        colour = OP_COLOURS[op]
        axes.stairs(share, edges, color=colour, alpha=0.25, fill=True)
        axes.stairs(share, edges, color=colour, linewidth=1.4, label=op)
    axes.set_xscale("log")
    durations(axes.xaxis)
    axes.set_xlabel(name_of_times(result.config))
    axes.set_ylabel("share of the operation's requests (%)")
    axes.set_ylim(bottom=0)
    axes.legend(loc="upper right", ncols=len(shown))
    return figure


@styled
def percentiles(result: Result) -> Figure:
    """Response times of reads and writes by percentile, and how long they waited where that is known.

    The axis is logarithmic in the share of slower requests: each step to the right is a tenth of those before.
    """
    _timed(result)
    figure, axes = canvas(3.6)
    waiting = {} if result.activity is None else result.activity.waiting
    right, lowest = 1.0, np.inf
    for op in ("read", "write"):
        for times, label, style in ((result.latency[op], op, "-"), (waiting.get(op), f"{op}, waiting", "--")):
            # What took no time has no place on a logarithmic axis.
            if times is None or not (times.upper_ns > 1).any():
                continue
            requests = times.requests.astype(float)
            total = requests.sum()
            # The slowest request stands for the last of `total` equal shares, so its line ends amid that.
            slower = np.append(total - (np.cumsum(requests) - requests), 0.5) / total
            longest = np.append(times.upper_ns, times.upper_ns[-1]) - 1.0
            x = -np.log10(slower)
            y = np.where(longest > 0, longest, np.nan)
            axes.step(x, y, where="post", color=OP_COLOURS[op], linestyle=style, linewidth=1.6, label=label)
            right = max(right, float(x[-1]))
            if times is result.latency[op]:
                lowest = min(lowest, float(np.nanmin(y)))
    if not axes.lines:
        nothing(axes, "No request took any time.")
        return figure
    nines = np.arange(1, int(right) + 1)
    names = [f"{100 - 100 / 10.0**n:.{max(n - 2, 0)}f} %" for n in nines]
    axes.set_xticks([np.log10(2), *nines], ["50 %", *names])
    axes.set_xlim(0, right)
    axes.set_xlabel("share of the operation's requests that are not slower")
    axes.set_yscale("log")
    # A wait of a nanosecond is none, and would flatten the rest.
    axes.set_ylim(bottom=lowest / 10)
    durations(axes.yaxis)
    axes.set_ylabel(name_of_times(result.config))
    figure.legend(loc="outside upper center", ncols=4)
    return figure
