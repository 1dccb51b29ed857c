"""Figures of advice on map caches."""

from matplotlib.figure import Figure

from ssdlab import text
from ssdlab.analyse.map_cache import MapCacheAdvice
from ssdlab.view.plots.style import at_values, canvas, colour, styled


@styled
def shares(advice: MapCacheAdvice) -> Figure:
    """Requests per second in percent of those with the whole map in RAM, against the cache, by segment size."""
    figure, axes = canvas(3.6)
    for column, segment in enumerate(advice.segments.tolist()):
        curve, its = advice.curve(segment), colour(column)
        axes.step(
            curve.cache_bytes, 100 * curve.iops_share, where="post", color=its, linewidth=1.4,
            label=text.size(segment),
        )  # fmt: skip
        axes.plot(advice.caches, 100 * advice.iops_share[:, column], "o", color=its, markersize=3.5)
    axes.set_xscale("log", base=2)
    at_values(axes.xaxis, advice.caches.tolist(), text.size)
    least = float(advice.caches.min())
    axes.set_xlim(least / 1.2, float(advice.caches.max()) * 1.2)
    axes.set_ylim(top=101)
    axes.set_xlabel("map cache")
    axes.set_ylabel("requests/s (% of the whole map in RAM)")
    axes.legend(title="segment", loc="lower right")
    return figure
