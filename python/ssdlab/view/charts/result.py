"""Charts of the result of a simulation run."""

from ssdlab import text
from ssdlab.lazy import np
from ssdlab.model.result import Result
from ssdlab.view.chart import Axis, Chart, Line, Panel, Share, nothing, rows
from ssdlab.view.charts.counted import bars
from ssdlab.view.charts.time import course
from ssdlab.view.colours import ORANGE, SKY
from ssdlab.view.pages import tables
from ssdlab.view.pages.tables import CAUSES


def write_amplification(result: Result) -> Chart:
    """Draws write amplification per epoch and cumulatively, over simulated time or, without time, over requests."""
    host = result.series["host_pages_written"].astype(float)
    flash = result.series["flash_pages_programmed"].astype(float)
    if not host.any():
        return nothing("The host wrote no data.")
    if np.count_nonzero(host) == 1:
        return nothing("All host writes are in one epoch; a curve needs at least two.")
    x, axis = course(result)
    # The line has a gap at an epoch without writes.
    each = np.divide(flash, host, out=np.full_like(host, np.nan), where=host > 0)
    so_far = np.divide(np.cumsum(flash), np.cumsum(host), out=np.full_like(host, np.nan), where=np.cumsum(host) > 0)
    lines = [Line("each epoch", x, each, SKY, width=1.0), Line("run so far", x, so_far, ORANGE, width=1.8)]
    # The axis ends below epochs that would flatten the rest of the curve.
    finite = each[np.isfinite(each)]
    top = max(float(np.percentile(finite, 99)) * 1.25, 1.5)
    hidden = int((finite > top).sum())
    note = f"{text.counted(hidden, 'epochs')} above" if hidden else ""
    return Chart([Panel(lines, axis, Axis("write amplification (WAF)", low=0, high=top), note=note)])


def erase_counts(result: Result) -> Chart:
    """Draws a histogram of the erases per block in the measured phase."""
    return bars(result.erase_counts.astype(float), None, "erases of a block", "blocks")


def operations(result: Result) -> Chart:
    """Draws, for flash reads, programs and erases, the share of each cause. The totals are shown next to the bars."""
    causes, kinds = tables.operations(result.summary)
    if not causes:
        return nothing("The flash executed no operations.", 2.2)
    parts = []
    for index, cause in enumerate(causes):
        shares = np.array([100 * counts[index] / max(1, sum(counts)) for _, counts in kinds])
        parts.append(Share(CAUSES[cause].label, shares, CAUSES[cause].colour))
    names = rows([f"{kind}\n{text.short_count(sum(counts))}" for kind, counts in kinds])
    return Chart([Panel(parts, Axis("share of operations (%)", low=0, high=100), names)], 2.45)
