"""Figures of measured caches."""

from matplotlib.figure import Figure

from ssdlab.analyse.cache.benchmark import CacheBench
from ssdlab.view.colours import BLUE, GREY, ORANGE
from ssdlab.view.pages.cache_bench import share_text
from ssdlab.view.plots.style import canvas, colour, on_the_right, styled


@styled
def shares(found: CacheBench) -> Figure:
    """Pages a second by share of the compressed pool, with the range of the runs; grey without one."""
    figure, axes = canvas(3.4)
    order = list(dict.fromkeys(cell.share for cell in found.cells))
    codecs = list(dict.fromkeys(cell.codec for cell in found.cells))
    for number, codec in enumerate(codecs):
        cells = [cell for cell in found.cells if cell.codec == codec]
        spread = (number - (len(codecs) - 1) / 2) * 0.08
        axes.errorbar(
            [order.index(cell.share) + spread for cell in cells],
            [cell.pages_s.median for cell in cells],
            yerr=[
                [cell.pages_s.median - cell.pages_s.low for cell in cells],
                [cell.pages_s.high - cell.pages_s.median for cell in cells],
            ],
            color=GREY if codec is None else colour(number),
            marker="o", markersize=4, capsize=3, linestyle="", label=codec or "raw alone",
        )  # fmt: skip
    axes.set_xticks(range(len(order)), [share_text(share) for share in order])
    axes.set_xlabel("memory for compressed pages")
    axes.set_ylabel("pages a second")
    axes.set_ylim(bottom=0)
    on_the_right(axes)
    return figure


@styled
def hits(found: CacheBench) -> Figure:
    """Reads that found their page raw and compressed, for each cell."""
    figure, axes = canvas(3.0)
    at = range(len(found.cells))
    raw = [100 * cell.raw_hit_ratio.median for cell in found.cells]
    compressed = [100 * cell.compressed_hit_ratio.median for cell in found.cells]
    axes.bar(at, raw, 0.6, color=BLUE, label="raw")
    axes.bar(at, compressed, 0.6, bottom=raw, color=ORANGE, label="compressed")
    axes.set_xticks(list(at), [f"{share_text(cell.share)}\n{cell.codec or ''}" for cell in found.cells])
    axes.set_ylabel("hits (%)")
    axes.set_ylim(0, 100)
    axes.grid(axis="x", visible=False)
    on_the_right(axes)
    return figure
