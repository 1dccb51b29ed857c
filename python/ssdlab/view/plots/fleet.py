"""Figures of fleets."""

from matplotlib.figure import Figure

from ssdlab.study.fleet.result import Fleet
from ssdlab.view.colours import BLUE
from ssdlab.view.pages.figures import form
from ssdlab.view.plots.style import Canvas, styled, written

COLUMNS = 2
WIDE = 30
"""From so large a ratio of the ends on, an axis is logarithmic."""


@styled
def cdfs(found: Fleet) -> Figure:
    """The share of drives whose figure is at most so much, for each figure that is shown."""
    distributions = [found.cdf(one.figure) for one in found.outcomes()]
    rows = -(-len(distributions) // COLUMNS)
    figure = Canvas(figsize=(7.6, 0.4 + 2.3 * rows), layout="constrained")
    for number, one in enumerate(distributions):
        axes = figure.add_subplot(rows, COLUMNS, number + 1)
        axes.step(one.values, one.shares, where="post", color=BLUE, linewidth=1.4)
        if one.values[0] > 0 and one.values[-1] / one.values[0] > WIDE:
            axes.set_xscale("log")
        else:
            written(axes.xaxis, form(one.figure))
        axes.set_ylim(0, 1.02)
        axes.set_xlabel(one.figure)
        axes.set_ylabel("share of drives")
    return figure
