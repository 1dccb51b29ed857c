"""Charts of what a log-block FTL did."""

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
        raise ValueError("the FTL has no log blocks: there are no merges to draw (set ftl to bast, fast ...)")
    return result.log


def _counted_bars(counts: Counts, label: str, of: str, why_empty: str) -> Chart:
    """Histogram of values counted by index."""
    values = np.flatnonzero(counts)
    if not values.size:
        return nothing(why_empty, 2.6)
    return bars(values.astype(float), counts[values].astype(float), label, of, 2.6)


def associativity(result: Result) -> Chart:
    """How many reclaims of log space merged how many logical blocks."""
    label = "logical blocks merged in one reclaim"
    return _counted_bars(_log(result).associativity, label, "reclaims", NO_RECLAIMS)


def utilisation(result: Result) -> Chart:
    """How many log blocks left the log with how many of their pages programmed."""
    label = f"pages programmed, of {result.summary['device']['pages_per_block']}, when a log block leaves the log"
    return _counted_bars(_log(result).utilisation, label, "log blocks", "No block left the log.")


def reclaim_cost(result: Result) -> Chart:
    """Cumulative distribution of what one reclaim of log space costs: time, or pages copied without time."""
    log = _log(result)
    if not log.reclaim_times.size:
        return nothing(NO_RECLAIMS, 2.8)
    if result.summary["time"] is None:
        cost = log.reclaim_copies.astype(float)
        x = Axis("pages copied in one reclaim of log space", form="count")
    else:
        unit, scale = time_unit(float(log.reclaim_ns.max()))
        cost = log.reclaim_ns / scale
        x = Axis(f"duration of one reclaim of log space ({unit})")
    order = np.argsort(cost, kind="stable")
    share = np.cumsum(log.reclaim_times[order].astype(float)) * 100 / log.reclaim_times.sum()
    # From nothing at the left edge to all at the right one, whatever lies between.
    right = (float(cost.max()) or 1.0) * 1.04
    line = Line(
        "",
        np.concatenate(([0.0], cost[order], [right])),
        np.concatenate(([0.0], share, [100.0])),
        ORANGE,
        width=1.8,
        step=True,
    )
    y = Axis("share of the reclaims (%)", low=0, high=102)
    return Chart([Panel([line], Axis(x.title, x.form, low=0, high=right), y)], 2.8)
