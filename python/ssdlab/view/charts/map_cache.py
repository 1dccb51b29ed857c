"""The chart of `ssdlab advise map-cache`."""

from ssdlab import text
from ssdlab.analyse.map_cache import MapCacheAdvice
from ssdlab.lazy import np
from ssdlab.view.chart import Axis, Chart, Line, Mark, Panel, Points
from ssdlab.view.colours import colour


def shares(advice: MapCacheAdvice) -> Chart:
    """Draws throughput, relative to the throughput with the whole map in RAM, against cache size and segment size."""
    caches = advice.caches.astype(float)
    marks: list[Mark] = []
    for column, segment in enumerate(advice.segments.tolist()):
        curve, tint, name = advice.curve(segment), colour(column), text.size(segment)
        shares = np.asarray(curve.iops_share, float) * 100
        marks.append(Line(name, np.asarray(curve.cache_bytes, float), shares, tint, 1.4, step=True))
        marks.append(Points(name, caches, 100 * advice.iops_share[:, column], tint))
    ticks = [(size, text.size(size)) for size in advice.caches.tolist()]
    across = Axis("map cache", "size", float(caches.min()) / 1.2, float(caches.max()) * 1.2, log=True, ticks=ticks)
    panel = Panel(marks, across, Axis("requests/s (% of the rate with the whole map in RAM)", high=101))
    return Chart([panel], 3.6, legend="segment")
