"""Charts of a cache benchmark."""

from ssdlab.analyse.cache.benchmark import CacheBench
from ssdlab.lazy import np
from ssdlab.view.chart import Axis, Chart, Mark, Panel, Points, Share, Whiskers, places, rows
from ssdlab.view.colours import BLUE, GREY, ORANGE, colour
from ssdlab.view.pages.cache_bench import share_text


def shares(bench: CacheBench) -> Chart:
    """Draws pages per second, with the range of runs, by share of the compressed pool; grey without compression."""
    order = list(dict.fromkeys(cell.share for cell in bench.cells))
    codecs = list(dict.fromkeys(cell.codec for cell in bench.cells))
    marks: list[Mark] = []
    for number, codec in enumerate(codecs):
        cells = [cell for cell in bench.cells if cell.codec == codec]
        at = np.array([order.index(cell.share) + (number - (len(codecs) - 1) / 2) * 0.08 for cell in cells])
        tint, name = GREY if codec is None else colour(number), codec or "raw alone"
        low, median, high = (
            np.array([getattr(cell.pages_s, of) for cell in cells], float) for of in ("low", "median", "high")
        )
        marks += [Whiskers(name, at, low, high, tint), Points(name, at, median, tint)]
    across = places([share_text(share) for share in order], "memory for compressed pages")
    return Chart([Panel(marks, across, Axis("pages per second", "short count", low=0))], 3.4)


def hits(bench: CacheBench) -> Chart:
    """Draws the shares of reads that hit the uncompressed and the compressed pool, for each cell of the benchmark."""
    raw, compressed = (
        np.array([100 * getattr(cell, f"{kind}_hit_ratio").median for cell in bench.cells])
        for kind in ("raw", "compressed")
    )
    names = [f"{share_text(cell.share)} {cell.codec or ''}".strip() for cell in bench.cells]
    parts = [Share("raw", raw, BLUE), Share("compressed", compressed, ORANGE)]
    return Chart([Panel(parts, Axis("hits (%)", low=0, high=100), rows(names))], 1.2 + 0.24 * len(names))
