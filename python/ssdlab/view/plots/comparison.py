"""Figures of a comparison."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ssdlab import text
from ssdlab.study.compare import Comparison, Spread
from ssdlab.view.colours import INK
from ssdlab.view.pages.quantities import Quantity
from ssdlab.view.pages.result import HEADLINES
from ssdlab.view.plots.style import Canvas, canvas, colour, dash, nothing, on_the_right, styled, written


@styled
def headlines(found: Comparison) -> Figure:
    """The figures that a person looks for first, a bar for each case; thin lines are standard deviations over seeds."""
    panels = []
    for quantity in HEADLINES:
        values = {
            label: [value for one in runs if (value := quantity.value(one.summary)) is not None]
            for label, runs in found.runs.items()
        }
        if any(map(any, values.values())):
            panels.append((quantity, {label: Spread.of(of) for label, of in values.items() if of}))
    if not panels:
        figure, axes = canvas(1.6)
        nothing(axes, "No case has a figure to draw.")
        return figure
    rows = -(-len(panels) // 2)
    figure = Canvas(figsize=(7.6, rows * (0.9 + 0.24 * len(found.runs))), layout="constrained")
    grid = figure.subplots(rows, 2, squeeze=False)
    for axes, panel in zip(grid.flat, panels, strict=False):
        _bars(axes, found, *panel)
    for axes in grid.flat[len(panels) :]:
        axes.set_axis_off()
    return figure


def _bars(axes: Axes, found: Comparison, quantity: Quantity, spreads: dict[str, Spread]) -> None:
    labels = [*found.runs]
    at = [labels.index(label) for label in spreads]
    means = [spread.mean for spread in spreads.values()]
    deviations = [spread.standard_deviation for spread in spreads.values()]
    axes.barh(at, means, 0.7, color=[colour(row) for row in at])
    if any(deviations):
        axes.errorbar(means, at, xerr=deviations, fmt="none", ecolor=INK, elinewidth=0.8, capsize=2)
    axes.set_yticks(range(len(labels)), [text.path(label)[:28] for label in labels], fontsize=8)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.set_xlim(left=0)
    axes.set_title(quantity.label, fontsize=10, loc="left")
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="x", labelsize=8)
    written(axes.xaxis, quantity.format)
    axes.locator_params(axis="x", nbins=4)


@styled
def write_amplification(found: Comparison) -> Figure:
    """Write amplification of the run so far of each case, with its first seed."""
    figure, axes = canvas()
    for row, (label, result) in enumerate(found.results.items()):
        host = np.cumsum(result.series["host_pages_written"].astype(float))
        flash = np.cumsum(result.series["flash_pages_programmed"].astype(float))
        wrote = host > 0
        if wrote.sum() > 1:
            x = result.series["requests"].astype(float)[wrote]
            y = flash[wrote] / host[wrote]
            axes.plot(x, y, color=colour(row), linestyle=dash(row), linewidth=1.5, label=text.path(label)[:40])
    if not axes.lines:
        nothing(axes, "The host wrote too little for a curve.")
        return figure
    axes.set_xlabel("requests replayed")
    written(axes.xaxis, text.short_count)
    axes.set_ylabel("write amplification so far")
    axes.margins(x=0.01)
    on_the_right(axes)
    return figure
