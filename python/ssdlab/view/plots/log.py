"""Figures of what a log-block FTL did."""

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from ssdlab import text
from ssdlab.model.columns import LogColumns
from ssdlab.model.result import Result
from ssdlab.view.plots.bars import bars
from ssdlab.view.plots.style import ORANGE, canvas, nothing, styled, written
from ssdlab.view.plots.time import time_unit

NO_RECLAIMS = "No log space was reclaimed by full merges."


def _log(result: Result) -> LogColumns:
    if result.log is None:
        raise ValueError("the FTL has no log blocks: there are no merges to draw (set ftl to bast, fast ...)")
    return result.log


@styled
def _counted_bars(counts: "npt.NDArray[np.uint64]", label: str, of: str, why_empty: str) -> Figure:
    """Histogram of values counted by index."""
    figure, axes = canvas(2.6)
    values = np.flatnonzero(counts)
    if not values.size:
        nothing(axes, why_empty)
        return figure
    bars(axes, values.astype(float), counts[values].astype(float), label)
    axes.set_ylabel(of)
    return figure


def associativity(result: Result) -> Figure:
    """How many reclaims of log space merged how many logical blocks."""
    label = "logical blocks merged in one reclaim"
    return _counted_bars(_log(result).associativity, label, "reclaims", NO_RECLAIMS)


def utilisation(result: Result) -> Figure:
    """How many log blocks left the log with how many of their pages programmed."""
    label = f"pages programmed, of {result.summary['device']['pages_per_block']}, when a log block leaves the log"
    return _counted_bars(_log(result).utilisation, label, "log blocks", "No block left the log.")


@styled
def reclaim_cost(result: Result) -> Figure:
    """Cumulative distribution of what one reclaim of log space costs: time, or pages copied without time."""
    log = _log(result)
    figure, axes = canvas(2.8)
    if not log.reclaim_times.size:
        nothing(axes, NO_RECLAIMS)
        return figure
    if result.summary["time"] is None:
        cost = log.reclaim_copies.astype(float)
        axes.set_xlabel("pages copied in one reclaim of log space")
        written(axes.xaxis, text.count)
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
