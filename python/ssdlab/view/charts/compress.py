"""Charts of codec measurements, as in Harper 2018."""

from collections.abc import Callable
from functools import partial

from ssdlab import text
from ssdlab.analyse.compress import Cell, CompressBench
from ssdlab.lazy import np
from ssdlab.view.chart import Axis, Band, Bars, Chart, Line, Mark, Panel, Whiskers, beside, nothing, rows
from ssdlab.view.colours import BLUE, GREY, colour
from ssdlab.view.pages.compress import size_text

MOST_FILES = 24
"""Maximum number of files in a chart."""


def _largest(bench: CompressBench) -> int | None:
    """Returns the largest page size in the benchmark; None for whole files."""
    return None if None in bench.page_sizes else max(size for size in bench.page_sizes if size is not None)


def _overall(bench: CompressBench) -> Chart:
    """Draws each codec's ratio of total bytes, and its mean of the files' ratios (Harper 2018, figure 6a)."""
    cells = [bench.cell(codec, _largest(bench)) for codec in bench.codecs]
    marks = []
    for number, (name, field, tint) in enumerate((("by bytes", "ratio", BLUE), ("mean of files", "mean_ratio", GREY))):
        aside, thickness = beside(number, 2)
        ratios = np.array([getattr(cell, field) for cell in cells], float)
        marks.append(Bars(name, np.arange(len(cells), dtype=np.float64) + aside, ratios, tint, thickness))
    across = Axis(f"ratio, {size_text(_largest(bench))}", low=0)
    return Chart([Panel(marks, across, rows(bench.codecs))], 1.2 + 0.36 * len(cells))


def _files(bench: CompressBench) -> Chart:
    """Draws the compression ratio of each file with each codec (Harper 2018, figure 6b)."""
    members = bench.corpus.members[:MOST_FILES]
    marks = []
    for index, codec in enumerate(bench.codecs):
        aside, thickness = beside(index, len(bench.codecs))
        ratios = [file.ratio for file in bench.cell(codec, _largest(bench)).files[: len(members)]]
        at = np.arange(len(members), dtype=np.float64) + aside
        marks.append(Bars(codec, at, np.array(ratios, float), colour(index), thickness))
    names = rows([text.path(member.name) for member in members])
    across = Axis(f"ratio, {size_text(_largest(bench))}", low=0)
    return Chart([Panel(marks, across, names)], 1.2 + 0.32 * len(members))


def _by_page(bench: CompressBench, label: str, value: Callable[[Cell], tuple[float, float, float]]) -> Chart:
    """Draws a curve for each codec against the page size, with median and range of the runs."""
    sizes = sorted(size for size in bench.page_sizes if size is not None)
    if not sizes:
        return nothing("No pages were measured, only whole files.")
    at = np.array(sizes, float)
    marks: list[Mark] = []
    for index, codec in enumerate(bench.codecs):
        middle, low, high = np.array([value(bench.cell(codec, size)) for size in sizes], float).T
        if (high > low).any():
            marks.append(Band(codec, at, low, high, colour(index)))
        marks.append(Line(codec, at, middle, colour(index), dots=True))
    across = Axis("page", "size", log=True, ticks=[(size, text.size(size)) for size in sizes])
    return Chart([Panel(marks, across, Axis(label, low=0))])


def _ratio(bench: CompressBench) -> Chart:
    """Draws the compression ratio over all files by page size (Harper 2018, figures 7a to 7d)."""
    return _by_page(bench, "ratio by bytes", lambda cell: (cell.ratio, cell.ratio, cell.ratio))


def _time(bench: CompressBench, verb: str, field: str) -> Chart:
    """Draws the processor time to compress or restore a page (Harper 2018, figures 8a and 8b)."""

    def spread(cell: Cell) -> tuple[float, float, float]:
        microseconds = getattr(cell, f"{field}_cpu_us")
        return microseconds.median, microseconds.low, microseconds.high

    return _by_page(bench, f"µs to {verb} a page, {text.counted(bench.threads[0], 'threads')}", spread)


def _rate(bench: CompressBench) -> Chart:
    """Draws the throughput of all threads (Harper 2018, figures 9a to 9d), with pages of 8 KiB if measured."""
    size = 8192 if 8192 in bench.page_sizes else bench.page_sizes[0]
    panels = []
    for title, field in (("compressed", "compress"), ("restored", "decompress")):
        marks: list[Mark] = []
        for index, threads in enumerate(bench.threads):
            rates = [getattr(bench.cell(codec, size, threads), f"{field}_bytes_s") for codec in bench.codecs]
            low, median, high = np.array([(spread.low, spread.median, spread.high) for spread in rates]).T / 1e6
            aside, thickness = beside(index, len(bench.threads))
            at, name = np.arange(len(rates), dtype=np.float64) + aside, text.counted(threads, "threads")
            marks.append(Bars(name, at, median, colour(index), thickness))
            marks.append(Whiskers(name, at, np.minimum(low, median), np.maximum(high, median), GREY, along=True))
        panels.append(Panel(marks, Axis(f"MB/s {title}, {size_text(size)}", low=0), rows(bench.codecs)))
    return Chart(panels, 1.6 + 0.5 * len(bench.codecs), shared=False)


_FIGURES: dict[str, Callable[[CompressBench], Chart]] = {
    "overall": _overall,
    "files": _files,
    "ratio": _ratio,
    "compress": partial(_time, verb="compress", field="compress"),
    "decompress": partial(_time, verb="restore", field="decompress"),
    "rate": _rate,
}


def draw(bench: CompressBench, figure: str) -> Chart:
    """Draws a figure by its name: `overall`, `files`, `ratio`, `compress`, `decompress` or `rate`."""
    return _FIGURES[figure](bench)
