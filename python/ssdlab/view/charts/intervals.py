"""Charts of write intervals."""

from ssdlab import text
from ssdlab.analyse.intervals import WriteIntervals
from ssdlab.lazy import Counts, Numbers, np
from ssdlab.view.chart import Area, Axis, Chart, Heat, Level, Line, Mark, Panel, Points, nothing
from ssdlab.view.colours import BLUE, GREEN, INK, ORANGE, SKY


def _half_octaves(highest: int) -> Numbers:
    """Returns whole numbers from 1 to the first one above `highest`, each about 1.4 times the previous."""
    edges: Numbers = np.unique(np.round(2 ** (np.arange(0, 130) / 2)).astype(float))
    return edges[: int(np.searchsorted(edges, highest, side="right")) + 1]


def _shares(values: Counts, weights: Counts, colour: str, title: str, of: str) -> Panel:
    """Draws a weighted histogram of the values, in percent of the total weight; the value axis is logarithmic."""
    edges = _half_octaves(int(values.max()))
    counts, _ = np.histogram(values, edges, weights=weights.astype(float))
    across = Axis(title, "short count", float(edges[0]), float(edges[-1]), log=True)
    return Panel([Area("", edges, counts * 100 / weights.sum(), colour)], across, Axis(of, low=0))


def intervals(result: WriteIntervals) -> Chart:
    """Draws page writes by write interval, with the log sizes as vertical lines."""
    histogram = result.histogram
    if not histogram.writes.size:
        return nothing("No page was written twice.", 3.6)
    drawn = _shares(histogram.lower, histogram.writes, BLUE, "write interval (page writes)", "share of overwrites (%)")
    logs = [
        Level(f"log of {log}", float(pages), ORANGE, upright=True)
        for log, pages in zip(result.logs, result.windows.log_pages.tolist(), strict=True)
        if drawn.x.high is not None and pages < drawn.x.high
    ]
    return Chart([Panel([*drawn.marks, *logs], drawn.x, drawn.y)], 3.6)


def invalidated(result: WriteIntervals) -> Chart:
    """Draws, by log size, the share of page writes invalidated before eviction; dots mark the requested sizes."""
    log_pages, share = result.curve()
    size = log_pages / result.written_pages * 100
    asked = result.windows.log_pages / result.written_pages * 100
    hot, warm = (
        column / result.page_writes * 100 for column in (result.windows.hot_writes, result.windows.warm_writes)
    )
    right = max(100.0, float(asked.max(initial=0)) * 1.1)
    # A log longer than the longest write interval invalidates no further writes, so the curve stays level from there.
    size, share = np.append(size, max(2 * right, size[-1])), np.append(share, share[-1]) * 100
    marks: list[Mark] = [
        Line("with a second chance", size / 2, share, GREEN, step=True),
        Line("first in, first out", size, share, BLUE, step=True),
        Points("with a second chance", asked, hot + warm, GREEN),
        Points("first in, first out", asked, hot, BLUE),
    ]
    across = Axis("log size (% of the written pages)", low=0, high=right)
    return Chart([Panel(marks, across, Axis("page writes invalidated (%)", low=0, high=100))])


def time_address(result: WriteIntervals) -> Chart:
    """Draws a heat map of page writes over time and address, with a logarithmic colour scale."""
    counts = result.time_address.T.astype(float)
    low, high = (page * result.page_bytes for page in result.extent_pages)
    rows = len(counts)
    first = [low + (high - low) * row / rows for row in range(rows)]
    edges = np.linspace(0, result.page_writes, counts.shape[1] + 1)
    heat = Heat(edges, counts, BLUE, [*map(text.size, first)], float(counts.max()), "page writes", log=True)
    step = 2.0 ** np.floor(np.log2((high - low) / 4))
    marked = np.arange(np.ceil(low / step) * step, high + 1, step)
    ticks = [(float((at - low) / (high - low) * rows - 0.5), text.size(float(at))) for at in marked]
    down = Axis("address", low=-0.5, high=rows - 0.5, ticks=ticks)
    return Chart([Panel([heat], Axis("page writes", "short count", 0, result.page_writes), down)], 4.2)


def frequency(result: WriteIntervals) -> Chart:
    """Draws a histogram of the written pages by the number of writes to the page."""
    pages = result.frequency
    return Chart([_shares(pages.writes, pages.pages, SKY, "writes per page", "share of written pages (%)")])


def concentration(result: WriteIntervals) -> Chart:
    """Draws the share of all page writes that went to the most frequently written pages."""
    pages, writes = result.concentration()
    ends = np.array([0.0, 100.0])
    marks = [
        Line("measured", pages * 100, writes * 100, ORANGE),
        Line("uniform", ends, ends, INK, 0.8, dash="dotted"),
    ]
    across = Axis("most frequently written pages (% of the written pages)", low=0, high=100)
    return Chart([Panel(marks, across, Axis("page writes (%)", low=0, high=100))])
