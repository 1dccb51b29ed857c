"""Figures of a result, drawn with matplotlib. Colours are Okabe and Ito's, safe for colour-blind readers."""

import io
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from ssdlab import text
from ssdlab.figures import CAUSES, OPERATIONS
from ssdlab.figures import operations as operations_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from ssdlab.result import LogColumns, Result

    Numbers = npt.NDArray[np.float64]

BLUE, ORANGE, GREEN, PURPLE, SKY = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9"
AMBER, YELLOW, GREY = "#e69f00", "#f0e442", "#7f858c"
INK, GRID = "#24292f", "#d0d7de"

OP_COLOURS = {"read": BLUE, "write": ORANGE, "trim": GREEN, "flush": PURPLE}
CAUSE_COLOURS = {
    "host": BLUE,
    "rmw": SKY,
    "gc": ORANGE,
    "switch_merge": YELLOW,
    "partial_merge": GREEN,
    "full_merge": PURPLE,
    "second_chance": AMBER,
    "isolation": GREY,
    # No FTL has both a log and a map in flash: they share colours.
    "map_load": GREEN,
    "map_write_back": PURPLE,
    "map_update": AMBER,
    "map_gc": YELLOW,
}
BARS = 60
"""Most bars of a histogram; more would be lines."""

STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    # Ids in the SVG are random otherwise, and equal runs must give equal reports.
    "svg.hashsalt": "ssdlab",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.linewidth": 0.8,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
}


class Plot(Figure):
    """A matplotlib figure that notebooks show without pyplot."""

    def _repr_svg_(self) -> str:
        return svg(self)


def svg(figure: Figure) -> str:
    """The figure as an SVG element; equal figures give equal text."""
    buffer = io.StringIO()
    with matplotlib.rc_context(STYLE):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    whole = buffer.getvalue()
    return whole[whole.index("<svg") :]


def canvas(height: float = 3.2) -> tuple[Plot, Axes]:
    """A new figure of the common width, `height` inches high."""
    figure = Plot(figsize=(7.6, height), layout="constrained")
    return figure, figure.add_subplot()


def nothing(axes: Axes, why: str) -> None:
    """Says why there is nothing to draw."""
    axes.set_axis_off()
    axes.text(0.5, 0.5, why, ha="center", va="center", transform=axes.transAxes)


def write_amplification(result: "Result") -> Figure:
    """Write amplification of each epoch and of the run so far, over simulated time or, without time, requests."""
    with matplotlib.rc_context(STYLE):
        figure, axes = canvas()
        host = result.series["host_pages_written"].astype(float)
        flash = result.series["flash_pages_programmed"].astype(float)
        if not host.any():
            nothing(axes, "The host wrote nothing.")
            return figure
        x = _course(result, axes)
        # An epoch without writes has no write amplification: the line is broken there.
        each = np.divide(flash, host, out=np.full_like(host, np.nan), where=host > 0)
        so_far = np.divide(np.cumsum(flash), np.cumsum(host), out=np.full_like(host, np.nan), where=np.cumsum(host) > 0)
        axes.plot(x, each, color=SKY, linewidth=1.0, label="each epoch")
        axes.plot(x, so_far, color=ORANGE, linewidth=1.8, label="run so far")
        _write_amplification_limits(axes, each)
        axes.set_ylabel("write amplification")
        axes.margins(x=0.01)
        axes.legend(loc="upper right", ncols=2)
        return figure


def _course(result: "Result", axes: Axes) -> "Numbers":
    """Where on the x axis the epochs end: simulated time or, without time, requests."""
    if result.summary["time"] is None:
        axes.set_xlabel("requests replayed")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: text.short_count(value)))
        return result.series["requests"].astype(float)
    unit, scale = _course_unit(result)
    axes.set_xlabel(f"simulated time ({unit})")
    return result.series["time_ns"] / scale


def _course_unit(result: "Result") -> tuple[str, float]:
    return time_unit(float(result.series["time_ns"][-1]))


def _write_amplification_limits(axes: Axes, each: "Numbers") -> None:
    """Room for all but the highest epochs: one that wrote two pages and copied a block would flatten the rest."""
    finite = each[np.isfinite(each)]
    top = float(np.percentile(finite, 99)) * 1.25
    axes.set_ylim(0, max(top, 1.5))
    hidden = int((finite > axes.get_ylim()[1]).sum())
    if hidden:
        label = f"{hidden} epoch{'s' if hidden > 1 else ''} above"
        axes.annotate(label, (0.01, 0.97), xycoords="axes fraction", ha="left", va="top", fontsize=9)


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


def _durations(axis: Axis) -> None:
    """Names the powers of ten on a logarithmic axis of nanoseconds."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: _decade(value)))
    axis.set_minor_formatter(FuncFormatter(lambda value, _: ""))


def bin_edges(result: "Result", bin_ns: int, bins: int) -> "Numbers":
    """Where bins of simulated time begin and end, in nanoseconds; the last ends with the run."""
    edges: Numbers = np.minimum(np.arange(bins + 1) * float(bin_ns), result.summary["time"]["elapsed_ns"])
    return edges


def erase_counts(result: "Result") -> Figure:
    """How many blocks were erased how often during the measured phase."""
    with matplotlib.rc_context(STYLE):
        figure, axes = canvas()
        _bars(axes, result.erase_counts.astype(float), None, "erases of a block")
        axes.set_ylabel("blocks")
        return figure


def _bars(axes: Axes, values: "Numbers", weights: "Numbers | None", label: str) -> None:
    """Histogram of whole numbers, each as often as `weights` says: at most `BARS` bars, each of as many values."""
    low, high = int(values.min()), int(values.max())
    width = max(1, -(-(high - low + 1) // BARS))
    edges = np.arange(low, high + width + 1, width) - 0.5
    heights, _ = np.histogram(values, edges, weights=weights)
    axes.bar((edges[:-1] + edges[1:]) / 2, heights, width=width * 0.9, color=BLUE)
    axes.set_xlabel(label + (f" (bars of {width})" if width > 1 else ""))
    axes.grid(axis="x", visible=False)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
        axis.set_major_formatter(FuncFormatter(lambda value, _: text.count(value)))
    if low == high:
        axes.set_xlim(low - 1.5, low + 1.5)


def _log(result: "Result") -> "LogColumns":
    if result.log is None:
        raise ValueError("the FTL has no log blocks: there are no merges to draw (set ftl to bast, fast ...)")
    return result.log


def _counted_bars(counts: "npt.NDArray[np.uint64]", label: str, of: str, why_empty: str) -> Figure:
    """Histogram of values counted by index."""
    with matplotlib.rc_context(STYLE):
        figure, axes = canvas(2.6)
        values = np.flatnonzero(counts)
        if not values.size:
            nothing(axes, why_empty)
            return figure
        _bars(axes, values.astype(float), counts[values].astype(float), label)
        axes.set_ylabel(of)
        return figure


NO_RECLAIMS = "No log space was reclaimed by full merges."


def associativity(result: "Result") -> Figure:
    """How many reclaims of log space merged how many logical blocks."""
    label = "logical blocks merged in one reclaim"
    return _counted_bars(_log(result).associativity, label, "reclaims", NO_RECLAIMS)


def log_utilisation(result: "Result") -> Figure:
    """How many log blocks left the log with how many of their pages programmed."""
    label = f"pages programmed, of {result.summary['device']['pages_per_block']}, when a log block leaves the log"
    return _counted_bars(_log(result).utilisation, label, "log blocks", "No block left the log.")


def reclaim_cost(result: "Result") -> Figure:
    """Cumulative distribution of what one reclaim of log space costs: time, or pages copied without time."""
    log = _log(result)
    with matplotlib.rc_context(STYLE):
        figure, axes = canvas(2.8)
        if not log.reclaim_times.size:
            nothing(axes, NO_RECLAIMS)
            return figure
        if result.summary["time"] is None:
            cost = log.reclaim_copies.astype(float)
            axes.set_xlabel("pages copied in one reclaim of log space")
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: text.count(value)))
        else:
            unit, scale = time_unit(float(log.reclaim_ns.max()))
            cost = log.reclaim_ns / scale
            axes.set_xlabel(f"duration of one reclaim of log space ({unit})")
        order = np.argsort(cost, kind="stable")
        share = np.cumsum(log.reclaim_times[order].astype(float)) * 100 / log.reclaim_times.sum()
        longest = float(cost.max()) or 1.0
        # From nothing at the left edge to all at the right one, whatever lies between.
        x = np.concatenate(([0.0], cost[order], [longest * 1.04]))
        axes.step(x, np.concatenate(([0.0], share, [100.0])), where="post", color=ORANGE, linewidth=1.8)
        axes.set_xlim(0, longest * 1.04)
        axes.set_ylim(0, 102)
        axes.set_ylabel("share of the reclaims (%)")
        return figure


def _timed(result: "Result") -> None:
    if result.summary["latency"] is None:
        raise ValueError("time was not modelled: there are no response times to draw (set time to serial or event)")


def _shade_internal(result: "Result", axes: Axes) -> None:
    """Shades what share of the dies' time went to work that was not for the host's data, on an axis to the right."""
    activity = result.activity
    if activity is None or not activity.internal_busy_ns.any():
        return
    edges = bin_edges(result, activity.internal_bin_ns, len(activity.internal_busy_ns))
    share = activity.internal_busy_ns / np.diff(edges) / len(activity.dies_busy_ns) * 100
    right = axes.twinx()
    right.stairs(share, edges / _course_unit(result)[1], color=AMBER, alpha=0.35, fill=True, label="internal work")
    right.set_ylim(0, 100)
    right.set_ylabel("internal work (% of dies)")
    right.spines["right"].set_visible(True)
    right.grid(visible=False)
    # Behind the lines.
    axes.set_zorder(right.get_zorder() + 1)
    axes.patch.set_visible(False)


def response_time(result: "Result") -> Figure:
    """Mean and maximum response time of each epoch by operation, over simulated time; internal work is shaded."""
    _timed(result)
    with matplotlib.rc_context(STYLE):
        figure, axes = canvas()
        for op in ("read", "write"):
            requests, total, longest = (
                result.series[f"{op}_{name}"].astype(float) for name in ("requests", "latency_sum_ns", "latency_max_ns")
            )
            # What took no time has no place on a logarithmic axis: the line is broken there.
            took = longest > 0
            if not took.any():
                continue
            if not axes.lines:
                x = _course(result, axes)
            mean = np.divide(total, requests, out=np.full_like(total, np.nan), where=took)
            colour = OP_COLOURS[op]
            # A single epoch makes no line.
            marker = "." if took.sum() == 1 else ""
            upper = np.where(took, longest, np.nan)
            axes.plot(x, upper, marker=marker, color=colour, alpha=0.6, linewidth=0.9, label=f"{op}, maximum")
            axes.plot(x, mean, marker=marker, color=colour, linewidth=1.6, label=f"{op}, mean")
        if not axes.lines:
            nothing(axes, "No request took any time.")
            return figure
        axes.set_yscale("log")
        _durations(axes.yaxis)
        axes.set_ylabel("response time")
        _shade_internal(result, axes)
        axes.margins(x=0.01)
        # Above the axes: lines may be anywhere in them.
        figure.legend(loc="outside upper center", ncols=len(axes.lines) if len(figure.axes) == 1 else 3)
        return figure


def latency(result: "Result") -> Figure:
    """Share of the requests of each operation by response time, in bins of equal width on a logarithmic axis."""
    _timed(result)
    with matplotlib.rc_context(STYLE):
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
        _durations(axes.xaxis)
        axes.set_xlabel("response time")
        axes.set_ylabel("share of the operation's requests (%)")
        axes.set_ylim(bottom=0)
        axes.legend(loc="upper right", ncols=len(shown))
        return figure


def latency_percentiles(result: "Result") -> Figure:
    """Response times of reads and writes by percentile, and how long they waited where that is known.

    The axis is logarithmic in the share of slower requests: each step to the right is a tenth of those before.
    """
    _timed(result)
    with matplotlib.rc_context(STYLE):
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
        _durations(axes.yaxis)
        axes.set_ylabel("response time")
        figure.legend(loc="outside upper center", ncols=4)
        return figure


def operations(result: "Result") -> Figure:
    """Flash reads, programs and erases, each divided by cause; totals stand beside the bars."""
    with matplotlib.rc_context(STYLE):
        causes, rows = operations_of(result.summary)
        # Four of the longest names fill the width.
        columns = min(len(causes), 4)
        figure, axes = canvas(2.2 if len(causes) <= columns else 2.45)
        if not causes:
            nothing(axes, "The flash did nothing.")
            return figure
        left = np.zeros(len(rows))
        totals = np.array([max(1, sum(counts)) for _, counts in rows], dtype=float)
        for index, cause in enumerate(causes):
            shares = np.array([counts[index] for _, counts in rows]) / totals * 100
            axes.barh(
                range(len(rows)),
                shares,
                left=left,
                height=0.6,
                color=CAUSE_COLOURS.get(cause, INK),
                label=CAUSES.get(cause, cause),
            )
            left += shares
        names = [f"{kind}\n{text.short_count(sum(counts))}" for kind, counts in rows]
        axes.set_yticks(range(len(OPERATIONS)), names)
        axes.invert_yaxis()
        axes.set_xlim(0, 100)
        axes.set_xlabel("share of operations (%)")
        axes.grid(axis="y", visible=False)
        axes.tick_params(axis="y", length=0)
        figure.legend(loc="outside upper center", ncols=columns)
        return figure
