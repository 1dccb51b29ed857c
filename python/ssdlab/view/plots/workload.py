"""Figures of an analysis of a workload."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator

from ssdlab import text
from ssdlab.analyse.workload import PAGE, SECTOR, TraceAnalysis
from ssdlab.lazy import Numbers
from ssdlab.view.colours import BLUE, OF_OPERATION, ORANGE, SKY
from ssdlab.view.plots.style import Canvas, canvas, nothing, power, styled, written

BARS = 256
"""Most bars of a figure; beyond, neighbours are drawn as one."""


class _Kind(NamedTuple):
    op: str
    counts: Numbers
    colour: str


def _kinds(columns: object, *ops: str) -> Iterator[_Kind]:
    """Columns by operation of those that occur."""
    for op in ops or ("read", "write", "trim"):
        counts = getattr(columns, f"{op}es" if op == "flush" else f"{op}s").astype(float)
        if counts.any():
            yield _Kind(op, counts, OF_OPERATION[op])


def _sizes_on(axis: Axis) -> None:
    written(axis, lambda value: text.size(value) if value >= 1 else "")


def _binary_ticks(axes: Axes, highest: float) -> None:
    """Ticks of bytes from 0 on, a power of two apart."""
    axes.set_ylim(0, max(axes.get_ylim()[1], 1))
    axes.yaxis.set_major_locator(MultipleLocator(2.0 ** np.floor(np.log2(max(highest, 4) / 2))))
    _sizes_on(axes.yaxis)


def _legend(axes: Axes) -> None:
    axes.legend(loc="upper right", ncols=4)
    # Room for it above the highest bar.
    if axes.get_yscale() == "linear":
        axes.set_ylim(0, axes.get_ylim()[1] * 1.12)


def _stacked(axes: Axes, edges: Numbers, kinds: Iterator[_Kind], values: Numbers) -> None:
    bottom = np.zeros(len(edges) - 1)
    for kind in kinds:
        counts, _ = np.histogram(values, edges, weights=kind.counts)
        axes.stairs(bottom + counts, edges, baseline=bottom, fill=True, color=kind.colour, label=kind.op)
        bottom += counts


@styled
def ranges(result: TraceAnalysis) -> Figure:
    """Requests by address; operations stand on one another."""
    figure, axes = canvas(3.6)
    width = float(result.counted_range_bytes)
    first = result.ranges.first_byte.astype(float)
    low, high = first.min(), first.max() + width
    per_bar = max(1, int(np.ceil((high - low) / width / BARS)))
    edges = np.arange(low, high + width * per_bar, width * per_bar)
    _stacked(axes, edges, _kinds(result.ranges), first + width / 2)
    axes.set_xlim(edges[0], edges[-1])
    axes.set_xlabel(f"address (bars of {text.size(width * per_bar)})")
    axes.set_ylabel("requests")
    span = edges[-1] - edges[0]
    step = 2.0 ** np.floor(np.log2(span / 4))
    axes.set_xticks(np.arange(np.ceil(edges[0] / step) * step, edges[-1] + 1, step))
    _sizes_on(axes.xaxis)
    written(axes.yaxis, text.short_count, whole=True)
    _legend(axes)
    return figure


@styled
def deviations(result: TraceAnalysis, *, log: bool = True) -> Figure:
    """Requests by how far they begin from the one before.

    Args:
        result: The analysis.
        log: Whether the counts are on a logarithmic axis; then operations stand beside, not on, one another.
    """
    figure, axes = canvas(3.6)
    columns = result.deviations
    if not columns.lower.size:
        nothing(axes, "There is one request only.")
        return figure
    middle = (columns.lower + (columns.upper - 1 - columns.lower) // 2).astype(float)
    reach = max(float(np.abs(middle).max()), 1.0)
    per_bar = max(1, int(np.ceil((2 * reach + 1) / BARS)))
    bars = int(np.ceil((reach + 0.5 - per_bar / 2) / per_bar))
    edges: Numbers = (np.arange(-bars - 1.0, bars + 1.0) + 0.5) * per_bar
    if log:
        for kind in _kinds(columns):
            counts, _ = np.histogram(middle, edges, weights=kind.counts)
            axes.stairs(counts, edges, color=kind.colour, fill=True, alpha=0.25)
            axes.stairs(counts, edges, color=kind.colour, linewidth=1.2, label=kind.op)
        axes.set_yscale("log")
        axes.set_ylim(bottom=0.6)
    else:
        _stacked(axes, edges, _kinds(columns), middle)
    axes.set_xlim(edges[0], edges[-1])
    bars_text = f", bars of {per_bar}" if per_bar > 1 else ""
    axes.set_xlabel(f"deviation from the request before (ranges of {text.size(result.range_bytes)}{bars_text})")
    axes.set_ylabel("requests")
    written(axes.xaxis, text.count)
    written(axes.yaxis, text.short_count, whole=True)
    _legend(axes)
    return figure


@styled
def sizes(result: TraceAnalysis) -> Figure:
    """Share of the requests of each operation by size, on a logarithmic axis."""
    figure, axes = canvas()
    columns = result.sizes
    sectors = columns.lower.astype(float)
    # Sixteenths of an octave, powers of two in the middle of theirs.
    last = int(np.ceil(np.log2(sectors.max()) * 16)) + 1
    edges = 2.0 ** ((np.arange(last + 1) - 0.5) / 16)
    for kind in _kinds(columns):
        share, _ = np.histogram(sectors, edges, weights=kind.counts * 100 / kind.counts.sum())
        axes.stairs(share, edges, color=kind.colour, fill=True, alpha=0.25)
        axes.stairs(share, edges, color=kind.colour, linewidth=1.2, label=kind.op)
    axes.set_xscale("log", base=2)
    axes.set_xlim(0.7, max(edges[-1], 16) * 1.4)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("size")
    written(axes.xaxis, lambda value: power(value * SECTOR))
    axes.set_ylabel("share of the operation's requests (%)")
    _legend(axes)
    return figure


def _requests_axis(axes: Axes, result: TraceAnalysis) -> Numbers:
    """Edges of the windows on the axis of requests."""
    edges = np.append(result.windows.first_request, sum(result.requests.values())).astype(float)
    axes.set_xlim(edges[0], edges[-1])
    axes.set_xlabel(f"requests (windows of {text.count(result.window_requests)})")
    written(axes.xaxis, text.short_count, whole=True)
    return edges


@styled
def working_set(result: TraceAnalysis) -> Figure:
    """Footprint so far, and below it the working set of each window."""
    figure = Canvas(figsize=(7.6, 4.4), layout="constrained")
    above, below = figure.subplots(2, sharex=True)
    edges = _requests_axis(below, result)
    windows = result.windows
    so_far = np.append(0, windows.pages_so_far).astype(float) * PAGE
    above.plot(edges, so_far, color=ORANGE, linewidth=1.8)
    above.set_ylabel("touched so far")
    own, new = (pages.astype(float) * PAGE for pages in (windows.pages, windows.new_pages))
    below.stairs(own, edges, color=BLUE, linewidth=1.2, label="working set")
    below.stairs(new, edges, color=SKY, fill=True, alpha=0.5, label="of it touched for the first time")
    below.set_ylabel("in a window")
    _legend(below)
    for axes, highest in ((above, so_far.max()), (below, own.max())):
        _binary_ticks(axes, highest)
    return figure


@styled
def mix(result: TraceAnalysis) -> Figure:
    """Share of each operation in the requests of each window."""
    figure, axes = canvas()
    edges = _requests_axis(axes, result)
    windows = result.windows
    total = (windows.reads + windows.writes + windows.trims + windows.flushes).astype(float)
    bottom = np.zeros(len(total))
    for kind in _kinds(windows, "read", "write", "trim", "flush"):
        top = bottom + kind.counts / total * 100
        axes.stairs(top, edges, baseline=bottom, fill=True, color=kind.colour, label=kind.op)
        bottom = top
    axes.set_ylim(0, 100)
    axes.set_ylabel("share of the window's requests (%)")
    axes.grid(visible=False)
    figure.legend(loc="outside upper center", ncols=4)
    return figure


@styled
def runs(result: TraceAnalysis) -> Figure:
    """Share of the requests of each operation in runs of at least some length."""
    figure, axes = canvas()
    columns = result.runs
    lengths = columns.lower.astype(float)
    right = float(columns.upper.max())
    for kind in _kinds(columns):
        requests = kind.counts * lengths
        share = requests[::-1].cumsum()[::-1] / requests.sum() * 100
        x, y = np.append(lengths, right), np.append(share, 0.0)
        axes.step(x, y, where="pre", color=kind.colour, linewidth=1.6, label=kind.op)
    axes.set_xscale("log")
    axes.set_xlim(1, max(right, 10))
    axes.set_ylim(0, 100)
    written(axes.xaxis, text.short_count, whole=True)
    axes.set_xlabel("length of the sequential run (requests)")
    axes.set_ylabel("requests in runs at least as long (%)")
    _legend(axes)
    return figure


@styled
def gaps(result: TraceAnalysis) -> Figure:
    """Share of the requests of each operation by the time since the one before of it."""
    figure, axes = canvas()
    columns = result.gaps
    if not columns.upper_ns.size or columns.upper_ns.max() <= 1:
        nothing(axes, "All requests arrive at once.")
        return figure
    # What takes no time stands at the left end of a logarithmic axis.
    middle = np.sqrt(np.maximum(columns.lower_ns, 1) * columns.upper_ns.astype(float))
    edges = np.logspace(np.log10(middle.min() * 0.8), np.log10(middle.max() * 1.25), 90)
    for kind in _kinds(columns, "read", "write", "trim", "flush"):
        share, _ = np.histogram(middle, edges, weights=kind.counts * 100 / kind.counts.sum())
        axes.stairs(share, edges, color=kind.colour, alpha=0.2, fill=True)
        axes.stairs(share, edges, color=kind.colour, linewidth=1.4, label=kind.op)
    axes.set_xscale("log")
    written(axes.xaxis, text.duration)
    axes.set_xlabel("time since the request before of the same operation")
    axes.set_ylabel("share of the operation's requests (%)")
    _legend(axes)
    return figure


@styled
def alignments(result: TraceAnalysis) -> Figure:
    """Share of the requests of each operation whose address and size are multiples of a power of two."""
    figure, axes = canvas()
    powers = 512 << np.arange(12)
    for op in ("read", "write", "trim"):
        shares = [result.alignment_shares(int(bytes))[op] for bytes in powers]
        if shares[0] is not None:
            values = np.array(shares, float) * 100
            axes.plot(powers, values, "o-", color=OF_OPERATION[op], markersize=4, label=op)
    axes.set_xscale("log", base=2)
    axes.set_xticks(powers, [power(float(bytes)) for bytes in powers], fontsize=8)
    axes.set_ylim(0, 105)
    axes.set_xlabel("address and size are multiples of")
    axes.set_ylabel("share of the operation's requests (%)")
    axes.legend(loc="upper right", ncols=3)
    return figure
