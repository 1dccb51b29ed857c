"""Figures of write intervals."""

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, MultipleLocator

from ssdlab import text
from ssdlab.analyse.intervals import WriteIntervals
from ssdlab.lazy import Counts
from ssdlab.view.colours import BLUE, GREEN, INK, ORANGE, SKY
from ssdlab.view.plots.style import canvas, nothing, styled, written


def _half_octaves(highest: int) -> npt.NDArray[np.int64]:
    """Whole numbers some 1.4 apart from 1 to beyond `highest`."""
    edges = np.unique(np.round(2 ** (np.arange(0, 130) / 2)).astype(float))
    return edges[: int(np.searchsorted(edges, highest, side="right")) + 1].astype(np.int64)


def _stairs(axes: Axes, values: Counts, weights: Counts, colour: str) -> None:
    """Weights by value on a logarithmic axis, in percent of all of them."""
    edges = _half_octaves(int(values.max()))
    share, _ = np.histogram(values, edges, weights=weights.astype(float))
    share *= 100 / weights.sum()
    axes.stairs(share, edges, color=colour, alpha=0.25, fill=True)
    axes.stairs(share, edges, color=colour, linewidth=1.4)
    axes.set_xscale("log")
    written(axes.xaxis, text.short_count)
    axes.set_xlim(edges[0], edges[-1])
    axes.set_ylim(bottom=0)


@styled
def intervals(result: WriteIntervals) -> Figure:
    """Page writes by interval, the logs marked."""
    figure, axes = canvas(3.6)
    histogram = result.histogram
    if not histogram.writes.size:
        nothing(axes, "No page was written twice.")
        return figure
    _stairs(axes, histogram.lower, histogram.writes, BLUE)
    axes.set_xlabel("write interval (page writes)")
    axes.set_ylabel("share of overwrites (%)")
    for log, pages in zip(result.logs, result.windows.log_pages.tolist(), strict=True):
        if pages < axes.get_xlim()[1]:
            axes.axvline(pages, color=ORANGE, linewidth=1.0, linestyle="--")
            axes.annotate(
                log, (pages, 1.01), xycoords=("data", "axes fraction"), rotation=90, ha="center", va="bottom",
                fontsize=8,
            )  # fmt: skip
    return figure


@styled
def invalidated(result: WriteIntervals) -> Figure:
    """The share of page writes invalidated before their eviction as the log grows."""
    figure, axes = canvas()
    log_pages, share = result.curve()
    size = log_pages / result.written_pages * 100
    asked = result.windows.log_pages / result.written_pages * 100
    hot, warm = (
        column / result.page_writes * 100 for column in (result.windows.hot_writes, result.windows.warm_writes)
    )
    right = max(100.0, float(asked.max(initial=0)) * 1.1)
    # Beyond the longest interval nothing more is invalidated.
    size, share = np.append(size, max(2 * right, size[-1])), np.append(share, share[-1]) * 100
    axes.step(size / 2, share, where="post", color=GREEN, linewidth=1.6, label="with a second chance")
    axes.step(size, share, where="post", color=BLUE, linewidth=1.6, label="first in, first out")
    axes.plot(asked, hot + warm, "o", color=GREEN, markersize=4)
    axes.plot(asked, hot, "o", color=BLUE, markersize=4)
    axes.set_xlim(0, right)
    axes.set_ylim(0, 100)
    axes.set_xlabel("log (% of the written pages)")
    axes.set_ylabel("page writes invalidated (%)")
    axes.legend(loc="upper left", ncols=2)
    return figure


@styled
def time_address(result: WriteIntervals) -> Figure:
    """Page writes over time and address; the denser, the darker, on a logarithmic scale."""
    figure, axes = canvas(4.2)
    counts = result.time_address.T.astype(float)
    # Opacity rather than colour, so that it reads on any page.
    image = np.empty((*counts.shape, 4))
    image[..., :3] = to_rgb(BLUE)
    image[..., 3] = np.log1p(counts) / np.log1p(counts.max())
    low, high = (page * result.page_bytes for page in result.extent_pages)
    axes.imshow(image, origin="lower", aspect="auto", interpolation="none", extent=(0, result.page_writes, low, high))
    axes.grid(visible=False)
    axes.set_xlabel("page writes")
    axes.set_ylabel("address")
    written(axes.xaxis, text.short_count)
    axes.yaxis.set_major_locator(MultipleLocator(2 ** int(np.log2((high - low) / 4))))
    written(axes.yaxis, text.size)
    return figure


@styled
def frequency(result: WriteIntervals) -> Figure:
    """Written pages by how often they were written."""
    figure, axes = canvas()
    _stairs(axes, result.frequency.writes, result.frequency.pages, SKY)
    axes.set_xlabel("writes of a page")
    axes.set_ylabel("share of written pages (%)")
    return figure


@styled
def concentration(result: WriteIntervals) -> Figure:
    """The share of page writes that goes to the most written pages."""
    figure, axes = canvas()
    pages, writes = result.concentration()
    axes.plot(pages * 100, writes * 100, color=ORANGE, linewidth=1.6)
    axes.plot((0, 100), (0, 100), color=INK, linewidth=0.8, linestyle=":")
    axes.set_xlim(0, 100)
    axes.set_ylim(0, 100)
    axes.xaxis.set_major_locator(MaxNLocator(10))
    axes.set_xlabel("most written pages (% of the written pages)")
    axes.set_ylabel("page writes (%)")
    return figure
