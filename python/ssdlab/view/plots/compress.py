"""Figures of a measurement of codecs: those of Harper 2018 that compare compressors."""

from collections.abc import Callable

from matplotlib.figure import Figure

from ssdlab import text
from ssdlab.analyse.compress import Cell, CompressBench
from ssdlab.view.colours import BLUE, GREY
from ssdlab.view.pages.compress import size_text, threads_text
from ssdlab.view.plots.style import at_values, canvas, colour, nothing, on_the_right, styled

MOST_FILES = 24
"""Files drawn by themselves; more could not be told apart."""


def _largest(found: CompressBench) -> int | None:
    """Whole files, or the largest page measured."""
    return None if None in found.page_sizes else max(size for size in found.page_sizes if size is not None)


def _usual(found: CompressBench) -> int | None:
    """The 8 KiB of the document, or the first size measured."""
    return 8192 if 8192 in found.page_sizes else found.page_sizes[0]


@styled
def overall(found: CompressBench) -> Figure:
    """Ratio of each codec over all files, by bytes and as the mean of the files (figure 6a)."""
    figure, axes = canvas(2.8)
    cells = [found.cell(codec, _largest(found)) for codec in found.codecs]
    at = range(len(cells))
    axes.bar([x - 0.2 for x in at], [cell.ratio for cell in cells], 0.38, color=BLUE, label="by bytes")
    axes.bar([x + 0.2 for x in at], [cell.mean_ratio for cell in cells], 0.38, color=GREY, label="mean of files")
    axes.set_xticks(list(at), found.codecs)
    axes.set_ylabel(f"ratio, {size_text(_largest(found))}")
    axes.grid(axis="x", visible=False)
    on_the_right(axes)
    return figure


@styled
def files(found: CompressBench) -> Figure:
    """Ratio of each file with each codec (figure 6b)."""
    shown = min(len(found.corpus.members), MOST_FILES)
    figure, axes = canvas(1.2 + 0.32 * shown)
    height = 0.8 / len(found.codecs)
    for index, codec in enumerate(found.codecs):
        ratios = [file.ratio for file in found.cell(codec, _largest(found)).files[:shown]]
        axes.barh([y + index * height for y in range(shown)], ratios, height, color=colour(index), label=codec)
    names = [text.path(member.name)[-32:] for member in found.corpus.members[:shown]]
    axes.set_yticks([y + 0.4 - height / 2 for y in range(shown)], names)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(f"ratio, {size_text(_largest(found))}")
    on_the_right(axes)
    return figure


@styled
def _by_page(found: CompressBench, label: str, value: Callable[[Cell], tuple[float, float, float]]) -> Figure:
    """A curve for each codec against the size of a page: median, with the range of the runs."""
    figure, axes = canvas()
    sizes = sorted(size for size in found.page_sizes if size is not None)
    if not sizes:
        nothing(axes, "No pages were measured, only whole files.")
        return figure
    for index, codec in enumerate(found.codecs):
        points = [value(found.cell(codec, size)) for size in sizes]
        own = colour(index)
        axes.plot(sizes, [point[0] for point in points], color=own, marker="o", markersize=3.5, label=codec)
        axes.fill_between(sizes, [point[1] for point in points], [point[2] for point in points], color=own, alpha=0.2)
    axes.set_xscale("log", base=2)
    at_values(axes.xaxis, sizes, text.size)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("page")
    axes.set_ylabel(label)
    on_the_right(axes)
    return figure


def ratio(found: CompressBench) -> Figure:
    """Ratio over all files by size of a page (figures 7a to 7d)."""
    return _by_page(found, "ratio by bytes", lambda cell: (cell.ratio, cell.ratio, cell.ratio))


def compress(found: CompressBench) -> Figure:
    """Processor time to compress a page (figure 8a)."""
    name = f"µs to compress a page, {threads_text(found.threads[0])}"
    return _by_page(
        found, name, lambda cell: (cell.compress_cpu_us.median, cell.compress_cpu_us.low, cell.compress_cpu_us.high)
    )


def decompress(found: CompressBench) -> Figure:
    """Processor time to restore a page (figure 8b)."""
    name = f"µs to restore a page, {threads_text(found.threads[0])}"
    return _by_page(
        found,
        name,
        lambda cell: (cell.decompress_cpu_us.median, cell.decompress_cpu_us.low, cell.decompress_cpu_us.high),
    )


@styled
def rate(found: CompressBench) -> Figure:
    """Pages compressed and restored each second by all threads (figures 9a to 9d)."""
    figure = canvas(3.0)[0]
    figure.clear()
    size = _usual(found)
    width = 0.8 / len(found.threads)
    for panel, (title, field) in enumerate((("compressed", "compress"), ("restored", "decompress"))):
        axes = figure.add_subplot(1, 2, panel + 1)
        for index, threads in enumerate(found.threads):
            rates = [getattr(found.cell(codec, size, threads), f"{field}_bytes_s") for codec in found.codecs]
            medians = [rate.median / 1e6 for rate in rates]
            error = [
                [max(0.0, rate.median - rate.low) / 1e6 for rate in rates],
                [max(0.0, rate.high - rate.median) / 1e6 for rate in rates],
            ]
            at = [x + (index + 0.5) * width - 0.4 for x in range(len(rates))]
            axes.bar(at, medians, width * 0.95, yerr=error, color=colour(index), label=threads_text(threads))
        axes.set_xticks(range(len(found.codecs)), found.codecs)
        axes.set_ylabel(f"MB/s {title}, {size_text(size)}")
        axes.grid(axis="x", visible=False)
    axes.legend(loc="upper right")
    return figure


FIGURES: dict[str, Callable[[CompressBench], Figure]] = {
    "overall": overall,
    "files": files,
    "ratio": ratio,
    "compress": compress,
    "decompress": decompress,
    "rate": rate,
}


def draw(found: CompressBench, figure: str) -> Figure:
    """A figure by its name: `overall`, `files`, `ratio`, `compress`, `decompress` or `rate`."""
    return FIGURES[figure](found)
