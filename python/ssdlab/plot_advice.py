"""Figures of advice, drawn as those of a result."""

from typing import TYPE_CHECKING

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from ssdlab import text
from ssdlab.plot import AMBER, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, STYLE, canvas

if TYPE_CHECKING:
    from ssdlab.advise import MapCacheAdvice

COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, AMBER, GREY)
"""Of the segment sizes, in turns."""


def map_cache(advice: "MapCacheAdvice") -> Figure:
    """Requests per second in percent of those with the whole map in RAM, against the cache, by segment size."""
    with matplotlib.rc_context(STYLE):
        figure, axes = canvas(3.6)
        for column, segment in enumerate(advice.segments.tolist()):
            curve, colour = advice.curve(segment), COLOURS[column % len(COLOURS)]
            axes.step(
                curve.cache_bytes, 100 * curve.iops_share, where="post", color=colour, linewidth=1.4,
                label=text.size(segment),
            )  # fmt: skip
            axes.plot(advice.caches, 100 * advice.iops_share[:, column], "o", color=colour, markersize=3.5)
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_locator(FixedLocator(advice.caches.tolist()))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: text.size(value)))
        least = float(advice.caches.min())
        axes.set_xlim(least / 1.2, float(advice.caches.max()) * 1.2)
        axes.set_ylim(top=101)
        axes.set_xlabel("map cache")
        axes.set_ylabel("requests/s (% of the whole map in RAM)")
        axes.legend(title="segment", loc="lower right")
        return figure
