"""Figures of a result, drawn with matplotlib. Colours are Okabe and Ito's, safe for colour-blind readers."""

import io
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from ssdlab import text
from ssdlab.figures import CAUSES, OPERATIONS
from ssdlab.figures import operations as operations_of

if TYPE_CHECKING:
    from ssdlab.result import Result

BLUE, ORANGE, GREEN, PURPLE, SKY = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9"
INK, GRID = "#24292f", "#d0d7de"

OP_COLOURS = {"read": BLUE, "write": ORANGE, "trim": GREEN, "flush": PURPLE}
CAUSE_COLOURS = {"host": BLUE, "rmw": SKY, "gc": ORANGE}
OTHER_COLOURS = (GREEN, PURPLE)

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


def _nothing(axes: Axes, why: str) -> None:
    axes.set_axis_off()
    axes.text(0.5, 0.5, why, ha="center", va="center", transform=axes.transAxes)


def write_amplification(result: "Result") -> Figure:
    """Write amplification of each epoch and of the run so far, over simulated time or, without time, requests."""
    with matplotlib.rc_context(STYLE):
        figure, axes = canvas()
        host = result.series["host_pages_written"].astype(float)
        flash = result.series["flash_pages_programmed"].astype(float)
        if not host.any():
            _nothing(axes, "The host wrote nothing.")
            return figure
        if result.summary["time"] is None:
            x = result.series["requests"].astype(float)
            axes.set_xlabel("requests replayed")
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: text.short_count(value)))
        else:
            unit, scale = _time_unit(float(result.series["time_ns"][-1]))
            x = result.series["time_ns"] / scale
            axes.set_xlabel(f"simulated time ({unit})")
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


def _write_amplification_limits(axes: Axes, each: "np.ndarray[Any, np.dtype[np.float64]]") -> None:
    """Room for all but the highest epochs: one that wrote two pages and copied a block would flatten the rest."""
    finite = each[np.isfinite(each)]
    top = float(np.percentile(finite, 99)) * 1.25
    axes.set_ylim(0, max(top, 1.5))
    hidden = int((finite > axes.get_ylim()[1]).sum())
    if hidden:
        label = f"{hidden} epoch{'s' if hidden > 1 else ''} above"
        axes.annotate(label, (0.01, 0.97), xycoords="axes fraction", ha="left", va="top", fontsize=9)


def _time_unit(longest_ns: float) -> tuple[str, float]:
    for unit, scale in (("h", 3.6e12), ("min", 6e10), ("s", 1e9), ("ms", 1e6)):
        if longest_ns >= 3 * scale:
            return unit, scale
    return "µs", 1e3


def _decade(nanoseconds: float) -> str:
    """A power of ten of nanoseconds, as an axis names it."""
    number, unit = text.duration(nanoseconds).split()
    return f"{float(number.replace(',', '')):g} {unit}"


def erase_counts(result: "Result") -> Figure:
    """How many blocks were erased how often during the measured phase."""
    with matplotlib.rc_context(STYLE):
        figure, axes = canvas()
        counts = result.erase_counts
        low, high = int(counts.min()), int(counts.max())
        # At most 60 bars, each as wide as a whole number of erases.
        width = max(1, -(-(high - low + 1) // 60))
        edges = np.arange(low, high + width + 1, width) - 0.5
        blocks, _ = np.histogram(counts, edges)
        centres = (edges[:-1] + edges[1:]) / 2
        axes.bar(centres, blocks, width=width * 0.9, color=BLUE)
        axes.set_xlabel("erases of a block" + (f" (bars of {width})" if width > 1 else ""))
        axes.set_ylabel("blocks")
        axes.grid(axis="x", visible=False)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: text.count(value)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: text.count(value)))
        if low == high:
            axes.set_xlim(low - 1.5, low + 1.5)
        return figure


def latency(result: "Result") -> Figure:
    """Share of the requests of each operation by response time, in bins of equal width on a logarithmic axis."""
    if result.summary["latency"] is None:
        raise ValueError("time was not modelled: there are no response times to draw (set time to serial)")
    with matplotlib.rc_context(STYLE):
        figure, axes = canvas()
        # A flush costs nothing here; what takes no time has no place on a logarithmic axis.
        shown = {op: columns for op, columns in result.latency.items() if (columns.upper_ns > 1).any()}
        if not shown:
            _nothing(axes, "No request took any time.")
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
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _decade(value)))
        axes.xaxis.set_minor_formatter(FuncFormatter(lambda value, _: ""))
        axes.set_xlabel("response time")
        axes.set_ylabel("share of the operation's requests (%)")
        axes.set_ylim(bottom=0)
        axes.legend(loc="upper right", ncols=len(shown))
        return figure


def operations(result: "Result") -> Figure:
    """Flash reads, programs and erases, each divided by cause; totals stand beside the bars."""
    with matplotlib.rc_context(STYLE):
        figure, axes = canvas(2.2)
        causes, rows = operations_of(result.summary)
        if not causes:
            _nothing(axes, "The flash did nothing.")
            return figure
        others = iter(OTHER_COLOURS * len(causes))
        left = np.zeros(len(rows))
        totals = np.array([max(1, sum(counts)) for _, counts in rows], dtype=float)
        for index, cause in enumerate(causes):
            shares = np.array([counts[index] for _, counts in rows]) / totals * 100
            colour = CAUSE_COLOURS.get(cause) or next(others)
            axes.barh(range(len(rows)), shares, left=left, height=0.6, color=colour, label=CAUSES.get(cause, cause))
            left += shares
        names = [f"{kind}\n{text.short_count(sum(counts))}" for kind, counts in rows]
        axes.set_yticks(range(len(OPERATIONS)), names)
        axes.invert_yaxis()
        axes.set_xlim(0, 100)
        axes.set_xlabel("share of operations (%)")
        axes.grid(axis="y", visible=False)
        axes.tick_params(axis="y", length=0)
        figure.legend(loc="outside upper center", ncols=len(causes))
        return figure
