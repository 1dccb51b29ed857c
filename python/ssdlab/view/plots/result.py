"""Figures of a result."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ssdlab import text
from ssdlab.lazy import Numbers
from ssdlab.model.result import Result
from ssdlab.view.pages.quantities import CAUSES, OPERATIONS
from ssdlab.view.pages.quantities import operations as operations_of
from ssdlab.view.plots.bars import bars
from ssdlab.view.plots.style import AMBER, BLUE, GREEN, GREY, INK, ORANGE, PURPLE, SKY, YELLOW, canvas, nothing, styled
from ssdlab.view.plots.time import course

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
    "recovery": GREY,
}


@styled
def write_amplification(result: Result) -> Figure:
    """Write amplification of each epoch and of the run so far, over simulated time or, without time, requests."""
    figure, axes = canvas()
    host = result.series["host_pages_written"].astype(float)
    flash = result.series["flash_pages_programmed"].astype(float)
    if not host.any():
        nothing(axes, "The host wrote nothing.")
        return figure
    if np.count_nonzero(host) == 1:
        nothing(axes, "The host wrote in a single epoch, which makes no course.")
        return figure
    x = course(result, axes)
    # An epoch without writes has no write amplification: the line is broken there.
    each = np.divide(flash, host, out=np.full_like(host, np.nan), where=host > 0)
    so_far = np.divide(np.cumsum(flash), np.cumsum(host), out=np.full_like(host, np.nan), where=np.cumsum(host) > 0)
    axes.plot(x, each, color=SKY, linewidth=1.0, label="each epoch")
    axes.plot(x, so_far, color=ORANGE, linewidth=1.8, label="run so far")
    _write_amplification_limits(axes, each)
    axes.set_ylabel("write amplification (WAF)")
    axes.margins(x=0.01)
    axes.legend(loc="upper right", ncols=2)
    return figure


def _write_amplification_limits(axes: Axes, each: Numbers) -> None:
    """Room for all but the highest epochs: one that wrote two pages and copied a block would flatten the rest."""
    finite = each[np.isfinite(each)]
    top = float(np.percentile(finite, 99)) * 1.25
    axes.set_ylim(0, max(top, 1.5))
    hidden = int((finite > axes.get_ylim()[1]).sum())
    if hidden:
        label = f"{hidden} epoch{'s' if hidden > 1 else ''} above"
        axes.annotate(label, (0.01, 0.97), xycoords="axes fraction", ha="left", va="top", fontsize=9)


@styled
def erase_counts(result: Result) -> Figure:
    """How many blocks were erased how often during the measured phase."""
    figure, axes = canvas()
    bars(axes, result.erase_counts.astype(float), None, "erases of a block")
    axes.set_ylabel("blocks")
    return figure


@styled
def operations(result: Result) -> Figure:
    """Flash reads, programs and erases, each divided by cause; totals stand beside the bars."""
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
