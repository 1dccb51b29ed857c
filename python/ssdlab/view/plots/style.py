"""The look of all figures."""

import functools
import io
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec

import matplotlib
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from ssdlab.view.colours import GRID, INK

P = ParamSpec("P")

STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    # Ids in the SVG are random otherwise, and equal runs must give equal reports.
    "svg.hashsalt": "ssdlab",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.linewidth": 0.8,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
}


def styled(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """A function that draws in the style of all figures."""

    @functools.wraps(draw)
    def in_style(*arguments: P.args, **options: P.kwargs) -> Figure:
        with matplotlib.rc_context(STYLE):
            return draw(*arguments, **options)

    return in_style


WIDTH = 7.6
"""Of figures, in inches."""


class Canvas(Figure):
    """A matplotlib figure that notebooks show without pyplot."""

    def _repr_svg_(self) -> str:
        return svg(self)


def svg(figure: Figure) -> str:
    """The figure as an SVG element; equal figures give equal text."""
    buffer = io.StringIO()
    layout = figure.get_layout_engine()
    with matplotlib.rc_context(STYLE):
        # Laid out here, a figure is drawn once; saving would draw it twice, for the sake of the layout.
        if layout is not None:
            layout.execute(figure)
            figure.set_layout_engine(None)
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    figure.set_layout_engine(layout)
    whole = buffer.getvalue()
    return whole[whole.index("<svg") :]


def nothing(axes: Axes, why: str) -> None:
    """Says why there is nothing to draw."""
    axes.set_axis_off()
    axes.text(0.5, 0.5, why, ha="center", va="center", transform=axes.transAxes)


def written(axis: Axis, form: Callable[[float], str], *, whole: bool = False) -> None:
    """Has an axis write its numbers in a form of `ssdlab.text`; at whole numbers only, if asked for."""
    if whole and axis.get_scale() == "linear":
        axis.set_major_locator(MaxNLocator(integer=True))
    axis.set_major_formatter(FuncFormatter(lambda value, _: form(value)))
    # Minor ticks of logarithmic axes take a quarter of the time of a report.
    axis.set_minor_locator(NullLocator())


def at_values(axis: Axis, values: Sequence[float], form: Callable[[float], str]) -> None:
    """Has an axis name these values and no others."""
    axis.set_major_locator(FixedLocator(values))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: form(value)))
