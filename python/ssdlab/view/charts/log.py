"""Charts of a log-block FTL."""

from ssdlab.lazy import Counts, np
from ssdlab.model.columns import LogColumns
from ssdlab.model.result import Result
from ssdlab.view.chart import Axis, Chart, Line, Panel, nothing
from ssdlab.view.charts.counted import bars
from ssdlab.view.charts.time import time_unit
from ssdlab.view.colours import ORANGE

NO_RECLAIMS = "No log space was reclaimed by full merges."


def _log(result: Result) -> LogColumns:
    if result.log is None:
        raise ValueError("this chart needs an FTL with log blocks: set ftl to bast or fast")
    return result.log


def _counted_bars(counts: Counts, label: str, of: str, why_empty: str) -> Chart:
    """Draws a histogram of whole numbers; `counts[i]` is the frequency of i."""
    values = np.flatnonzero(counts)
    if not values.size:
        return nothing(why_empty, 2.6)
    return bars(values.astype(float), counts[values].astype(float), label, of, 2.6)


def associativity(result: Result) -> Chart:
    """Draws a histogram of the logical blocks merged per reclaim."""
    label = "logical blocks merged per reclaim"
    return _counted_bars(_log(result).associativity, label, "reclaims", NO_RECLAIMS)


def utilisation(result: Result) -> Chart:
    """Draws a histogram of the number of programmed pages per retired log block."""
    label = f"programmed pages per retired log block (of {result.summary['device']['pages_per_block']})"
    return _counted_bars(_log(result).utilisation, label, "log blocks", "No log block was retired.")


def reclaim_cost(result: Result) -> Chart:
    """Draws the cumulative distribution of reclaim costs: in time or, if time is not modelled, in pages copied."""
    log = _log(result)
    if not log.reclaim_times.size:
        return nothing(NO_RECLAIMS, 2.8)
    if result.summary["time"] is None:
        cost = log.reclaim_copies.astype(float)
        x = Axis("pages copied per reclaim of log space", form="count")
    else:
        unit, scale = time_unit(float(log.reclaim_ns.max()))
        cost = log.reclaim_ns / scale
        x = Axis(f"time per reclaim of log space ({unit})")
    order = np.argsort(cost, kind="stable")
    share = np.cumsum(log.reclaim_times[order].astype(float)) * 100 / log.reclaim_times.sum()
    right = (float(cost.max()) or 1.0) * 1.04
    x_steps, y_steps = np.concatenate(([0.0], cost[order], [right])), np.concatenate(([0.0], share, [100.0]))
    line = Line("", x_steps, y_steps, ORANGE, width=1.8, step=True)
    y = Axis("cumulative share of reclaims (%)", low=0, high=102)
    return Chart([Panel([line], Axis(x.title, x.form, low=0, high=right), y)], 2.8)
