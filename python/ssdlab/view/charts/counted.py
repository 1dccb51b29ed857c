"""Histograms of counts and other whole numbers."""

from ssdlab.lazy import Numbers, np
from ssdlab.view.chart import Axis, Chart, Columns, Panel
from ssdlab.view.colours import BLUE

BARS = 60
"""Maximum number of bars of a histogram."""


def bars(values: Numbers, weights: Numbers | None, label: str, of: str, height: float = 3.2) -> Chart:
    """Draws a histogram of weighted whole numbers, in at most `BARS` bars of equal width."""
    low, high = int(values.min()), int(values.max())
    width = max(1, -(-(high - low + 1) // BARS))
    edges = np.arange(low, high + width + 1, width, dtype=np.float64) - 0.5
    heights, _ = np.histogram(values, edges, weights=weights)
    # Leaves room on both sides of a single bar.
    around = (max(low - 1.5, -0.5), low + 1.5) if low == high else (float(edges[0]), float(edges[-1]))
    x = Axis(label + (f" (bars of {width})" if width > 1 else ""), "count", *around, whole=True)
    y = Axis(of, form="count", low=0, whole=True)
    return Chart([Panel([Columns(edges, heights.astype(float), BLUE)], x, y)], height)
