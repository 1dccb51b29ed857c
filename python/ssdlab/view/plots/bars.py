"""Histograms of whole numbers."""

import numpy as np
from matplotlib.axes import Axes

from ssdlab import text
from ssdlab.lazy import Numbers
from ssdlab.view.plots.style import BLUE, written

BARS = 60
"""Most bars; more would be lines."""


def bars(axes: Axes, values: Numbers, weights: Numbers | None, label: str) -> None:
    """Histogram of whole numbers, each as often as `weights` says: at most `BARS` bars, each of as many values."""
    low, high = int(values.min()), int(values.max())
    width = max(1, -(-(high - low + 1) // BARS))
    edges = np.arange(low, high + width + 1, width) - 0.5
    heights, _ = np.histogram(values, edges, weights=weights)
    axes.bar((edges[:-1] + edges[1:]) / 2, heights, width=width * 0.9, color=BLUE)
    axes.set_xlabel(label + (f" (bars of {width})" if width > 1 else ""))
    axes.grid(axis="x", visible=False)
    for axis in (axes.xaxis, axes.yaxis):
        written(axis, text.count, whole=True)
    if low == high:
        # Counts are not negative.
        axes.set_xlim(max(low - 1.5, -0.5), low + 1.5)
